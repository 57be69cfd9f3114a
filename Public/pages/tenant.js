import { act, add, button, h, head, may, note, redraw, scope, tenantOf, user } from "../lib/console.js"

const TABS = [
	["users", "Users"], ["invites", "Invites"], ["policy", "Policy", "policy"], ["domains", "Domains", "policy"], ["keys", "API keys"],
	["origins", "Origins", "origins"], ["clients", "Clients", "origins"], ["decisions", "Decisions"], ["audit", "Audit", "audit"], ["settings", "Settings"],
]
// Pages of one thing, below the tab of its list.
const ONE = { users: "user", keys: "key" }

export default async function tenant(page) {
	const { slug, tab = "users", id } = page.params
	const tabs = TABS.filter(([, , right]) => !right || may(right))
	const known = tabs.find(([name]) => name === tab) ?? tabs[0]
	const file = id === "new" && known[0] === "keys" ? "new-key" : (id && ONE[known[0]]) || known[0]
	const [one, { default: draw }] = await Promise.all([tenantOf(slug), import(`./tenant/${file}.js`)])
	const base = `/console/t/${slug}`
	const again = async () => {
		await tenantOf(slug, { fresh: true })
		redraw()
	}
	const title = head(user(one.name), { crumbs: scope() ? null : [["Tenants", "/console/tenants"]] })
	title.querySelector("h1").dataset.title = `${known[1]} · ${one.name}`
	const change = (text, verb, said) => may("suspendTenant") && button(text, () => act(`/tenants/${one.id}/${verb}`, {}, said, again), { look: ".tiny" })
	add(page.body, [
		title,
		one.status === "suspended" && note("warn", "alert", "This tenant is suspended: its sign-ins, sessions and keys are refused. ", change("Resume", "resume", "Resumed")),
		one.status === "deleted" && note("danger", "alert", "This tenant is deleted; it can be restored for 30 days. ", change("Restore", "restore", "Restored")),
		h("nav.tabs", { "aria-label": "Tenant" }, tabs.map(([name, text]) =>
			h("a", { href: `${base}/${name}`, "aria-current": name === known[0] ? "page" : null }, text))),
	])
	const section = h("section", { "aria-label": known[1] })
	page.body.append(section)
	await draw({ ...page, body: section, tenant: one, base, path: `/tenants/${one.id}`, id, again })
}
