// How a list's rows are spread over its period; a part of it is drawn over to narrow the list.
import { formatDay, formatNumber, h, replaceContent, t, ZONE } from "../core.js"
import { bars } from "./bars.js"
import { period } from "./period.js"

/** Of a list by time, for `list`: the control of its period, the bars, and what is asked for them. */
export function overTime(change) {
	const choice = period(change, "Any time")
	const { node, draw } = histogram(change)
	return { choice: choice.node, read: choice.read, bars: node, draw, asked: { histogram: 60, time_zone: ZONE } }
}

/**
 * Bars that narrow the list's period: a pointer is drawn over them; on the keyboard the arrows go from bar to bar, with
 * Shift they choose several, and Enter takes them. `draw(data)` shows a list's histogram.
 */
function histogram(change) {
	// The bars, and where the last one ends.
	let all = []
	let [anchor, head] = [-1, -1]
	let style
	const stop = () => mark(-1, -1)
	const field = h("div", {
		onkeydown, onblur: stop, onpointerup: take, onpointercancel: stop,
		title: "Draw over the bars to narrow the period, or choose by Shift and the arrows and press Enter.",
		onpointerdown: event => {
			field.setPointerCapture(event.pointerId)
			mark(barAt(event), barAt(event))
		},
		onpointermove: event => field.hasPointerCapture(event.pointerId) && mark(anchor, barAt(event)),
	})
	const rest = h("div")
	// Its room is kept while the list is asked for.
	const node = h("div.spread", { dir: "ltr" }, field, rest)

	const said = at => formatDay(all[at].at, style)
	const within = at => Math.max(0, Math.min(all.length - 2, at))
	function barAt({ clientX }) {
		const { left, width } = field.getBoundingClientRect()
		return within(Math.floor((clientX - left) / width * (all.length - 1)))
	}

	/** Chooses from one bar to another; none for -1. Returns the first, and where the last ends. */
	function mark(...both) {
		[anchor, head] = both
		const [first, end] = [Math.min(...both), Math.max(...both) + 1]
		const isIn = (_, at) => at >= first && at < end
		field.querySelectorAll("rect").forEach((bar, at) => bar.classList.toggle("chosen", isIn(bar, at)))
		const count = all.filter(isIn).reduce((sum, one) => sum + one.count, 0)
		field.ariaValueNow = head + 1
		field.ariaValueText = end ? t`${formatNumber(count)} from ${said(first)} to ${said(end)}` : ""
		return [first, end]
	}

	function take() {
		const [first, end] = mark(anchor, head)
		stop()
		if (end) change({ since: all[first].at, until: all[end].at })
	}

	function onkeydown(event) {
		const most = all.length
		const to = { ArrowLeft: head < 0 ? most : head - 1, ArrowRight: head + 1, Home: 0, End: most }[event.key]
		if (event.key === "Enter") take()
		else if (event.key === "Escape") stop()
		else if (to == null) return
		else mark(event.shiftKey && anchor >= 0 ? anchor : within(to), within(to))
		event.preventDefault()
	}

	function draw(data) {
		// What is being chosen stays.
		if (anchor >= 0) return
		const points = data?.bars ?? []
		node.hidden = !points.length
		if (node.hidden) return
		all = [...points, { at: data.until }]
		const isLong = Date.parse(data.until) - Date.parse(all[0].at) > 4 * 86400000
		style = { month: "short", day: "numeric", ...isLong ? {} : { hour: "2-digit", minute: "2-digit" } }
		const figure = bars("Rows by time", points, [["in", "count", "Rows"]], style, ([count]) =>
			t`${count} in this period; a bar shows at most 1,000. Times are in your zone, ${ZONE}.`)
		// The list itself is the table.
		figure.lastChild.remove()
		replaceContent(field, figure.firstChild)
		// Without bars there is nothing to slide along.
		Object.assign(field, {
			tabIndex: 0, role: "slider", ariaLabel: t`Rows by time`, ariaValueMin: 0, ariaValueMax: points.length,
		})
		replaceContent(rest, [...figure.childNodes])
		stop()
	}
	return { node, draw }
}
