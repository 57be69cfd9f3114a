import { act, add, button, forgetTenants, h, head, may, note, redraw, say, scope, t, tenantOf, user } from "../lib/console.js"

const TABS = [
	["users", "Users"], ["invites", "Invites"], ["policy", "Policy", "policy"], ["domains", "Domains", "policy"], ["keys", "API keys"],
	["origins", "Origins", "origins"], ["clients", "Clients", "origins"], ["decisions", "Decisions"], ["audit", "Audit", "audit"], ["settings", "Settings"],
]
const fileOf = (tab, id) => ({ decisions: "decisions", audit: "audit" }[tab]
	?? `tenant/${(id && (id === "new" ? { keys: "new-key" } : { users: "user", keys: "key" })[tab]) || tab}`)

export default async function tenant(page) {
	const { slug, tab = "users", id } = page.params
	// A tab that may not be read is absent; who comes by a link is told why.
	const tabs = TABS.filter(([, , right]) => !right || may(right))
	const [known, name] = TABS.find(([name]) => name === tab) ?? TABS[0]
	const [one, { default: draw }] = await Promise.all([tenantOf(slug), import(`./${fileOf(known, id)}.js`)])
	const base = `/console/t/${slug}`
	const again = () => {
		forgetTenants()
		return redraw()
	}
	const title = head(user(one.name), { crumbs: scope() ? null : [["Tenants", "/console/tenants"]] })
	title.querySelector("h1").dataset.title = t`${say(name)} · ${one.name}`
	const change = (text, verb, said) => may("suspendTenant") && button(text, () => act(`/tenants/${one.id}/${verb}`, {}, said, again), { look: ".tiny" })
	const section = h("section", { "aria-label": name })
	add(page.body, [
		title,
		one.status === "suspended" && note("warn", "alert", "This tenant is suspended: its sign-ins, sessions and keys are refused. ", change("Resume", "resume", "Resumed")),
		one.status === "deleted" && note("danger", "alert", "This tenant is deleted; it can be restored for 30 days. ", change("Restore", "restore", "Restored")),
		h("nav.tabs", { "aria-label": "Tenant" }, tabs.map(([tab, text]) => h("a", { href: `${base}/${tab}`, "aria-current": tab === known ? "page" : null }, text))),
		section,
	])
	await draw({ ...page, body: section, tenant: one, base, path: `/tenants/${one.id}`, id, again })
}
