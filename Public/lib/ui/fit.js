// A list shows as many of its columns as it has room for; a look at a row shows all of it.

/** Up to this width rows are drawn as cards, which have room for every column. */
const CARDS = matchMedia("(max-width: 720px)")

/** In which order columns are left out: when a thing was made, then from the last; a state last, the first never. */
const orderOf = columns => columns.map((one, at) => ({ ...one, at })).slice(1).toSorted((one, other) =>
	Number(other.sort === "created_at") - Number(one.sort === "created_at")
	|| Number(Boolean(one.state)) - Number(Boolean(other.state)) || other.at - one.at)

/** Leaves out of the table in `place` what does not fit, now and whenever its width changes: call what is returned. */
export function columnFit(place, columns, isChosen, signal) {
	let width = 0
	const fit = () => {
		// Rows that come with their page are measured as it is shown, before it is painted.
		if (!place.isConnected) return void requestAnimationFrame(() => place.isConnected && fit())
		const rows = [...place.querySelectorAll("table.stack tr")]
		const fits = () => place.scrollWidth <= place.clientWidth
		for (const row of rows) for (const cell of row.cells) cell.hidden = false
		place.classList.remove("snug")
		if (CARDS.matches) return
		for (const { at } of orderOf(columns())) {
			if (fits()) return
			for (const row of rows) row.cells[at + (isChosen ? 1 : 0)].hidden = true
		}
		// The first column alone is too wide beside long words for what can be done.
		place.classList.toggle("snug", !fits())
	}
	const watch = new ResizeObserver(([{ contentRect }]) => {
		if (contentRect.width === width) return
		width = contentRect.width
		fit()
	})
	watch.observe(place)
	signal.addEventListener("abort", () => watch.disconnect())
	return fit
}
