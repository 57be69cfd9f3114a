import { act, api, choices, confirm, created, formDialog, list, may, none, only, STATUS, t, time, undoable, who, words } from "../../lib/console.js"

const ENDS = "Sign-in ends now, sessions and own keys with it. Each account can be restored for 30 days."
export const ROLES = choices("member manager admin")
/** The providers that a person can be linked to; a password is given here. */
export const KINDS = [["oidc", "OpenID Connect"], ["google", "Google"], ["github", "GitHub"], ["cognito", "Amazon Cognito"]]

export default async function users(page) {
	const path = one => `${page.path}/users/${one.id}`
	const post = verb => one => api(`${path(one)}/${verb}`, { method: "POST" })
	await list(page, page.body, {
		path: `${page.path}/users`, noun: ["user", "users"], search: "Search by email or name", create: ["editUsers", "Add user", reload => open(page, reload)], named: one => one.email ?? one.id,
		empty: { title: "Nobody has come in yet", text: "Invite people, add them here, or let the sign-up policy admit them." },
		filters: [["status", "Status", { options: choices("pending active suspended deleted") }], ["role", "Role", { options: ROLES }], ["provider", "Provider", { options: [...KINDS, ["password", "Password"]] }]],
		columns: [
			["User", one => who(one, `${page.base}/users/${one.id}`), { sort: "email" }],
			STATUS,
			["Role", one => only("role", one.role, words(one.role))],
			["Sign-in by", one => (one.identities ?? []).map(id => words(id.provider)).join(", ") || none()],
			["Last sign-in", one => time(one.last_sign_in_at)],
			created(),
		],
		actions: (one, reload) => actions(page, one, reload).filter(act => act?.[0] !== "Delete"),
		bulk: may("suspendUsers") && [
			{ text: "Suspend", danger: true, fits: one => one.status === "active", run: post("suspend"), asks: "Their sign-ins, sessions and keys are refused at once. Resuming lets them work again." },
			may("editUsers") && { text: "Resume", fits: one => one.status === "suspended", run: post("resume") },
			may("editUsers") && { text: "Delete", danger: true, fits: one => ["active", "pending", "suspended"].includes(one.status), run: one => api(path(one), { method: "DELETE" }), asks: ENDS },
		].filter(Boolean),
	})
}

export function actions(page, one, reload) {
	const path = `${page.path}/users/${one.id}`
	const name = one.email
	const turn = (word, said, back) => act(`${path}/${word}`, { back: back && (() => turn(back, "Taken back")) }, said, reload)
	const verb = (text, word, said, back, danger) => [text, () => turn(word, said, back), danger]
	return [
		one.status === "pending" && one.source === "approval" && may("editUsers") && verb("Approve", "approve", t`${name} may come in`),
		one.status === "suspended" && may("editUsers") && verb("Resume", "resume", t`${name} may sign in again`, may("suspendUsers") && "suspend"),
		one.status === "deleted" && may("editUsers") && verb("Restore", "restore", t`${name} is restored`),
		one.status === "active" && may("suspendUsers") && verb("Suspend", "suspend", t`${name} is suspended: sessions and keys are refused`, may("editUsers") && "resume", true),
		["active", "pending", "suspended"].includes(one.status) && may("editUsers") && ["Delete", () => confirm({
				title: t`Delete ${name}?`, act: "Delete user",
				text: ENDS,
				run: async () => {
					await api(path, { method: "DELETE" })
					undoable(t`${name} is deleted`, () => act(`${path}/restore`, {}, "Restored", reload))
					reload()
				},
			}), true],
	]
}

const open = (page, after) => formDialog({
	title: "Add user", lead: "Pending until the first sign-in. No message is sent; use an invite for that.",
	fields: [
		["email*", "Email", { type: "email" }],
		["name", "Name"],
		["role", "Role", { options: ROLES }],
	],
	path: `${page.path}/users`, said: made => t`${made.email} is added`, after,
})
