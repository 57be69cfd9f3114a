import {
	ago, append, button, buttons, card, copyable, factList, formatNumber, formDialog, h, isAllowed, loadPart, mayHere,
	note, noValue, query, redraw, replaceContent, statusTag, t, timeNode, userText, waitBriefly,
} from "../../../lib/ui.js"
import { BOUNDS, isIdle, keyActions, oldOf } from "./list.js"
import { scopeOptions } from "./new-key.js"

export const keyPage = async page => {
	const path = `${page.path}/api-keys/${page.id}`
	const uses = h("div")
	const [found, leakedAt] = await Promise.all([page.get(path), leakOf(page)])
	const one = Object.assign(found, { leaked_at: leakedAt })
	const lives = (one.status === "active" || one.status === "grace") && !page.isGone
	const previous = oldOf(one)
	const left = h("strong", previous && ago(previous.until))
	if (previous) {
		const timer = setInterval(() => (left.textContent = ago(previous.until)), 1000)
		page.signal.addEventListener("abort", () => clearInterval(timer))
	}
	const codes = (items, otherwise) =>
		(items?.length ? h("ul", items.map(item => h("li", userText(item, "code")))) : noValue(otherwise))
	const acts = page.isGone ? [] : keyActions(page, one, redraw).filter(Boolean)
	// A leaked key was pasted: whether to end it is asked at once.
	if (query().act === "revoke") requestAnimationFrame(() => acts.find(act => act.text === "Revoke")?.run())
	append(page.body, [
		h("div.head", h(
			"div", h("h1", userText(one.name), " ", statusTag(one.status)),
			h("code.muted", `${one.prefix}…${one.last4}`),
		),
			h(
				"div.acts", lives && mayHere(page, "writeKeys") && button("Edit", () => edit(page, one)),
				buttons(acts),
			)),
		previous && note("warn", "alert", "The old secret ", h(
			"code", `…${previous.last4}`,
		), " still works and ends ", left,
			t`. Since the rotation it was used ${formatNumber(previous.uses)} times`,
			previous.last_used_at && [", last ", timeNode(previous.last_used_at)], "."),
		leakedAt && note("danger", "alert", "The text of this key was recognised as leaked ", timeNode(leakedAt),
			": it came in an address, and so stands in access logs. ", lives && "Rotate or revoke the key."),
		one.given_before && lives && note("warn", "alert",
			"The scopes of this key lead to an admin, and are from before that was asked of who gives them. ",
			"Confirm the scopes, rotate the key, or revoke it."),
		isIdle(one) && note("warn", "alert", "This key has not been used for 90 days. If nothing needs it, revoke it."),
		h("div.two",
			card("Facts", factList([[
				"Environment", statusTag(one.environment),
			], ["Last used", timeNode(one.last_used_at)], one.last_used_ip
				&& ["From", h("code", one.last_used_ip)],
				["Expires", timeNode(one.expires_at)], ["Created", timeNode(one.created_at)],
				["Owner", one.owner?.type === "user" ? owner(page, one.owner.id)
					: page.tenant ? "The tenant" : "The platform"],
				one.revoked_at && ["Revoked", timeNode(one.revoked_at)],
				one.revocation_reason && ["Because", userText(one.revocation_reason)],
				one.note && ["Note", userText(one.note)], ["Id", copyable(one.id)],
				isAllowed("readAudit")
					&& ["History", h("a", { href: `${page.base}/audit?target=${one.id}` }, "In the audit log")]])),
			h("div.stack-gap", card("What it may do", factList([["Scopes", codes(one.scopes)], [
				"Addresses", codes(one.allowed_ips, "anywhere"),
			], [
				"Origins", codes(one.allowed_origins, "any origin"),
			],
				[
					"Rate",
					one.rate_limit
						? t`${formatNumber(one.rate_limit.per_minute)} a minute`
						: noValue("as the server is set"),
				]])), card("Uses by day", uses))),
	])
	const { bars } = await import("../../../lib/chart.js")
	await waitBriefly(loadPart(uses, async () => replaceContent(uses, bars("Uses", (await page.get(
		`${path}/uses`,
	)).items, [
		["in", "uses", "Uses"],
	],
		{ month: "short", day: "numeric", timeZone: "UTC" }, ([all], most) =>
			t`${all} in 30 days; at most ${most} in a day. Days begin at midnight UTC.`))))
}

/** When the key last came in an address; nothing to who may not read the audit log. */
const leakOf = page => isAllowed("readAudit") && page.get(
	`${page.path}/audit-events?action=api_key.leaked&limit=1&target=${page.id}`,
).then(({ items }) => items[0]?.occurred_at, () => null)

/** Of a user's key: the user, whose name comes when it is known. */
function owner(page, id) {
	const link = h("a", { href: `${page.base}/users/${id}` }, "A user")
	page.get(`${page.path}/users/${id}`).then(one => replaceContent(link, userText(one.email ?? one.name)), () => {})
	return link
}

const edit = async (page, one) => formDialog({
	title: t`Edit ${one.name}`, lead: "The secret stays the same. Take away what it does not need.", edits: one,
	fields: [
		["name*", "Name"],
		["scopes*", "Scopes", { type: "checks", options: await scopeOptions(page, one.scopes) }],
		["expires_at", "Expires", { type: "day", hint: "At the end of that day; empty is never." }],
		...BOUNDS,
	],
	path: `${page.path}/api-keys/${one.id}`, after: redraw,
	// Without a number it has no limit of its own.
	body: ({ rate_limit: rate, ...values }) =>
		(rate ? { ...values, rate_limit: rate.per_minute ? rate : null } : values),
})
