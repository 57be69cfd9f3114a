import { act, add, adder, confirm, formDialog, h, head, list, me, reveal, tag, time, who } from "../lib/console.js"

const ROLES = [["auditor", "Auditor: reads"], ["support", "Support: helps people"], ["developer", "Developer: keys and origins"],
	["admin", "Admin: manages"], ["owner", "Owner: everything"]]
const MATRIX = [["See tenants, users, invites, decisions", "yyyyy"], ["Invite people", "yynmn"], ["Add, edit, approve users", "yynnn"], ["Suspend users, end sessions", "yynyn"],
	["Create and rotate API keys", "yyynn"], ["Revoke API keys", "yyyyn"], ["Change origins", "yyynn"], ["Publish policy, providers", "yynnn"],
	["Read the audit log", "yyony"], ["Operators; suspend or delete a tenant", "ynnnn"]]
const MARK = { y: "Yes", n: "–", m: "Members", o: "Own" }

/** What each role may do, as a table. */
export const matrix = () => h("div.table", { tabIndex: 0, role: "region", "aria-label": "Rights of the roles" }, h("table", h("caption.vh", "Rights of the roles"),
	h("thead", h("tr", h("th", { scope: "col" }, "Right"), ["Owner", "Admin", "Developer", "Support", "Auditor"].map(text => h("th", { scope: "col" }, text)))),
	h("tbody", MATRIX.map(([text, cells]) => h("tr", h("th", { scope: "row" }, text), [...cells].map(one => h("td", one === "n" ? h("span.muted", "–") : MARK[one])))))))

/** How far an operator's rights reach. */
export const reach = ({ scope }) => (scope?.tenant_id ? h("a", { href: `/console/t/${scope.tenant_id}/users` }, "One tenant") : "Whole platform")

export default async function operators(page) {
	const create = () => adder("Add operator", () => open(view))
	add(page.body, head("Operators", { lead: "The keepers of this gatehouse. There is always at least one owner." }))
	const view = await list(page, page.body, {
		path: "/operators", noun: ["operator", "operators"], search: "Search by email or name", create,
		columns: [
			["Operator", one => who(one)],
			["Role", one => tag(one.role), { state: true }],
			["Status", one => tag(one.status)],
			["Scope", reach],
			["Last sign-in", one => time(one.last_sign_in_at)],
		],
		actions: (one, reload) => one.id === me().id ? [] : [
			["Change role", () => change(one, reload)],
			one.status === "suspended" ? ["Resume", () => status(one, "active", reload)]
				: ["Suspend", () => status(one, "suspended", reload), true],
			["Remove", () => remove(one, reload), true],
		],
	})
	add(page.body, h("details.gap", h("summary", "What each role may do"), matrix()))
}

const status = (one, value, reload) => act(`/operators/${one.id}`, {
	method: "PATCH", body: { status: value },
	back: one.status === "pending" ? null : () => status({ ...one, status: value }, value === "active" ? "suspended" : "active", reload),
}, value === "active" ? `${one.email} may sign in again` : `${one.email} is suspended: sessions have ended`, reload)

function change(one, reload) {
	formDialog({
		title: `Role of ${one.email}`, submit: "Change role",
		fields: [["role", "Role", { type: "select", options: ROLES, value: one.role }]],
		path: `/operators/${one.id}`, method: "PATCH", said: "The role is changed", after: reload,
	})
}

function remove(one, reload) {
	confirm({
		title: `Remove ${one.email}?`, act: "Remove operator", text: "Sessions end now. What was done stays in the audit log.",
		path: `/operators/${one.id}`, said: "Removed", after: reload,
	})
}

function open(view) {
	formDialog({
		title: "Add operator", lead: "You get a link that signs in once, to hand over.",
		fields: [
			["email", "Email", { type: "email", required: true }],
			["name", "Name"],
			["role", "Role", { type: "select", options: ROLES }],
			["scope.tenant_id", "Only this tenant", { hint: "Tenant id; empty is the whole platform." }],
		],
		path: "/operators",
		done: made => {
			view.reload()
			reveal({ title: "One-time sign-in link", secret: made.sign_in_url, name: "SIGN_IN_URL", text: `Send it to ${made.email}. It works once, within a day, and is shown only now.` })
		},
	})
}
