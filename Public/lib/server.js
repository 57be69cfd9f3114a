// The only way to the server, who is signed in there, and the places that they can reach.
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
 * The requests of this view, newest last, for "show me the curl". Secrets are masked.
 * @type {SentRequest[]}
 */
export const sentRequests = []

const etags = new WeakMap()
/** @type {(object: object) => string | undefined} */
export const etagOf = object => etags.get(object)

// The idempotency keys of acts without an answer: sending the same again after a lost connection is then one act.
/** @type {Map<string, { key: string, until: number, isLost?: boolean }>} */
const pending = new Map()
// After this many milliseconds, the same request is a new act: others may have changed what it is about.
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

// A step-up replaces the session's cookie, so requests that were on their way with the old one are sent once more.
let steppedUp = 0
let asking = 0
/**
 * Whether an operator is being asked for a proof. Progress messages wait meanwhile, since they would cover the
 * question.
 */
export const isProving = () => asking > 0
/**
 * Whether the operator proved their presence; the frame asks for the proof.
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
/** Whether a refusal is the act's own answer. After any other, the act may have been done, or may be under way. */
const isAnswer = (status, { code }) => status < 500 && ![401, 408, 429].includes(status) && !NO_ANSWER.test(code)

// Requests that change nothing: about the session and the operator, dry runs and searches.
const CHANGES_NOTHING = /^\/(session|me)(\/|$)|[?&]dry_run=true|\/(evaluate|search|identify|test)$/
/** Called when something has changed: repeating an earlier act whose answer was lost is a new act from now on. */
function forgetLost() {
	for (const [act, one] of pending) if (one.isLost) pending.delete(act)
}

/** A body that breaks off is not an answer: without this, its act would be taken for done. */
const whole = async answer => new Response(answer.status === 204 ? null : await answer.arrayBuffer(), answer)

// Requests that are sent with an idempotency key; the upload of a file is not.
const KEYED = /^\/(tenants|providers|people\/actions|api-keys(?!\/identify))(\/|\?|$)/
// How often an act that is under way is asked about again, twice a second.
const MOST_TRIES = 20
/**
 * Returns the server's answer if its status is 2xx, and throws any other as a `Problem`.
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
	// Another key may be held meanwhile.
	const held = () => (pending.get(act)?.key === key ? pending.get(act) : null)
	remember(describeRequest(path, { method, body, etag, accept }))
	let answer
	try {
		answer = await fetch(`/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" })
		// For a request that must not be sent twice, the head of the answer alone decides that it is done.
		if (!accept && (method === "GET" || key)) answer = await whole(answer)
	} catch (error) {
		if (error.name === "AbortError") throw error
		// A request made just as the connection came back may have gone out too early.
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
	// The same act is under way, for example after a lost connection: ask until its answer is there.
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
	// No page draws the answer to a request that was given up meanwhile.
	options.signal?.throwIfAborted()
	if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"))
	return data
}

/**
 * Whether the server answers at all. If it does, what it does not have belongs to an older version.
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
 * The tenant that this operator is confined to, or null for the whole platform.
 * @type {() => string | null}
 */
export const ownTenant = () => operator?.scope?.tenant_id ?? null

/**
 * Keeps the operator as it is now, after they changed something of their own.
 * @type {(one: API.Operator) => unknown}
 */
export const keepOperator = one => (operator = one)

/** @type {string[]} */
let rights = []
/**
 * Whether the server would allow this operator to do it. A tenant's own owner could not undo a suspension of the
 * tenant.
 * @type {(right: string) => boolean}
 */
export const isAllowed = right => rights.includes(right) && !(ownTenant() && right === "suspendTenant")
/**
 * Whether they may do that to the keys or origins of a page: a tenant's, or the platform's own.
 * @type {(page: TenantPage, right: string) => boolean}
 */
export const mayHere = (page, right) =>
	isAllowed(page.tenant ? right : `writePlatform${/Origins$/.test(right) ? "Origins" : "Keys"}`)

