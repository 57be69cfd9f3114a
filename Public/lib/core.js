// What every page is made of: the words, the one way to make DOM of them, and the only way to the server.

// The words. The English text is the key of a catalogue in `lang`, with {} for each value.

/** A text that is not to be looked up again: it was, or it is data. */
class Said extends String {}

let catalogue = null
export const speak = to => (catalogue = to)
export const say = text => (text instanceof Said || text == null ? text : new Said(catalogue ? catalogue(String(text)) : text))
/** A sentence that holds values: t`${name} is suspended`. */
export const t = (parts, ...values) => new Said(say(parts.join("{}")).replace(/\{\}/g, () => values.shift() ?? ""))

const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
const plurals = new Intl.PluralRules(language)
const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const exactly = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" })
/** The reader's time zone, as an IANA name. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]

export const number = value => (value == null ? "–" : new Said(numbers.format(value)))
export const count = (value, one, many) => new Said(`${number(value)} ${say(plurals.select(value) === "one" ? one : many)}`)
/** A list's `total`; one that is not exact is a floor. */
export const total = (value, ...noun) =>
	value && (value.exact ? count(value.value, ...noun) : t`at least ${count(value.value, ...noun)}`)
export const day = (iso, style) => new Said(new Date(iso).toLocaleString(language, style))

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return say("just now")
	const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
	return new Said(relative.format(Math.round(seconds / size), unit))
}

/** The kinds of provider by their codes, and names that are not spelled as their codes. */
export const PROVIDERS = {
	oidc: "OpenID Connect", google: "Google", github: "GitHub", cognito: "Amazon Cognito", password: "Password",
}
const NAMES = { ...PROVIDERS, api_key: "API key", cors_origin: "CORS origin", id: "Id", ip: "IP" }

/** `invite_only` → "Invite only", `github` → "GitHub" */
export function words(code) {
	const text = NAMES[code] ?? String(code ?? "–").replaceAll("_", " ")
	return say(text.charAt(0).toUpperCase() + text.slice(1))
}
/** `api_key.created` → "API key created" */
export const deed = action => words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/** Choices of a select by their codes: "active suspended" → [["active", "Active"], …] */
export const choices = codes => codes.split(" ").map(code => [code, words(code)])

// The DOM. Every string becomes a text node, so no value can turn into markup.

const SVG = "http://www.w3.org/2000/svg"
const SPOKEN = ["aria-label", "title", "placeholder"]
const DATA = ["CODE", "KBD"]

/** `h("button.btn.primary", {onclick, "aria-label": "x"}, ...children)`; the properties may be left out. */
export function h(selector, ...kids) {
	const props = Object.getPrototypeOf(kids[0] ?? 0) === Object.prototype ? kids.shift() : {}
	const [tag, ...classes] = selector.split(".")
	const node = document.createElement(tag)
	if (classes.length) node.className = classes.join(" ")
	for (const [name, given] of Object.entries(props)) {
		if (given == null || given === false) continue
		const value = SPOKEN.includes(name) ? visible(say(given)) : given
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
		else if (name in node && name !== "form" && name !== "list") node[name] = value
		else node.setAttribute(name, value === true ? "" : value)
	}
	return add(node, kids)
}

export function add(node, kids) {
	for (const kid of [kids].flat(9)) {
		if (kid == null || kid === false) continue
		node.append(kid instanceof Node ? kid : visible(DATA.includes(node.tagName) ? kid : say(kid)))
	}
	return node
}

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/gu
// Scripts whose spelling uses the joiners U+200C and U+200D, and emoji that a joiner makes one of several.
const JOINING = "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}"
	+ "\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}"
	+ "\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Khmer}]"
const BEFORE_JOINER = new RegExp(`(${JOINING}|\\p{Extended_Pictographic}[\\ufe0f\\p{Emoji_Modifier}]?)$`, "u")
const AFTER_JOINER = new RegExp(`^(${JOINING}|\\p{Extended_Pictographic}|[♀♂⚕])`, "u")

