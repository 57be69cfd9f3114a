// The parts that pages are made of.
import { h, icon, replaceContent } from "./dom.js"
import { t, translate, Translated, words } from "./i18n.js"

/** `button("Save", run, {look: ".primary", icon: "check", name: "of what"})` */
export const button = (text, run, { look = "", icon: symbol, name, ...props } = {}) =>
	h(
		`button.btn${look}`,
		{ type: "button", onclick: run, "aria-label": name && t`${translate(text)} ${name}`, ...props },
		symbol && icon(symbol), text,
	)

/** Of acts {text, run}, those that are there. What is dangerous is red in its dialog, not in each row. */
export const buttons = (acts, look = "", name) =>
	acts.filter(Boolean).map(({ text, run }) => button(text, run, { look, name }))

export const factList = pairs =>
	h("dl.facts", pairs.filter(Boolean).map(([name, value]) => [h("dt", name), h("dd", value)]))

/** A part whose changes are read out. */
export const liveRegion = (...kids) => h("div", { "aria-live": "polite" }, kids)
export const card = (title, ...kids) => h("section.card", h("h2", title), kids)
export const note = (tone, look, ...kids) => h(`div.note.${tone}`, icon(look), h("div", ...kids))

export const pageHead = (title, { lead, acts, crumbs } = {}) => h("div.head",
	h("div",
		crumbs
			&& h(
				"nav.crumbs", { "aria-label": "Breadcrumb" },
				crumbs.map(([text, href], at) => [at > 0 && icon("next"), h("a", { href }, text)]),
			),
		title && h("h1", title), lead && h("p.lead", lead)),
	acts && h("div.acts", acts))

/** `table("Results", ["Email", "Result"], [[cell, …], …])`: a row's first cell heads it. */
export const dataTable = (caption, heads, rows) => h("div.table", {
	tabIndex: 0, role: "region", "aria-label": caption,
}, h("table",
	h("thead", h("tr", heads.map(text => h("th", { scope: "col" }, text)))),
	h(
		"tbody",
		rows.map(([first, ...cells]) => h("tr", h("th", { scope: "row" }, first), cells.map(one => h("td", one)))),
	)))

/** Of an `ol.trace`. */
export const traceStep = (look, tone, ...kids) => h("li", h(`span.dot.${tone}`, icon(look)), h("div", kids))

const LOOKS = { empty: "mark", none: "search", error: "alert", forbidden: "lock", missing: "globe" }
const KINDS = { 403: ["forbidden", "You may not see this"], 404: ["missing", "This is not here"] }
/**
 * What stands where there is no data: one sentence, one action. `link` {href, text} leads on. Returns the node it
 * filled. What failed for want of a connection is asked again once there is one.
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

/** Runs what fills a part of a page; what fails stands in the part, to be tried again. */
export async function loadPart(node, load) {
	try {
		await load()
	} catch (error) {
		if (error.name !== "AbortError") showState(node, "error", { error, again: () => loadPart(node, load) })
	}
}

/** What comes within a blink is drawn with the page, so that nothing moves; the rest comes later. */
export const waitBriefly = work => Promise.race([work, new Promise(done => setTimeout(done, 120))])

export const noValue = (text = "–") => h("span.muted.none", text)

/** User content: its own direction, never translated; a long address breaks before its @. */
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
