// Requests to the server, the operator who is signed in, and the pages that the operator can reach.
import { preferences, queryString, slugOf, t, translateAnswer } from "./core.js"

// Requests and their answers.

/** An answer other than 2xx, as RFC 9457 problem details. */
class Problem extends Error {
	/**
	 * @param {number} status
	 * @param {Record<string, any>} body
	 * @param {string | null} retryAfter in seconds
	 */
	constructor(status, body = {}, retryAfter = null) {
		const { code, confirm, users, methods, remedies, reference, request_id: id } = body
		const { title = "The request failed" } = body
		super(translateAnswer(body.detail || body.title, "code", code) || t`The server answered ${status}.`)
		const errors = body.errors?.map(one =>
			({ ...one, detail: translateAnswer(one.detail, "field", one.code) }))
		Object.assign(this, { status, retryAfter, code, errors, confirm, users, methods, remedies, reference, id })
		this.title = title
	}
}

/**
 * The API requests of this view, newest last, for the list "Requests of this view". Secrets are masked.
 * @type {SentRequest[]}
 */
export const sentRequests = []

const etags = new WeakMap()
/** @type {(object: object) => string | undefined} */
export const etagOf = object => etags.get(object)

// The idempotency keys of acts whose answer has not arrived. If such an act is sent again after a lost connection, it
// has the same key, so the server does it only once.
/** @type {Map<string, { key: string, until: number, isLost?: boolean }>} */
const pending = new Map()
// If a request is repeated within this time, in milliseconds, it gets the idempotency key of the first request. After
// this time, it counts as a new act, since the object may have changed.
const KEY_LASTS = 15 * 60_000

function keyOf(act) {
	const held = pending.get(act)
	if (held && Date.now() < held.until) return held.key
	const key = crypto.randomUUID()
	pending.set(act, { key, until: Date.now() + KEY_LASTS })
	return key
}

const SECRET = /^(password|token|key|secret|client_secret|invite_token|totp|recovery_code|code)$/
const masked = (name, value) => (SECRET.test(name) && typeof value === "string" ? "••••" : value)

/** @type {(path: string, options?: RequestOptions) => SentRequest} */
export const describeRequest = (path, { body, method = body ? "POST" : "GET", ...more } = {}) =>
	({ ...more, method, path: `/v1${path}`, body: body ? JSON.stringify(body, masked, 2) : undefined })

// The time of the last step-up, by the page's clock. The step-up replaced the session's cookie, so a GET that was under
// way with the old cookie is sent once more. `asking` is the number of questions for a proof that are open now.
let steppedUp = 0
let asking = 0
/**
 * Whether the operator is being asked for a proof of presence. Progress dialogs wait meanwhile, since they would cover
 * the question.
 */
export const isProving = () => asking > 0
/**
 * Asks the operator, through app.js, for a proof of presence; returns whether it was given.
 * @type {(problem: Refusal) => Promise<boolean>}
 */
const provesPresence = async problem => {
	const { promise, resolve } = Promise.withResolvers()
	const event = new CustomEvent("step-up", { cancelable: true, detail: { ...problem, resolve } })
	asking += 1
	try {
		if (dispatchEvent(event) || !(await promise)) return false
	} finally {
		asking -= 1
	}
	steppedUp = performance.now()
	return true
}

const NO_ANSWER = /^(step_up_required|second_factor_required|request_in_progress)$/
/**
 * Whether a refusal is final, which means that the act was not done. After any other error, the act may have been done
 * or may still be under way.
 */
const isAnswer = (status, { code }) => status < 500 && ![401, 408, 429].includes(status) && !NO_ANSWER.test(code)

// Matches requests that change no managed object: those about the session and the operator's own account, dry runs,
// searches and tests.
const CHANGES_NOTHING = /^\/(session|me)(\/|$)|[?&]dry_run=true|\/(evaluate|search|identify|test)$/
/**
 * Called after a change. Forgets the idempotency keys of acts whose answers were lost: after the change, the same
 * request counts as a new act.
 */
function forgetLost() {
	for (const [act, one] of pending) if (one.isLost) pending.delete(act)
}

