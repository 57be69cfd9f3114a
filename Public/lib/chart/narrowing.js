// Bars over which a part of their period is chosen.
import { formatDay, formatNumber, h, replaceContent, t } from "../core.js"

/**
 * A pointer is drawn over the bars; on the keyboard the arrows go from bar to bar, with Shift they choose several, and
 * Enter takes them: `change({since, until})`. `label`: what the bars are, for who does not see them.
 */
export function narrowing(change, label) {
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
	const node = h("div", { dir: "ltr" }, field, rest)

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
		const isIn = at => at >= first && at < end
		const drawn = field.querySelectorAll("rect")
		// A bar may be of several parts.
		const parts = drawn.length / (all.length - 1)
		drawn.forEach((bar, at) => bar.classList.toggle("chosen", isIn(Math.floor(at / parts))))
		const count = all.reduce((sum, one, at) => sum + (isIn(at) ? one.count : 0), 0)
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

	/** `points` {at, count}, of which the last ends at `until`; `figure` and `style` as of `bars`. */
	function draw(points, until, figure, ofTimes) {
		// What is being chosen stays.
		if (anchor >= 0) return
		all = [...points, { at: until }]
		style = ofTimes
		replaceContent(field, figure.firstChild)
		// Without bars there is nothing to slide along.
		Object.assign(field, {
			tabIndex: 0, role: "slider", ariaLabel: label, ariaValueMin: 0, ariaValueMax: points.length,
		})
		replaceContent(rest, [...figure.childNodes])
		stop()
	}
	return { node, draw }
}
