// What stands around each page of a tenant.
import { drawFrame } from "./frame.js"
import { add, forgetTenants, h, head, keep, kept, may, redraw, say, scope, t, tabOf, TABS, tenantOf, unknown, user } from "../lib/core.js"

/** The file of a page. */
export function fileOf({ page, params: { tab, id } }) {
	if (page !== "tenant") return page
	const [name] = tabOf(tab)
	const file = id && { "users/": "user", "keys/": "key", "keys/new": "new-key" }[`${name}/${id === "new" ? id : ""}`]
	return /decisions|audit/.test(name) ? name : `tenant/${file ?? name}`
}

export async function tenant(page, draw) {
	const { slug, tab, id } = page.params
	const [known, name] = tabOf(tab)
	const one = await tenantOf(slug).catch(error => {
		throw noTenant(slug, error)
	})
	const base = `/console/t/${slug}`
	const again = () => {
		forgetTenants()
		return redraw()
	}
	const title = head(user(one.name), { crumbs: scope() ? null : [["Tenants", "/console/tenants"]] })
	title.querySelector("h1").dataset.title = t`${say(name)} · ${one.name}`
	const section = h("section", { "aria-label": name })
	// A tab that may not be read is absent; who comes by a link is told why.
	const tabs = TABS.filter(([, , right]) => !right || may(right))
	const isWell = one.status === "active"
	add(page.body, [
		title, isWell ? null : (await import("../lib/gone.js")).banner(one, again),
		h("nav.tabs", { "aria-label": "Tenant" }, tabs.map(([tab, text]) =>
			h("a", { href: `${base}/${tab}`, "aria-current": tab === known ? "page" : null }, text))),
		section,
	])
	const isGone = one.status === "deleted"
	await draw({ ...page, body: section, tenant: one, isGone, base, path: `/tenants/${one.id}`, id, again })
}

/** A tenant that is not there is not kept: the navigation would lead into it from every page. */
function noTenant(slug, error) {
	if (error.status !== 404) return error
	unknown.add(slug)
	if (kept().tenant === slug) keep("tenant", null)
	drawFrame()
	return error
}
