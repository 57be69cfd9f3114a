import { query, setQuery } from "../app.js"
import { add, api, button, card, day, deed, fill, h, head, icon, may, none, number, part, state, step, svgNode, t, table, time, user } from "../lib/core.js"

const WINDOWS = { "24h": "24 hours", "7d": "7 days", "30d": "30 days" }

export default async function overview(page) {
	const cards = h("div.cards")
	const chart = h("section.card")
	const recent = h("section.card")
	const choice = h("div.segments", { role: "group", "aria-label": "Window" })
	add(page.body, [head("Overview", { lead: "Who came to the gate, and who was let in.", acts: choice }),
		h("div.stack-gap", cards, chart, h("div.two", may("audit") && recent, steps()))])
	const load = () => {
		const chosen = query().window in WINDOWS ? query().window : "7d"
		fill(choice, Object.entries(WINDOWS).map(([code, text]) => button(text, () => setQuery({ window: code }), { "aria-pressed": String(code === chosen) })))
		return Promise.all([numbers(page, cards, chart, chosen), may("audit") && part(recent, () => latest(page, recent))])
	}
	page.onUpdate(load)
	await load()
}

async function numbers(page, cards, chart, chosen) {
	let data = {}
	try {
		data = await api(`/stats/overview?window=${chosen}`, { signal: page.signal })
	} catch (error) {
		if (error.name === "AbortError") return
		state(chart, "error", { error, again: () => numbers(page, cards, chart, chosen) })
	}
	const points = data.sign_ups
	const sum = name => points?.reduce((all, one) => all + one[name], 0)
	const one = (look, label, value, href, spark) => h("a.card", { href }, h("span.label", icon(look), label),
		h("span.num", number(value)), spark && points?.length > 1 && sparkline(points.map(point => point[spark])))
	fill(cards, one("users", "Users", data.users, "/console/tenants"), one("building", "Tenants", data.tenants, "/console/tenants"),
		one("check", "Admitted", sum("admitted"), "/console/decisions?outcome=created", "admitted"),
		one("shield", "Refused", sum("refused"), "/console/decisions?outcome=refused", "refused"),
		data.key_verifications != null && one("key", "Key checks", data.key_verifications, "/console/audit?action=api_key."))
	if (points) fill(chart, h("h2", "Sign-ups"), points.length ? bars(points, chosen) : none("No numbers yet. They appear with the first attempt."))
}

function sparkline(values) {
	const highest = Math.max(1, ...values)
	const points = values.map((value, at) => `${(at * 100) / (values.length - 1)},${22 - (value / highest) * 20}`).join(" ")
	return svgNode("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" }, svgNode("polyline", { points }))
}

/** Admitted and refused as stacked bars, with a sentence and the same as a table. */
function bars(points, chosen) {
	const style = chosen === "24h" ? { hour: "2-digit", minute: "2-digit" } : { month: "short", day: "numeric" }
	const highest = Math.max(1, ...points.map(one => one.admitted + one.refused))
	const width = 600 / points.length
	const drawn = points.flatMap((one, at) => [["in", one.admitted, 0], ["out", one.refused, one.admitted]].filter(([, value]) => value > 0)
		.map(([name, value, below]) => svgNode("rect", {
			class: name, x: at * width + width * 0.2, width: width * 0.6, y: 138 - ((value + below) / highest) * 126, height: (value / highest) * 126,
		}, svgNode("title", {}, t`${day(one.at, style)}: ${one.admitted} admitted, ${one.refused} refused`))))
	const sum = name => number(points.reduce((all, one) => all + one[name], 0))
	const sentence = t`${sum("admitted")} admitted, ${sum("refused")} refused; at most ${number(highest)} at once.`
	const lines = [12, 75].map(y => svgNode("line", { class: "grid", x1: 0, x2: 600, y1: y, y2: y }))
	const svg = svgNode("svg", { class: "chart", viewBox: "0 0 600 140", preserveAspectRatio: "none", role: "img", "aria-label": sentence },
		...lines, svgNode("line", { x1: 0, x2: 600, y1: 138.5, y2: 138.5 }), ...drawn)
	const marks = points.filter((_, at) => at % Math.ceil(points.length / 7) === 0)
	return h("figure", svg, h("div.axis", { "aria-hidden": "true" }, marks.map(one => h("time", day(one.at, style)))),
		h("figcaption.small.muted", h("span.key.in"), "Admitted ", h("span.key.out"), "Refused · ", sentence),
		h("details.small", h("summary", "View as table"), table("Sign-ups", ["When", "Admitted", "Refused"],
			points.map(one => [h("time", day(one.at, style)), number(one.admitted), number(one.refused)]))))
}

async function latest(page, card) {
	const { items } = await api("/audit-events?limit=8", { signal: page.signal })
	fill(card, h("div.head", h("h2", "Latest changes"), items.length > 0 && h("a.small", { href: "/console/audit" }, "All changes")),
		h("ul.feed", items.map(one => h("li", h("div", h("strong", deed(one.action)), " ", user(one.target?.name)),
			h("div.small.muted", user(one.actor?.name || "Gatehouse"), " · ", time(one.occurred_at))))),
		!items.length && none("Nothing has changed yet."))
}

const steps = () => card("First steps", h("ol.trace", [
	["building", "Open a tenant", "One for each customer or team.", "/console/tenants"],
	may("policy") && ["door", "Register a provider", "Where your people sign in.", "/console/providers"],
	["flask", "Try the rules", "See what would happen before anyone knocks.", "/console/simulator"],
	may("operators") && ["badge", "Share the keys", "Add a second owner, so that none is locked out.", "/console/operators"],
	["book", "Call the API", "Everything here can be done by a program.", "/docs"],
].filter(Boolean).map(([look, title, text, href]) => step(look, "quiet", h("a", { href }, title), h("div.small.muted", text)))))
