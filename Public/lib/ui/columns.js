// Columns and filters that several lists have, and what stands in their cells.
import { fill, h, query, search, tag, time } from "../core.js"

export const STATUS = ["Status", one => tag(one.status), { state: true }]
export const when = (label, name, more) => [label, one => time(one[name]), more]
export const created = (label = "Created") => when(label, "created_at", { sort: "created_at" })
/** The filters of a list by its records' time. */
export const PERIOD = [["since", "From", { type: "date" }], ["until", "To", { type: "date" }]]

/** What stands beside an address with letters that may be taken for others; its code comes with the first that is not ASCII. */
export function alike(text) {
	if (!/[^\0-\x7f]/.test(text ?? "")) return null
	const slot = h("span.sub")
	import("../lookalike.js").then(({ mark }) => fill(slot, mark(text)))
	return slot
}

/** A cell's value that filters the list by itself. */
export const only = (name, value, shown) => (value == null ? shown
	: h("a.only", { href: search({ ...query(), cursor: "", [name]: value }), title: "Show only these" }, shown))
