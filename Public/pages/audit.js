import { overTime } from "../lib/chart.js"
import {
	actionWords, exactTimeNode, filterLink, formatDay, h, isAllowed, list, noValue, ownTenant, queryString, t,
	TENANT, userText, words,
} from "../lib/ui.js"

/**
 * The verbs of all audit actions, by the kind of thing that they are done to.
 * @type {Record<string, string>}
 */
const ACTIONS = {
	api_key: "created cut leaked revoked rolled_back rotated updated",
	attribute_schema: "updated",
	client: "secret_changed updated",
	cors_origin: "created deleted updated",
	decisions: "expired",
	domain: "created deleted found lapsed lost updated verified",
	hook_credential: "created deleted",
	identity: "bound linked name_given_anew removed unlinked",
	invite: "accepted created mail_bounced mail_refused other_address resent revoked updated",
	job: "cancelled created failed finished paused resumed undo_begun undone",
	join_link: "created revoked used",
	link_grant: "created refused used",
	operator: "confirmed created deleted disowned factor_refused factors_reset link_made passkey_added "
		+ "passkey_refused passkey_removed passkey_renamed password_changed password_reset recovery_code_used "
		+ "recovery_codes_made reset_offered session_ended sign_in_bound sign_in_unbound signed_in signed_out "
		+ "stepped_up totp_added totp_removed updated",
	operator_sign_in: "changed removed",
	policy: "updated",
	provider: "created deleted secret_changed updated",
	session: "ended started",
	sign_up: "bound chosen completed declined deferred reserved",
	tenant: "created deleted purge_begun purged restored resumed suspended updated",
	user: "account_given activated approval_requested approved created credentials_wiped declined deleted "
		+ "email_change_asked email_change_ended email_changed exported inactivity_warned merge_undone merged "
		+ "password_changed password_link_made password_reset pin_removed pin_set purged removed restored resumed "
		+ "suspended updated",
}
/**
 * The choices of the filter by action. If a kind has more than two actions, all of them together are a choice, too.
 * @type {Choice[]}
 */
const CHOICES = Object.entries(ACTIONS).flatMap(([kind, verbs]) => {
	const codes = verbs.split(" ").map(verb => `${kind}.${verb}`)
	const all = { value: `${kind}.`, text: t`${words(kind)}: all` }
	const each = codes.map(code => ({ value: code, text: actionWords(code) }))
	return codes.length > 2 ? [all, ...each] : each
})

/**
 * The path of a thing's page below its tenant, by the thing's kind. `PLATFORM` has the paths for things outside a
 * tenant.
 */
const PAGES = {
	api_key: ({ id }) => `keys/${id}`, cors_origin: ({ name }) => `origins${queryString({ q: name })}`,
	domain: ({ name }) => `domains${queryString({ q: name })}`,
	invite: ({ name }) => `invites${queryString({ q: name })}`, user: ({ id }) => `users/${id}`,
}
const PLATFORM = {
	api_key: PAGES.api_key, cors_origin: PAGES.cors_origin, decision: ({ id }) => `decisions/${id}`,
	operator: ({ name }) => isAllowed("readOperators") && `operators${queryString({ q: name })}`,
	provider: () => "providers", tenant: ({ id }) => `t/${id}/users`,
}
/**
 * Matches actions after which the object is gone and has no page. A deleted tenant or user still has a page for a
 * while.
 */
const GONE = /purged$|^(?!tenant|user).*\.deleted$/

/**
 * The thing that the action was done to, with a link to its page.
 * @type {(event: API.AuditEvent) => Child}
 */
function target({ target: one, tenant_id: tenant, action }) {
	const text = userText(one?.name || one?.id)
	const isOfTenant = tenant && PAGES[one?.type]
	const place = !GONE.test(action) && (isOfTenant ? PAGES : PLATFORM)[one?.type]?.(one)
	return place ? h("a", { href: `/console/${isOfTenant ? `t/${tenant}/` : ""}${place}` }, text) : text
}

const isBlank = value => value == null || value.length === 0
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
/** Matches the fields whose values are codes, which are shown in words. */
const CODES = new RegExp("^(status|role|default_role|sign_up|auto_link|outcome|reason|kind|provider|email_trust"
	+ "|delivery|source|environment)$")

/** The text for a value in a change: a time in the reader's zone, a code in words. */
function plain(field, value) {
	if (Array.isArray(value)) return value.map(one => plain(field, one)).join(", ")
	if (typeof value === "object") return JSON.stringify(value)
	if (ISO.test(value)) return formatDay(value, { dateStyle: "medium", timeStyle: "medium" })
	if (typeof value === "boolean") return words(value ? "yes" : "no")
	return CODES.test(field) ? words(value) : String(value)
}

/**
 * Shows changed fields, {field: [before, after]}, each with both values. `labels` has the names of fields that are
 * not named like their codes.
 * @type {(changes: Record<string, any[]> | null | undefined, labels?: Record<string, Sentence>) => HTMLElement}
 */
export const diff = (changes, labels = {}) => {
	const all = Object.entries(changes ?? {})
	if (!all.length) return noValue()
	return h("div.diff.small", all.map(([field, [before, after]]) => h("div",
		h("span.muted", labels[field] ?? words(field)), " ",
		!isBlank(before) && [userText(plain(field, before), "del"), " → "],
		isBlank(after) ? h("ins", "none") : userText(plain(field, after), "ins"))))
}

/**
 * The audit log of all tenants, or of the tenant of `path`.
 * @type {(page: Page & Partial<TenantPage>) => Promise<any>}
 */
export default ({ path = "", ...page }) => {
	return list(page, /** @type {ListSpec<API.AuditEvent>} */ ({
		title: !path && "Audit", lead: "Who did what, to whom. Nothing here can be edited.",
		path: `${path}/audit-events`,
		noun: { one: "entry", many: "entries" }, exports: true,
		empty: {
			title: "Nothing has happened yet", text: "Every change is written here, with what stood before and after.",
		},
		filters: [
			{ name: "action", label: "Action", options: CHOICES },
			{ name: "actor", label: "Actor" },
			{ name: "target", label: "Target" },
		],
		time: overTime,
		columns: [
			{
				label: "Action",
				cell: one => [
					h("span.main", filterLink("action", one.action, actionWords(one.action))),
					h("span.sub", target(one)),
				],
			},
			{ label: "Changes", cell: one => diff(one.changes) },
			{
				label: "Actor",
				cell: one => [
					filterLink("actor", one.actor?.name || one.actor?.id, userText(one.actor?.name || "Gatehouse")),
					one.ip && h("span.sub", userText(one.ip)),
				],
			},
			...path || ownTenant() ? [] : [TENANT],
			{ label: "When", cell: one => exactTimeNode(one.occurred_at) },
		],
	}))
}
