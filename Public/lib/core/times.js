// Times as nodes, which go on while the page is open.
import { ago, formatExact, full } from "./dates.js"
import { h } from "./dom.js"
import { Translated } from "./i18n.js"
import { preferences } from "./preferences.js"
import { noValue } from "./widgets.js"

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
