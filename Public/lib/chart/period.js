// The period of a page, chosen once for all that it shows: `since` and `until` in the address.
import { dayOf, h, t, ZONE } from "../core.js"

/** The midnight of the reader's zone before a time, so many days later. */
const midnight = (time, days = 0) => {
	const one = new Date(time)
	return new Date(one.getFullYear(), one.getMonth(), one.getDate() + days)
}
/** [name, since, until]: days are the reader's, and today is one of seven. */
const presets = () => {
	const ago = days => midnight(Date.now(), -days)
	return [
		["Today", ago(0)], ["Yesterday", ago(1), ago(0)],
		["Last 24 hours", new Date(Math.floor(Date.now() / 3600000 - 24) * 3600000)],
		["Last 7 days", ago(6)], ["Last 30 days", ago(29)],
	]
}
/**
 * One control for a period: usual ones by name, or two days of the reader's zone. `any`: the name of none, where that
 * may be chosen. `change({since, until})`; `read(query)` shows what the address says.
 */
export function period(change, any) {
	const choice = h("select", { "aria-label": "Period", onchange: () => {
		const [since, until] = [1, 2].map(at => presets()[choice.value]?.[at]?.toISOString() ?? "")
		if (choice.value !== "own") change({ since, until })
	} })
	// The last day is a whole one.
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
			const found = presets().findIndex(one => same(one[1], since) && same(one[2], until))
			const isOwn = found < 0 && (since || until)
			const option = (value, text) => text && h("option", { value, selected: value === found }, text)
			choice.replaceChildren(...[
				option("", any), ...presets().map(([name], at) => option(at, name)),
				isOwn && option("own", "Own dates"),
			].filter(Boolean))
			if (isOwn) choice.value = "own"
			from.value = since ? dayOf(since) : ""
			to.value = until ? dayOf(Date.parse(until) - 1) : ""
		},
	}
}