/**
 * Control characters and those that turn the writing's direction, shown as escapes. A joiner between two letters of a
 * script that is spelled with it, or between two emoji, stays.
 */
const visible = text => String(text).replace(UNSEEN, (char, at, whole) => {
	const isJoiner = char === "\u200c" || char === "\u200d"
	if (isJoiner && BEFORE_JOINER.test(whole.slice(0, at)) && AFTER_JOINER.test(whole.slice(at + 1))) return char
	return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
})

export function fill(node, ...kids) {
	node.replaceChildren()
	return add(node, kids)
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

/** `button("Save", run, {look: ".primary", icon: "check", name: "of what"})` */
export const button = (text, run, { look = "", icon: symbol, name, ...props } = {}) =>
	h(`button.btn${look}`, { type: "button", onclick: run, "aria-label": name && t`${say(text)} ${name}`, ...props }, symbol && icon(symbol), text)

/** Of acts {text, run}, those that are there. What is dangerous is red in its dialog, not in each row. */
export const buttons = (acts, look = "", name) =>
	acts.filter(Boolean).map(({ text, run }) => button(text, run, { look, name }))

export const facts = pairs => h("dl.facts", pairs.filter(Boolean).map(([name, value]) => [h("dt", name), h("dd", value)]))
/** A part whose changes are read out. */
export const news = (...kids) => h("div", { "aria-live": "polite" }, kids)
export const card = (title, ...kids) => h("section.card", h("h2", title), kids)
export const note = (tone, look, ...kids) => h(`div.note.${tone}`, icon(look), h("div", ...kids))

export const head = (title, { lead, acts, crumbs } = {}) => h("div.head",
	h("div",
		crumbs && h("nav.crumbs", { "aria-label": "Breadcrumb" }, crumbs.map(([text, href]) => [h("a", { href }, text), icon("next")])),
		h("h1", title), lead && h("p.lead", lead)),
	acts && h("div.acts", acts))

/** `table("Results", ["Email", "Result"], [[cell, …], …])`: a row's first cell heads it. */
export const table = (caption, heads, rows) => h("div.table", { tabIndex: 0, role: "region", "aria-label": caption }, h("table",
	h("thead", h("tr", heads.map(text => h("th", { scope: "col" }, text)))),
	h("tbody", rows.map(([first, ...cells]) => h("tr", h("th", { scope: "row" }, first), cells.map(one => h("td", one)))))))

/** Of an `ol.trace`. */
export const step = (look, tone, ...kids) => h("li", h(`span.dot.${tone}`, icon(look)), h("div", kids))

const LOOKS = { empty: "mark", none: "search", error: "alert", forbidden: "lock", missing: "globe" }
const KINDS = { 403: ["forbidden", "You may not see this"], 404: ["missing", "This is not here"] }
/**
 * What stands where there is no data: one sentence, one action. `link` {href, text} leads on. Returns the node it filled.
 * What failed for want of a connection is asked again once there is one.
 */
export function state(node, kind, { error, again, title = error?.title, text = error?.message, action, link } = {}) {
	if (error) [kind, title] = KINDS[error.status] ?? ["error", title]
	const body = h("div.state", { role: kind === "error" ? "alert" : null, "data-state": kind },
		icon(LOOKS[kind]), h("h2", title), text && h("p", text),
		error?.id && h("p.small.muted", "Request ", h("code", error.id)),
		h("div.acts", action, again && kind === "error" && button("Try again", again),
			link && h("a.btn", { href: link.href }, link.text)))
	if (again && error?.status === 0) addEventListener("online", () => body.isConnected && again(), { once: true })
	return fill(node, body)
}

/** Runs what fills a part of a page; what fails stands in the part, to be tried again. */
export async function part(node, load) {
	try {
		await load()
	} catch (error) {
		if (error.name !== "AbortError") state(node, "error", { error, again: () => part(node, load) })
	}
}

/** What comes within a blink is drawn with the page, so that nothing moves; the rest comes later. */
export const blink = work => Promise.race([work, new Promise(done => setTimeout(done, 120))])

export const none = (text = "–") => h("span.muted.none", text)

/** The exact time in the reader's zone, to the second. */
export const exact = iso => new Said(exactly.format(new Date(iso)))

/**
 * Relative time with the exact one as title, or the exact one where the reader has chosen that; `otherwise` where there
 * is no time. It goes on while the page is open.
 */
export const time = (iso, otherwise = "never") => {
	if (!iso) return none(otherwise)
	const isExact = kept().times === "exact"
	return h("time", { dateTime: iso, title: new Said(full.format(new Date(iso))), "data-ago": isExact ? null : "" },
		isExact ? exact(iso) : ago(iso))
}
/** The exact time, and below it how long ago that is: where a record's time matters. */
export const moment = iso => [h("time", { dateTime: iso, title: new Said(full.format(new Date(iso))) }, exact(iso)),
	h("span.sub", h("time", { dateTime: iso, "data-ago": "" }, ago(iso)))]

/** The day on which what was deleted is purged; a deleted thing changes no more. */
export const restorableUntil = one => day(Date.parse(one.updated_at) + 30 * 86400000, { dateStyle: "long" })

// Of a page that stays open, relative times are said anew.
const TICK = 20_000
setInterval(() => {
	if (document.hidden) return
	for (const node of document.querySelectorAll("time[data-ago]")) {
		const said = String(ago(node.dateTime))
		if (node.textContent !== said) node.textContent = said
	}
}, TICK)

/** User content: its own direction, never translated; a long address breaks before its @. */
export const user = (text, selector = "span") => h(selector, { dir: "auto" },
	String(text ?? "").split(/(?=@)/).map((part, at) => [at > 0 && h("wbr"), new Said(part)]))

export function who(one, href) {
	const initials = (one.name || (one.email ?? "").split("@")[0]).match(/[\p{L}\p{N}]+/gu)?.slice(0, 2).map(word => [...word][0]).join("") ?? "?"
	const face = user(initials.toUpperCase(), "span.face")
	face.ariaHidden = "true"
	const main = one.email || one.name ? user(one.email || one.name) : say("Erased")
	return h("div.who", face,
		h("div", href ? h("a.main", { href }, main) : h("span.main", main), one.name && one.email && user(one.name, "span.sub")))
}

const TONES = {
	ok: "active verified accepted created linked existing allowed pass yes", warn: "pending grace deferred reserved approval open",
	danger: "suspended deleted revoked refused expired", info: "domain invite_only owner admin",
}
/** A status: a word, a dot and a tone, so never colour alone. */
export const tag = status => h(`span.tag.${Object.keys(TONES).find(one => TONES[one].split(" ").includes(status)) ?? "quiet"}`, words(status))

/** A form's field that is ticked or not. */
export const check = (name, label, value) => [name, label, { type: "check", value }]

// The server, and who is asking.

/** An answer that is not 2xx, as RFC 9457 problem details. */
class Problem extends Error {
	constructor(status, body = {}, retryAfter = null) {
		super(body.detail || body.title || t`The server answered ${status}.`)
		const { code, errors, confirm, request_id: id, title = "The request failed" } = body
		Object.assign(this, { status, retryAfter, code, errors, confirm, id, title })
	}
}

/** What this view has sent, newest last: the material of "show me the curl". Secrets are masked. */
export const sent = []

const etags = new WeakMap()
export const etagOf = object => etags.get(object)

// A key lives until the server has answered: sending the same again after a lost connection is then one act.
const pending = new Map()
const SECRET = /^(password|token|key|secret|client_secret|invite_token)$/
const masked = (name, value) => (SECRET.test(name) && typeof value === "string" ? "••••" : value)

export const shown = (path, { body, method = body ? "POST" : "GET", ...more } = {}) =>
	({ ...more, method, path: `/v1${path}`, body: body && JSON.stringify(body, masked, 2) })

// So often an act that is under way is asked about again, twice a second.
const MOST_TRIES = 20
/** The server's answer, of a 2xx; any other is thrown. `accept`: the type that is wanted. */
export async function ask(path, { body, method = body ? "POST" : "GET", signal, etag, accept, tries = 0 } = {}) {
	const text = body && JSON.stringify(body)
	const headers = { accept: accept ?? "application/json", "x-gatehouse-console": "1" }
	if (text) headers["content-type"] = "application/json"
	if (etag) headers["if-match"] = etag
	const act = `${path} ${text}`
	if (method === "POST" && /^\/(tenants(\/|$)|api-keys)/.test(path)) {
		if (!pending.has(act)) pending.set(act, crypto.randomUUID())
		headers["idempotency-key"] = pending.get(act)
	}
	remember(shown(path, { method, body, etag, accept }))
	let answer
	try {
		answer = await fetch(`/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" })
	} catch (error) {
		if (error.name === "AbortError") throw error
		throw new Problem(0, {
			title: navigator.onLine ? "The server cannot be reached" : "You are offline",
			detail: method === "GET" ? "It is asked again by itself once the connection is back."
				: "Nothing was lost: what you typed is still here. Try again in a moment.",
		})
	}
	if (answer.status < 500) pending.delete(act)
	if (answer.ok) return answer
	const problem = await answer.json().catch(() => ({ title: answer.statusText }))
	// The same act is under way, as after a lost connection: its answer is asked for until it is there.
	if (problem.code === "request_in_progress" && tries < MOST_TRIES) {
		pending.set(act, headers["idempotency-key"])
		await new Promise(done => setTimeout(done, 500))
		return ask(path, { body, method, signal, etag, accept, tries: tries + 1 })
	}
	if (answer.status === 401 && !/^\/(session|setup)/.test(path)) dispatchEvent(new CustomEvent("session-over"))
	throw new Problem(answer.status, problem, answer.headers.get("retry-after"))
}

export async function api(path, options) {
	const answer = await ask(path, options)
	const data = answer.status === 204 ? null : await answer.json().catch(() => ({}))
	if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"))
	return data
}

function remember(entry) {
	const others = sent.filter(one => one.method !== entry.method || one.path !== entry.path)
	sent.splice(0, sent.length, ...others.slice(-7), entry)
}

/** `{a: 1, b: null}` → `?a=1`; empty values are left out. */
export function search(values) {
	const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value != null && value !== "")).toString()
	return text && `?${text}`
}

let operator = null
export const me = () => operator
/** The tenant that this operator is confined to, or null for the whole platform. */
export const scope = () => operator?.scope?.tenant_id ?? null

let rights = []
/** Whether the server would let this operator; a tenant's own owner could not undo a suspension of it. */
export const may = right => rights.includes(right) && !(scope() && right === "suspendTenant")

export async function loadMe() {
	if (!operator) ({ operator, rights } = await api("/me"))
}

export async function signOut() {
	await api("/session", { method: "DELETE" })
	operator = null
	sessionStorage.clear()
}

const tenants = new Map()
export const forgetTenants = () => tenants.clear()
/** A tenant by slug or id, asked once until it is forgotten. */
export async function tenantOf(slug) {
	if (!tenants.has(slug)) {
		const asked = api(`/tenants/${slug}`)
		tenants.set(slug, asked)
		asked.catch(() => tenants.delete(slug))
	}
	return tenants.get(slug)
}

/** What this browser keeps: theme, density, keys, times, the tenant last seen. Never a secret. */
export const kept = () => {
	try {
		return JSON.parse(localStorage.getItem("ui")) ?? {}
	} catch {
		return {}
	}
}
export const keep = (name, value) => localStorage.setItem("ui", JSON.stringify({ ...kept(), [name]: value || undefined }))
