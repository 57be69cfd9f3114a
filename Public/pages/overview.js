import {
	ZONE, actionWords, append, card, countTotal, formatNumber, h, icon, loadPart, noValue, note, pageHead, preferences,
	query, queryString, replaceContent, setQuery, svgNode, t, timeNode, traceStep, userText, waitBriefly
} from "../lib/core.js"
import { api, isAllowed, ownTenant } from "../lib/server.js"
import { bars, narrowing, period } from "../lib/chart.js"

// What needs the operator's attention, and the first steps. They are shown before the figures.

/**
 * For each kind of list that needs attention: its icon, the noun for its entries, what the list means, and its path
 * below the tenant's path.
 * @type {Record<string, { look: string, noun: Noun, text: string, path?: string }>}
 */
const KINDS = {
	join_requests: {
		look: "inbox", noun: { one: "person asks to join", many: "people ask to join" },
		text: "They wait for an answer.", path: "requests",
	},
	domains_unproved: {
		look: "globe", noun: { one: "domain is not proved", many: "domains are not proved" },
		text: "Nobody is admitted by a domain without its DNS record.", path: "domains?unproved=true",
	},
	mail_failed: {
		look: "mail", noun: { one: "invite did not arrive", many: "invites did not arrive" },
		text: "The mail server refused them, or they came back.",
		path: "invites?status=pending&delivery_status=refused,bounced",
	},
	keys_ending: {
		look: "key", noun: { one: "API key ends soon", many: "API keys end soon" },
		text: "Within 14 days; calls with them fail from then on.", path: "keys?ends_within=14",
	},
	keys_given_before: {
		look: "key", noun: { one: "API key leads to an admin", many: "API keys lead to an admin" },
		text: "Their scopes are older than this rule. Rotate, confirm or revoke them.",
		path: "keys?given_before=true",
	},
	origins_refused: {
		look: "link", noun: { one: "origin was refused", many: "origins were refused" },
		text: "In the last 24 hours; allow those that you know.", path: "origins?refused=1",
	},
	providers_unreachable: {
		look: "door", noun: { one: "provider cannot be reached", many: "providers cannot be reached" },
		text: "Nobody can sign in there.",
	},
}

/**
 * Shows a line for each list that needs attention, with the number of its entries. If there is no such list, shows a
 * note that all is well.
 * @type {(node: HTMLElement, items: API.Attention[]) => unknown}
 */
const drawAttention = (node, items) => replaceContent(node, items.length
	? card("Needs your attention", h("ol.trace", items.map(line)))
	: note("ok", "check", "All is well: nothing waits for you."))

/** @type {(one: API.Attention) => HTMLElement} */
function line({ kind, tenant, count, since, more_tenants: isMore }) {
	if (kind === "sign_in_unset") {
		return traceStep("lock", "warn", h("a", { href: "/console/me" }, "Choose a password or a passkey"),
			h("div.small.muted", "You signed in with a one-time link, and could not sign in again without another."))
	}
	const { look, noun, text, path } = KINDS[kind]
	const href = tenant ? `/console/t/${tenant.slug}/${path}` : `/console/${path ?? "providers?unreachable=true"}`
	return traceStep(look, "warn",
		h("a", { href }, countTotal(count, noun.one, noun.many)),
		tenant && !ownTenant() && [" · ", userText(tenant.name, "strong")],
		h("div.small.muted", text, since && [" ", "Since:", " ", timeNode(since)],
			isMore && [" ", "Other tenants have fewer of them."]))
}

/**
 * Shows a card with the first steps to take; the steps that are done are ticked. If all are done, the card is hidden.
 * @type {(node: HTMLElement, done: API.FirstSteps) => void}
 */
