// What every page is made of.

// Words, numbers and plurals in the reader's language. The English text is the key of a language's catalogue, with {}
// for each value; see Public/lang.
/** A text that must not be translated again: it was already, or it is data. */
export class Translated extends String {}

let catalogue = {}
export const setCatalogue = to => (catalogue = to)
export const translate = text => (text instanceof Translated || text == null ? text
	: new Translated(catalogue[text] ?? text))
/** A sentence that holds values: t`${name} is suspended`. A translation may use them in another order: {2} … {1}. */
export const t = (parts, ...values) => {
	let next = 0
	return new Translated(translate(parts.join("{}")).replace(
		/\{(\d?)\}/g, (_, number) => values[number ? number - 1 : next++] ?? "",
	))
}
/**
 * Translates what the server says in English: by the sentence itself, or else by its code. `kind` is "code" or "field".
 */
export const translateAnswer = (text, kind, code) => catalogue[text] ?? catalogue[`${kind} ${code}`] ?? text

export const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const plurals = new Intl.PluralRules(language)
export const formatNumber = value => (value == null ? "–" : new Translated(numbers.format(value)))
/** A number and its noun, in the form that the language has for that number. */
export const countWords = (value, one, many) => {
	const category = plurals.select(value)
	const forms = catalogue[`${one}|${many}`] ?? { one: translate(one), other: translate(many) }
	return new Translated(`${formatNumber(value)} ${forms[category] ?? forms.other}`)
}
/** A list's `total`; one that is not exact is a lower bound. */
export const countTotal = (value, one, many) =>
	value && (value.exact ? countWords(value.value, one, many) : t`at least ${countWords(value.value, one, many)}`)

/** The kinds of providers by code, and names that are not spelled like their codes. */
export const PROVIDERS = {
	oidc: "OpenID Connect", google: "Google", github: "GitHub", cognito: "Amazon Cognito", password: "Password",
}
const NAMES = { ...PROVIDERS, api_key: "API key", cors_origin: "CORS origin", id: "Id", ip: "IP" }

/** `invite_only` → "Invite only", `github` → "GitHub" */
export function words(code) {
	const text = NAMES[code] ?? String(code ?? "–").replaceAll("_", " ")
	return translate(text.charAt(0).toUpperCase() + text.slice(1))
}
/** `api_key.created` → "API key created" */
export const actionWords = action =>
	words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/** Choices of a select by their codes: "active suspended" → [{ value: "active", text: "Active" }, …] */
export const choices = codes => codes.split(" ").map(code => ({ value: code, text: words(code) }))

// The only way to make DOM. Every string becomes a text node, so no value can turn into markup.

const SVG = "http://www.w3.org/2000/svg"
const SPOKEN = ["aria-label", "title", "placeholder"]
const DATA = ["CODE", "KBD"]

/**
 * Makes an element: `h("button.btn.primary", {onclick, "aria-label": "x"}, ...children)`. The properties may be left
 * out. It is called `h` as in hyperscript, since a page consists of little else than calls to it.
 */
export function h(selector, ...kids) {
	const props = Object.getPrototypeOf(kids[0] ?? 0) === Object.prototype ? kids.shift() : {}
	const [tag, ...classes] = selector.split(".")
	const node = document.createElement(tag)
	if (classes.length) node.className = classes.join(" ")
	for (const [name, given] of Object.entries(props)) {
		if (given == null || given === false) continue
		const value = SPOKEN.includes(name) ? visible(translate(given)) : given
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
		else if (name in node && name !== "form" && name !== "list") node[name] = value
		else node.setAttribute(name, value === true ? "" : value)
	}
	return append(node, kids)
}

export function append(node, kids) {
	for (const kid of [kids].flat(9)) {
		if (kid == null || kid === false) continue
		node.append(kid instanceof Node ? kid : visible(DATA.includes(node.tagName) ? kid : translate(kid)))
	}
	return node
}

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/gu
// Scripts whose spelling uses the joiners U+200C and U+200D, and emoji that a joiner combines into one.
const JOINING = "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}"
	+ "\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}"
	+ "\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Khmer}]"
