// Invites: who was invited, and what became of it.
import {
	ago, api, choices, closeButton, confirm, createdColumn, dialog, etagOf, formDialog, h, isAllowed, list,
	lookalikeNote, noValue, query, STATUS, statusTag, t, timeNode, toast, userText, words,
} from "../../../lib/ui.js"
import { ROLE } from "../users.js"
import { daysAfter, ENDS, invite, showLink } from "./inviting.js"

export const inviteList = async page => {
	const path = `${page.path}/invites`
	const sentAt = one => ago(one.updated_at ?? one.created_at)
	/** A new link: the one that was sent before ends with it, so that is asked. */
	const resend = (one, { body, title, act: text }, reload) => confirm({
		title, act: text, keep: "Keep the old link", path: `${path}/${one.id}/resend`, method: "POST", body,
		text: t`The link that ${one.email} was sent ${sentAt(one)} stops working now; a new one takes its place.`,
		done: made => {
			reload()
			if (made.accept_url) showLink(made)
			else toast("Sent again")
		},
	})
	const said = one => one.delivery_detail && {
		text: "Mail server's words",
		run: () => dialog("The mail server's words", userText(one.delivery_detail, "p"), closeButton()),
	}
	const actions = (one, reload) => (one.status !== "pending" && one.status !== "expired" ? [said(one)] : [
		{
			text: "Resend",
			run: () => resend(one, { title: t`Resend the invite of ${one.email}?`, act: "Resend" }, reload),
		},
		one.delivery === "mail" && {
			text: "New link",
			run: () =>
				resend(
					one,
					{ title: t`Make a new link for ${one.email}?`, act: "Make a link", body: { delivery: "link" } },
					reload,
				),
		},
		one.status === "pending" && { text: "Edit", run: () => edit(path, one, reload) },
		one.status === "pending" && { text: "Revoke", run: () => revoke(path, one, reload) },
		said(one),
	])
	await list(page, {
		path, noun: ["invite", "invites"], search: "Search by email",
		related: [[`${page.base}/invites/join-links`, "Join links"]],
		create: ["manageInvites", "Invite", reload => invite(path, reload)],
		empty: {
			title: "No invites yet", text: "An invite opens the gate for one address, in one role, until it ends.",
		},
		filters: [
			["status", "Status", "pending accepted revoked expired"],
			["delivery_status", "Mail", { options: [...choices("queued sent refused bounced"), FAILED] }],
			query().job_id && ["job_id", "Job"],
		].filter(Boolean),
		columns: [
			["Email", one => [one.accepted_user_id
				? h("a.main", { href: `${page.base}/users/${one.accepted_user_id}` }, userText(one.email))
				: userText(one.email, "span.main"),
				lookalikeNote(one.email),
				h(
					"span.sub", one.delivery === "link" ? "by link" : "by mail",
					one.sent_count > 1 && t`, sent ${one.sent_count} times`,
				)], { sort: "email" }],
			STATUS,
			["Mail", mailOf],
			["Role", one => words(one.role)],
			[
				"Ends",
				one => (one.status === "pending" || one.status === "expired" ? timeNode(one.expires_at) : noValue()),
			],
			["Sent by", one => userText(one.invited_by?.name ?? "–")],
			createdColumn("Sent"),
		],
		actions: isAllowed("manageInvites") && actions,
		bulk: isAllowed("manageInvites") && [{
			text: "Resend",
			fits: one => one.delivery === "mail" && (one.status === "pending" || one.status === "expired"),
			verb: "resend",
			asks: "Each gets a new link by mail; the one that was sent before stops working.",
		}, {
			text: "Revoke", fits: one => one.status === "pending",
			verb: "revoke",
			asks: "The links stop working now. This is final; people can be invited again.",
		}],
	})
}

/** The choice of a filter: what is to be sent again. */
const FAILED = ["refused,bounced", t`Refused or bounced`]

/** What became of the mail; a mail server's words where it said some. */
const mailOf = ({ delivery_status: state, delivery_detail: detail }) =>
	(state ? [statusTag(state), detail && userText(detail, "span.sub")] : noValue())

const revoke = (path, one, reload) => confirm({
	title: t`Revoke the invite of ${one.email}?`, act: "Revoke invite", path: `${path}/${one.id}/revoke`,
	method: "POST",
	text: "Its link stops working now. This is final; the address can be invited again.",
	said: t`The invite of ${one.email} is revoked`, after: reload,
})

/** Changes role, end or message of an invite that waits; its link stays. */
async function edit(path, { id, email }, reload) {
	const one = await api(`${path}/${id}`)
	const opened = Date.now()
	return formDialog({
		title: t`Edit the invite of ${email}`, lead: "The link that was sent stays the same.", edits: one,
		fields: [ROLE, ["days", "Ends", { options: ENDS }], ["message", "Message", { type: "textarea" }]],
		request: ({ days, ...values }) => [`${path}/${id}`, {
			method: "PATCH", etag: etagOf(one),
			body: days ? { ...values, expires_at: daysAfter(opened, days) } : values,
		}],
		done: () => (toast("Saved"), reload()),
	})
}

