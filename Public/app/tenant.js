// What stands around each page of a tenant.
import { drawFrame } from "./frame.js"
import {
	append, forgetTenants, h, ownTenant, pageHead, preferences, redraw, setPreference, t, tabOf, tabsHere, tenantOf,
	translate, unknownSlugs, userText,
} from "../lib/core.js"

/** The file of a page. */
export function fileOf({ page, params: { tab, id } }) {
	if (!/^(tenant|platform)$/.test(page)) return page
	const [name] = tabOf(tab)
	return /decisions|audit/.test(name) ? name : `tenant/${name === "users" && id === "import" ? id : name}`
}

export async function tenant(page, draw) {
	const { slug, tab, id } = page.params
	// The platform's own keys and origins have the pages of a tenant's.
	if (!slug) return draw({ ...page, path: "", base: "/console", id, again: redraw })
	const [known, name] = tabOf(tab)
	const one = await tenantOf(slug).catch(error => {
		throw noTenant(slug, error)
	})
	const base = `/console/t/${slug}`
	const again = () => {
		forgetTenants()
		return redraw()
	}
	const crumbs = [
		!ownTenant() && ["Tenants", "/console/tenants"], [userText(one.name), `${base}/users`],
		id && [name, `${base}/${known}`],
	].filter(Boolean)
	// A page below a tab has its own title.
	const title = pageHead(id ? null : name, { crumbs, acts: id ? null : [] })
	if (!id) title.querySelector("h1").dataset.title = t`${translate(name)} · ${one.name}`
	const section = h("section", { "aria-label": name })
	const isWell = one.status === "active"
	append(page.body, [
		title, isWell ? null : (await import("../lib/seldom.js")).banner(one, again),
		// In a small window; in others the navigation has them. One that may not be read is absent: a link says why.
		h("nav.tabs", { "aria-label": "Tenant" }, tabsHere().map(([tab, text]) =>
			h("a", { href: `${base}/${tab}`, "aria-current": tab === known ? "page" : null }, text))),
		section,
	])
	const isGone = one.status === "deleted"
	await draw({
		...page, body: section, tenant: one, isGone, base, path: `/tenants/${one.id}`, id, again,
		acts: title.querySelector(".acts"),
	})
}

/** A tenant that is not there is not kept: the navigation would lead into it from every page. */
function noTenant(slug, error) {
	if (error.status !== 404) return error
	unknownSlugs.add(slug)
	if (preferences().tenant === slug) setPreference("tenant", null)
	drawFrame()
	return error
}
