// What waits for an operator, and the first steps: what is to be done, before what is to be read.
import {
	card, countTotal, h, isAllowed, note, ownTenant, preferences, replaceContent, timeNode, traceStep, userText,
} from "../../lib/core.js"

/** Of each kind: symbol, its number in words, what that means, and where its list is: below its tenant, or alone. */
const KINDS = {
	join_requests: ["inbox", ["person asks to join", "people ask to join"], "They wait for an answer.", "requests"],
	domains_unproved: [
		"globe", ["domain is not proved", "domains are not proved"],
		"Nobody comes in by a domain without its DNS record.", "domains?unproved=true",
	],
	mail_failed: [
		"mail", ["invite did not arrive", "invites did not arrive"], "The mail server refused them, or they came back.",
		"invites?status=pending&delivery_status=refused,bounced",
	],
	keys_ending: [
		"key", ["API key ends soon", "API keys end soon"], "Within 14 days; calls with them fail from then on.",
		"keys?ends_within=14",
	],
	keys_given_before: [
		"key", ["API key leads to an admin", "API keys lead to an admin"],
		"Their scopes are from before that was asked for. Rotate, confirm or revoke them.", "keys?given_before=true",
	],
	origins_refused: [
		"link", ["origin was refused", "origins were refused"], "In the last 24 hours; allow those that you know.",
		"origins?refused=1",
	],
	providers_unreachable: [
		"door", ["provider cannot be reached", "providers cannot be reached"], "Nobody can sign in there.",
	],
}

/** One line for each list that has something, with its number; that all is well, where there is none. */
export const drawAttention = (node, items) => replaceContent(node, items.length
	? card("Needs your attention", h("ol.trace", items.map(line)))
	: note("ok", "check", "All is well: nothing waits for you."))

function line({ kind, tenant, count, since, more_tenants: isMore }) {
	if (kind === "sign_in_unset") {
		return traceStep("lock", "warn", h("a", { href: "/console/me" }, "Choose a password or a passkey"),
			h("div.small.muted", "You came by a one-time link, and could not sign in again without another."))
	}
	const [look, noun, text, path] = KINDS[kind]
	const href = tenant ? `/console/t/${tenant.slug}/${path}` : `/console/${path ?? "providers?unreachable=true"}`
	return traceStep(look, "warn",
		h("a", { href }, countTotal(count, ...noun)),
		tenant && !ownTenant() && [" · ", userText(tenant.name, "strong")],
		h("div.small.muted", text, since && [" ", "Since:", " ", timeNode(since)],
			isMore && [" ", "Other tenants have fewer of them."]))
}

/** The steps to take first; one that is done is ticked, and once all are there is no card. */
export function drawSteps(node, done) {
	const own = `/console/t/${ownTenant()}`
	const all = [
		!ownTenant() && isAllowed("createTenant")
			&& [done.tenant, "building", "Open a tenant", "One for each customer or team.", "/console/tenants"],
		ownTenant() && isAllowed("manageInvites")
			&& [done.invite, "mail", "Invite people", "Each gets a link that works once.", `${own}/invites`],
		isAllowed("readPolicy")
			&& [done.provider, "door", "Register a provider", "Where your people sign in.", "/console/providers"],
		[
			preferences().tried, "flask", "Try the rules", "See what would happen before anyone knocks.",
			"/console/simulator",
		],
		isAllowed("readOperators") && [
			done.second_owner, "badge", "Add a second owner", "So that nobody is locked out.", "/console/operators",
		],
		[done.call, "book", "Call the API", "Everything here can be done by a program.", "/docs"],
	].filter(Boolean)
	node.hidden = all.every(([isDone]) => isDone)
	replaceContent(node, h("h2", "First steps"), h("ol.trace", all.map(([isDone, look, title, text, href]) =>
		traceStep(isDone ? "check" : look, isDone ? "ok" : "quiet", h("a", { href }, title),
			h("div.small.muted", isDone ? "Done." : text)))))
}
