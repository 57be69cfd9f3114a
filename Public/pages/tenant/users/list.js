import {
	api, choices, confirm, countWords, createdColumn, exportFile, filterLink, formDialog, goTo, isAllowed, list,
	lookalikeNote, noValue, personCell, queryString, runAct, STATUS, t, timeColumn, toast, undoable, words,
} from "../../../lib/ui.js"
import { askToMerge } from "./merge.js"

const NOUN = ["user", "users"]
const ENDS = "Sign-in ends now, sessions and own keys with it. Each account can be restored for 30 days."
export const ROLES = choices("member manager admin")
export const ROLE = ["role", "Role", { options: ROLES }]
export const EXTERNAL_ID = ["external_id", "External id", { hint: "The user's id in your own system." }]
/** The providers that a person can be linked to; a password is given here. */
export const KINDS = choices("oidc google github cognito")
export const SUBJECT = ["subject*", "Subject", { hint: "The provider's own id of the person." }]

/** How long ago the last sign-in may be, in days; or at least, where there is a minus. */
const SEEN = [
	["1", "In the last day"], ["30", "In the last 30 days"], ["-30", "Not for 30 days"], ["-90", "Not for 90 days"],
	["never", "Never signed in"],
]
function seen(code) {
	if (code === "never") return { never_signed_in: true }
	// To the minute, so that the pages of a list are asked for alike.
	const at = new Date(Math.floor((Date.now() - Math.abs(code) * 86400000) / 60000) * 60000).toISOString()
	return Number(code) < 0 ? { last_sign_in_until: at } : { last_sign_in_since: at }
}

export const userList = async page => {
	const path = one => `${page.path}/users/${one.id}`
	const post = verb => one => api(`${path(one)}/${verb}`, { method: "POST" })
	await list(page, {
		path: `${page.path}/users`, noun: NOUN, exports: true, search: "Search by email or name",
		related: [
			[`${page.base}/users/duplicates`, "Duplicates"],
			isAllowed("createUsers") && !page.isGone && [`${page.base}/users/import`, "Import"],
		],
		create: ["editUsers", "Add user", reload => open(page, reload)],
		empty: {
			title: "Nobody has come in yet",
			text: "Invite people, add or import them here, or let the sign-up policy admit them.",
		},
		filters: [
			["status", "Status", "pending active suspended deleted"], ROLE,
			["provider", "Provider", { options: [...KINDS, ...choices("password")] }],
			["seen", "Last sign-in", { options: SEEN, asks: seen }],
		],
		columns: [
			[
				"User", one => [personCell(one, `${page.base}/users/${one.id}`), lookalikeNote(one.email)],
				{ sort: "email" },
			],
			STATUS,
			["Role", one => filterLink("role", one.role, words(one.role))],
			["Sign-in by", one => (one.identities ?? []).map(id => words(id.provider)).join(", ") || noValue()],
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
	})
}

/** Each gets the same role; undone, each has its own again. */
const changeRoles = (page, some, reload) => formDialog({
	title: t`Role of ${countWords(some.length, ...NOUN)}`, submit: "Change role", fields: [ROLE], draft: null,
	request: ({ role }) => [`${page.path}/users/actions`, {
		body: { action: "set_role", role, ids: some.map(one => one.id) },
	}],
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
			: t`Role changed: ${countWords(right.length, ...NOUN)}`, back)
		return reload()
	},
})

/** Whether a person has come by the rule `approval` and is not let in yet. */
const isWaiting = one => one.status === "pending" && one.source === "approval"

export function actions(page, one, reload) {
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
		const { answers } = await import("../requests.js")
		answers(path, one, reload).find(act => act.text === text).run()
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
	text: "All that is known of the person here is removed now: the account, its sign-ins, sessions, keys and "
		+ "addresses. This is final.",
	said: t`${name} is erased`, after: () => (page.id ? goTo(`${page.base}/users`) : reload()),
})

const open = (page, after) => formDialog({
	title: "Add user", lead: "Pending until the first sign-in. No message is sent; use an invite for that.",
	fields: [
		["email*", "Email", { type: "email", unique: true }],
		["name", "Name"],
		ROLE, EXTERNAL_ID,
	],
	path: `${page.path}/users`, said: made => t`${made.email} is added`, after,
})
