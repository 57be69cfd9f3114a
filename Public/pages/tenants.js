import {
	choices, confirm, countTotal, createdColumn, forgetTenants, formDialog, goTo, h, isAllowed, list, noValue,
	replaceContent, runAct, STATUS, t, userText,
} from "../lib/ui.js"

/** @type {(page: Page) => Promise<any>} */
export default page => list(page, /** @type {ListSpec<API.ListedTenant>} */ ({
	title: "Tenants", lead: "Each tenant keeps its own users, invites, keys and rules.",
	path: "/tenants", noun: { one: "tenant", many: "tenants" }, exports: true, search: "Search by name or slug",
	create: { right: "createTenant", text: "New tenant", run: open },
	empty: {
		title: "Open the first gate", text: "A tenant is one customer or team. Give it a name; invite people next.",
	},
	filters: [
		{
			name: "status", label: "Status",
			options: [{ value: "active,suspended", text: "Not deleted" }, ...choices("active suspended deleted")],
		},
	],
	columns: [
		{
			label: "Name",
			cell: one => [
				h("a.main", { href: `/console/t/${one.slug}/users` }, userText(one.name)), h("code.sub", one.slug),
			],
		},
		STATUS,
		{ label: "Users", cell: one => (one.users ? countTotal(one.users, "user", "users") : noValue()) },
		createdColumn(),
	],
	actions: isAllowed("suspendTenant") && ((one, reload) => [
		one.status === "active" && { text: "Suspend", run: () => suspend(one, reload) },
		one.status === "suspended" && { text: "Resume", run: () => resume(one, reload) },
		one.status === "deleted"
			&& { text: "Restore", run: () => change(one, "restore", t`${one.name} is restored`, reload) },
	]),
}))

function change(one, verb, said, reload, back) {
	forgetTenants()
	return runAct(`/tenants/${one.id}/${verb}`, { back }, said, reload)
}
const resume = (one, reload) => change(one, "resume", t`${one.name} works again`, reload)

/** @type {(one: API.Tenant | API.ListedTenant, reload: () => unknown) => unknown} */
export const suspend = (one, reload) => confirm({
	title: t`Suspend ${one.name}?`, act: "Suspend", type: one.slug,
	text: "Its sign-ins, sessions and keys are refused at once. Nothing is deleted; resuming lets them work again.",
	run: () => change(one, "suspend", t`${one.name} is suspended`, reload, () => resume(one, reload)),
})

// Latin letters that Unicode cannot decompose into a plain letter and a mark, each with its spelling in plain letters.
const LATIN = { ø: "o", ß: "ss", æ: "ae", œ: "oe", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ħ: "h", ŧ: "t", ŋ: "ng" }
/**
 * The slug to propose for a tenant's name; empty if the name has no Latin letters.
 * @type {(name: string) => string}
 */
export const slugOf = name => name.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "").replace(
	/[^\u0000-\u007f]/g, one => LATIN[one] ?? "-",
)
	.replace(/[^a-z0-9]+/g, "-").slice(0, 63).replace(/^-|-$/g, "")

const HINT = "Part of addresses: lower-case letters, digits and dashes. No other tenant ever gets it."
const BY_HAND = "The name has no Latin letters to make a slug of: please type one."

async function open() {
	const node = await formDialog({
		title: "New tenant", submit: "Create tenant",
		fields: [
			{ name: "name", label: "Name", required: true },
			{ name: "slug", label: "Slug", required: true, hint: HINT, unique: true },
		],
		path: "/tenants",
		done: made => goTo(`/console/t/${made.slug}/users`),
	})
	if (!node) return
	const [name, slug] = node.querySelectorAll("input")
	const hint = slug.closest(".field")?.querySelector(".hint")
	let own = slug.value !== slugOf(name.value)
	slug.addEventListener("input", () => (own = slug.value !== ""))
	name.addEventListener("input", () => {
		if (own) return
		slug.value = slugOf(name.value)
		if (hint) replaceContent(hint, name.value.trim() && !slug.value ? BY_HAND : HINT)
	})
}
