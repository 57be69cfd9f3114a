// Points in time in the reader's language and zone: as text, and as nodes, which go on while the page is open.
import { h } from "./dom.js"
import { language, translate, Translated } from "./i18n.js"
import { preferences } from "./preferences.js"
import { noValue } from "./widgets.js"

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const exactly = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" })
/** The reader's time zone, as an IANA name. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]

export const formatDay = (iso, style) => new Translated(new Date(iso).toLocaleString(language, style))

/** A time's day where the reader is, as a field for days has it. */
export function dayOf(iso) {
	const one = new Date(iso)
	const two = number => String(number).padStart(2, "0")
	return `${one.getFullYear()}-${two(one.getMonth() + 1)}-${two(one.getDate())}`
}

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return translate("just now")
	const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
	return new Translated(relative.format(Math.round(seconds / size), unit))
}

/** The exact time in the reader's zone, to the second. */
export const formatExact = iso => new Translated(exactly.format(new Date(iso)))

/** The day on which what was deleted is purged; a deleted thing changes no more. */
export const restorableUntil = one => formatDay(Date.parse(one.updated_at) + 30 * 86400000, { dateStyle: "long" })

/**
 * Relative time with the exact one as title, or the exact one where the reader has chosen that; `otherwise` where there
 * is no time. It goes on while the page is open.
 */
export const timeNode = (iso, otherwise = "never") => {
	if (!iso) return noValue(otherwise)
	const isExact = preferences().times === "exact"
	return h("time", {
		dateTime: iso, title: new Translated(full.format(new Date(iso))), "data-ago": isExact ? null : "",
	},
		isExact ? formatExact(iso) : ago(iso))
}
/** The exact time, and below it how long ago that is: where a record's time matters. */
export const exactTimeNode = iso => [h(
	"time", { dateTime: iso, title: new Translated(full.format(new Date(iso))) }, formatExact(iso),
),
	h("span.sub", h("time", { dateTime: iso, "data-ago": "" }, ago(iso)))]

// Of a page that stays open, relative times are said anew.
const TICK = 20_000
setInterval(() => {
	if (document.hidden) return
	for (const node of document.querySelectorAll("time[data-ago]")) {
		const said = String(ago(node.dateTime))
		if (node.textContent !== said) node.textContent = said
	}
}, TICK)
