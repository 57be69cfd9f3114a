import {
	actionWords, ago, api, append, button, buttons, card, confirm, copyable, countWords, factList, formatDay,
	formDialog, h, icon, isAllowed, loadPart, lookalikeNote, note, noValue, personCell, redraw, replaceContent,
	restorableUntil, revealSecret, runAct, statusTag, t, tickField, timeNode, undoable, userText, waitBriefly, words,
} from "../../../lib/ui.js"
import { mergeLine } from "./merge.js"
import { actions, EXTERNAL_ID, KINDS, ROLE, ROLES, SUBJECT } from "./list.js"

/** The role, and the others to choose from; a choice counts at once and can be taken back. */
function roleMenu(path, one) {
	const put = role => api(path, { method: "PATCH", body: { role } })
	const acts = ROLES.filter(([role]) => role !== one.role).map(([role, text]) => ({
		text, run: () => runAct(path, {
			method: "PATCH", body: { role }, back: () => put(one.role).then(redraw),
		}, t`${one.email} has the role ${text}`, redraw),
	}))
	const open = async () => (await import("../../../lib/rows.js")).openMenu(more, acts, one.email)
	const more = button([words(one.role), " ", icon("down")], open, {
		look: ".tiny", "aria-label": t`Role: ${words(one.role)}`, "aria-haspopup": "menu", "aria-expanded": "false",
	})
	return h("div.row-acts", more)
}

export const userPage = async page => {
	const path = `${page.path}/users/${page.id}`
	const one = await page.get(path)
	const lives = one.status !== "deleted" && !page.isGone
	const edits = isAllowed("editUsers") && lives
	const ends = isAllowed("suspendUsers") && lives
	// A card that asks for its own data and fails alone.
	const asking = []
	const section = (title, what, draw, nothing, ...acts) => {
		const body = h("div.stack-gap")
		asking.push(loadPart(body, async () => {
			const { items } = await page.get(what)
			replaceContent(body, items.length ? items.map(draw) : noValue(nothing))
		}))
		return titled(title, acts, body)
	}
	append(page.body, [
		h("h1.vh", userText(one.name || one.email)),
		h("div.head.person", h(
			"div", personCell(one), lookalikeNote(one.email),
		), h("div.acts", statusTag(one.status), edits && button("Edit", () => edit(path, one)),
			edits && one.status === "active" && button("Change address", () => changeAddress(path, one)),
			isAllowed("linkIdentities") && lives && one.status === "active"
				&& button("Password link", () => passwordLink(path, one)),
			buttons(page.isGone ? [] : actions(page, one, redraw)))),
		one.status === "deleted" && note("danger", "alert", "Deleted ", timeNode(one.updated_at), "; ",
			t`the account can be restored until ${restorableUntil(one)}.`),
		h("div.two",
			h("div.stack-gap", card("Profile", factList([
				["Email", userText(one.email)], ["Verified", timeNode(one.email_verified_at, "not verified")],
				["Role", edits ? roleMenu(path, one) : words(one.role)],
				["Came in by", words(one.source)], ["Last sign-in", timeNode(one.last_sign_in_at)],
				["Created", timeNode(one.created_at)], ["Kept although unused", words(one.keep ? "yes" : "no")],
				[
					"Why admitted?",
					h(
						"a", { href: `${page.base}/decisions?q=${encodeURIComponent(one.email ?? "")}` },
						"The decisions about this address",
					),
				],
				["Id", copyable(one.id)],
				["External id", one.external_id ? userText(one.external_id, "code") : noValue()],
				["Public attributes", attributes(one.public_attributes)],
				["Private attributes", attributes(one.private_attributes)],
			])), titled(
				"Identities",
				edits
					&& [
						button("Link grant", () => grant(path, one), { look: ".tiny" }),
						button("Link", () => link(path), { look: ".tiny" }),
					],
				identities(path, one, edits),
			)),
			h("div.stack-gap",
				section("Sessions", `${path}/sessions`, id => h("div.line",
					h(
						"div", userText(id.device || id.user_agent || id.client),
						h("div.small.muted", userText(id.ip), " · seen ", timeNode(id.last_seen_at)),
					),
					ends
						&& button(
							"End",
							() => endOne(path, one, id),
							{ look: ".tiny" },
						)),
				"No open session.", ends && button("End all", () => endAll(path, one), { look: ".tiny" })),
				section("API keys", `${page.path}/api-keys?owner_user_id=${one.id}`, key => h("div.line",
					h("a", { href: `${page.base}/keys/${key.id}` }, userText(key.name)),
					statusTag(key.status)), "No key of its own.", lives && [
					isAllowed("writeKeys")
						&& h("a.btn.tiny", { href: `${page.base}/keys/new?owner=${one.id}` }, "New key"),
					isAllowed("revokeKeys") && button("Revoke all", () => revokeAll(page, one), { look: ".tiny" }),
				]),
				one.merged_ids.length > 0 && section(
					"Merged", `${page.path}/users/merges?user_id=${one.id}`, merge => mergeLine(page, merge), "Nobody.",
				),
				isAllowed(
					"readAudit",
				) && section("Activity", `${page.path}/audit-events?limit=8&target=${one.id}`, event => h("div.small",
					h("strong", actionWords(event.action)),
					h(
						"span.muted", " by ", userText(event.actor?.name || "Gatehouse"), " · ",
						timeNode(event.occurred_at),
					)), "Nothing yet."))),
	])
	await waitBriefly(Promise.all(asking))
}