/**
 * Returns the answer after its whole body has arrived. Throws if the body breaks off: otherwise the act would be taken
 * for done.
 */
const whole = async answer => new Response(answer.status === 204 ? null : await answer.arrayBuffer(), answer)

// Matches the paths whose POST requests get an idempotency key. As an exception, uploads of files get none.
const KEYED = /^\/(tenants|providers|people\/actions|api-keys(?!\/identify))(\/|\?|$)/
// The maximum number of repetitions of one request. A request is repeated every half second while an earlier request
// for the same act is under way.
const MOST_TRIES = 20
/**
 * Returns the server's answer if its status is 2xx, and throws any other answer as a `Problem`.
 * @type {(path: string, options?: RequestOptions) => Promise<Response>}
 */
export async function sendRequest(
	path, {
		body, file, method = body ? "POST" : "GET", signal, etag, accept, headers: more, tries = 0, proved, key,
	} = {},
) {
	const text = file ?? (body ? JSON.stringify(body) : undefined)
	/** @type {Record<string, string>} */
	const headers = { accept: accept ?? "application/json", "x-gatehouse-console": "1", ...more }
	if (body) headers["content-type"] = "application/json"
	if (etag) headers["if-match"] = etag
	const act = `${method} ${path} ${text}`
	if (method === "POST" && !file && KEYED.test(path)) key ??= keyOf(act)
	if (key) headers["idempotency-key"] = key
	// Returns the entry of this act in `pending`; null if the act has another key there by now.
	const held = () => (pending.get(act)?.key === key ? pending.get(act) : null)
	remember(describeRequest(path, { method, body, etag, accept }))
	let answer
	try {
		answer = await fetch(`/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" })
		// Read the answer's whole body if the request can be repeated, which is so for a GET and for a request with a
		// key. For any other request, the status alone says that the act is done.
		if (!accept && (method === "GET" || key)) answer = await whole(answer)
	} catch (error) {
		if (error.name === "AbortError") throw error
		// A request made just as the connection came back may have gone out too early: send it once more.
		if (method === "GET" && navigator.onLine && !tries) {
			await new Promise(done => setTimeout(done, 500))
			return sendRequest(path, { signal, accept, tries: 1 })
		}
		const lost = held()
		if (lost) lost.isLost = true
		throw new Problem(0, {
			title: navigator.onLine ? "The server cannot be reached" : "You are offline",
			detail: method === "GET" ? "It is requested again once the connection is back."
				: "Nothing was lost: what you typed is still here. Try again in a moment.",
		})
	}
	if (answer.ok) {
		if (held()) pending.delete(act)
		if (method !== "GET" && !CHANGES_NOTHING.test(path)) forgetLost()
		return answer
	}
	const problem = await answer.json().catch(() => ({ title: answer.statusText }))
	if (held() && isAnswer(answer.status, problem)) pending.delete(act)
	// The same act is still under way, for example after a lost connection: repeat the request until its answer is
	// there.
	if (problem.code === "request_in_progress" && tries < MOST_TRIES) {
		await new Promise(done => setTimeout(done, 500))
		return sendRequest(path, { body, method, signal, etag, accept, key, tries: tries + 1 })
	}
	const again = () =>
		sendRequest(path, { body, file, method, signal, etag, accept, headers: more, key, proved: true })
	if (answer.status === 401 && !/^\/(session|setup)/.test(path)) {
		if (method === "GET" && !proved && steppedUp && performance.now() - steppedUp < 10000) return again()
		dispatchEvent(new CustomEvent("session-over"))
	}
	if (problem.code === "step_up_required" && !proved && !path.startsWith("/session")) {
		if (await provesPresence(problem)) return again()
	}
	const lost = held()
	if (lost) lost.isLost = true
	if (problem.code === "second_factor_required" && answer.status === 403) {
		dispatchEvent(new CustomEvent("second-factor"))
	}
	throw new Problem(answer.status, problem, answer.headers.get("retry-after"))
}

/** @type {(path: string, options?: RequestOptions) => Promise<any>} */
export async function api(path, options = {}) {
	const answer = await sendRequest(path, options)
	const data = answer.status === 204 ? null : await answer.json().catch(() => ({}))
	// If the request was given up meanwhile, throw, so that no page draws its answer.
	options.signal?.throwIfAborted()
	if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"))
	return data
}

/**
 * Whether the server answers at all. If it answers but lacks a file that this page needs, the page is of an older
 * version of the console.
 * @type {() => Promise<boolean>}
 */
export const isServerThere = () => fetch("/livez", { cache: "no-store" }).then(answer => answer.ok, () => false)

/** @type {(entry: SentRequest) => void} */
function remember(entry) {
	const others = sentRequests.filter(one => one.method !== entry.method || one.path !== entry.path)
	sentRequests.splice(0, sentRequests.length, ...others.slice(-7), entry)
}

// Who is signed in, what they may do, and the tenants that were requested for them.

/** @type {API.Operator | null} */
let operator = null
/** @type {() => API.Operator} */
export const currentOperator = () => /** @type {API.Operator} */ (operator)
/**
 * The id of the tenant to which the signed-in operator is confined; null for an operator of the whole platform.
 * @type {() => string | null}
 */
export const ownTenant = () => operator?.scope?.tenant_id ?? null

/**
 * Replaces the stored operator after a change of the operator's own account.
 * @type {(one: API.Operator) => unknown}
 */
export const keepOperator = one => (operator = one)

/** @type {string[]} */
let rights = []
/**
 * Whether the operator may do what `right` names. Operators of a single tenant may not suspend it, since they could
 * not undo that.
 * @type {(right: string) => boolean}
 */
export const isAllowed = right => rights.includes(right) && !(ownTenant() && right === "suspendTenant")
/**
 * Whether the operator has `right` for the keys or origins that a page shows: those of a tenant, or the platform's
 * own.
 * @type {(page: TenantPage, right: string) => boolean}
 */
export const mayHere = (page, right) =>
	isAllowed(page.tenant ? right : `writePlatform${/Origins$/.test(right) ? "Origins" : "Keys"}`)

// How many people ask to join a tenant. The number comes with the answer about who is signed in, so no page needs
// another request for it.
/** @type {{ tenant?: string | null, number?: number, coming?: Promise<unknown> }} */
let waiting = {}
/**
 * Requests who is signed in, and how many people ask to join `tenant` (a slug or an id).
 * @type {(tenant?: string | null) => Promise<void>}
 */
export async function loadMe(tenant) {
	if (operator) return
	const me = await api(`/me${queryString({ tenant })}`);
	({ operator, rights } = me)
	waiting = { tenant: tenant ?? ownTenant(), number: me.join_requests }
}
/**
 * How many people ask to join `tenant`. This is requested only if the last number was for another tenant.
 * @type {(tenant?: string | null) => Promise<number | undefined>}
 */
export async function waitingIn(tenant) {
	if (waiting.tenant !== tenant) {
		/** @type {typeof waiting} */
		const asked = { tenant }
		waiting = asked
		asked.coming = api(`/me${queryString({ tenant })}`).then(me => (asked.number = me.join_requests), () => {})
	}
	const mine = waiting
	await mine.coming
	return mine.number
}
/**
 * Subtracts answered join requests from the number that wait; a negative `by` adds them again, after an undo.
 * @type {(by?: number) => void}
 */
export function answered(by = 1) {
	if (waiting.number != null) waiting.number -= by
	dispatchEvent(new CustomEvent("waiting-changed"))
}

/** @type {() => Promise<void>} */
export async function signOut() {
	await api("/session", { method: "DELETE" })
	sessionStorage.clear()
}

/** @type {Map<string, Promise<API.Tenant>>} */
const tenants = new Map()
export const forgetTenants = () => tenants.clear()
/** Forgets the operator and the tenants, so that both are requested again for the operator who signs in next. */
export function forgetOperator() {
	operator = null
	forgetTenants()
}
/**
 * The tenant with this slug or id. It is requested only once, until `forgetTenants` is called.
 * @type {(slug: string) => Promise<API.Tenant>}
 */
export async function tenantOf(slug) {
	const known = tenants.get(slug)
	if (known) return known
	const asked = api(`/tenants/${slug}`)
	tenants.set(slug, asked)
	asked.catch(() => tenants.delete(slug))
	return asked
}

// The pages to which the navigation leads.

// Slugs in addresses for which there is no tenant.
/** @type {Set<string>} */
export const unknownSlugs = new Set()
/** @type {(slug: string | null | undefined) => string | null | undefined} */
export const knownSlug = slug => (slug && unknownSlugs.has(slug) ? null : slug)
/** The slug of the tenant to which the page belongs. The simulator belongs to the tenant from which it was opened. */
const slugHere = () => knownSlug(slugOf(location.pathname)
	?? (location.pathname === "/console/simulator" ? new URLSearchParams(location.search).get("tenant") : null))
/** @type {() => string | null | undefined} */
export const tenantHere = () => knownSlug(slugOf(location.pathname)) ?? ownTenant() ?? preferences().tenant

/**
 * The pages outside of a tenant. Those with `pin` are also in the bar at the bottom of a small window.
 * @type {() => (Place | false)[]}
 */
const platformPlaces = () => [
	{ text: "Overview", href: "/console/", look: "home", key: "o", pin: true },
	{ group: "Directory" },
	!ownTenant() && { text: "Tenants", href: "/console/tenants", look: "building", key: "t", pin: true },
	!ownTenant() && { text: "People", href: "/console/people", look: "users", key: "w", pin: true },
	{ group: "Access" },
	{ text: "Decisions", href: "/console/decisions", look: "branch", key: "d", pin: true },
	{ text: "Simulator", href: "/console/simulator", look: "flask", key: "s" },
	isAllowed("readPolicy") && { text: "Providers", href: "/console/providers", look: "door", key: "r" },
	!ownTenant() && isAllowed("listKeys") && { text: "Platform keys", href: "/console/keys", look: "key" },
	!ownTenant() && isAllowed("readOrigins") && { text: "Platform origins", href: "/console/origins", look: "link" },
	{ group: "Observe" },
	isAllowed("readAudit") && { text: "Audit", href: "/console/audit", look: "list", key: "a", pin: true },
	{ group: "Manage" },
	isAllowed("readOperators") && { text: "Operators", href: "/console/operators", look: "badge", key: "m" },
	{ text: "API docs", href: "/docs", look: "book" },
]

/**
 * The pages of a tenant, each after the title of its group. `key`, pressed after G, opens the page; `right` is needed
 * to read it.
 * @type {(Tab | { group: string })[]}
 */
const TENANT_PLACES = [
	{ group: "Directory" },
	{ tab: "users", text: "Users", look: "users", key: "u" },
	{ tab: "requests", text: "Join requests", look: "inbox", right: "editUsers" },
	{ tab: "invites", text: "Invites", look: "mail", key: "i" },
	{ group: "Access" },
	{ tab: "policy", text: "Sign-up policy", look: "shield", key: "p", right: "readPolicy" },
	{ tab: "domains", text: "Domains", look: "globe", right: "readPolicy" },
	{ tab: "keys", text: "API keys", look: "key", key: "k" },
	{ tab: "origins", text: "CORS origins", look: "link", key: "c", right: "readOrigins" },
	{ tab: "clients", text: "Clients", look: "phone", right: "readOrigins" },
	{ group: "Observe" },
	{ tab: "decisions", text: "Decisions", look: "branch", key: "d" },
	{ tab: "simulator", text: "Simulator", look: "flask", key: "s" },
	{ tab: "jobs", text: "Jobs", look: "pulse", key: "j" },
	{ tab: "audit", text: "Audit", look: "list", key: "a", right: "readAudit" },
	{ group: "Manage" },
	{ tab: "settings", text: "Settings", look: "sliders" },
]

/**
 * The pages that are below a tenant's path: all but the simulator.
 * @type {Tab[]}
 */
const TABS = TENANT_PLACES.flatMap(one => ("tab" in one && one.tab !== "simulator" ? [one] : []))

/** @type {({ right }: Tab) => boolean} */
const mayRead = ({ right }) => !right || isAllowed(right)
/** The pages of a tenant that the operator may read. */
export const tabsHere = () => TABS.filter(mayRead)

const hrefOf = (tenant, tab) =>
	(tab === "simulator" ? `/console/simulator?tenant=${tenant}` : `/console/t/${tenant}/${tab}`)
/** @type {(tenant: string) => (Place | false)[]} */
const tenantPlaces = tenant => TENANT_PLACES.map(one =>
	"group" in one ? one : mayRead(one) && { ...one, href: hrefOf(tenant, one.tab), sub: tenant })

/**
 * Whether an entry of the navigation is a page, and not only the title of a group.
 * @param {Place | false} one
 * @returns {one is LinkedPlace}
 */
const isLinked = one => Boolean(one && one.href)

/**
 * The entries for an operator of a single tenant: the tenant's pages, and the platform's pages that have no counterpart
 * in the tenant.
 */
function ownPlaces(tenant) {
	const [overview, ...others] = platformPlaces().filter(isLinked).filter(({ key }) => !/^[das]$/.test(key ?? ""))
	const pinned = one => (/users|keys|decisions|audit/.test(one.href) ? { ...one, pin: true } : one)
	return [overview, ...tenantPlaces(tenant).map(pinned), ...others]
}

/**
 * The entries of the navigation. Inside a tenant, they are the tenant's pages and a link that leads out of it.
 * @type {() => Place[]}
 */
export function placesHere() {
	if (ownTenant()) return ownPlaces(tenantHere()).filter(Boolean)
	const inside = slugHere()
	const outside = platformPlaces()
	if (!inside) return outside.filter(Boolean)
	return [
		{ text: "All tenants", href: "/console/tenants", look: "back" }, ...tenantPlaces(inside),
		...outside.filter(isLinked).filter(one => one.pin).map(one => ({ ...one, isNarrow: true })),
	].filter(Boolean)
}

/**
 * Every page that the operator can reach. Inside a tenant, the tenant's pages come first; elsewhere, the platform's
 * pages come first.
 * @type {() => LinkedPlace[]}
 */
export function places() {
	const tenant = tenantHere()
	const own = tenant ? tenantPlaces(tenant) : []
	const isInside = slugOf(location.pathname) || ownTenant()
	const all = isInside ? [...own, ...platformPlaces()] : [...platformPlaces(), ...own]
	return all.filter(isLinked)
}

/**
 * The pages of a tenant that have pages below them, such as one user's page below the list of users. The value is a
 * pattern for the ids in the addresses of the lower pages.
 * @type {Record<string, RegExp>}
 */
const HAS_MORE = { users: /./, invites: /^join-links$/, keys: /./, jobs: /./ }
/**
 * Whether a tenant has the page `tab`, and below it a page `id`. A path without `tab` is the tenant's first page.
 * @type {(tab?: string, id?: string) => boolean}
 */
export const isPlace = (tab, id) => tab === undefined
	|| TABS.some(one => one.tab === tab && (id === undefined || HAS_MORE[tab]?.test(id)))

/**
 * The page `tab` of a tenant, or the tenant's first page if there is no page `tab`.
 * @type {(tab: string | undefined) => Tab}
 */
export const tabOf = tab => TABS.find(one => one.tab === tab) ?? TABS[0]

/**
 * The pages that were seen last, as {text, href}, this one first. They are kept in this tab until the sign-out.
 * @type {() => { text: string, href: string }[]}
 */
export const recentPlaces = () => JSON.parse(sessionStorage.getItem("places") ?? "[]")
const MOST_PLACES = 9

/**
 * Adds this page, with `text` as its title, to the pages seen last. The address is kept without search and filters.
 * @type {(text: string) => void}
 */
export function rememberPlace(text) {
	const { pathname: href } = location
	const others = recentPlaces().filter(one => one.href !== href)
	sessionStorage.setItem("places", JSON.stringify([{ text, href }, ...others].slice(0, MOST_PLACES)))
}
