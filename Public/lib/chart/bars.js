import { dataTable, formatDay, formatNumber, h, svgNode, t } from "../core.js"

/**
 * Stacked bars with a sentence, and the same as a table. `points` {at, …}; `series` [class, member, label] from below;
 * `sentence(sums, highest)`; `style` of the times as for `day`.
 */
export function bars(title, points, series, style, sentence) {
	const values = points.map(one => series.map(([, member]) => one[member]))
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
			class: series[part][0], x: (at + 0.2) * width, width: width * 0.6, y: (y -= (value / highest) * 126),
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
			"figcaption.small.muted", series.map(([look, , label]) => h("bdi", h(`span.key.${look}`), label, " ")),
			"· ", said,
		),
		h("details.small", h("summary", "View as table"), dataTable(title, [
			"When", ...series.map(([, , label]) => label),
		],
			points.map((one, at) => [h("time", formatDay(one.at, style)), ...values[at].map(formatNumber)]))))
}
