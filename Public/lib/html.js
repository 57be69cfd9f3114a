// The one way to make DOM: every string becomes a text node, so no value can turn into markup.
const SVG = "http://www.w3.org/2000/svg"
const SPOKEN = new Set(["aria-label", "title", "placeholder", "alt"])
const UNSPOKEN = new Set(["CODE", "KBD", "TIME"])

let translate = null
/** Gives the language: a function from an English string to the shown one. English needs none. */
export const speak = to => (translate = to)
/** `h("button.btn.primary", {onclick, "aria-label": "x"}, ...children)`; the properties may be left out. */
export function h(selector, ...kids) {
	const props = Object.getPrototypeOf(kids[0] ?? 0) === Object.prototype ? kids.shift() : {}
	const [tag, ...classes] = selector.split(".")
	const node = document.createElement(tag)
	if (classes.length) node.className = classes.join(" ")
	for (const [name, given] of Object.entries(props)) {
		if (given == null || given === false) continue
		const value = translate && SPOKEN.has(name) ? translate(given) : given
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
		else if (name in node && !["form", "list"].includes(name)) node[name] = value
		else node.setAttribute(name, value === true ? "" : value)
	}
	return add(node, kids)
}

/** Appends children, leaving out what is null or false. */
export function add(node, kids) {
	const spoken = translate && !UNSPOKEN.has(node.tagName)
	for (const kid of [kids].flat(9)) {
		if (kid == null || kid === false) continue
		node.append(typeof kid !== "string" ? kid : visible(spoken ? translate(kid) : kid))
	}
	return node
}

/** Control characters and those that turn the writing's direction, shown as escapes. */
const visible = text => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g,
	char => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Replaces the content of a node. */
export function fill(node, ...kids) {
	node.replaceChildren()
	return add(node, kids)
}

/** A symbol of the sprite; decorative, so hidden from assistive technology. */
export const icon = (name, ...classes) => svgNode("svg", { class: ["i", ...classes].join(" "), viewBox: "0 0 24 24", "aria-hidden": "true" },
	svgNode("use", { href: `#${name}` }))

export function svgNode(tag, attributes = {}, ...kids) {
	const node = document.createElementNS(SVG, tag)
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
	node.append(...kids)
	return node
}

/** `button("Save", run, {look: ".primary", icon: "check", name: "of what"})` */
export const button = (text, run, { look = "", icon: symbol, name, ...props } = {}) =>
	h(`button.btn${look}`, { type: "button", onclick: run, "aria-label": name && `${text} ${name}`, ...props }, symbol && icon(symbol), text)

export const facts = pairs => h("dl.facts", pairs.filter(Boolean).map(([name, value]) => [h("dt", name), h("dd", value)]))
export const card = (title, ...kids) => h("section.card", title && h("h2", title), kids)
export const note = (tone, look, ...kids) => h(`div.note.${tone}`, icon(look), h("div", ...kids))

/** Head of a page: title, a line under it, its actions. */
export function head(title, { lead, acts, crumbs } = {}) {
	return h("div.head",
		h("div",
			crumbs && h("nav.crumbs", { "aria-label": "Breadcrumb" },
				crumbs.map(([text, href]) => [h("a", { href }, text), icon("next")])),
			h("h1", title), lead && h("p.lead", lead)),
		acts && h("div.acts", acts))
}

const LOOKS = { empty: "mark", none: "search", error: "alert", forbidden: "lock", missing: "globe" }
/** What stands where there is no data: one sentence, one action. Returns the node it filled. */
export function state(node, kind, { title, text, action, error, again, href } = {}) {
	if (error) {
		kind = error.status === 403 ? "forbidden" : error.status === 404 ? "missing" : "error"
		title ??= { forbidden: "You may not see this", missing: "This is not here" }[kind] ?? error.title
		text ??= error.message
	}
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

const language = document.documentElement.lang || undefined
const numbers = new Intl.NumberFormat(language)
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
const plurals = new Intl.PluralRules(language)
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]

export const none = (text = "–") => h("span.muted.none", text)
export const number = value => (value == null ? "–" : numbers.format(value))
/** `count(2, "user")` → "2 users" */
export const count = (value, one, many = `${one}s`) => `${number(value)} ${plurals.select(value) === "one" ? one : many}`
/** A list's `total`, which may be a floor. */
export const total = (value, one, many) => (value ? (value.exact ? "" : "over ") + count(value.value, one, many) : "")

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	for (const [unit, size] of STEPS) {
		if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit)
	}
	return Math.abs(seconds) < 45 ? "just now" : relative.format(Math.round(seconds), "second")
}

/** Relative time with the exact one as title; `never` where there is no time. */
export const time = (iso, otherwise = "never") =>
	iso ? h("time", { dateTime: iso, title: exact.format(new Date(iso)) }, ago(iso)) : none(otherwise)

/** User content: its own direction, never translated. */
export function user(text, selector = "span") {
	const node = h(selector, { dir: "auto" })
	node.textContent = visible(String(text ?? ""))
	return node
}

/** A person or operator in a list: face, address as a link where there is one, name below. */
export function who(one, href) {
	const initials = (one.name || one.email || "?").match(/[\p{L}\p{N}]+/gu)?.slice(0, 2).map(word => [...word][0]).join("") ?? "?"
	const face = user(initials.toUpperCase(), "span.face")
	face.ariaHidden = "true"
	const main = user(one.email || one.name || "Erased")
	return h("div.who", face,
		h("div", href ? h("a.main", { href }, main) : h("span.main", main), one.name && one.email && user(one.name, "span.sub")))
}

const TONES = {
	ok: "active verified accepted created linked existing allowed pass yes", warn: "pending grace deferred reserved approval open",
	danger: "suspended deleted revoked refused expired", info: "domain invite_only owner admin",
}
/** A status: a word, a dot and a tone, so never colour alone. */
export function tag(status) {
	const tone = Object.keys(TONES).find(one => TONES[one].split(" ").includes(status))
	return h(`span.tag.${tone ?? "quiet"}`, words(status))
}

/** `invite_only` → "Invite only" */
export function words(code) {
	const text = String(code ?? "–").replaceAll("_", " ")
	return text.charAt(0).toUpperCase() + text.slice(1)
}
/** `api_key.created` → "API key created" */
export const deed = action => words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
