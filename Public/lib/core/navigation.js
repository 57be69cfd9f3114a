// The places that the navigation leads to.
import { preferences } from "./preferences.js"
import { isAllowed, ownTenant } from "./session.js"

export const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
// Tenants of the address that are not there.
export const unknownSlugs = new Set()
export const knownSlug = slug => (unknownSlugs.has(slug) ? null : slug)
export const tenantHere = () => knownSlug(slugOf(location.pathname)) ?? ownTenant() ?? preferences().tenant

export function places() {
	const tenant = tenantHere()
	const place = (text, path, look, key, pin) => ({ text, href: `/console/${path}`, look, key, pin })
	const own = (text, tab, look, key) => tenant && place(text, `t/${tenant}/${tab}`, look, key)
	return [
		place("Overview", "", "home", "o", true),
		{ group: "Directory" },
		!ownTenant() && place("Tenants", "tenants", "building", "t", true),
		!ownTenant() && place("People", "people", "users", "w", true),
		own("Users", "users", "users", "u"),
		isAllowed("editUsers") && own("Join requests", "requests", "inbox"),
		own("Invites", "invites", "mail", "i"),
		{ group: "Access" },
		isAllowed("readPolicy") && own("Sign-up policy", "policy", "shield", "p"),
		place("Decisions", "decisions", "branch", "d", true),
		place("Simulator", "simulator", "flask", "s"),
		own("API keys", "keys", "key", "k"),
		isAllowed("readOrigins") && own("CORS origins", "origins", "globe", "c"),
		isAllowed("readPolicy") && place("Providers", "providers", "door", "r"),
		{ group: "Observe" },
		isAllowed("readAudit") && place("Audit", "audit", "list", "a", true),
		own("Jobs", "jobs", "pulse", "j"),
		{ group: "Manage" },
		isAllowed("readOperators") && place("Operators", "operators", "badge", "m"),
		{ text: "API docs", href: "/docs", look: "book" },
	].filter(Boolean)
}

export const TABS = [
	["users", "Users"], ["requests", "Join requests"], ["invites", "Invites"], ["policy", "Policy", "readPolicy"],
	["domains", "Domains", "readPolicy"],
	["keys", "API keys"], ["origins", "Origins", "readOrigins"], ["clients", "Clients", "readOrigins"],
	["decisions", "Decisions"], ["jobs", "Jobs"], ["audit", "Audit", "readAudit"], ["settings", "Settings"],
]
export const tabOf = wanted => TABS.find(([name]) => name === wanted) ?? TABS[0]

/** In this tab, and until the sign-out: the places that were seen last, {text, href}, this one first. */
export const recentPlaces = () => JSON.parse(sessionStorage.getItem("places") ?? "[]")
const MOST_PLACES = 9

/** `text`: the page's title. Addresses are kept without what was searched or filtered. */
export function rememberPlace(text) {
	const { pathname: href } = location
	const others = recentPlaces().filter(one => one.href !== href)
	sessionStorage.setItem("places", JSON.stringify([{ text, href }, ...others].slice(0, MOST_PLACES)))
}
