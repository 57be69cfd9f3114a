import { act, confirm, created, forgetTenants, formDialog, go, h, list, may, STATUS, t, user } from "../lib/ui.js"

export default page => list(page, {
	title: "Tenants", lead: "Each tenant keeps its own users, invites, keys and rules.",
	path: "/tenants", noun: ["tenant", "tenants"], exports: true, search: "Search by name or slug", create: ["createTenant", "New tenant", open],
	empty: { title: "Open the first gate", text: "A tenant is one customer or team. Give it a name; invite people next." },
	filters: [["status", "Status", "active suspended deleted"]],
	columns: [
		["Name", one => [h("a.main", { href: `/console/t/${one.slug}/users` }, user(one.name)), h("code.sub", one.slug)]],
		STATUS,
		created(),
	],
	actions: may("suspendTenant") && ((one, reload) => [
		one.status === "active" && ["Suspend", () => suspend(one, reload), true],
		one.status === "suspended" && ["Resume", () => resume(one, reload)],
		one.status === "deleted" && ["Restore", () => change(one, "restore", t`${one.name} is restored`, reload)],
	]),
})

function change(one, verb, said, reload, back) {
	forgetTenants()
	return act(`/tenants/${one.id}/${verb}`, { back }, said, reload)
}
const resume = (one, reload) => change(one, "resume", t`${one.name} works again`, reload)

export const suspend = (one, reload) => confirm({
	title: t`Suspend ${one.name}?`, act: "Suspend", type: one.slug,
	text: "Its sign-ins, sessions and keys are refused at once. Nothing is deleted; resuming lets them work again.",
	run: () => change(one, "suspend", t`${one.name} is suspended`, reload, () => resume(one, reload)),
})

const slugOf = name => name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 63)

function open() {
	const node = formDialog({
		title: "New tenant", submit: "Create tenant",
		fields: [
			["name*", "Name"],
			["slug*", "Slug", { hint: "Stands in addresses: lower-case letters, digits and dashes. It is never given again." }],
		],
		path: "/tenants",
		done: made => go(`/console/t/${made.slug}/users`),
	})
	const [name, slug] = node.querySelectorAll("input")
	let own = false
	slug.addEventListener("input", () => (own = slug.value !== ""))
	name.addEventListener("input", () => own || (slug.value = slugOf(name.value)))
}
