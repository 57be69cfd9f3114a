import {
	append, button, confirm, currentOperator, dataTable, formDialog, h, isAllowed, list, lookalikeNote, noValue, ownTenant, personCell,
	query, revealSecret, runAct, statusTag, t, timeColumn, userText,
} from "../lib/ui.js"
export * from "./operators/provider.js"
import { askProvider } from "./operators/provider.js"

const ROLES = [["auditor", "Auditor: reads"], ["support", "Support: helps people"], [
	"developer", "Developer: keys and origins",
],
	["admin", "Admin: manages"], ["owner", "Owner: everything"]]
const MATRIX = [[
	"See tenants, users, invites, decisions", "yyyyy",
], ["Invite people", "yynmn"], ["Add, edit, approve users", "yynnn"], ["Suspend users, end sessions", "yynyn"],
	["Create and rotate API keys", "yyynn"], ["Revoke API keys", "yyyyn"], ["Change origins", "yyynn"],
	["Publish policy, providers", "yynnn"],
	["Read the audit log", "yyony"], ["Operators; suspend or delete a tenant", "ynnnn"]]
const MARK = { y: "Yes", m: "Members", o: "Own" }

export const matrix = () => dataTable("Rights of the roles", [
	"Right", "Owner", "Admin", "Developer", "Support", "Auditor",
],
	MATRIX.map(([text, cells]) => [text, ...[...cells].map(one => MARK[one] ?? noValue())]))

/** Where a role or a provider counts: the whole platform, or one tenant. */
export const reach = ({ scope: { tenant_id: id, tenant_name: name } = {} }) =>
	id ? h("a", { href: `/console/t/${id}/users` }, userText(name)) : "Whole platform"

export default async page => {
	await list(page, {
		title: "Operators", lead: "The keepers of this gatehouse. There is always at least one owner.",
		path: "/operators", noun: ["operator", "operators"], search: "Search by email or name",
		create: ["readOperators", "Add operator", open],
		columns: [
			["Operator", one => [personCell(one), lookalikeNote(one.email)]],
			["Role", one => statusTag(one.role), { state: true }],
			["Status", one => statusTag(one.status)],
			["Scope", reach],
			timeColumn("Last sign-in", "last_sign_in_at"),
		],
		actions: (one, reload) => (one.id === currentOperator().id ? [] : [
			{ text: "Change role", run: () => change(one, reload) },
			one.status === "suspended" ? { text: "Resume", run: () => status(one, "active", reload) }
				: { text: "Suspend", run: () => status(one, "suspended", reload) },
			{ text: "Remove", run: () => remove(one, reload) },
		]),
	})
	if (isAllowed("writeOperators") && !ownTenant()) append(page.body, h("div.acts.gap",
		button("Sign-in at a provider", askProvider)))
	append(page.body, h("details.gap", h("summary", "What each role may do"), matrix()))
}

const status = (one, value, reload) => runAct(`/operators/${one.id}`, {
	method: "PATCH", body: { status: value },
	back: one.status === "pending"
		? null
		: () => status({ ...one, status: value }, value === "active" ? "suspended" : "active", reload),
}, value === "active" ? t`${one.email} may sign in again` : t`${one.email} is suspended: sessions have ended`, reload)

const change = (one, reload) => formDialog({
	title: t`Role of ${one.email}`, submit: "Change role", edits: one,
	fields: [["role", "Role", { options: ROLES }]],
	path: `/operators/${one.id}`, said: "The role is changed", after: reload,
})

const remove = (one, reload) => confirm({
	title: t`Remove ${one.email}?`, act: "Remove operator",
	text: "Sessions end now. What was done stays in the audit log.",
	path: `/operators/${one.id}`, said: "Removed", after: reload,
})

const open = reload => formDialog({
	title: "Add operator", lead: "You get a link that signs in once, to hand over.",
	start: query().of && { scope: { tenant_id: query().of } },
	fields: [
		["email*", "Email", { type: "email", unique: true }],
		["name", "Name"],
		["role", "Role", { options: ROLES }],
		!ownTenant()
			&& [
				"scope.tenant_id", "Only this tenant",
				{ type: "tenant", hint: "Its name or slug; empty is the whole platform." },
			],
	],
	path: "/operators",
	done: made => {
		reload()
		revealSecret(
			{
				title: "One-time sign-in link", secret: made.sign_in_url, name: "SIGN_IN_URL",
				text: t`Send it to ${made.email}. It works once, within a day, and is shown only now.`,
			},
		)
	},
})
