import {
	act, add, ago, alike, blink, button, buttons, card, confirm, day, deed, facts, fill, formDialog, h, may, none, note, part, redraw,
	restorableUntil, reveal, t, tag, time, undoable, user, who, words,
} from "../../lib/ui.js"
import { actions, KINDS, ROLE, SUBJECT } from "./users.js"

export default async page => {
	const path = `${page.path}/users/${page.id}`
	const one = await page.get(path)
	const lives = one.status !== "deleted" && !page.isGone
	const edits = may("editUsers") && lives
	const ends = may("suspendUsers") && lives
	// A card that asks for its own data and fails alone.
	const asking = []
	const section = (title, what, draw, nothing, ...acts) => {
		const body = h("div.stack-gap")
		asking.push(part(body, async () => {
			const { items } = await page.get(what)
			fill(body, items.length ? items.map(draw) : none(nothing))
		}))
		return titled(title, acts, body)
	}
	add(page.body, [
		h("div.head.person", h("h2.vh", "User"), h("div", who(one), alike(one.email)), h("div.acts", tag(one.status), edits && button("Edit", () => edit(path, one)),
			edits && one.status === "active" && button("Change address", () => changeAddress(path, one)),
			may("linkIdentities") && lives && one.status === "active" && button("Password link", () => passwordLink(path, one)),
			buttons(page.isGone ? [] : actions(page, one, redraw)))),
		one.status === "deleted" && note("danger", "alert", "Deleted ", time(one.updated_at), "; ",
			t`the account can be restored until ${restorableUntil(one)}.`),
		h("div.two",
			h("div.stack-gap", card("Profile", facts([
				["Email", user(one.email)], ["Verified", time(one.email_verified_at, "not verified")], ["Role", words(one.role)],
				["Came in by", words(one.source)], ["Last sign-in", time(one.last_sign_in_at)], ["Created", time(one.created_at)],
				["Why admitted?", h("a", { href: `${page.base}/decisions?q=${encodeURIComponent(one.email ?? "")}` }, "The decisions about this address")],
				["Id", h("code", one.id)],
			])), titled("Identities", edits && [button("Link grant", () => grant(path, one), { look: ".tiny" }), button("Link", () => link(path), { look: ".tiny" })], identities(path, one, edits))),
			h("div.stack-gap",
				section("Sessions", `${path}/sessions`, id => h("div.line",
					h("div", user(id.device || id.user_agent || id.client), h("div.small.muted", user(id.ip), " · seen ", time(id.last_seen_at))),
					ends && button("End", () => act(`${path}/sessions/${id.id}`, { method: "DELETE" }, "Session ended", redraw), { look: ".tiny" })),
				"No open session.", ends && button("End all", () => endAll(path, one), { look: ".tiny" })),
				section("API keys", `${page.path}/api-keys?owner_user_id=${one.id}`, key => h("div.line",
					h("a", { href: `${page.base}/keys/${key.id}` }, user(key.name)), tag(key.status)), "No key of its own."),
				may("readAudit") && section("Activity", `${page.path}/audit-events?limit=8&target=${one.id}`, event => h("div.small",
					h("strong", deed(event.action)), h("span.muted", " by ", user(event.actor?.name || "Gatehouse"), " · ", time(event.occurred_at))), "Nothing yet."))),
	])
	await blink(Promise.all(asking))
}

const titled = (title, acts, body) => h("section.card", h("div.head", h("h2", title), h("div.acts", acts)), body)

const identities = (path, one, edits) => h("div.stack-gap", one.identities?.map(id => h("div.line",
	h("div", h("strong", words(id.provider)), id.email && [" ", user(id.email)],
		h("div.small.muted", user(id.subject, "code"), " · used ", time(id.last_used_at))),
	edits && button("Unlink", () => unlink(path, one, id), { look: ".ghost.tiny", name: id.subject }))),
!one.identities?.length && none("None yet: it is linked at the first sign-in."))

const unlink = (path, one, id) => confirm({
	title: t`Unlink ${words(id.provider)}?`, act: "Unlink", text: t`${one.email} can no longer sign in with it, and all open sessions end. Last used: ${id.last_used_at ? ago(id.last_used_at) : "–"}.`,
	path: `${path}/identities/${id.id}`, said: "Unlinked", after: redraw,
})

const link = path => formDialog({
	title: "Link a sign-in", submit: "Link", lead: "By your word alone: whoever has this account at the provider will be this user.",
	fields: [["provider", "Provider", { options: KINDS, value: "google" }], ["issuer*", "Issuer", { value: "https://accounts.google.com" }], SUBJECT],
	path: `${path}/identities`, said: "Linked", after: redraw,
})

const grant = (path, one) => act(`${path}/link-grants`, {}, "", made => reveal({
	title: "Link grant", secret: made.token, name: "LINK_GRANT",
	text: t`With it, ${one.email} adds one more sign-in. It works once, until ${day(made.expires_at, { timeStyle: "short" })}, and is shown only now.`,
}))

const endAll = (path, one) => confirm({
	title: "End all sessions?", act: "End all", text: t`${one.email} is signed out everywhere, at once.`,
	path: `${path}/sessions`, said: "All sessions have ended", after: redraw,
})

const passwordLink = (path, one) => confirm({
	title: t`Make a password link for ${one.email}?`, act: "Make a link", keep: "Cancel", path: `${path}/password-link`, method: "POST",
	text: "Whoever has it can set the password of this account, once, within 30 minutes. When it is set, all sessions end.",
	done: made => reveal({
		title: "Password link", secret: made.url, name: "PASSWORD_LINK",
		text: t`Send it to ${one.email}. It works once, until ${day(made.expires_at, { timeStyle: "short" })}, and is shown only now.`,
	}),
})

const changeAddress = (path, one) => formDialog({
	title: t`Change the address of ${one.email}`, submit: "Mail a link",
	lead: "A link goes to the new address. It becomes the account's when it is confirmed, within 30 minutes; the old one is told.",
	fields: [["email*", "New address", { type: "email", unique: true }]], path: `${path}/email-change`,
	done: made => undoable(t`A link is on its way to ${made.email}`,
		() => act(`${path}/email-change`, { method: "DELETE" }, "The change of address is called off")),
})

const edit = (path, one) => formDialog({
	title: "Edit user", edits: one, fields: [["name", "Name"], ROLE], path, after: redraw,
})
