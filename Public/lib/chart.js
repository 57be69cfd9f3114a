// Bar charts, and the control that chooses a page's period.
import { ZONE, dataTable, dayOf, formatDay, formatNumber, h, replaceContent, svgNode, t } from "./core.js"

/**
 * A figure of stacked bars, with a sentence that sums them up, and the same data as a table.
 * @param {string} title
 * @param {({ at: string | number } & Record<string, any>)[]} points
 * @param {{ look: string, member: string, label: string }[]} series the parts of a bar, from the bottom up
 * @param {Intl.DateTimeFormatOptions} style how times are written
 * @param {(sums: Sentence[], highest: Sentence) => Sentence} sentence
 */
export function bars(title, points, series, style, sentence) {
	const values = points.map(one => series.map(({ member }) => one[member]))
	const whole = values.map(some => some.reduce((all, value) => all + value))
	const highest = Math.max(1, ...whole)
	const said = sentence(
		series.map((_, at) => formatNumber(values.reduce((all, some) => all + some[at], 0))),
		formatNumber(Math.max(...whole)),
	)
	const width = 600 / points.length
	const drawn = values.flatMap((some, at) => {
		let y = 138
		return some.map((value, part) => svgNode("rect", {
			class: series[part].look, x: (at + 0.2) * width, width: width * 0.6, y: (y -= (value / highest) * 126),
			height: (value / highest) * 126,
		}, svgNode("title", {}, t`${formatDay(points[at].at, style)}: ${formatNumber(value)}`)))
	})
	const lines = [12, 75, 138.5].map(
		y => svgNode("line", { class: y < 138 ? "grid" : "", x1: 0, x2: 600, y1: y, y2: y }),
	)
	const marks = points.filter((_, at) => at % Math.ceil(points.length / 7) === 0)
	return h("figure", svgNode(
		"svg", { class: "chart", viewBox: "0 0 600 140", preserveAspectRatio: "none", role: "img", "aria-label": said },
		...lines, ...drawn,
	),
		h("div.axis", { "aria-hidden": "true" }, marks.map(one => h("time", formatDay(one.at, style)))),
		h(
			"figcaption.small.muted", series.map(({ look, label }) => h("bdi", h(`span.key.${look}`), label, " ")),
			"· ", said,
		),
		h("details.small", h("summary", "View as table"), dataTable(title, [
			"When", ...series.map(({ label }) => label),
		],
			points.map((one, at) => [h("time", formatDay(one.at, style)), ...values[at].map(formatNumber)]))))
}

// Bars in which a period can be selected.

/**
 * A period between two times. An empty time means that there is no limit on that side.
 * @typedef {{ since: string, until: string }} Period
 */
/**
 * Bars in which a period can be selected. `draw` shows `figure`, which `bars` must have made from the same `points` and
 * `style`. The last bar ends at `until`.
 * @typedef {object} Narrowing
 * @property {HTMLElement} node
 * @property {(points: { at: string | number, count: number }[], until: string | number, figure: HTMLElement,
 *   style: Intl.DateTimeFormatOptions) => void} draw
 */

/**
 * Makes bars in which a period can be selected: by dragging a pointer, or by the arrow keys (with Shift for several
 * bars) and Enter. After a selection, `change({since, until})` is called. `label` says what the bars show, for people
 * who do not see them.
 * @type {(change: (period: Period) => unknown, label: Sentence) => Narrowing}
 */
