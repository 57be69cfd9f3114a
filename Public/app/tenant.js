// What stands around each page of a tenant.
import { drawFrame } from "./frame.js"
import {
	append, forgetTenants, h, isAllowed, ownTenant, pageHead, preferences, redraw, setPreference, t, tabOf, TABS,
	tenantOf, translate, unknownSlugs, userText,
} from "../lib/core.js"

/** The file of a page. */
export function fileOf({ page, params: { tab, id } }) {
	if (page !== "tenant") return page
	const [name] = tabOf(tab)
	const file = id && {
		"users/": "user", "users/duplicates": "duplicates", "users/import": "import", "keys/": "key",
		"keys/new": "new-key", "jobs/": "job", "invites/join-links": "join-links",
	}[`${name}/${/^(new|duplicates|import|join-links)$/.test(id) ? id : ""}`]
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
	const title = pageHead(userText(one.name), { crumbs: ownTenant() ? null : [["Tenants", "/console/tenants"]] })
	title.querySelector("h1").dataset.title = t`${translate(name)} · ${one.name}`
	const section = h("section", { "aria-label": name })
	// A tab that may not be read is absent; a link to it says why.
	const tabs = TABS.filter(([, , right]) => !right || isAllowed(right))
	const isWell = one.status === "active"
	append(page.body, [
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
	unknownSlugs.add(slug)
	if (preferences().tenant === slug) setPreference("tenant", null)
	drawFrame()
	return error
}
