// The list of users, the page of one user, and pairs of users who may be the same person.
import {
	STATUS, actionWords, ago, api, append, button, buttons, card, choices, confirm, copyable, countWords,
	createdColumn, exportFile, factList, filterLink, formDialog, formatDay, goTo, h, icon, isAllowed, list, loadPart,
	lookalikeNote, noValue, note, personCell, queryString, redraw, replaceContent, restorableUntil, revealSecret,
	runAct, statusTag, t, tickField, timeColumn, timeNode, toast, undoable, userText, waitBriefly, words
} from "../../lib/ui.js"

// Merging two users who are one person, and undoing it.

const RANK = ["admin", "manager", "member"]

/**
 * Asks which of two users remains when they are merged. The form proposes the user with more rights, or else the older
 * user.
 * @type {(page: TenantPage, some: API.User[], reload: () => unknown) => unknown}
 */
function askToMerge(page, some, reload) {
	const [first, second] = [...some].sort((one, other) =>
		RANK.indexOf(one.role ?? "") - RANK.indexOf(other.role ?? "") || one.created_at.localeCompare(other.created_at))
	const path = `${page.path}/users/merges`
	return formDialog({
		title: "Merge two users?", submit: "Merge", draft: null,
		lead: "Proved sign-ins, API keys and addresses of the other move to the one who stays, whose role, name and "
			+ "password do not change. The other's password and sessions end. Both addresses get a mail. It can be "
			+ "undone for 30 days.",
		fields: [{
			name: "winner", label: "Who stays",
			options: [first, second].map(one => ({ value: one.id, text: `${one.email} (${one.role})` })),
			value: first.id,
		}],
		request: ({ winner }) => ({
			path, method: "POST", body: { winner, loser: winner === first.id ? second.id : first.id },
		}),
		done: made => {
			undoable(t`${first.email} and ${second.email} are one`, () => undo(path, made, reload))
			reload()
		},
	})
}

const undo = (path, one, after) => runAct(`${path}/${one.id}/undo`, {}, "They are two again", async undone => {
	const words = endedWords(undone.ended)
	if (words) toast(t`Ended, because it was made since: ${words}`, { stay: true })
	await after()
})

/**
 * What stopped working when a merge was undone, such as keys and sessions, in words; empty if nothing did.
 * @type {(ended: API.EndedAccess) => string}
 */
const endedWords = ended => [
	ended.keys.length && `API keys (${ended.keys.length})`, ended.sessions && `sessions (${ended.sessions})`,
	ended.link_grants && "links to add a sign-in", ended.password_links && "links to set a password",
	ended.email_change && "a change of the address", ended.password && "the password", ended.pin && "the PIN",
].filter(Boolean).join(", ")

/**
 * A line about a merge, for the page of the user who remained.
 * @type {(page: TenantPage, one: API.Merge) => HTMLElement}
 */
const mergeLine = (page, one) => h("div.line",
	h("div", h("code", one.loser), h("div.small.muted", timeNode(one.created_at), " · by ",
		userText(one.created_by.name || "Gatehouse"))),
	one.status === "done"
		? button("Undo", () => undo(`${page.path}/users/merges`, one, redraw), { look: ".tiny", name: one.loser })
		: noValue("undone"))

const NOUN = { one: "user", many: "users" }
const ENDS = "Sign-ins, sessions and own keys end now. Each account can be restored for 30 days."
/** @type {Choice[]} */
export const ROLES = choices("member manager admin")
/** @type {Field} */
export const ROLE = { name: "role", label: "Role", options: ROLES }
/** @type {Field} */
const EXTERNAL_ID = { name: "external_id", label: "External id", hint: "The user's id in your own system." }
/**
 * The kinds of provider whose sign-ins can be linked to a user. Sign-ins by a password cannot be linked.
 * @type {Choice[]}
 */
export const KINDS = choices("oidc google github cognito")
/** @type {Field} */
export const SUBJECT = {
	name: "subject", label: "Subject", required: true, hint: "The provider's own id of the person.",
}

/**
 * The choices of the filter by last sign-in, by days: 30 means "in the last 30 days", -30 "not in the last 30 days".
 * @type {Choice[]}
 */