/** A line for each; a person does not get the own private ones. */
const attributes = all => {
	const lines = Object.entries(all ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
	return lines.length ? lines.map(line => h("div", userText(line, "code"))) : noValue()
}

const titled = (title, acts, body) => h("section.card", h("div.head", h("h2", title), h("div.acts", acts)), body)

const identities = (path, one, edits) => h("div.stack-gap", one.identities?.map(id => h("div.line",
	h("div", h("strong", words(id.provider)), id.email && [" ", userText(id.email)],
		h("div.small.muted", userText(id.subject, "code"), " · used ", timeNode(id.last_used_at))),
	edits && button("Unlink", () => unlink(path, one, id), { look: ".ghost.tiny", name: id.subject }))),
!one.identities?.length && noValue("None yet: it is linked at the first sign-in."))

const lastUse = id => (id.last_used_at ? ago(id.last_used_at) : "–")
const unlink = (path, one, id) => confirm({
	title: t`Unlink ${words(id.provider)}?`, act: "Unlink",
	text: t`${one.email} can no longer sign in with it, and all open sessions end. Last used: ${lastUse(id)}.`,
	path: `${path}/identities/${id.id}`, said: "Unlinked", after: redraw,
})

const link = path => formDialog({
	title: "Link a sign-in", submit: "Link",
	lead: "By your word alone: whoever has this account at the provider will be this user.",
	fields: [
		["provider", "Provider", { options: KINDS, value: "google" }],
		["issuer*", "Issuer", { value: "https://accounts.google.com" }], SUBJECT,
	],
	path: `${path}/identities`, said: "Linked", after: redraw,
})

/** When a secret that was made ends. */
const endOf = made => formatDay(made.expires_at, { timeStyle: "short" })
const grant = (path, one) => runAct(`${path}/link-grants`, {}, "", made => revealSecret({
	title: "Link grant", secret: made.token, name: "LINK_GRANT",
	text: t`With it, ${one.email} adds one more sign-in. It works once, until ${endOf(made)}, and is shown only now.`,
}))

const endOne = (path, one, { id, device, user_agent: agent, client }) => confirm({
	title: "End this session?", act: "End session",
	text: t`${one.email} is signed out at once of ${device || agent || client}.`,
	path: `${path}/sessions/${id}`, said: "Session ended", after: redraw,
})

const endAll = (path, one) => confirm({
	title: "End all sessions?", act: "End all", text: t`${one.email} is signed out everywhere, at once.`,
	path: `${path}/sessions`, said: "All sessions have ended", after: redraw,
})

const revokeAll = (page, one) => confirm({
	title: t`Revoke every key of ${one.email}?`, act: "Revoke all", path: `${page.path}/api-keys/revoke`,
	text: "Calls with them fail at once. This is final.", method: "POST",
	body: { owner_user_id: one.id, reason: "revoked in the console" },
	said: ({ revoked }) => t`${countWords(revoked, "API key", "API keys")} revoked`, after: redraw,
})

const passwordLink = (path, one) => confirm({
	title: t`Make a password link for ${one.email}?`, act: "Make a link", keep: "Cancel", path: `${path}/password-link`,
	method: "POST",
	text: "Whoever has it can set the password of this account, once, within 30 minutes. When it is set, all "
		+ "sessions end.",
	done: made => revealSecret({
		title: "Password link", secret: made.url, name: "PASSWORD_LINK",
		text: t`Send it to ${one.email}. It works once, until ${endOf(made)}, and is shown only now.`,
	}),
})

const changeAddress = (path, one) => formDialog({
	title: t`Change the address of ${one.email}`, submit: "Mail a link",
	lead: "A link goes to the new address. It becomes the account's when it is confirmed, within 30 minutes; "
		+ "the old one is told.",
	fields: [["email*", "New address", { type: "email", unique: true }]], path: `${path}/email-change`,
	done: made => undoable(t`A link is on its way to ${made.email}`,
		() => runAct(`${path}/email-change`, { method: "DELETE" }, "The change of address is called off")),
})

const edit = (path, one) => formDialog({
	title: "Edit user", edits: one, path, after: redraw,
	fields: [["name", "Name"], ROLE, EXTERNAL_ID, tickField("keep", "Keep although unused")],
})
