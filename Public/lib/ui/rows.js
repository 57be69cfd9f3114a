// The rows of a list, and the heads of its columns.
import { button, h, icon, replaceContent, t, translate } from "../core.js"

export function columnHead({ label, sort }, wanted, change) {
	const now = wanted.sort ?? "-created_at"
	const order = now === sort ? "ascending" : now === `-${sort}` ? "descending" : null
	// Times begin with the newest, names with the first.
	const next = order === "ascending" || (!order && sort === "created_at") ? `-${sort}` : sort
	const turn = () => h("button.btn.ghost.tiny", { type: "button", onclick: () => change({ sort: next }) }, label,
		order && icon(order === "ascending" ? "up" : "down"))
	return h("th", { scope: "col", "aria-sort": sort && order }, sort ? turn() : label)
}

/** Of acts {text, run}, the usual one first: a button, and ⋯ with the others where there are more. */
function rowActions([first, ...rest], name) {
	if (!first) return null
	const usual = button(first.text, first.run, { look: ".ghost.tiny", name })
	if (!rest.length) return usual
	const open = async () => (await import("../rows.js")).openMenu(more, rest, name)
	const more = button(null, open, {
		look: ".ghost.tiny", icon: "dots", "aria-label": t`More for ${name}`, "aria-haspopup": "menu",
		"aria-expanded": "false",
	})
	return h("div.row-acts", usual, more)
}

export const row = (
	item, columns, acts, named, chosen,
) => h("tr", { "data-id": item.id ?? item.name }, chosen?.box(item),
	columns.map(({ label, cell, state, tight }) =>
		h(`td${state ? ".status" : ""}${tight ? ".tight" : ""}`, { "data-label": translate(label) }, cell(item))),
	acts && h("td.end", rowActions(acts.filter(Boolean), named(item))))

export function skeleton(table, columns) {
	const cells = () => columns.map(() => h("td", h("span.sk")))
	replaceContent(table, h(
		"table", { "aria-hidden": "true" }, h("tbody", Array.from({ length: 8 }, () => h("tr", cells()))),
	),
		h("span.vh", "Loading…"))
}