const SEEN = [
	{ value: "1", text: "In the last day" },
	{ value: "30", text: "In the last 30 days" },
	{ value: "-30", text: "Not for 30 days" },
	{ value: "-90", text: "Not for 90 days" },
	{ value: "never", text: "Never signed in" },
]
function seen(code) {
	if (code === "never") return { never_signed_in: true }
	// The time is rounded to the minute, so that all pages of a list have the same query.
	const at = new Date(Math.floor((Date.now() - Math.abs(code) * 86400000) / 60000) * 60000).toISOString()
	return Number(code) < 0 ? { last_sign_in_until: at } : { last_sign_in_since: at }
}

/** @type {(page: TenantPage) => Promise<any>} */
const userList = async page => {
	const path = one => `${page.path}/users/${one.id}`
	const post = verb => one => api(`${path(one)}/${verb}`, { method: "POST" })
	await list(page, /** @type {ListSpec<API.User>} */ ({
		path: `${page.path}/users`, noun: NOUN, exports: true, search: "Search by email or name",
		related: [
			{ href: `${page.base}/users/duplicates`, text: "Duplicates" },
			isAllowed("createUsers") && !page.isGone && { href: `${page.base}/users/import`, text: "Import" },
		],
		create: { right: "editUsers", text: "Add user", run: reload => open(page, reload) },
		empty: {
			title: "Nobody has come in yet",
			text: "Invite people, add or import them here, or let the sign-up policy admit them.",
		},
		filters: [
			{ name: "status", label: "Status", options: choices("pending active suspended deleted") },
			ROLE,
			{ name: "provider", label: "Provider", options: [...KINDS, ...choices("password")] },
			{ name: "seen", label: "Last sign-in", options: SEEN, asks: seen },
		],
		columns: [
			{
				label: "User", cell: one => [personCell(one, `${page.base}/users/${one.id}`), lookalikeNote(one.email)],
				sort: "email",
			},
			STATUS,
			{ label: "Role", cell: one => filterLink("role", one.role, words(one.role)) },
			{
				label: "Sign-in by",
				cell: one => (one.identities ?? []).map(id => words(id.provider)).join(", ") || noValue(),
			},
			timeColumn("Last sign-in", "last_sign_in_at", { sort: "last_sign_in_at" }),
			createdColumn(),
		],
		actions: (one, reload) => actions(page, one, reload),
		bulk: [
			{
				text: "Export", fits: () => true,
				all: some => exportFile(`${page.path}/users${queryString({ ids: some.map(one => one.id) })}`, NOUN),
			},
			isAllowed("linkIdentities") && {
				text: "Merge", number: 2, fits: one => /active|pending/.test(one.status),
				all: (some, reload) => askToMerge(page, some, reload),
			},
			isAllowed("editUsers") && { text: "Approve", fits: isWaiting, verb: "approve" },
			isAllowed("editUsers") && {
				text: "Change role", fits: one => /active|pending|suspended/.test(one.status),
				all: (some, reload) => changeRoles(page, some, reload),
			},
			isAllowed("suspendUsers") && {
				text: "Suspend", fits: one => one.status === "active", verb: "suspend",
				back: isAllowed("editUsers") && post("resume"),
				asks: "Their sign-ins, sessions and keys are refused at once. Resuming lets them work again.",
			},
			isAllowed("editUsers") && {
				text: "Resume", fits: one => one.status === "suspended", verb: "resume",
				back: isAllowed("suspendUsers") && post("suspend"),
			},
			isAllowed("editUsers") && {
				text: "Delete", fits: one => /active|pending|suspended/.test(one.status), asks: ENDS,
				back: post("restore"), verb: "delete",
			},
		].filter(Boolean),
	}))
}

/**
 * Asks for a role and gives it to each user; an undo gives each user the former role back.
 * @type {(page: TenantPage, some: API.User[], reload: () => unknown) => unknown}
 */
