// The places that the navigation leads to.
import { preferences } from "./preferences.js"
import { isAllowed, ownTenant } from "./session.js"

export const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
// Tenants of the address that are not there.
export const unknownSlugs = new Set()
export const knownSlug = slug => (unknownSlugs.has(slug) ? null : slug)
/** The tenant that the page is of. The simulator stays with the one that it was opened from. */
const slugHere = () => knownSlug(slugOf(location.pathname)
	?? (location.pathname === "/console/simulator" ? new URLSearchParams(location.search).get("tenant") : null))
export const tenantHere = () => knownSlug(slugOf(location.pathname)) ?? ownTenant() ?? preferences().tenant

const place = (text, path, look, key, pin) => ({ text, href: `/console/${path}`, look, key, pin })

/** The pages outside of a tenant; `pin`: also at the foot of a small window. */
const platformPlaces = () => [
	place("Overview", "", "home", "o", true),
	{ group: "Directory" },
	!ownTenant() && place("Tenants", "tenants", "building", "t", true),
	!ownTenant() && place("People", "people", "users", "w", true),
	{ group: "Access" },
	place("Decisions", "decisions", "branch", "d", true),
	place("Simulator", "simulator", "flask", "s"),
	isAllowed("readPolicy") && place("Providers", "providers", "door", "r"),
	!ownTenant() && isAllowed("listKeys") && place("Platform keys", "keys", "key"),
	!ownTenant() && isAllowed("readOrigins") && place("Platform origins", "origins", "link"),
	{ group: "Observe" },
	isAllowed("readAudit") && place("Audit", "audit", "list", "a", true),
	{ group: "Manage" },
	isAllowed("readOperators") && place("Operators", "operators", "badge", "m"),
	{ text: "API docs", href: "/docs", look: "book" },
]

/** The pages of a tenant: [path, name, look, key, right], below their groups. */
const TENANT_PLACES = [
	"Directory", ["users", "Users", "users", "u"], ["requests", "Join requests", "inbox", null, "editUsers"],
	["invites", "Invites", "mail", "i"],
	"Access", ["policy", "Sign-up policy", "shield", "p", "readPolicy"],
	["domains", "Domains", "globe", null, "readPolicy"], ["keys", "API keys", "key", "k"],
	["origins", "CORS origins", "link", "c", "readOrigins"], ["clients", "Clients", "phone", null, "readOrigins"],
	"Observe", ["decisions", "Decisions", "branch", "d"], ["simulator", "Simulator", "flask", "s"],
	["jobs", "Jobs", "pulse", "j"],
	["audit", "Audit", "list", "a", "readAudit"],
	"Manage", ["settings", "Settings", "sliders"],
]

/** The tenant's pages, as [path, name, look, key, right]. */
export const TABS = TENANT_PLACES.filter(one => Array.isArray(one) && one[0] !== "simulator")

const mayRead = ([, , , , right]) => !right || isAllowed(right)
/** The pages of a tenant that may be read. */
export const tabsHere = () => TABS.filter(mayRead)

const pathOf = (tenant, name) => (name === "simulator" ? `simulator?tenant=${tenant}` : `t/${tenant}/${name}`)
const tenantPlaces = tenant => TENANT_PLACES.map(one => (Array.isArray(one)
	? mayRead(one) && { ...place(one[1], pathOf(tenant, one[0]), one[2], one[3]), sub: tenant }
	: { group: one }))

/** Of an operator of one tenant: its pages, and those outside that it does not have itself. */
function ownPlaces(tenant) {
	const [overview, ...others] = platformPlaces().filter(one => one?.href && !/^[das]$/.test(one.key ?? ""))
	const pinned = one => one && (/users|keys|decisions|audit/.test(one.href) ? { ...one, pin: true } : one)
	return [overview, ...tenantPlaces(tenant).map(pinned), ...others]
}

/** The pages that the navigation shows: inside a tenant the tenant's, with the way out of it. */
export function placesHere() {
	if (ownTenant()) return ownPlaces(tenantHere()).filter(Boolean)
	const inside = slugHere()
	const outside = platformPlaces()
	if (!inside) return outside.filter(Boolean)
	return [
		place("All tenants", "tenants", "back"), ...tenantPlaces(inside),
		...outside.filter(one => one?.pin).map(one => ({ ...one, isNarrow: true })),
	].filter(Boolean)
}

/** Every page that can be gone to, those of the place where one is first. */
export function places() {
	const tenant = tenantHere()
	const own = tenant ? tenantPlaces(tenant) : []
	const isInside = slugOf(location.pathname) || ownTenant()
	const all = isInside ? [...own, ...platformPlaces()] : [...platformPlaces(), ...own]
	return all.filter(one => one?.href)
}

/** Below which of a tenant's pages there are others. */
const HAS_MORE = { users: /./, invites: /^join-links$/, keys: /./, jobs: /./ }
/** Whether a tenant has such a page; of the platform's own every one that is matched. */
export const isPlace = (tab, id) => tab === undefined
	|| TABS.some(([name]) => name === tab && (id === undefined || HAS_MORE[name]?.test(id)))

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