function drawSteps(node, done) {
	const own = `/console/t/${ownTenant()}`
	const all = [
		!ownTenant() && isAllowed("createTenant") && {
			isDone: done.tenant, look: "building", title: "Open a tenant", text: "One for each customer or team.",
			href: "/console/tenants",
		},
		ownTenant() && isAllowed("manageInvites") && {
			isDone: done.invite, look: "mail", title: "Invite people", text: "Each gets a link that works once.",
			href: `${own}/invites`,
		},
		isAllowed("readPolicy") && {
			isDone: done.provider, look: "door", title: "Register a provider", text: "Where your people sign in.",
			href: "/console/providers",
		},
		{
			isDone: preferences().tried, look: "flask", title: "Try the rules",
			text: "See what would happen before anyone knocks.", href: "/console/simulator",
		},
		isAllowed("readOperators") && {
			isDone: done.second_owner, look: "badge", title: "Add a second owner",
			text: "So that nobody is locked out.", href: "/console/operators",
		},
		{
			isDone: done.call, look: "book", title: "Call the API",
			text: "A program can do everything that you can do here.",
			href: "/docs",
		},
	].filter(Boolean)
	node.hidden = all.every(({ isDone }) => isDone)
	replaceContent(node, h("h2", "First steps"), h("ol.trace", all.map(({ isDone, look, title, text, href }) =>
		traceStep(isDone ? "check" : look, isDone ? "ok" : "quiet", h("a", { href }, title),
			h("div.small.muted", isDone ? "Done." : text)))))
}

/** @type {(page: Page) => Promise<any>} */
export default async page => {
	const waiting = h("section", { "aria-label": "Needs your attention" }, h("div.note", h("span.sk")))
	const steps = h("section.card", { hidden: true })
	const cards = h("div.cards")
	const chart = h("section.card")
	const rows = Array.from({ length: 8 }, () => h("li", h("span.sk"), h("br"), h("span.sk.small")))
	const recent = h("section.card", h("h2", "Latest changes"), h("ul.feed", rows))
	const change = values => setQuery({ ...query(), ...values })
	const choice = period(change)
	const signUps = narrowing(change, t`Sign-ups by time`)
	// Show the period in its control at once; the server will choose the same period. If the control were filled later,
	// it would grow and push the date fields aside.
	const week = new Date()
	week.setHours(-6 * 24, 0, 0, 0)
	choice.read(query().since ? query() : { since: week.toISOString() })
	// Hide the cards and the chart until the list "Needs your attention" is loaded. Otherwise that list would push them
	// down.
	const below = h("div.stack-gap.hold", cards, chart, h("div.two", isAllowed("readAudit") && recent, steps))
	append(page.body, [pageHead("Overview", { lead: "Who came to the gate, and who was let in.", acts: choice.node }),
		h("div.stack-gap", waiting, below)])
	/** @type {AbortController | undefined} */
	let running
	const load = () => {
		running?.abort()
		running = new AbortController()
		const signal = /** @type {any} */ (AbortSignal).any([page.signal, running.signal])
		return Promise.all(
			[
				numbers(signal, cards, chart, signUps).then(data => {
					// Ignore this answer if another period was chosen meanwhile, or the page was left.
					if (signal.aborted) return
					below.classList.remove("hold")
					choice.read(query().since ? query() : { since: data?.since })
					if (!data) return waiting.replaceChildren()
					drawAttention(waiting, data.attention)
					return drawSteps(steps, data.first_steps)
				}),
				isAllowed("readAudit") && loadPart(recent, () => latest(page, recent)),
			],
		)
	}
	page.onUpdate(load)
	await waitBriefly(load())
}

/**
 * Requests the figures of the period. Days are those of the reader's zone, or of UTC if the server does not know the
 * zone.
 * @type {(signal: AbortSignal) => Promise<API.Overview>}
 */
function ask(signal) {
	const { since, until } = query()
	const get = time_zone => api(`/stats/overview${queryString({ since, until, time_zone })}`, { signal })
	return get(ZONE).catch(error => {
		if (!error.errors?.some(one => one.pointer === "?time_zone")) throw error
		return get()
	})
}

