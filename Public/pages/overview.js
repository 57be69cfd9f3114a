import { query, setQuery } from "../app.js"
import { add, blink, button, card, deed, fill, h, head, icon, may, none, number, part, say, step, svgNode, t, time, user } from "../lib/core.js"
import { bars } from "../lib/chart.js"

const WINDOWS = { "24h": "24 hours", "7d": "7 days", "30d": "30 days" }

export default async page => {
	const cards = h("div.cards")
	const chart = h("section.card")
	const recent = h("section.card", h("h2", "Latest changes"), h("ul.feed", Array.from({ length: 8 }, () => h("li", h("span.sk"), h("br"), h("span.sk.small")))))
	const choice = h("div.segments", { role: "group", "aria-label": "Window" })
	add(page.body, [head("Overview", { lead: "Who came to the gate, and who was let in.", acts: choice }),
		h("div.stack-gap", cards, chart, h("div.two", may("readAudit") && recent, steps()))])
	const load = () => {
		const chosen = query().window in WINDOWS ? query().window : "7d"
		fill(choice, Object.entries(WINDOWS).map(([code, text]) => button(text, () => setQuery({ window: code }), { "aria-pressed": String(code === chosen) })))
		return Promise.all([numbers(page, cards, chart, chosen), may("readAudit") && part(recent, () => latest(page, recent))])
	}
	page.onUpdate(load)
	await blink(load())
}

async function numbers(page, cards, chart, chosen) {
	const draw = data => {
		const points = data.sign_ups
		const sum = name => number(points?.reduce((all, one) => all + one[name], 0))
		const one = (look, label, value, href, spark) => h("a.card", { href }, h("span.label", icon(look), label),
			h("span.num", value), spark && sparkline(points?.map(point => point[spark]) ?? []))
		fill(cards, one("users", "Users", data.users_exact === false ? ["≈ ", number(Number(data.users.toPrecision(3)))] : number(data.users), "/console/tenants"),
			one("building", "Tenants", number(data.tenants), "/console/tenants"),
			one("check", "Admitted", sum("admitted"), "/console/decisions?outcome=created", "admitted"),
			one("shield", "Refused", sum("refused"), "/console/decisions?outcome=refused", "refused"),
			one("key", "Key checks", number(data.key_verifications), "/console/audit?action=api_key."))
	}
	const drawBars = points => fill(chart, h("h2", "Sign-ups"), bars("Sign-ups", points, [["in", "admitted", "Admitted"], ["out", "refused", "Refused"]],
		chosen === "24h" ? { hour: "2-digit", minute: "2-digit" } : { month: "short", day: "numeric" },
		([admitted, refused], highest) => t`${admitted} admitted, ${refused} refused; at most ${highest} ${say(chosen === "24h" ? "an hour" : "a day")}.`))
	if (!chart.children.length) {
		draw({})
		drawBars(Array(7).fill({ at: Date.now(), admitted: 0, refused: 0 }))
		chart.classList.add("wait")
	}
	await part(chart, async () => {
		const data = await page.get(`/stats/overview?window=${chosen}`)
		draw(data)
		drawBars(data.sign_ups)
	})
	chart.classList.remove("wait")
}

function sparkline(values) {
	const highest = Math.max(1, ...values)
	const points = values.map((value, at) => `${(at * 100) / (values.length - 1)},${22 - (value / highest) * 20}`).join(" ")
	return svgNode("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" }, svgNode("polyline", { points }))
}

async function latest(page, card) {
	const { items } = await page.get("/audit-events?limit=8")
	fill(card, h("div.head", h("h2", "Latest changes"), items.length > 0 && h("a.small", { href: "/console/audit" }, "All changes")),
		h("ul.feed", items.map(one => h("li", h("div", h("strong", deed(one.action)), " ", user(one.target?.name)),
			h("div.small.muted", user(one.actor?.name || "Gatehouse"), " · ", time(one.occurred_at))))),
		!items.length && none("Nothing has changed yet."))
}

const steps = () => card("First steps", h("ol.trace", [
	["building", "Open a tenant", "One for each customer or team.", "/console/tenants"],
	may("readPolicy") && ["door", "Register a provider", "Where your people sign in.", "/console/providers"],
	["flask", "Try the rules", "See what would happen before anyone knocks.", "/console/simulator"],
	may("readOperators") && ["badge", "Share the keys", "Add a second owner, so that none is locked out.", "/console/operators"],
	["book", "Call the API", "Everything here can be done by a program.", "/docs"],
].filter(Boolean).map(([look, title, text, href]) => step(look, "quiet", h("a", { href }, title), h("div.small.muted", text)))))
