import { overTime } from "../lib/chart.js"
import {
	actionWords, exactTimeNode, filterLink, formatDay, h, list, noValue, userText, words,
} from "../lib/ui.js"

const isBlank = value => value == null || value.length === 0
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
/** Members whose values are codes, which have words. */
const CODES = new RegExp("^(status|role|default_role|sign_up|auto_link|outcome|reason|kind|provider|email_trust"
	+ "|delivery|source|environment)$")

/** A value of a change as a reader sees it: a time in their zone, a code in words. */
function plain(field, value) {
	if (Array.isArray(value)) return value.map(one => plain(field, one)).join(", ")
	if (typeof value === "object") return JSON.stringify(value)
	if (ISO.test(value)) return formatDay(value, { dateStyle: "medium", timeStyle: "medium" })
	if (typeof value === "boolean") return words(value ? "yes" : "no")
	return CODES.test(field) ? words(value) : String(value)
}

/**
 * Changed fields {field: [before, after]}, each before and after. `labels`: names of fields that are not their codes.
 */
export const diff = (changes, labels = {}) => {
	const all = Object.entries(changes ?? {})
	if (!all.length) return noValue()
	return h("div.diff.small", all.map(([field, [before, after]]) => h("div",
		h("span.muted", labels[field] ?? words(field)), " ",
		!isBlank(before) && [userText(plain(field, before), "del"), " → "],
		isBlank(after) ? h("ins", "none") : userText(plain(field, after), "ins"))))
}

/** The audit log: of all tenants, or of the one that `path` is of. */
export default ({ path = "", ...page }) => {
	return list(page, {
		title: !path && "Audit", lead: "Who did what, to whom. Nothing here can be edited.",
		path: `${path}/audit-events`,
		noun: ["entry", "entries"], exports: true,
		empty: {
			title: "Nothing has happened yet", text: "Every change is written here, with what stood before and after.",
		},
		filters: [["action", "Action"], ["actor", "Actor"], ["target", "Target"]], time: overTime,
		columns: [
			["Action", one => [h("span.main", filterLink("action", one.action, actionWords(one.action))),
				h("span.sub", userText(one.target?.name || one.target?.id))]],
			["Changes", one => diff(one.changes)],
			["Actor", one => [filterLink(
				"actor", one.actor?.name || one.actor?.id, userText(one.actor?.name || "Gatehouse"),
			),
				one.ip && h("span.sub", userText(one.ip))]],
			["When", one => exactTimeNode(one.occurred_at)],
		],
	})
}
