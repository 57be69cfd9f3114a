import { bars } from "../../lib/chart.js"
import { add, ago, blink, button, buttons, card, facts, fill, formDialog, h, may, none, note, number, part, redraw, t, tag, time, user } from "../../lib/ui.js"
import { BOUNDS, isIdle, keyActions, oldOf } from "./keys.js"

export default async page => {
	const path = `${page.path}/api-keys/${page.id}`
	const uses = h("div")
	const one = await page.get(path)
	const lives = (one.status === "active" || one.status === "grace") && !page.isGone
	const previous = oldOf(one)
	const left = h("strong", previous && ago(previous.until))
	if (previous) {
		const timer = setInterval(() => (left.textContent = ago(previous.until)), 1000)
		page.signal.addEventListener("abort", () => clearInterval(timer))
	}
	const codes = (items, otherwise) => (items?.length ? h("ul", items.map(item => h("li", user(item, "code")))) : none(otherwise))
	add(page.body, [
		h("div.head", h("div", h("h2", user(one.name), " ", tag(one.status)), h("code.muted", `${one.prefix}…${one.last4}`)),
			h("div.acts", lives && may("writeKeys") && button("Edit", () => edit(page, one)), buttons(page.isGone ? [] : keyActions(page, one, redraw)))),
		previous && note("warn", "alert", "The old secret ", h("code", `…${previous.last4}`), " still works and ends ", left,
			t`. Since the rotation it was used ${number(previous.uses)} times`, previous.last_used_at && [", last ", time(previous.last_used_at)], "."),
		isIdle(one) && note("warn", "alert", "This key has not been used for 90 days. If nothing needs it, revoke it."),
		h("div.two",
			card("Facts", facts([["Environment", tag(one.environment)], ["Last used", time(one.last_used_at)], one.last_used_ip && ["From", h("code", one.last_used_ip)],
				["Expires", time(one.expires_at)], ["Created", time(one.created_at)],
				["Owner", one.owner?.type === "user" ? h("a", { href: `${page.base}/users/${one.owner.id}` }, "A user") : "The tenant"],
				one.revoked_at && ["Revoked", time(one.revoked_at)], one.revocation_reason && ["Because", user(one.revocation_reason)],
				one.note && ["Note", user(one.note)], ["Id", h("code", one.id)],
				may("readAudit") && ["History", h("a", { href: `${page.base}/audit?target=${one.id}` }, "In the audit log")]])),
			h("div.stack-gap", card("What it may do", facts([["Scopes", codes(one.scopes)], ["Addresses", codes(one.allowed_ips, "anywhere")], ["Origins", codes(one.allowed_origins, "any origin")],
				["Rate", one.rate_limit ? t`${number(one.rate_limit.per_minute)} a minute` : none("as the server is set")]])), card("Uses by day", uses))),
	])
	await blink(part(uses, async () => fill(uses, bars("Uses", (await page.get(`${path}/uses`)).items, [["in", "uses", "Uses"]],
		{ month: "short", day: "numeric", timeZone: "UTC" }, ([all], most) =>
			t`${all} in 30 days; at most ${most} in a day. Days begin at midnight UTC.`))))
}

const edit = (page, one) => formDialog({
	title: t`Edit ${one.name}`, lead: "The secret stays the same. Take away what it does not need.", edits: one,
	fields: [
		["name*", "Name"],
		["scopes*", "Scopes", { type: "lines" }],
		...BOUNDS,
	],
	path: `${page.path}/api-keys/${one.id}`, after: redraw,
})
