// A table is drawn anew as a whole: the row that has the focus keeps it, by its id.
/** Keeps the focus of a table over its being drawn anew: `keep()` before, `give()` after. */
export function focusOf(table) {
	let held = null
	return {
		/** Remembers where the focus is, if it is in a row: the rest is app/focus.js's. */
		keep() {
			const one = document.activeElement
			const row = one?.closest("tr[data-id]")
			if (!row || !table.contains(row)) return
			held = { id: row.dataset.id, at: row.rowIndex - 1, isLink: one.matches("a"), isBox: one.matches("input") }
		},
		/** Gives it back: to the same row, else to the one in its place, else to the table. */
		give() {
			const isLost = document.activeElement === document.body || table.contains(document.activeElement)
			const place = held
			held = null
			if (!place || !isLost) return
			const rows = [...table.querySelectorAll("tbody tr")]
			const row = rows.find(one => one.dataset.id === place.id) ?? rows[Math.min(place.at, rows.length - 1)]
			const wanted = place.isBox ? "input" : place.isLink ? "a, td button" : "td.end button";
			(row?.querySelector(wanted) ?? row?.querySelector("a, button")
				?? table).focus({ preventScroll: true })
		},
	}
}
