// The basics of every page: texts, elements, times and addresses.

// Words, numbers and plurals in the reader's language. In a language's catalogue, the key of a text is the English
// text, with {} in place of each value; see Public/lang.
/** A text that `translate` leaves as it is: it is already translated, or it is data. */
class Translated extends String {}

/** @type {Record<string, any>} */
let catalogue = {}
/** @type {(to: Record<string, any>) => unknown} */
export const setCatalogue = to => (catalogue = to)
/** @type {(text: any) => any} */
export const translate = text => (text instanceof Translated || text == null ? text
	: new Translated(catalogue[text] ?? text))
/**
 * Translates a sentence with values: t`${name} is suspended`. A translation that needs the values in another order
 * numbers them: {2} … {1}.
 * @type {(parts: TemplateStringsArray, ...values: any[]) => Translated}
 */
export const t = (parts, ...values) => {
	let next = 0
	return new Translated(translate(parts.join("{}")).replace(
		/\{(\d?)\}/g, (_, number) => values[number ? number - 1 : next++] ?? "",
	))
}
/**
 * Translates an English text from the server. The catalogue is searched for the text itself, and then for `kind`
 * ("code" or "field") with the `code`. If it has neither, the text stays English.
 * @type {(text: string, kind: "code" | "field", code?: string) => string}
 */
export const translateAnswer = (text, kind, code) => catalogue[text] ?? catalogue[`${kind} ${code}`] ?? text

export const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const plurals = new Intl.PluralRules(language)
/** @type {(value: number | null | undefined) => Translated | string} */
export const formatNumber = value => (value == null ? "–" : new Translated(numbers.format(value)))
/**
 * A number and its noun, in the form that the language has for that number.
 * @type {(value: number, one: string, many: string) => Translated}
 */
export const countWords = (value, one, many) => {
	const category = plurals.select(value)
	const forms = catalogue[`${one}|${many}`] ?? { one: translate(one), other: translate(many) }
	return new Translated(`${formatNumber(value)} ${forms[category] ?? forms.other}`)
}
/**
 * The `total` of a list in words. A total that is not exact is given as a lower bound.
 * @type {(value: Total | null | undefined, one: string, many: string) => Translated | null | undefined}
 */
export const countTotal = (value, one, many) =>
	value && (value.exact ? countWords(value.value, one, many) : t`at least ${countWords(value.value, one, many)}`)

/**
 * The names of the kinds of providers, by code.
 * @type {Record<string, string>}
 */
const PROVIDERS = {
	oidc: "OpenID Connect", google: "Google", github: "GitHub", cognito: "Amazon Cognito", password: "Password",
}
/** @type {Record<string, string>} */
const NAMES = { ...PROVIDERS, api_key: "API key", cors_origin: "CORS origin", id: "Id", ip: "IP" }

/**
 * A code in words: `invite_only` → "Invite only", `github` → "GitHub"
 * @type {(code: string | null | undefined) => Translated}
 */
export function words(code) {
	const text = NAMES[code ?? ""] ?? String(code ?? "–").replaceAll("_", " ")
	return translate(text.charAt(0).toUpperCase() + text.slice(1))
}
/**
 * The code of an audit action in words: `api_key.created` → "API key created"
 * @type {(action: string) => Translated}
 */
export const actionWords = action =>
	words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/**
 * Choices of a select by their codes: "active suspended" → [{ value: "active", text: "Active" }, …]
 * @type {(codes: string) => Choice[]}
 */
export const choices = codes => codes.split(" ").map(code => ({ value: code, text: words(code) }))

// The functions that make all elements. They turn every string into a text node, so no value can become markup.

const SVG = "http://www.w3.org/2000/svg"
const SPOKEN = ["aria-label", "title", "placeholder"]
const DATA = ["CODE", "KBD"]

/**
 * Makes an element: `h("button.btn.primary", {onclick, "aria-label": "x"}, ...children)`. The properties may be left
 * out. The name `h`, as in the library hyperscript, is short because pages consist mainly of calls of this function.
 * @type {MakeElement}
 */