const changeRoles = (page, some, reload) => formDialog({
	title: t`Role of ${countWords(some.length, NOUN.one, NOUN.many)}`, submit: "Change role", fields: [ROLE],
	draft: null,
	request: ({ role }) => ({
		path: `${page.path}/users/actions`, body: { action: "set_role", role, ids: some.map(one => one.id) },
	}),
	done: made => {
		if (made.kind) return goTo(`${page.base}/jobs/${made.id}`)
		const wrong = made.items.filter(one => one.status === "failed")
		const right = some.filter(one => !wrong.some(({ id }) => id === one.id))
		const back = async () => {
			const put = one => api(`${page.path}/users/${one.id}`, { method: "PATCH", body: { role: one.role } })
			const all = await Promise.allSettled(right.map(put))
			toast(all.every(one => one.status === "fulfilled") ? "Taken back" : "Some could not be taken back.")
			reload()
		}
		undoable(wrong.length ? t`${right.length} done, ${wrong.length} not. ${wrong[0].detail ?? ""}`
			: t`Role changed: ${countWords(right.length, NOUN.one, NOUN.many)}`, back)
		return reload()
	},
})

/**
 * Whether a person came in by the policy's mode `approval` and is not approved yet.
 * @type {(one: API.User) => boolean}
 */
const isWaiting = one => one.status === "pending" && one.source === "approval"

/** @type {(page: TenantPage, one: API.User, reload: () => Promise<unknown> | unknown) => Acts} */
function actions(page, one, reload) {
	const path = `${page.path}/users/${one.id}`
	const { email: name, status } = one
	const [edits, suspends] = [isAllowed("editUsers"), isAllowed("suspendUsers")]
	const turn = (word, said, back) =>
		runAct(`${path}/${word}`, { back: back && (() => turn(back, "Taken back")) }, said, reload)
	const remove = () => confirm({
		title: t`Delete ${name}?`, act: "Delete user", text: ENDS, path,
		done: () => {
			undoable(t`${name} is deleted`, () => turn("restore", "Restored"))
			reload()
		},
	})
	const answer = text => ({ text, run: async () => {
		const { answers } = await import("./requests.js")
		answers(path, one, reload).find(act => act.text === text)?.run()
	} })
	return [
		...(edits && isWaiting(one) ? ["Approve", "Approve with a message", "Decline"].map(answer) : []),
		edits && status === "suspended"
			&& { text: "Resume", run: () => turn("resume", t`${name} may sign in again`, suspends && "suspend") },
		edits && status === "deleted" && { text: "Restore", run: () => turn("restore", t`${name} is restored`) },
		suspends && status === "active" && {
			text: "Suspend",
			run: () => turn("suspend", t`${name} is suspended: sessions and keys are refused`, edits && "resume"),
		},
		edits && /active|pending|suspended/.test(status) && { text: "Delete", run: remove },
		name && isAllowed("purgeUsers") && { text: "Erase for good", run: () => purge(page, path, name, reload) },
	]
}

const purge = (page, path, name, reload) => confirm({
	title: t`Erase ${name} for good?`, act: "Erase for good", type: name, path, query: { purge: true },
	text: "Everything known about the person here is removed now: the account, its sign-ins, sessions, keys and "
		+ "addresses. This is final.",
	said: t`${name} is erased`, after: () => (page.id ? goTo(`${page.base}/users`) : reload()),
})

const open = (page, after) => formDialog({
	title: "Add user", lead: "Pending until the first sign-in. No message is sent; use an invite for that.",
	fields: [
		{ name: "email", label: "Email", required: true, type: "email", unique: true },
		{ name: "name", label: "Name" },
		ROLE,
		EXTERNAL_ID,
	],
	path: `${page.path}/users`, said: made => t`${made.email} is added`, after,
})

/** Shows the user's role, and a menu of the other roles. A choice takes effect at once and can be undone. */
function roleMenu(path, one) {
	const put = role => api(path, { method: "PATCH", body: { role } })
	const acts = ROLES.filter(({ value }) => value !== one.role).map(({ value: role, text }) => ({
		text, run: () => runAct(path, {
			method: "PATCH", body: { role }, back: () => put(one.role).then(redraw),
		}, t`${one.email} has the role ${text}`, redraw),
	}))
	const open = async () => (await import("../../lib/rows.js")).openMenu(more, acts, one.email)
	const more = button([words(one.role), " ", icon("down")], open, {
		look: ".tiny", "aria-label": t`Role: ${words(one.role)}`, "aria-haspopup": "menu", "aria-expanded": "false",
	})
	return h("div.row-acts", more)
}

