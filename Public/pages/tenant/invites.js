import { act, api, closer, created, dialog, formDialog, h, list, may, none, reveal, STATUS, t, table, tag, time, toast, user, words } from "../../lib/ui.js"
import { ROLE } from "./users.js"

const link = invite => invite.accept_url && reveal({
	title: "Invite link", secret: invite.accept_url, name: "INVITE_URL",
	text: t`Send it to ${invite.email}. It works once and is shown only now.`,
})

export default async page => {
	const path = `${page.path}/invites`
	const resend = (one, options, said, reload) => act(`${path}/${one.id}/resend`, options, said, made => (reload(), link(made)))
	await list(page, {
		path, noun: ["invite", "invites"], search: "Search by email", create: ["manageInvites", "Invite", reload => invite(path, reload)],
		empty: { title: "No invites yet", text: "An invite opens the gate for one address, in one role, until it ends." },
		filters: [["status", "Status", "pending accepted revoked expired"]],
		columns: [
			["Email", one => [one.accepted_user_id ? h("a.main", { href: `${page.base}/users/${one.accepted_user_id}` }, user(one.email)) : user(one.email, "span.main"),
				h("span.sub", one.delivery === "link" ? "by link" : "by mail", one.sent_count > 1 && t`, sent ${one.sent_count} times`)], { sort: "email" }],
			STATUS,
			["Role", one => words(one.role)],
			["Ends", one => (one.status === "pending" || one.status === "expired" ? time(one.expires_at) : none())],
			["Sent by", one => user(one.invited_by?.name ?? "–")],
			created("Sent"),
		],
		actions: may("manageInvites") && ((one, reload) => one.status !== "pending" && one.status !== "expired" ? [] : [
			["Resend", () => resend(one, {}, one.delivery === "mail" && "Sent again", reload)],
			one.delivery === "mail" && ["Copy link", () => resend(one, { body: { delivery: "link" } }, null, reload)],
			one.status === "pending" && ["Revoke", () => act(`${path}/${one.id}/revoke`, {}, t`The invite of ${one.email} is revoked`, reload), true],
		]),
		bulk: may("manageInvites") && [{ text: "Revoke", danger: true, fits: one => one.status === "pending", run: one => api(`${path}/${one.id}/revoke`, { method: "POST" }), asks: "The links stop working now. People can be invited again." }],
	})
}

export const invite = (path, reload, email) => formDialog({
	title: "Invite people", submit: "Invite",
	fields: [
		["emails*", "Email addresses", { type: "lines", value: email, hint: "One a line; up to 1,000." }],
		ROLE,
		["delivery", "Delivery", { options: [["", "By mail where it is set up, else a link"], ["mail", "By mail"], ["link", "Give me the link"]] }],
		["message", "Message", { type: "textarea" }],
	],
	request: ({ emails = [], ...rest }) => {
		const each = emails.map(one => ({ email: one, ...rest }))
		return [path, { body: each.length === 1 ? each[0] : { invites: each } }]
	},
	done: made => {
		reload?.()
		if (made.results) return results(made.results)
		toast(t`${made.email} is invited`)
		return link(made)
	},
})

function results(all) {
	const links = all.filter(one => one.invite?.accept_url).map(one => `${one.email} ${one.invite.accept_url}`).join("\n")
	const title = t`${all.filter(one => one.result !== "refused").length} of ${all.length} invited`
	const told = table("Results", ["Email", "Result"], all.map(one => [user(one.email), [tag(one.result), one.detail && user(one.detail, "span.sub")]]))
	if (links) reveal({ title, secret: links, name: "INVITES", text: [told, h("p.gap", "One line each: address and link. The links are shown only now.")] })
	else dialog(title, told, closer())
}