export const h = (selector, ...kids) => {
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

/** @type {<Parent extends Element>(node: Parent, kids: Child) => Parent} */
export function append(node, kids) {
	for (const kid of [kids].flat(9)) {
		if (kid == null || kid === false) continue
		node.append(kid instanceof Node ? kid : visible(DATA.includes(node.tagName) ? kid : translate(kid)))
	}
	return node
}

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/gu
// Matches letters of the scripts that are spelled with the joiners U+200C and U+200D. A joiner may also combine
// emoji.
const JOINING = "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}"
	+ "\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}"
	+ "\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Khmer}]"
const BEFORE_JOINER = new RegExp(`(${JOINING}|\\p{Extended_Pictographic}[\\ufe0f\\p{Emoji_Modifier}]?)$`, "u")
const AFTER_JOINER = new RegExp(`^(${JOINING}|\\p{Extended_Pictographic}|[♀♂⚕])`, "u")

/**
 * Replaces control characters, and characters that change the writing direction, by visible escapes. A joiner is not
 * replaced between two letters of a script that is spelled with joiners, or between two emoji.
 * @type {(text: unknown) => string}
 */
const visible = text => String(text).replace(UNSEEN, (char, at, whole) => {
	const isJoiner = char === "\u200c" || char === "\u200d"
	if (isJoiner && BEFORE_JOINER.test(whole.slice(0, at)) && AFTER_JOINER.test(whole.slice(at + 1))) return char
	return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
})

/** @type {<Parent extends Element>(node: Parent, ...kids: Child[]) => Parent} */
export function replaceContent(node, ...kids) {
	node.replaceChildren()
	return append(node, kids)
}

/**
 * An icon of the SVG sprite. It is only decoration, and so hidden from assistive technology.
 * @type {(name: string) => SVGElement}
 */
export const icon = name => svgNode("svg", { class: `i i-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" },
	svgNode("use", { href: `#${name}` }))

/** @type {(tag: string, attributes?: Record<string, any>, ...kids: (Node | Sentence)[]) => SVGElement} */
export function svgNode(tag, attributes = {}, ...kids) {
	const node = document.createElementNS(SVG, tag)
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
	node.append(...kids)
	return node
}

/**
 * The preferences that this browser stores, such as theme, density, letter keys, the style of times, and the tenant
 * seen last. They never include a secret.
 * @type {() => Record<string, any>}
 */
export const preferences = () => {
	try {
		return JSON.parse(localStorage.getItem("ui") ?? "{}")
	} catch {
		return {}
	}
}
/** @type {(name: string, value: unknown) => void} */
export const setPreference = (name, value) =>
	localStorage.setItem("ui", JSON.stringify({ ...preferences(), [name]: value || undefined }))

export const isMac = /mac/i.test(navigator.userAgentData?.platform ?? navigator.platform)

// The parts that pages are made of.

/**
 * A button: `button("Save", run, {look: ".primary", icon: "check", name: "of what"})`. Screen readers read `name` after
 * the text, to say what the button applies to.
 * @type {(text: Child, run?: ((event: any) => unknown) | null, options?: ButtonOptions) => HTMLButtonElement}
 */
export const button = (text, run, { look = "", icon: symbol, name, ...props } = {}) =>
	h(
		`button.btn${look}`,
		{ type: "button", onclick: run, "aria-label": name && t`${translate(text)} ${name}`, ...props },
		symbol && icon(symbol), text,
	)

/**
 * A button for each of the acts {text, run}; missing acts are skipped. The button of a dangerous act is not red; only
 * the button in the dialog that it opens is red.
 * @type {(acts: Acts, look?: string, name?: Child) => HTMLButtonElement[]}
 */
export const buttons = (acts, look = "", name) =>
	acts.filter(Boolean).map(({ text, run }) => button(text, run, { look, name }))

/** @type {(pairs: readonly ([name: Child, value: Child] | Nothing)[]) => HTMLElement} */
export const factList = pairs =>
	h("dl.facts", pairs.filter(Boolean).map(([name, value]) => [h("dt", name), h("dd", value)]))

/**
 * An element whose changes are read out by screen readers.
 * @type {(...kids: Child[]) => HTMLElement}
 */
export const liveRegion = (...kids) => h("div", { "aria-live": "polite" }, kids)
/** @type {(title: Child, ...kids: Child[]) => HTMLElement} */
export const card = (title, ...kids) => h("section.card", h("h2", title), kids)
/** @type {(tone: "ok" | "info" | "warn" | "danger", look: string, ...kids: Child[]) => HTMLElement} */
export const note = (tone, look, ...kids) => h(`div.note.${tone}`, icon(look), h("div", ...kids))

/** @type {(title: Child, more?: PageHead) => HTMLElement} */
export const pageHead = (title, { lead, acts, crumbs } = {}) => h("div.head",
	h("div",
		crumbs
			&& h(
				"nav.crumbs", { "aria-label": "Breadcrumb" },
				crumbs.map(({ text, href }, at) => [at > 0 && icon("next"), h("a", { href }, text)]),
			),
		title && h("h1", title), lead && h("p.lead", lead)),
	acts && h("div.acts", acts))

/**
 * A table: `dataTable("Results", ["Email", "Result"], [[cell, …], …])`. The first cell of a row is its header.
 * @type {(caption: string, heads: Child[], rows: Child[][]) => HTMLElement}
 */
export const dataTable = (caption, heads, rows) => h("div.table", {
	tabIndex: 0, role: "region", "aria-label": caption,
}, h("table",
	h("thead", h("tr", heads.map(text => h("th", { scope: "col" }, text)))),
	h(
		"tbody",
		rows.map(([first, ...cells]) => h("tr", h("th", { scope: "row" }, first), cells.map(one => h("td", one)))),
	)))

/**
 * An item of an `ol.trace`: an icon and a text.
 * @type {(look: string, tone: string, ...kids: Child[]) => HTMLElement}
 */
export const traceStep = (look, tone, ...kids) => h("li", h(`span.dot.${tone}`, icon(look)), h("div", kids))

const LOOKS = { empty: "mark", none: "search", error: "alert", forbidden: "lock", missing: "globe" }
/** @type {Record<number, [kind: string, title: string]>} */
const KINDS = { 403: ["forbidden", "You may not see this"], 404: ["missing", "This is not here"] }
/**
 * Shows a message in `node` in place of missing data, and returns `node`. Below the message are the button `action` and
 * a `link` {href, text} to another page, if they are given. After an error there is also a button that calls `again`.
 * If the request failed for lack of a connection, `again` is also called when the connection is back.
 * @type {(node: HTMLElement, kind: string, state: State) => HTMLElement}
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

/**
 * Calls `load`, which fills the part `node` of a page. A failure is shown in that part, with a button to try again.
 * @type {(node: HTMLElement, load: () => unknown) => Promise<void>}
 */
export async function loadPart(node, load) {
	try {
		await load()
	} catch (error) {
		if (error.name !== "AbortError") showState(node, "error", { error, again: () => loadPart(node, load) })
	}
}

/**
 * Waits for `work`, but only a moment. What is ready by then is drawn together with the page, so that nothing moves
 * later.
 * @type {(work: Promise<unknown>) => Promise<unknown>}
 */
export const waitBriefly = work => Promise.race([work, new Promise(done => setTimeout(done, 120))])

/** @type {(text?: string) => HTMLElement} */
export const noValue = (text = "–") => h("span.muted.none", text)

/**
 * Shows a text that users wrote. It has its own writing direction and is never translated; a long email address
 * breaks before its @.
 * @type {(text: unknown, selector?: string) => HTMLElement}
 */
export const userText = (text, selector = "span") => h(selector, { dir: "auto" },
	String(text ?? "").split(/(?=@)/).map((part, at) => [at > 0 && h("wbr"), new Translated(part)]))

/** @type {(one: { name?: string | null, email?: string | null }, href?: string) => HTMLElement} */
export function personCell(one, href = "") {
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

/** @type {Record<string, string>} */
const TONES = {
	ok: "active verified accepted created linked existing allowed pass yes done",
	warn: "pending grace deferred reserved approval open queued paused due",
	danger: "suspended deleted revoked refused expired used_up bounced failed",
	info: "domain invite_only owner admin running",
}
/**
 * A status as a word with a coloured dot; the colour only repeats what the word says.
 * @type {(status: string | null | undefined) => HTMLElement}
 */
export function statusTag(status) {
	const tone = Object.keys(TONES).find(one => TONES[one].split(" ").includes(status ?? ""))
	return h(`span.tag.${tone ?? "quiet"}`, words(status))
}

// Times in the reader's language and zone: as text, and as elements that are updated while the page is open.

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const exactly = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" })
/** The reader's time zone, as an IANA name. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
/** @type {{ unit: Intl.RelativeTimeFormatUnit, length: number }[]} */
const UNITS = [
	{ unit: "year", length: 31536000 },
	{ unit: "month", length: 2592000 },
	{ unit: "day", length: 86400 },
	{ unit: "hour", length: 3600 },
	{ unit: "minute", length: 60 },
]
/** @type {typeof UNITS[0]} */
const SECOND = { unit: "second", length: 1 }

/** @type {(time: string | number, style?: Intl.DateTimeFormatOptions) => Translated} */
export const formatDay = (iso, style) => new Translated(new Date(iso).toLocaleString(language, style))

/**
 * The day of a time in the reader's zone, as YYYY-MM-DD, which date fields use.
 * @type {(time: string | number) => string}
 */
export function dayOf(iso) {
	const one = new Date(iso)
	const two = number => String(number).padStart(2, "0")
	return `${one.getFullYear()}-${two(one.getMonth() + 1)}-${two(one.getDate())}`
}

/** @type {(iso: string) => Translated} */
export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return translate("just now")
	const { unit, length } = UNITS.find(one => Math.abs(seconds) >= one.length) ?? SECOND
	return new Translated(relative.format(Math.round(seconds / length), unit))
}

/**
 * The exact time in the reader's zone, to the second.
 * @type {(iso: string) => Translated}
 */
export const formatExact = iso => new Translated(exactly.format(new Date(iso)))

/**
 * The day until which a deleted thing can be restored: 30 days after its last change, which was the deletion.
 * @type {(one: { updated_at: string }) => Translated}
 */
export const restorableUntil = one => formatDay(Date.parse(one.updated_at) + 30 * 86400000, { dateStyle: "long" })

/**
 * Shows a time: relative to now, with the exact time as a tooltip, or as the exact time, if the reader prefers that. If
 * there is no time, shows the text `otherwise`. A relative time is updated while the page is open.
 * @type {(iso: string | null | undefined, otherwise?: string) => HTMLElement}
 */
export const timeNode = (iso, otherwise = "never") => {
	if (!iso) return noValue(otherwise)
	const isExact = preferences().times === "exact"
	return h("time", {
		dateTime: iso, title: new Translated(full.format(new Date(iso))), "data-ago": isExact ? null : "",
	},
		isExact ? formatExact(iso) : ago(iso))
}
/**
 * The exact time, and below it how long ago that is. It is used for records whose exact time matters.
 * @type {(iso: string) => HTMLElement[]}
 */
export const exactTimeNode = iso => [h(
	"time", { dateTime: iso, title: new Translated(full.format(new Date(iso))) }, formatExact(iso),
),
	h("span.sub", h("time", { dateTime: iso, "data-ago": "" }, ago(iso)))]

// Milliseconds between two updates of the relative times on an open page.
const TICK = 20_000
setInterval(() => {
	if (document.hidden) return
	for (const node of document.querySelectorAll("time[data-ago]")) {
		const said = String(ago(node.dateTime))
		if (node.textContent !== said) node.textContent = said
	}
}, TICK)

// Addresses. A page has no state besides its URL.

/**
 * The state of the router. `current` is the page that is shown now. `mayLeave` is true if that page may be left without
 * a question: the session is over, or the typed values were sent or given up. While `isQuiet` is true, only the address
 * is being changed, and the router must not draw. `draw` draws the page of the address again.
 * @type {View}
 */
export const view = { current: null, isQuiet: false, mayLeave: false, draw: () => {} }

/**
 * `{a: 1, b: null}` → `?a=1`; empty values are left out.
 * @type {(values: Record<string, any>) => string}
 */
export function queryString(values) {
	const text = new URLSearchParams(
		Object.entries(values).filter(([, value]) => value != null && value !== ""),
	).toString()
	return text && `?${text}`
}

/** @type {() => Record<string, string>} */
export const query = () => Object.fromEntries(new URLSearchParams(location.search))

/** @type {(how: "pushState" | "replaceState", url: string) => void} */
function write(how, url) {
	view.isQuiet = true
	history[how](null, "", url)
	view.isQuiet = false
}

/** @type {(next: Record<string, unknown>, options?: { replace?: boolean }) => void} */
export function setQuery(next, { replace } = {}) {
	write(replace ? "replaceState" : "pushState", location.pathname + queryString(next))
	view.current?.update?.()
}

/**
 * Replaces the address, and its entry in the history; the page is not drawn again.
 * @type {(url: string) => void}
 */
export const replaceAddress = url => write("replaceState", url)

/**
 * Removes the part after `#`, which may be a secret, from the address and the history; the page is not drawn again.
 * @type {() => void}
 */
export const hideFragment = () => replaceAddress(location.pathname + location.search)

/** @type {(url: string) => void} */
export const goTo = url => location.assign(url)

/**
 * Goes to `url` without a question, even if typed values were not sent.
 * @type {(url: string) => void}
 */
export function leaveFor(url) {
	view.mayLeave = true
	goTo(url)
}

/**
 * Draws the page of this address again.
 * @type {() => unknown}
 */
export const redraw = () => view.draw()

/**
 * The slug in the path of a tenant's page; undefined for any other path.
 * @type {(path: string) => string | undefined}
 */
export const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
