import {
	api, append, button, confirm, currentOperator, dataTable, etagOf, formDialog, h, isAllowed, list, lookalikeNote,
	noValue, ownTenant, personCell, query, revealSecret, runAct, statusTag, t, tickField, timeColumn, timeNode,
	toast, userText
} from "../lib/ui.js"

// The provider at which operators sign in to the console.

const PATH = "/operator-sign-in"

/**
 * Opens the form for the operators' sign-in at a provider: which provider, which email domains, and whether passwords
 * stop working.
 * @type {() => Promise<unknown>}
 */
async function askProvider() {
	const [now, { items }] = await Promise.all([api(PATH), api("/providers?limit=200")])
	const offered = items.filter(one => !one.tenant_id && one.client_id && one.kind !== "cognito")
	if (!offered.length) return toast("Register a provider of the platform first, with a client id.", { stay: true })
	const node = await formDialog({
		title: "Operators' sign-in at a provider", submit: "Save", draft: null, start: now,
		lead: "Operators with an address of these domains may sign in there as well. The first sign-in binds the "
			+ "account there to the operator: from then on only that account signs in. Passwords can be switched "
			+ "off only in a session that came through the provider; passkeys keep working.",
		fields: [
			{
				name: "provider", label: "Provider", required: true,
				options: offered.map(one => ({ value: one.id, text: one.name })),
			},
			{
				name: "domains", label: "Domains", required: true, type: "lines",
				hint: "One on each line; the provider must be authoritative for each.",
			},
			tickField("required", "End the passwords of these domains", now.required),
		],
		request: body => ({ path: PATH, method: "PUT", body, etag: etagOf(now) }),
		said: "Operators sign in there from now on",
	})
	if (!node || !now.provider) return
	node.querySelector("[data-cancel]")?.before(
		button("End it", () => (node.close(), end()), { look: ".danger.apart" }),
	)
}

const end = () => confirm({
	title: "End operators' sign-in at the provider?", act: "End it", path: PATH, said: "It has ended",
	text: "Their passwords and passkeys sign in as before. Sessions continue.",
})

/** @type {Choice[]} */
const ROLES = [
	{ value: "auditor", text: "Auditor: reads" },
	{ value: "support", text: "Support: helps people" },
	{ value: "developer", text: "Developer: keys and origins" },
	{ value: "admin", text: "Admin: manages" },
	{ value: "owner", text: "Owner: everything" },
]
const [OWNER, ADMIN, DEVELOPER, SUPPORT, AUDITOR] = ["Owner", "Admin", "Developer", "Support", "Auditor"]
const COLUMNS = [OWNER, ADMIN, DEVELOPER, SUPPORT, AUDITOR]
/**
 * Each right with the roles that have it. A role in `of` has the whole right; a role in `part` has only what its text
 * says.
 * @type {{ right: string, of: string[], part?: Record<string, string> }[]}
 */
const RIGHTS = [
	{ right: "See tenants, users, invites, decisions", of: COLUMNS },
	{ right: "Invite people", of: [OWNER, ADMIN], part: { [SUPPORT]: "Members" } },
	{ right: "Add, edit, approve users", of: [OWNER, ADMIN] },
	{ right: "Suspend users, end sessions", of: [OWNER, ADMIN, SUPPORT] },
	{ right: "Create and rotate API keys", of: [OWNER, ADMIN, DEVELOPER] },
	{ right: "Revoke API keys", of: [OWNER, ADMIN, DEVELOPER, SUPPORT] },
	{ right: "Change origins", of: [OWNER, ADMIN, DEVELOPER] },
	{ right: "Publish policy, providers", of: [OWNER, ADMIN] },
	{ right: "Read the audit log", of: [OWNER, ADMIN, AUDITOR], part: { [DEVELOPER]: "Own" } },
	{ right: "Operators; suspend or delete a tenant", of: [OWNER] },
]

/**
 * The table of what each role may do.
 * @type {() => HTMLElement}
 */
export const matrix = () => dataTable("Rights of the roles", ["Right", ...COLUMNS], RIGHTS.map(({ right, of, part }) =>
	[right, ...COLUMNS.map(role => (of.includes(role) ? "Yes" : part?.[role] ?? noValue()))]))

/**
 * Where an operator's role or a provider applies: in the whole platform, or in one tenant.
 * @type {(one: { scope?: { tenant_id?: string | null, tenant_name?: string | null } }) => Child}
 */
export const reach = ({ scope: { tenant_id: id, tenant_name: name } = {} }) =>
	id ? h("a", { href: `/console/t/${id}/users` }, userText(name)) : "Whole platform"