/** @type {(page: TenantPage) => Promise<any>} */
const userPage = async page => {
	const path = `${page.path}/users/${page.id}`
	const one = await page.get(path)
	const lives = one.status !== "deleted" && !page.isGone
	const edits = isAllowed("editUsers") && lives
	const ends = isAllowed("suspendUsers") && lives
	// A card that requests its own data. If that fails, only this card shows the error.
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

/** A line for each attribute of a user. The users themselves do not get to see their private attributes. */
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
	lead: "Nothing checks this: whoever has this account at the provider will be this user.",
	fields: [
		{ name: "provider", label: "Provider", options: KINDS, value: "google" },
		{ name: "issuer", label: "Issuer", required: true, value: "https://accounts.google.com" }, SUBJECT,
	],
	path: `${path}/identities`, said: "Linked", after: redraw,
})

/** The time at which a new secret expires, in words. */
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
	lead: "A link goes to the new address. It becomes the account's address when it is confirmed, within 30 "
		+ "minutes; the old address is informed.",
	fields: [{ name: "email", label: "New address", required: true, type: "email", unique: true }],
	path: `${path}/email-change`,
	done: made => undoable(t`A link is on its way to ${made.email}`,
		() => runAct(`${path}/email-change`, { method: "DELETE" }, "The change of address is called off")),
})

const edit = (path, one) => formDialog({
	title: "Edit user", edits: one, path, after: redraw,
	fields: [{ name: "name", label: "Name" }, ROLE, EXTERNAL_ID, tickField("keep", "Keep although unused")],
})

// Users who may be one person, side by side.

/** The search for more pairs continues by itself until this many are shown. */
const ENOUGH = 20

const SAID = {
	verified_address: value => t`Providers vouched for ${value} at both.`,
	subject: value => t`Both sign in as ${value}, at two issuers of one kind.`,
	spelling: value => t`Maybe: one address is another spelling of ${value}.`,
	external_id: value => t`A file assigned the external id ${value} to both.`,
}

/** @type {(page: TenantPage) => Promise<any>} */
const duplicates = async page => {
	const found = h("div.stack-gap")
	const below = h("div.pager", { "aria-live": "polite" })
	append(page.body, [
		h("div.head",
			h("div", h("h1", "Duplicates"), h(
				"p.lead",
				"Two records of one person, if the evidence is right. Nothing changes until you merge them.",
			)),
			h("div.acts", h("a.btn", { href: `${page.base}/users` }, "All users"))), found, below,
	])
	let cursor = ""
	let looked = 0
	const more = async () => {
		for (let shown = 0; cursor != null && shown < ENOUGH && page.alive();) {
			const data = await page.get(`${page.path}/users/duplicates${queryString({ cursor, limit: 50 })}`)
			found.append(...data.items.map(one => pair(page, one)))
			shown += data.items.length
			looked = data.next_cursor ? looked + 500 : data.total.value
			cursor = data.next_cursor
			const max = Math.max(data.total.value, looked, 1)
			const bar = h("progress", { max, value: looked, "aria-label": "Looked through" })
			replaceContent(below, bar, h("span.muted", t`${countWords(looked, "user", "users")} looked through`))
		}
		if (cursor != null) below.append(button("Look on", more, { look: ".tiny" }))
		else if (!found.children.length) found.append(noValue("No two users look like one person."))
	}
	await more()
}

const pair = (page, { users, evidence }) => h("section.card", h("div.head",
	h("div", evidence.map(one => h("div", SAID[one.kind](one.value)))),
	isAllowed("linkIdentities") && !page.isGone
		&& h("div.acts", button("Merge", () => askToMerge(page, users, redraw), { look: ".tiny" }))),
h("div.two", users.map(one => h("div.stack-gap", personCell(one, `${page.base}/users/${one.id}`),
	h("div.small.muted", words(one.role), " · ", words(one.status), " · made ", timeNode(one.created_at),
		" · last sign-in ", timeNode(one.last_sign_in_at, "never")),
	one.identities.map(id => h("div.small", words(id.provider), " ", userText(id.email ?? id.subject)))))))

/** @type {(page: TenantPage) => Promise<any>} */
export default page => (page.id === "duplicates" ? duplicates : page.id ? userPage : userList)(page)
