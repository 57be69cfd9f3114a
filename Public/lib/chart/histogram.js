// How a list's rows are spread over its period; a part of it is drawn over to narrow the list.
import { t, ZONE } from "../core.js"
import { bars } from "./bars.js"
import { narrowing } from "./narrowing.js"
import { period } from "./period.js"

/** Of a list by time, for `list`: the control of its period, the bars, and what is asked for them. */
export function overTime(change) {
	const choice = period(change, "Any time")
	const { node, draw } = histogram(change)
	return { choice: choice.node, read: choice.read, bars: node, draw, asked: { histogram: 60, time_zone: ZONE } }
}

/** Bars that narrow the list's period; `draw(data)` shows a list's histogram. */
function histogram(change) {
	const { node, draw } = narrowing(change, t`Rows by time`)
	// Its room is kept while the list is asked for.
	node.classList.add("spread")

	function show(data) {
		const points = data?.bars ?? []
		node.hidden = !points.length
		if (node.hidden) return
		const isLong = Date.parse(data.until) - Date.parse(points[0].at) > 4 * 86400000
		const style = { month: "short", day: "numeric", ...isLong ? {} : { hour: "2-digit", minute: "2-digit" } }
		const figure = bars("Rows by time", points, [["in", "count", "Rows"]], style, ([count]) =>
			t`${count} in this period; a bar shows at most 1,000. Times are in your zone, ${ZONE}.`)
		// The list itself is the table.
		figure.lastChild.remove()
		draw(points, data.until, figure, style)
	}
	return { node, draw: show }
}
