// Times as nodes, which go on while the page is open.
import { ago, exact, full } from "./dates.js"
import { h } from "./dom.js"
import { Said } from "./i18n.js"
import { kept } from "./preferences.js"
import { none } from "./widgets.js"

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

// Of a page that stays open, relative times are said anew.
const TICK = 20_000
setInterval(() => {
	if (document.hidden) return
	for (const node of document.querySelectorAll("time[data-ago]")) {
		const said = String(ago(node.dateTime))
		if (node.textContent !== said) node.textContent = said
	}
}, TICK)
