// Columns and filters that several lists have, and what stands in their cells.
import { h, noValue, query, queryString, replaceContent, statusTag, timeNode, userText } from "../core.js"

export const STATUS = ["Status", one => statusTag(one.status), { state: true }]
/** The tenant of a row in a list of all; of one that is gone its id. */
export const TENANT = ["Tenant", ({ tenant_id: id, tenant_name: name }) => (name
	? h("a", { href: `/console/t/${id}/users` }, userText(name)) : id ? userText(id, "code") : noValue())]
export const timeColumn = (label, name, more) => [label, one => timeNode(one[name]), more]
export const createdColumn = (label = "Created") => timeColumn(label, "created_at", { sort: "created_at" })
/**
 * What stands beside an address with letters that may be taken for others, also in its ASCII form; its code comes with
 * the first such.
 */
export function lookalikeNote(text) {
	if (!/[^\0-\x7f]|xn--/i.test(text ?? "")) return null
	const slot = h("span.sub")
	import("../lookalike.js").then(({ mark }) => replaceContent(slot, mark(text)))
	return slot
}

/** A cell's value that filters the list by itself. */
export const filterLink = (name, value, shown) => (value == null ? shown
	: h("a.only", { href: queryString({ ...query(), cursor: "", [name]: value }), title: "Show only these" }, shown))