/**
 * @param {AbortSignal} signal
 * @param {HTMLElement} cards
 * @param {HTMLElement} chart
 * @param {import("../lib/chart.js").Narrowing} signUps
 * @returns {Promise<API.Overview | undefined>}
 */
async function numbers(signal, cards, chart, signUps) {
	if (!chart.children.length) {
		drawCards(cards, {})
		const none = { at: Date.now(), admitted: 0, refused: 0 }
		drawBars(chart, signUps, { sign_ups: Array(7).fill(none), until: Date.now(), time_zone: "UTC" })
		chart.classList.add("wait")
	}
	let data
	await loadPart(chart, async () => {
		data = await ask(signal)
		drawCards(cards, data)
		drawBars(chart, signUps, data)
	})
	chart.classList.remove("wait")
	return data
}

/**
 * A number with a name, and its course over the period as a sparkline.
 * @typedef {object} Figure
 * @property {string} look
 * @property {string} label
 * @property {Child} value
 * @property {string | null} [href]
 * @property {string} [spark] the member of the points
 * @property {string} [tone]
 */

/**
 * Draws the figures. Each is a link to the list of what it counts, with two exceptions on the overview of the whole
 * platform. Its users are in no single list, so their number leads to the search for a person. The uses of API keys
 * have no link, since no list has the keys of all tenants.
 */
function drawCards(node, data) {
	const points = data.sign_ups
	const sum = name => formatNumber(points?.reduce((all, one) => all + one[name], 0))
	const decisions = outcome => `/console/decisions${queryString({ outcome, since: data.since, until: data.until })}`
	const own = tab => ownTenant() && `/console/t/${ownTenant()}/${tab}`
	const users = data.users_exact === false
		? ["≈ ", formatNumber(Number(data.users.toPrecision(3)))]
		: formatNumber(data.users)
	/** @type {(one: Figure) => HTMLElement} */
	const one = ({ look, label, value, href, spark, tone }) => h(href ? "a.card" : "div.card", href ? { href } : {},
		h("span.label", icon(look), label), h("span.num", value),
		spark && sparkline(points?.map(point => point[spark]) ?? [], tone))
	replaceContent(node,
		one({ look: "users", label: "Users", value: users, href: own("users") || "/console/people" }),
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
		one({ look: "key", label: "Uses of API keys", value: formatNumber(data.key_uses), href: own("keys") }))
}

function drawBars(card, { node, draw }, { sign_ups: points, until, time_zone: timeZone }) {
	// Measure the second bar: the first and the last may be shorter than the others.
	const [first, second] = points.slice(1, 3).map(({ at }) => Date.parse(at))
	const hours = Math.round((second - first) / 3600000)
	/** @type {Intl.DateTimeFormatOptions} */
	const style = hours < 24
		? { hour: "2-digit", minute: "2-digit", timeZone }
		: { month: "short", day: "numeric", timeZone }
	const series = [
		{ look: "in", member: "admitted", label: "Admitted" },
		{ look: "out", member: "refused", label: "Refused" },
	]
	/** @type {(sums: Sentence[], most: Sentence) => Sentence} */
	const sentence = ([ins, outs], most) => (hours < 23
		? t`${ins} admitted, ${outs} refused; at most ${most} in a bar. Times are in the zone ${timeZone}.`
		: t`${ins} admitted, ${outs} refused; at most ${most} a day. Days begin at midnight in the zone ${timeZone}.`)
	const counted = points.map(one => ({ at: one.at, count: one.admitted + one.refused }))
	draw(counted, until, bars("Sign-ups", points, series, style, sentence), style)
	// If the bars are on the page already, do not insert them again: a person who selects bars by the keyboard would
	// lose the focus.
	if (node.parentNode !== card) replaceContent(card, h("h2", "Sign-ups"), node)
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
