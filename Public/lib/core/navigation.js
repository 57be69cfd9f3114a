// The places that the navigation leads to.
import { kept } from "./preferences.js"
import { may, scope } from "./session.js"

export const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
// Tenants of the address that are not there.
export const unknown = new Set()
export const known = slug => (unknown.has(slug) ? null : slug)
export const tenantHere = () => known(slugOf(location.pathname)) ?? scope() ?? kept().tenant

export function places() {
	const tenant = tenantHere()
	const place = (text, path, look, key, pin) => ({ text, href: `/console/${path}`, look, key, pin })
	const own = (text, tab, look, key) => tenant && place(text, `t/${tenant}/${tab}`, look, key)
	return [
		place("Overview", "", "home", "o", true),
		{ group: "Directory" },
		!scope() && place("Tenants", "tenants", "building", "t", true),
		own("Users", "users", "users", "u"),
		own("Invites", "invites", "mail", "i"),
		{ group: "Access" },
		may("readPolicy") && own("Sign-up policy", "policy", "shield", "p"),
		place("Decisions", "decisions", "branch", "d", true),
		place("Simulator", "simulator", "flask", "s"),
		own("API keys", "keys", "key", "k"),
		may("readOrigins") && own("CORS origins", "origins", "globe", "c"),
		may("readPolicy") && place("Providers", "providers", "door", "r"),
		{ group: "Observe" },
		may("readAudit") && place("Audit", "audit", "list", "a", true),
		{ group: "Manage" },
		may("readOperators") && place("Operators", "operators", "badge", "m"),
		{ text: "API docs", href: "/docs", look: "book" },
	].filter(Boolean)
}

export const TABS = [
	["users", "Users"], ["invites", "Invites"], ["policy", "Policy", "readPolicy"], ["domains", "Domains", "readPolicy"],
	["keys", "API keys"], ["origins", "Origins", "readOrigins"], ["clients", "Clients", "readOrigins"],
	["decisions", "Decisions"], ["audit", "Audit", "readAudit"], ["settings", "Settings"],
]
export const tabOf = wanted => TABS.find(([name]) => name === wanted) ?? TABS[0]
