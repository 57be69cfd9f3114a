// Every word that is shown, and the one way to make DOM of it: every string becomes a text node, so no value can turn into markup.

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
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]

export const number = value => (value == null ? "–" : new Said(numbers.format(value)))
export const count = (value, one, many) => new Said(`${number(value)} ${say(plurals.select(value) === "one" ? one : many)}`)
/** A list's `total`, which may be a floor. */
export const total = (value, ...noun) => value && (value.exact ? count(value.value, ...noun) : t`over ${count(value.value, ...noun)}`)
export const exact = iso => new Said(full.format(new Date(iso)))
export const day = (iso, style) => new Said(new Date(iso).toLocaleString(language, style))

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return say("just now")
	const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
	return new Said(relative.format(Math.round(seconds / size), unit))
}

/** `invite_only` → "Invite only" */
export function words(code) {
	const text = String(code ?? "–").replaceAll("_", " ")
	return say(text.charAt(0).toUpperCase() + text.slice(1))
}
/** `api_key.created` → "API key created" */
export const deed = action => words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/** Choices of a select by their codes: "active suspended" → [["active", "Active"], …] */
export const choices = codes => codes.split(" ").map(code => [code, words(code)])

// The DOM.

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

/** Control characters and those that turn the writing's direction, shown as escapes. */
const visible = text => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g,
	char => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)

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

/** From [text, run, is dangerous]. */
export const buttons = (acts, look = "", name) => acts.filter(Boolean).map(([text, run, danger]) => button(text, run, { look: danger ? `${look}.warnish` : look, name }))

export const facts = pairs => h("dl.facts", pairs.filter(Boolean).map(([name, value]) => [h("dt", name), h("dd", value)]))
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
/** What stands where there is no data: one sentence, one action. Returns the node it filled. */
export function state(node, kind, { error, again, title = error?.title, text = error?.message, action, href } = {}) {
	if (error) [kind, title] = KINDS[error.status] ?? ["error", title]
	const acts = [action, again && kind === "error" && button("Try again", again), href && h("a.btn", { href }, "Go to the overview")].filter(Boolean)
	return fill(node, h("div.state", { role: kind === "error" ? "alert" : null, "data-state": kind },
		icon(LOOKS[kind]), h("h2", title), text && h("p", text),
		error?.id && h("p.small.muted", "Request ", h("code", error.id)), acts.length > 0 && h("div.acts", acts)))
}

/** Runs what fills a part of a page; what fails stands in the part, to be tried again. */
export async function part(node, load) {
	try {
		await load()
	} catch (error) {
		if (error.name !== "AbortError") state(node, "error", { error, again: () => part(node, load) })
	}
}

export const none = (text = "–") => h("span.muted.none", text)

/** Relative time with the exact one as title; `otherwise` where there is no time. */
export const time = (iso, otherwise = "never") => (iso ? h("time", { dateTime: iso, title: exact(iso) }, ago(iso)) : none(otherwise))

/** User content: its own direction, never translated. */
export function user(text, selector = "span") {
	const node = h(selector, { dir: "auto" })
	node.textContent = visible(text ?? "")
	return node
}

export function who(one, href) {
	const initials = (one.name || one.email || "").match(/[\p{L}\p{N}]+/gu)?.slice(0, 2).map(word => [...word][0]).join("") ?? "?"
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