/** @type {(page: Page) => Promise<any>} */
export default async page => {
	await list(page, /** @type {ListSpec<API.Operator>} */ ({
		title: "Operators", lead: "The keepers of this gatehouse. There is always at least one owner.",
		path: "/operators", noun: { one: "operator", many: "operators" }, search: "Search by email or name",
		create: { right: "readOperators", text: "Add operator", run: open },
		columns: [
			{ label: "Operator", cell: one => [personCell(one), lookalikeNote(one.email)] },
			{ label: "Role", cell: one => statusTag(one.role), state: true },
			{ label: "Status", cell: one => statusTag(one.status) },
			{ label: "Second factor", cell: secondFactor },
			{ label: "Scope", cell: reach },
			timeColumn("Last sign-in", "last_sign_in_at"),
		],
		actions: (one, reload) => (one.id === currentOperator().id ? [] : [
			{ text: "Edit", run: () => edit(one, reload) },
			one.status !== "suspended" && wayIn(one, reload),
			one.status === "suspended" ? { text: "Resume", run: () => status(one, "active", reload) }
				: { text: "Suspend", run: () => status(one, "suspended", reload) },
			{ text: "Remove", run: () => remove(one, reload) },
		]),
	}))
	if (isAllowed("writeOperators") && !ownTenant()) append(page.body, h("div.acts.gap",
		button("Sign-in at a provider", askProvider)))
	append(page.body, h("details.gap", h("summary", "What each role may do"), matrix()))
}

/** @type {(one: API.Operator, value: API.Operator["status"], reload: () => unknown) => unknown} */
const status = (one, value, reload) => runAct(`/operators/${one.id}`, {
	method: "PATCH", body: { status: value },
	back: one.status === "pending"
		? null
		: () => status({ ...one, status: value }, value === "active" ? "suspended" : "active", reload),
}, value === "active" ? t`${one.email} may sign in again` : t`${one.email} is suspended: sessions have ended`, reload)

/** @type {(one: API.Operator, reload: () => unknown) => unknown} */
const edit = (one, reload) => formDialog({
	title: t`Edit ${one.email}`, edits: one,
	fields: [{ name: "name", label: "Name" }, { name: "role", label: "Role", options: ROLES }],
	path: `/operators/${one.id}`, after: reload,
})

/** @type {(one: API.Operator) => boolean} */
const hasFactor = ({ factors: own }) => own.totp || own.passkeys + own.passkeys_unusable > 0

/**
 * Shows whether the account has a second factor. If it needs one and has none, also shows from when the password alone
 * is refused.
 * @type {(one: API.Operator) => Child}
 */
const secondFactor = one => [
	statusTag(hasFactor(one) ? "yes" : one.second_factor_due ? "due" : "no"),
	one.second_factor_due && h("span.sub", timeNode(one.second_factor_due)),
]

/**
 * The act that gives an operator a way to sign in again. If the account has been used, the link is only mailed to its
 * own address, so that no colleague can get into the account.
 * @type {(one: API.Operator, reload: () => unknown) => Act}
 */
const wayIn = (one, reload) => (one.last_sign_in_at || hasFactor(one)
	? { text: "Mail a new password", run: () => confirm({
		title: t`Mail ${one.email} a link to a new password?`, act: "Mail the link", keep: "Cancel",
		text: "The link goes to the operator's own address and works for an hour. The second factor stays.",
		path: `/operators/${one.id}/link`, method: "POST", body: { delivery: "mail" },
		said: t`A link is on its way to ${one.email}`, after: reload,
	}) }
	: { text: "New link", run: () => confirm({
		title: t`Make a new link for ${one.email}?`, act: "Make a link", keep: "Cancel",
		text: "It signs in once. The earlier link ends.",
		path: `/operators/${one.id}/link`, method: "POST", body: { delivery: "link" }, said: null,
		done: made => (reload(), showLink(one, made)),
	}) })

/** @type {(one: API.Operator, made: API.OperatorLink) => unknown} */
const showLink = ({ email }, made) => revealSecret({
	title: "One-time sign-in link", secret: made.sign_in_url ?? "", name: "SIGN_IN_URL",
	text: t`Send it to ${email}. It works once, within a day, and is shown only now.`,
})

/** @type {(one: API.Operator, reload: () => unknown) => unknown} */
const remove = (one, reload) => confirm({
	title: t`Remove ${one.email}?`, act: "Remove operator",
	text: "Sessions end now. What was done stays in the audit log.",
	path: `/operators/${one.id}`, said: "Removed", after: reload,
})

/** @type {(reload: () => unknown) => unknown} */
const open = reload => formDialog({
	title: "Add operator", lead: "You get a link that signs in once, to give to the person.",
	start: query().of && { scope: { tenant_id: query().of } },
	fields: [
		{ name: "email", label: "Email", required: true, type: "email", unique: true },
		{ name: "name", label: "Name" },
		{ name: "role", label: "Role", options: ROLES },
		!ownTenant()
			&& {
				name: "scope.tenant_id", label: "Only this tenant", type: "tenant",
				hint: "Its name or slug; leave it empty for the whole platform.",
			},
	],
	path: "/operators",
	// An empty field means the whole platform, and the request says so explicitly.
	body: values => {
		const tenant = ownTenant() ?? values.scope?.tenant_id
		return { ...values, scope: tenant ? { tenant } : { platform: true } }
	},
	done: made => (reload(), showLink(made, made)),
})