const BEFORE_JOINER = new RegExp(`(${JOINING}|\\p{Extended_Pictographic}[\\ufe0f\\p{Emoji_Modifier}]?)$`, "u")
const AFTER_JOINER = new RegExp(`^(${JOINING}|\\p{Extended_Pictographic}|[♀♂⚕])`, "u")

/**
 * Shows control characters, and those that change the writing direction, as escapes. A joiner stays between two letters
 * of a script that is spelled with it, and between two emoji.
 */
const visible = text => String(text).replace(UNSEEN, (char, at, whole) => {
	const isJoiner = char === "\u200c" || char === "\u200d"
	if (isJoiner && BEFORE_JOINER.test(whole.slice(0, at)) && AFTER_JOINER.test(whole.slice(at + 1))) return char
	return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
})

export function replaceContent(node, ...kids) {
	node.replaceChildren()
	return append(node, kids)
}

/** A symbol of the sprite; decorative, so hidden from assistive technology. */
export const icon = name => svgNode("svg", { class: `i i-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" },
	svgNode("use", { href: `#${name}` }))

export function svgNode(tag, attributes = {}, ...kids) {
	const node = document.createElementNS(SVG, tag)
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
	node.append(...kids)
	return node
}

// What this browser stores.
/** What this browser stores: theme, density, keys, times, the tenant last seen. Never a secret. */
export const preferences = () => {
	try {
		return JSON.parse(localStorage.getItem("ui")) ?? {}
	} catch {
		return {}
	}
}
export const setPreference = (name, value) =>
	localStorage.setItem("ui", JSON.stringify({ ...preferences(), [name]: value || undefined }))

export const isMac = /mac/i.test(navigator.userAgentData?.platform ?? navigator.platform)

// The only way to the server.

/** An answer other than 2xx, as RFC 9457 problem details. */
class Problem extends Error {
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

/** The requests of this view, newest last, for "show me the curl". Secrets are masked. */
export const sentRequests = []

const etags = new WeakMap()
export const etagOf = object => etags.get(object)

// The idempotency keys of acts without an answer: sending the same again after a lost connection is then one act.
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

export const describeRequest = (path, { body, method = body ? "POST" : "GET", ...more } = {}) =>
	({ ...more, method, path: `/v1${path}`, body: body && JSON.stringify(body, masked, 2) })

// A step-up replaces the session's cookie, so requests that were on their way with the old one are sent once more.
let steppedUp = 0
let asking = 0
/**
 * Whether an operator is being asked for a proof. Progress messages wait meanwhile, since they would cover the
 * question.
 */
export const isProving = () => asking > 0
/** Whether the operator proved their presence; the frame asks for the proof. */
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
/** Something was changed: an act whose answer was lost before is a new act now. */
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
 * Returns the server's 2xx answer; any other is thrown. `accept` is the type that is wanted, whose body is read as it
 * comes; `file` is a body that is not JSON, described by `headers`; `key` is the idempotency key of an act that was
 * sent before; `proved` means that no further proof is asked for.
 */
export async function sendRequest(
	path, {
		body, file, method = body ? "POST" : "GET", signal, etag, accept, headers: more, tries = 0, proved, key,
	} = {},
) {
	const text = file ?? (body && JSON.stringify(body))
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
		if (held()) held().isLost = true
		throw new Problem(0, {
			title: navigator.onLine ? "The server cannot be reached" : "You are offline",
			detail: method === "GET" ? "It is asked again by itself once the connection is back."
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
	if (held()) held().isLost = true
	if (problem.code === "second_factor_required" && answer.status === 403) {
		dispatchEvent(new CustomEvent("second-factor"))
	}
	throw new Problem(answer.status, problem, answer.headers.get("retry-after"))
}

export async function api(path, options) {
	const answer = await sendRequest(path, options)
	const data = answer.status === 204 ? null : await answer.json().catch(() => ({}))
	// No page draws the answer to a request that was given up meanwhile.
	options?.signal?.throwIfAborted()
	if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"))
	return data
}

/** Whether the server answers at all. If it does, what it does not have belongs to an older version. */
export const isServerThere = () => fetch("/livez", { cache: "no-store" }).then(answer => answer.ok, () => false)

function remember(entry) {
	const others = sentRequests.filter(one => one.method !== entry.method || one.path !== entry.path)
	sentRequests.splice(0, sentRequests.length, ...others.slice(-7), entry)
}

/** `{a: 1, b: null}` → `?a=1`; empty values are left out. */
export function queryString(values) {
	const text = new URLSearchParams(
		Object.entries(values).filter(([, value]) => value != null && value !== ""),
	).toString()
	return text && `?${text}`
}

// Who is signed in, what they may do, and the tenants that were requested for them.

let operator = null
export const currentOperator = () => operator
/** The tenant that this operator is confined to, or null for the whole platform. */
export const ownTenant = () => operator?.scope?.tenant_id ?? null

/** Keeps the operator as it is now, after they changed something of their own. */
export const keepOperator = one => (operator = one)

let rights = []
/**
 * Whether the server would allow this operator to do it. A tenant's own owner could not undo a suspension of the
 * tenant.
 */
export const isAllowed = right => rights.includes(right) && !(ownTenant() && right === "suspendTenant")
/** Whether they may do that to the keys or origins of a page: a tenant's, or the platform's own. */
export const mayHere = (page, right) =>
	isAllowed(page.tenant ? right : `writePlatform${/Origins$/.test(right) ? "Origins" : "Keys"}`)

// How many people ask to join a tenant: it comes with the answer about who is signed in, so no page asks for it again.
let waiting = {}
/** Who is signed in, and how many people wait in the tenant (a slug or an id). */
export async function loadMe(tenant) {
	if (operator) return
	const me = await api(`/me${queryString({ tenant })}`);
	({ operator, rights } = me)
	waiting = { tenant: tenant ?? ownTenant(), number: me.join_requests }
}
/** The number of people who wait; requested if it is for another tenant than the last time. */
export async function waitingIn(tenant) {
	if (waiting.tenant !== tenant) {
		const asked = (waiting = { tenant })
		asked.coming = api(`/me${queryString({ tenant })}`).then(me => (asked.number = me.join_requests), () => {})
	}
	const mine = waiting
	await mine.coming
	return mine.number
}
/** This many of the people who wait were answered; a negative number means that they wait again. */
export function answered(by = 1) {
	if (waiting.number != null) waiting.number -= by
	dispatchEvent(new CustomEvent("waiting-changed"))
}

export async function signOut() {
	await api("/session", { method: "DELETE" })
	sessionStorage.clear()
}

const tenants = new Map()
export const forgetTenants = () => tenants.clear()
/** The next operator is asked for anew, with what they may see. */
export function forgetOperator() {
	operator = null
	forgetTenants()
}
/** A tenant by slug or id, requested once until it is forgotten. */
export async function tenantOf(slug) {
	if (!tenants.has(slug)) {
		const asked = api(`/tenants/${slug}`)
		tenants.set(slug, asked)
		asked.catch(() => tenants.delete(slug))
	}
	return tenants.get(slug)
}

// The parts that pages are made of.

/** `button("Save", run, {look: ".primary", icon: "check", name: "of what"})` */
export const button = (text, run, { look = "", icon: symbol, name, ...props } = {}) =>
	h(
		`button.btn${look}`,
		{ type: "button", onclick: run, "aria-label": name && t`${translate(text)} ${name}`, ...props },
		symbol && icon(symbol), text,
	)

/** Buttons for those acts {text, run} that are there. A dangerous act is red in its dialog, not in each row. */
export const buttons = (acts, look = "", name) =>
	acts.filter(Boolean).map(({ text, run }) => button(text, run, { look, name }))

export const factList = pairs =>
	h("dl.facts", pairs.filter(Boolean).map(([name, value]) => [h("dt", name), h("dd", value)]))

/** A part whose changes are read out by screen readers. */
export const liveRegion = (...kids) => h("div", { "aria-live": "polite" }, kids)
export const card = (title, ...kids) => h("section.card", h("h2", title), kids)
export const note = (tone, look, ...kids) => h(`div.note.${tone}`, icon(look), h("div", ...kids))

export const pageHead = (title, { lead, acts, crumbs } = {}) => h("div.head",
	h("div",
		crumbs
			&& h(
				"nav.crumbs", { "aria-label": "Breadcrumb" },
				crumbs.map(({ text, href }, at) => [at > 0 && icon("next"), h("a", { href }, text)]),
			),
		title && h("h1", title), lead && h("p.lead", lead)),
	acts && h("div.acts", acts))

/** `table("Results", ["Email", "Result"], [[cell, …], …])`: the first cell of a row is its header. */
export const dataTable = (caption, heads, rows) => h("div.table", {
	tabIndex: 0, role: "region", "aria-label": caption,
}, h("table",
	h("thead", h("tr", heads.map(text => h("th", { scope: "col" }, text)))),
	h(
		"tbody",
		rows.map(([first, ...cells]) => h("tr", h("th", { scope: "row" }, first), cells.map(one => h("td", one)))),
	)))

/** One step of an `ol.trace`. */
export const traceStep = (look, tone, ...kids) => h("li", h(`span.dot.${tone}`, icon(look)), h("div", kids))

const LOOKS = { empty: "mark", none: "search", error: "alert", forbidden: "lock", missing: "globe" }
const KINDS = { 403: ["forbidden", "You may not see this"], 404: ["missing", "This is not here"] }
/**
 * What is shown if there is no data: one sentence, one action. `link` {href, text} leads on. Returns the node that it
 * filled. What failed for lack of a connection is requested again once there is one.
 */
export function showState(
	node, kind, { error, again, title = error?.title, text = error?.message, action, link } = {},
) {
	if (error) [kind, title] = KINDS[error.status] ?? ["error", title]
	const body = h("div.state", { role: kind === "error" ? "alert" : null, "data-state": kind },
		icon(LOOKS[kind]), h("h2", title), text && h("p", text),
		error?.id && h("p.small.muted", "Request ", h("code", error.id)),
		h("div.acts", action, again && kind === "error" && button("Try again", again),
			link && h("a.btn", { href: link.href }, link.text)))
	if (again && error?.status === 0) addEventListener("online", () => body.isConnected && again(), { once: true })
	return replaceContent(node, body)
}

/** Runs what fills a part of a page; a failure is shown in that part, and can be tried again. */
export async function loadPart(node, load) {
	try {
		await load()
	} catch (error) {
		if (error.name !== "AbortError") showState(node, "error", { error, again: () => loadPart(node, load) })
	}
}

/** What comes within a blink is drawn with the page, so that nothing moves; the rest is drawn later. */
export const waitBriefly = work => Promise.race([work, new Promise(done => setTimeout(done, 120))])

export const noValue = (text = "–") => h("span.muted.none", text)

/** User content: it has its own direction and is never translated; a long address breaks before its @. */
export const userText = (text, selector = "span") => h(selector, { dir: "auto" },
	String(text ?? "").split(/(?=@)/).map((part, at) => [at > 0 && h("wbr"), new Translated(part)]))

export function personCell(one, href) {
	const initials = (one.name
		|| (one.email ?? "").split("@")[0]).match(/[\p{L}\p{N}]+/gu)?.slice(0, 2).map(word => [...word][0]).join("")
		?? "?"
	const face = userText(initials.toUpperCase(), "span.face")
	face.ariaHidden = "true"
	const main = one.email || one.name ? userText(one.email || one.name) : translate("Erased")
	return h("div.who", face,
		h(
			"div", href ? h("a.main", { href }, main) : h("span.main", main),
			one.name && one.email && userText(one.name, "span.sub"),
		))
}

const TONES = {
	ok: "active verified accepted created linked existing allowed pass yes done",
	warn: "pending grace deferred reserved approval open queued paused due",
	danger: "suspended deleted revoked refused expired used_up bounced failed",
	info: "domain invite_only owner admin running",
}
/** A status: a word, a dot and a tone, so never colour alone. */
export const statusTag = status =>
	h(`span.tag.${Object.keys(TONES).find(one => TONES[one].split(" ").includes(status)) ?? "quiet"}`, words(status))

// Points in time in the reader's language and zone, as text, and as nodes that are updated while the page is open.

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const exactly = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" })
/** The reader's time zone, as an IANA name. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const UNITS = [
	{ unit: "year", length: 31536000 },
	{ unit: "month", length: 2592000 },
	{ unit: "day", length: 86400 },
	{ unit: "hour", length: 3600 },
	{ unit: "minute", length: 60 },
	{ unit: "second", length: 1 },
]

export const formatDay = (iso, style) => new Translated(new Date(iso).toLocaleString(language, style))

/** The day of a time in the reader's zone, in the form that a date field uses. */
export function dayOf(iso) {
	const one = new Date(iso)
	const two = number => String(number).padStart(2, "0")
	return `${one.getFullYear()}-${two(one.getMonth() + 1)}-${two(one.getDate())}`
}

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return translate("just now")
	const { unit, length } = UNITS.find(one => Math.abs(seconds) >= one.length)
	return new Translated(relative.format(Math.round(seconds / length), unit))
}

/** The exact time in the reader's zone, to the second. */
export const formatExact = iso => new Translated(exactly.format(new Date(iso)))

/**
 * The day on which a deleted thing is purged. A deleted thing no longer changes, so its last change was the deletion.
 */
export const restorableUntil = one => formatDay(Date.parse(one.updated_at) + 30 * 86400000, { dateStyle: "long" })

/**
 * The relative time with the exact one as title, or the exact one if the reader has chosen that; `otherwise` if there
 * is no time. It is updated while the page is open.
 */
export const timeNode = (iso, otherwise = "never") => {
	if (!iso) return noValue(otherwise)
	const isExact = preferences().times === "exact"
	return h("time", {
		dateTime: iso, title: new Translated(full.format(new Date(iso))), "data-ago": isExact ? null : "",
	},
		isExact ? formatExact(iso) : ago(iso))
}
/** The exact time, and below it how long ago that is; for records whose time matters. */
export const exactTimeNode = iso => [h(
	"time", { dateTime: iso, title: new Translated(full.format(new Date(iso))) }, formatExact(iso),
),
	h("span.sub", h("time", { dateTime: iso, "data-ago": "" }, ago(iso)))]

// While a page stays open, its relative times are updated.
const TICK = 20_000
setInterval(() => {
	if (document.hidden) return
	for (const node of document.querySelectorAll("time[data-ago]")) {
		const said = String(ago(node.dateTime))
		if (node.textContent !== said) node.textContent = said
	}
}, TICK)

// The URL is the only state of a page.

/**
 * The page that is shown now, and whether it may be left without a question, because the session is over, or because
 * what was typed was sent or given up. Only the router changes this.
 */
export const view = { current: null, isQuiet: false, mayLeave: false, draw: null }

export const query = () => Object.fromEntries(new URLSearchParams(location.search))

function write(how, url) {
	view.isQuiet = true
	history[how](null, "", url)
	view.isQuiet = false
}

export function setQuery(next, { replace } = {}) {
	write(replace ? "replaceState" : "pushState", location.pathname + queryString(next))
	view.current?.update?.()
}

/** Replaces this address with another; the page stays as it is drawn. */
export const replaceAddress = url => write("replaceState", url)

/** Removes a secret from the address and the history; the page stays as it is drawn. */
export const hideFragment = () => replaceAddress(location.pathname + location.search)

export const goTo = url => location.assign(url)

/** Leaves although something on the page was typed and not sent. */
export function leaveFor(url) {
	view.mayLeave = true
	goTo(url)
}

/** Draws the page of this address again. */
export const redraw = () => view.draw()

// The places that the navigation leads to.

export const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
// Tenants of addresses that do not exist.
export const unknownSlugs = new Set()
export const knownSlug = slug => (unknownSlugs.has(slug) ? null : slug)
/** The tenant that the page belongs to. The simulator stays with the one that it was opened from. */
const slugHere = () => knownSlug(slugOf(location.pathname)
	?? (location.pathname === "/console/simulator" ? new URLSearchParams(location.search).get("tenant") : null))
export const tenantHere = () => knownSlug(slugOf(location.pathname)) ?? ownTenant() ?? preferences().tenant

/** The pages outside of a tenant; those with `pin` are also at the bottom of a small window. */
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

/** The pages of a tenant under their groups. `key` is pressed after G; `right` is needed to read the page. */
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

/** The tenant's pages; the simulator is not below a tenant. */
const TABS = TENANT_PLACES.filter(one => one.tab && one.tab !== "simulator")

const mayRead = ({ right }) => !right || isAllowed(right)
/** The pages of a tenant that the operator may read. */
export const tabsHere = () => TABS.filter(mayRead)

const hrefOf = (tenant, tab) =>
	(tab === "simulator" ? `/console/simulator?tenant=${tenant}` : `/console/t/${tenant}/${tab}`)
const tenantPlaces = tenant => TENANT_PLACES.map(one =>
	one.group ? one : mayRead(one) && { ...one, href: hrefOf(tenant, one.tab), sub: tenant })

/** For an operator of one tenant: its pages, and those outside that it does not have itself. */
function ownPlaces(tenant) {
	const [overview, ...others] = platformPlaces().filter(one => one?.href && !/^[das]$/.test(one.key ?? ""))
	const pinned = one => one && (/users|keys|decisions|audit/.test(one.href) ? { ...one, pin: true } : one)
	return [overview, ...tenantPlaces(tenant).map(pinned), ...others]
}

/** The pages that the navigation shows: inside a tenant, those of the tenant and the way out. */
export function placesHere() {
	if (ownTenant()) return ownPlaces(tenantHere()).filter(Boolean)
	const inside = slugHere()
	const outside = platformPlaces()
	if (!inside) return outside.filter(Boolean)
	return [
		{ text: "All tenants", href: "/console/tenants", look: "back" }, ...tenantPlaces(inside),
		...outside.filter(one => one?.pin).map(one => ({ ...one, isNarrow: true })),
	].filter(Boolean)
}

/** Every page that can be reached; those of the current place come first. */
export function places() {
	const tenant = tenantHere()
	const own = tenant ? tenantPlaces(tenant) : []
	const isInside = slugOf(location.pathname) || ownTenant()
	const all = isInside ? [...own, ...platformPlaces()] : [...platformPlaces(), ...own]
	return all.filter(one => one?.href)
}

/** The pages of a tenant that have others below them. */
const HAS_MORE = { users: /./, invites: /^join-links$/, keys: /./, jobs: /./ }
/** Whether a tenant has such a page; the platform has every one that is matched. */
export const isPlace = (tab, id) => tab === undefined
	|| TABS.some(one => one.tab === tab && (id === undefined || HAS_MORE[tab]?.test(id)))

/** The page of a tenant at `tab`; the first one if there is no such page. */
export const tabOf = tab => TABS.find(one => one.tab === tab) ?? TABS[0]

/** The places that were seen last, {text, href}, this one first. They stay in this tab until the sign-out. */
export const recentPlaces = () => JSON.parse(sessionStorage.getItem("places") ?? "[]")
const MOST_PLACES = 9

/** `text` is the page's title. Addresses are stored without search and filters. */
export function rememberPlace(text) {
	const { pathname: href } = location
	const others = recentPlaces().filter(one => one.href !== href)
	sessionStorage.setItem("places", JSON.stringify([{ text, href }, ...others].slice(0, MOST_PLACES)))
}
