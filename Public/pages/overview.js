import { bars } from "../lib/chart.js"
import {
	actionWords, append, button, card, formatNumber, h, icon, isAllowed, loadPart, noValue, ownTenant, pageHead, query,
	queryString, replaceContent, setQuery, svgNode, t, timeNode, traceStep, userText, waitBriefly, ZONE,
} from "../lib/core.js"

const WINDOWS = { "24h": "24 hours", "7d": "7 days", "30d": "30 days" }

export default async page => {
	const cards = h("div.cards")
	const chart = h("section.card")
	const rows = Array.from({ length: 8 }, () => h("li", h("span.sk"), h("br"), h("span.sk.small")))
	const recent = h("section.card", h("h2", "Latest changes"), h("ul.feed", rows))
	const choice = h("div.segments", { role: "group", "aria-label": "Window" })
	append(page.body, [pageHead("Overview", { lead: "Who came to the gate, and who was let in.", acts: choice }),
		h("div.stack-gap", cards, chart, h("div.two", isAllowed("readAudit") && recent, steps()))])
	const load = () => {
		const chosen = query().window in WINDOWS ? query().window : "7d"
		replaceContent(choice, Object.entries(WINDOWS).map(([code, text]) =>
			button(text, () => setQuery({ window: code }), { "aria-pressed": String(code === chosen) })))
		return Promise.all(
			[
				numbers(page, cards, chart, chosen),
				isAllowed("readAudit") && loadPart(recent, () => latest(page, recent)),
			],
		)
	}
	page.onUpdate(load)
	await waitBriefly(load())
}

/** The numbers of the window, whose days are the reader's; of UTC where the server does not know the zone. */
const ask = (page, window) => page.get(`/stats/overview${queryString({ window, time_zone: ZONE })}`).catch(error => {
	if (error.status !== 422) throw error
	return page.get(`/stats/overview${queryString({ window })}`)
})

async function numbers(page, cards, chart, chosen) {
	if (!chart.children.length) {
		drawCards(cards, {})
		drawBars(
			chart, { sign_ups: Array(7).fill({ at: Date.now(), admitted: 0, refused: 0 }), time_zone: "UTC" }, chosen,
		)
		chart.classList.add("wait")
	}
	await loadPart(chart, async () => {
		const data = await ask(page, chosen)
		drawCards(cards, data)
		drawBars(chart, data, chosen)
	})
	chart.classList.remove("wait")
}

/** Each number leads to the list that has as many entries; one without such a list leads nowhere. */
function drawCards(node, data) {
	const points = data.sign_ups
	const sum = name => formatNumber(points?.reduce((all, one) => all + one[name], 0))
	const decisions = outcome => `/console/decisions${queryString({ outcome, since: data.since, until: data.until })}`
	const own = tab => ownTenant() && `/console/t/${ownTenant()}/${tab}`
	const users = data.users_exact === false
		? ["≈ ", formatNumber(Number(data.users.toPrecision(3)))]
		: formatNumber(data.users)
	const one = ({ look, label, value, href, spark, tone }) => h(href ? "a.card" : "div.card", href ? { href } : {},
		h("span.label", icon(look), label), h("span.num", value),
		spark && sparkline(points?.map(point => point[spark]) ?? [], tone))
	replaceContent(node,
		one({ look: "users", label: "Users", value: users, href: own("users") }),
		!ownTenant() && one({
			look: "building", label: "Tenants", value: formatNumber(data.tenants),
			href: "/console/tenants?status=active,suspended",
		}),
		one({
			look: "check", label: "Admitted", value: sum("admitted"), spark: "admitted", tone: "of-in",
			href: decisions("created,linked,existing,reserved"),
		}),
		one({
			look: "shield", label: "Refused", value: sum("refused"), spark: "refused", tone: "of-out",
			href: decisions("refused"),
		}),
		one({ look: "key", label: "Uses of API keys", value: formatNumber(data.key_uses) }))
}

function drawBars(node, { sign_ups: points, time_zone: timeZone }, chosen) {
	const isHours = chosen === "24h"
	const style = isHours
		? { hour: "2-digit", minute: "2-digit", timeZone }
		: { month: "short", day: "numeric", timeZone }
	const series = [["in", "admitted", "Admitted"], ["out", "refused", "Refused"]]
	const sentence = ([ins, outs], most) => (isHours
		? t`${ins} admitted, ${outs} refused; at most ${most} an hour. Times are in the zone ${timeZone}.`
		: t`${ins} admitted, ${outs} refused; at most ${most} a day. Days begin at midnight in the zone ${timeZone}.`)
	replaceContent(node, h("h2", "Sign-ups"), bars("Sign-ups", points, series, style, sentence))
}

function sparkline(values, tone) {
	const highest = Math.max(1, ...values)
	const points = values.map(
		(value, at) => `${(at * 100) / (values.length - 1)},${22 - (value / highest) * 20}`,
	).join(" ")
	return svgNode("svg", {
		class: `spark ${tone}`, viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true",
	},
		svgNode("polyline", { points }))
}

async function latest(page, node) {
	const { items } = await page.get("/audit-events?limit=8")
	replaceContent(node, h(
		"div.head", h("h2", "Latest changes"),
		items.length > 0 && h("a.small", { href: "/console/audit" }, "All changes"),
	),
		h("ul.feed", items.map(one => h("li", h(
			"div", h("strong", actionWords(one.action)), " ", userText(one.target?.name),
		),
			h("div.small.muted", userText(one.actor?.name || "Gatehouse"), " · ", timeNode(one.occurred_at))))),
		!items.length && noValue("Nothing has changed yet."))
}

function steps() {
	const own = `/console/t/${ownTenant()}`
	const all = [
		!ownTenant() && isAllowed("createTenant")
			&& {
				look: "building", title: "Open a tenant", text: "One for each customer or team.",
				href: "/console/tenants",
			},
		ownTenant() && isAllowed("manageInvites")
			&& {
				look: "mail", title: "Invite people", text: "Each gets a link that works once.", href: `${own}/invites`,
			},
		isAllowed("readPolicy")
			&& {
				look: "door", title: "Register a provider", text: "Where your people sign in.",
				href: "/console/providers",
			},
		{
			look: "flask", title: "Try the rules", text: "See what would happen before anyone knocks.",
			href: "/console/simulator",
		},
		isAllowed("readOperators") && {
			look: "badge", title: "Add a second owner", text: "So that nobody is locked out.",
			href: "/console/operators",
		},
		{ look: "book", title: "Call the API", text: "Everything here can be done by a program.", href: "/docs" },
	]
	return card("First steps", h("ol.trace", all.filter(Boolean).map(({ look, title, text, href }) =>
		traceStep(look, "quiet", h("a", { href }, title), h("div.small.muted", text)))))
}