export function narrowing(change, label) {
	// The points of the bars, and after them the time at which the last bar ends.
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

	/**
	 * Marks the bars between two indexes as selected, including the bars at these indexes; -1 and -1 select none.
	 * Returns the index of the first selected bar and the index after the last.
	 */
	function mark(...both) {
		[anchor, head] = both
		const [first, end] = [Math.min(...both), Math.max(...both) + 1]
		const isIn = at => at >= first && at < end
		const drawn = field.querySelectorAll("rect")
		// A bar may be drawn as several rectangles.
		const parts = drawn.length / (all.length - 1)
		drawn.forEach((bar, at) => bar.classList.toggle("chosen", isIn(Math.floor(at / parts))))
		const count = all.reduce((sum, one, at) => sum + (isIn(at) ? one.count : 0), 0)
		field.ariaValueNow = String(head + 1)
		field.ariaValueText = end ? String(t`${formatNumber(count)} from ${said(first)} to ${said(end)}`) : ""
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

	/** @type {Narrowing["draw"]} */
	function draw(points, until, figure, ofTimes) {
		// Do not redraw the bars while a selection is being made.
		if (anchor >= 0) return
		all = [...points, { at: until }]
		style = ofTimes
		replaceContent(field, figure.firstChild)
		// Make the field a slider only now that it has bars: without bars there is nothing to slide along.
		Object.assign(field, {
			tabIndex: 0, role: "slider", ariaLabel: label, ariaValueMin: 0, ariaValueMax: points.length,
		})
		replaceContent(rest, [...figure.childNodes])
		stop()
	}
	return { node, draw }
}

// The period of a page. It is chosen once for everything on the page, and the page's address contains it as `since` and
// `until`.

/** The start, in the reader's zone, of the day that is `days` after the day of `time`. */
const midnight = (time, days = 0) => {
	const one = new Date(time)
	return new Date(one.getFullYear(), one.getMonth(), one.getDate() + days)
}
/**
 * The periods that are offered by name. A day begins at midnight in the reader's zone, and the last 7 days include
 * today.
 */
const presets = () => {
	const ago = days => midnight(Date.now(), -days)
	return [
		{ name: "Today", since: ago(0) },
		{ name: "Yesterday", since: ago(1), until: ago(0) },
		{ name: "Last 24 hours", since: new Date(Math.floor(Date.now() / 3600000 - 24) * 3600000) },
		{ name: "Last 7 days", since: ago(6) },
		{ name: "Last 30 days", since: ago(29) },
	]
}
/**
 * A control in which a period is chosen, by name or by its first and last day in the reader's zone. After a choice, it
 * calls `change` with the new `since` or `until` or both. `any` is the text of the choice without limits; if it is
 * empty, there is no such choice. `read(query)` makes the control show the period that the address parameters `query`
 * contain.
 * @param {(period: Partial<Period>) => unknown} change
 * @param {string} any
 * @returns {{ node: HTMLElement, read: (query: Partial<Period>) => void }}
 */
export function period(change, any = "") {
	const choice = h("select", { "aria-label": "Period", onchange: () => {
		const { since, until } = presets()[choice.value] ?? {}
		if (choice.value === "own") return
		change({ since: since?.toISOString() ?? "", until: until?.toISOString() ?? "" })
	} })
	// The period includes the whole last day: it ends at the midnight after that day.
	const day = (label, name, more) => h("input", {
		type: "date", "aria-label": label, max: dayOf(Date.now()),
		onchange: ({ target: { value } }) =>
			change({ [name]: value && midnight(`${value}T00:00`, more).toISOString() }),
	})
	const [from, to] = [day("From", "since", 0), day("To", "until", 1)]
	const node = h("div.period", { role: "group", "aria-label": t`Period, in the time zone ${ZONE}` },
		choice, h("label.date", h("span", "From"), from), h("label.date", h("span", "To"), to))
	return {
		node,
		read({ since, until }) {
			const same = (one, other) => Number(one ?? 0) === (other ? Date.parse(other) : 0)
			const found = presets().findIndex(one => same(one.since, since) && same(one.until, until))
			const isOwn = found < 0 && (since || until)
			const option = (value, text) => text && h("option", { value, selected: value === found }, text)
			choice.replaceChildren(...[
				option("", any), ...presets().map(({ name }, at) => option(at, name)),
				isOwn && option("own", "Own dates"),
			].filter(Boolean))
			if (isOwn) choice.value = "own"
			from.value = since ? dayOf(since) : ""
			to.value = until ? dayOf(Date.parse(until) - 1) : ""
		},
	}
}

// Bars that show how many rows a list has over time. Selecting some bars narrows the list to the time that they cover.

/**
 * What a list has in addition if a period can be chosen for it: the control for the period (`choice`), a function that
 * shows an address's period in that control (`read`), the bars, a function that draws them (`draw`), and the query
 * parameters that request their data (`asked`).
 * @typedef {object} OverTime
 * @property {HTMLElement} choice
 * @property {(query: Record<string, string>) => void} read
 * @property {HTMLElement} bars
 * @property {(histogram?: API.Histogram) => void} draw
 * @property {{ histogram: number, time_zone: string }} asked
 */

/**
 * Makes what a `list` has in addition if a period can be chosen for it. `change(period)` is called when another period
 * is chosen.
 * @type {(change: (period: Partial<Period>) => unknown) => OverTime}
 */
export function overTime(change) {
	const choice = period(change, "Any time")
	const { node, draw } = histogram(change)
	return { choice: choice.node, read: choice.read, bars: node, draw, asked: { histogram: 60, time_zone: ZONE } }
}

/** Bars that show how many rows a list has over time; selecting some of them narrows the list's period. */
function histogram(change) {
	const { node, draw } = narrowing(change, t`Rows by time`)
	// Reserve the space of the bars while the list is requested.
	node.classList.add("spread")

	function show(data) {
		const points = data?.bars ?? []
		node.hidden = !points.length
		if (node.hidden) return
		const isLong = Date.parse(data.until) - Date.parse(points[0].at) > 4 * 86400000
		/** @type {Intl.DateTimeFormatOptions} */
		const style = { month: "short", day: "numeric", ...isLong ? {} : { hour: "2-digit", minute: "2-digit" } }
		const series = [{ look: "in", member: "count", label: "Rows" }]
		const figure = bars("Rows by time", points, series, style, ([count]) =>
			t`${count} in this period; a bar shows at most 1,000. Times are in your zone, ${ZONE}.`)
		// The list itself serves as the table, so the figure's own table is removed.
		figure.lastChild?.remove()
		draw(points, data.until, figure, style)
	}
	return { node, draw: show }
}