// How many people ask to join a tenant: it comes with the answer about who is signed in, so no page asks for it again.
/** @type {{ tenant?: string | null, number?: number, coming?: Promise<unknown> }} */
let waiting = {}
/**
 * Who is signed in, and how many people wait in the tenant (a slug or an id).
 * @type {(tenant?: string | null) => Promise<void>}
 */
export async function loadMe(tenant) {
	if (operator) return
	const me = await api(`/me${queryString({ tenant })}`);
	({ operator, rights } = me)
	waiting = { tenant: tenant ?? ownTenant(), number: me.join_requests }
}
/**
 * The number of people who wait; requested if it is for another tenant than the last time.
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
 * This many of the people who wait were answered; a negative number means that they wait again.
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
/** The next operator is asked for anew, with what they may see. */
export function forgetOperator() {
	operator = null
	forgetTenants()
}
/**
 * A tenant by slug or id, requested once until it is forgotten.
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

// The places that the navigation leads to.

// Tenants of addresses that do not exist.
/** @type {Set<string>} */
export const unknownSlugs = new Set()
/** @type {(slug: string | null | undefined) => string | null | undefined} */
export const knownSlug = slug => (slug && unknownSlugs.has(slug) ? null : slug)
/** The tenant that the page belongs to. The simulator stays with the one that it was opened from. */
const slugHere = () => knownSlug(slugOf(location.pathname)
	?? (location.pathname === "/console/simulator" ? new URLSearchParams(location.search).get("tenant") : null))
/** @type {() => string | null | undefined} */
export const tenantHere = () => knownSlug(slugOf(location.pathname)) ?? ownTenant() ?? preferences().tenant

/**
 * The pages outside of a tenant; those with `pin` are also at the bottom of a small window.
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
 * The pages of a tenant under their groups. `key` is pressed after G; `right` is needed to read the page.
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
 * The tenant's pages; the simulator is not below a tenant.
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
 * Whether it is a place, and not only the name of a group.
 * @param {Place | false} one
 * @returns {one is LinkedPlace}
 */
const isLinked = one => Boolean(one && one.href)

/** For an operator of one tenant: its pages, and those outside that it does not have itself. */
function ownPlaces(tenant) {
	const [overview, ...others] = platformPlaces().filter(isLinked).filter(({ key }) => !/^[das]$/.test(key ?? ""))
	const pinned = one => (/users|keys|decisions|audit/.test(one.href) ? { ...one, pin: true } : one)
	return [overview, ...tenantPlaces(tenant).map(pinned), ...others]
}

/**
 * The pages that the navigation shows: inside a tenant, those of the tenant and the way out.
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
 * Every page that can be reached; those of the current place come first.
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
 * The pages of a tenant that have others below them.
 * @type {Record<string, RegExp>}
 */
const HAS_MORE = { users: /./, invites: /^join-links$/, keys: /./, jobs: /./ }
/**
 * Whether a tenant has such a page; the platform has every one that is matched.
 * @type {(tab?: string, id?: string) => boolean}
 */
export const isPlace = (tab, id) => tab === undefined
	|| TABS.some(one => one.tab === tab && (id === undefined || HAS_MORE[tab]?.test(id)))

/**
 * The page of a tenant at `tab`; the first one if there is no such page.
 * @type {(tab: string | undefined) => Tab}
 */
export const tabOf = tab => TABS.find(one => one.tab === tab) ?? TABS[0]

/**
 * The places that were seen last, {text, href}, this one first. They stay in this tab until the sign-out.
 * @type {() => { text: string, href: string }[]}
 */
export const recentPlaces = () => JSON.parse(sessionStorage.getItem("places") ?? "[]")
const MOST_PLACES = 9

/**
 * `text` is the page's title. Addresses are stored without search and filters.
 * @type {(text: string) => void}
 */
export function rememberPlace(text) {
	const { pathname: href } = location
	const others = recentPlaces().filter(one => one.href !== href)
	sessionStorage.setItem("places", JSON.stringify([{ text, href }, ...others].slice(0, MOST_PLACES)))
}
