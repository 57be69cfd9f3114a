import { overTime } from "../lib/chart.js"
import {
	api, append, button, card, choices, confirm, copyable, copyButton, countWords, dataTable, exactTimeNode,
	factList, filterLink, formatNumber, formDialog, h, icon, isAllowed, list, loadPart, note, noValue, ownTenant,
	pageHead, query, queryString, redraw, replaceContent, statusTag, t, TENANT, userText, waitBriefly, words,
} from "../lib/ui.js"

const CODES = "email_missing email_invalid email_unverified user_suspended user_deleted tenant_suspended "
	+ "tenant_deleted "
	+ "approval_pending invite_unknown invite_expired invite_revoked invite_used invite_email_mismatch "
	+ "join_unknown join_expired join_revoked join_used_up "
		+ "identity_link_required "
	+ "identity_conflict not_invited no_tenant provider_unknown tenant_choice_required rate_limited unavailable"
/** One choice for all outcomes by which a person was admitted, since the overview counts them together. */
const ADMITTED = { value: "created,linked,existing,reserved", text: "Admitted, in any way" }

/**
 * The provisioning decisions of all tenants, or of the tenant of `path`.
 * @type {(page: Page & Partial<TenantPage>) => Promise<any>}
 */
export default async ({ path = "", ...page }) => {
	if (!path && page.params.id) return decision(page)
	await list(page, /** @type {ListSpec<API.Decision>} */ ({
		title: !path && "Decisions", lead: "Who knocked, what was answered, and the rule that decided.",
		path: `${path}/provisioning/decisions`, noun: { one: "decision", many: "decisions" }, live: true, exports: true,
		empty: {
			title: "Nobody has knocked yet", text: "Each sign-up attempt is kept here with the rules that decided it.",
			action: h("a.btn", { href: "/console/simulator" }, icon("flask"), "Try the simulator"),
		},
		search: "Part of an address, or a reference",
		filters: [
			{
				name: "outcome", label: "Outcome",
				options: [ADMITTED, ...choices("created linked existing reserved deferred refused")],
			},
			{ name: "reason", label: "Reason", options: choices(CODES) },
			query().email && { name: "email", label: "Whole address", type: "email" },
		].filter(Boolean),
		time: overTime,
		columns: [
			{
				label: "Email",
				cell: one => [
					h(
						"a.main", { href: `/console/decisions/${one.id}` },
						one.email ? userText(one.email) : "No address",
					),
					one.provider_name ? userText(one.provider_name, "span.sub") : h("span.sub", words(one.provider)),
				],
			},
			...path || ownTenant() ? [] : [TENANT],
			{ label: "Outcome", cell: one => statusTag(one.outcome), state: true },
			{
				label: "Reason",
				cell: one => (one.reason ? filterLink("reason", one.reason, words(one.reason)) : noValue()),
			},
			{
				label: "Took",
				cell: one =>
					one.duration_ms === null
						? noValue()
						: t`${formatNumber(Math.round(one.duration_ms * 10) / 10)} ms`,
			},
			{ label: "When", cell: one => exactTimeNode(one.created_at) },
		],
		actions: one => [
			path && one.outcome === "refused" && one.email && isAllowed("manageInvites")
				&& !/suspended|deleted/.test(one.reason ?? "")
				&& { text: "Invite", run: () => invitePerson(path, one.email) },
		],
	}))
	if (page.isGone || !isAllowed("readOrigins")) return
	const reference = () => query().q?.match(/^[0-9A-Za-z]{6}$/)?.[0]
	const failed = h("div",
		button("Show what failed before the rules", () => drawFailed(failed, path, reference()), {}))
	append(page.body, failed)
	if (reference()) await drawFailed(failed, path, reference())
}

/**
 * Shows sign-ins that failed before any rule was applied. With the `reference` that a page showed to the person, it
 * shows only that sign-in; without it, the most recent ones.
 * @type {(node: HTMLElement, path: string, reference?: string) => Promise<void>}
 */
const drawFailed = (node, path, reference) => loadPart(node, async () => {
	const { items } = await api(`${path}/failed-sign-ins${queryString({ reference, limit: 50 })}`)
	replaceContent(node, card(
		"Sign-ins that failed before the rules",
		h("p.muted", items.length
			? "Anyone who can send a request can cause a line here; the person saw the same text for every reason."
			: "None of the last 90 days."),
		items.length > 0 && dataTable("Sign-ins that failed before the rules", ["Reason", "At", "Reference", "When"],
			items.map(one => [
				reasonOf(one), [userText(one.client), userText(one.operation, "span.sub")],
				one.reference ? h("code", one.reference) : noValue(), exactTimeNode(one.created_at),
			])),
	))
})

/**
 * Why a sign-in failed. For wrong passwords or PINs, it also says how many tries there were within one minute, and for
 * which account.
 * @type {(one: API.FailedSignIn) => Child}
 */
const reasonOf = one => (one.tries
	? [h("span.main", one.reason === "wrong_pin" ? "wrong PIN" : "wrong password", " · ",
		countWords(one.tries, "try", "tries")), h("span.sub", one.user_id && one.tenant_id
		? h("a", { href: `/console/t/${one.tenant_id}/users/${one.user_id}` }, "one account")
		: one.operator_id ? "one account" : "no known account")]
	: userText(one.reason, "span.main"))

const invitePerson = async (path, email) => (await import("./tenant/invites.js")).invite(`${path}/invites`, null, email)

/**
 * A button that copies an attempt and its result, as a case for the reader's own tests.
 * @type {(attempt: object, result: { outcome?: string, reason?: string | null }) => HTMLElement}
 */
export const copyTest = (attempt, { outcome, reason }) =>
	copyButton(JSON.stringify({ attempt, expect: { outcome, reason } }, null, 2), "Copy as test")

/** @type {(page: Page) => Promise<void>} */
async function decision(page) {
	const { advice, authoritiesOf, isUnproved, namesOf, outcomeText, trace } = await import("../lib/reasons.js")
	const one = await page.get(`/provisioning/decisions/${page.params.id}`).catch(error => {
		const isGone = error.status === 404 || error.status === 422
		throw isGone
			? Object.assign(error, { status: 404, message: "Decisions are kept for 90 days; an older one is gone." })
			: error
	})
	const [names, authorities] = await Promise.all([namesOf(one), authoritiesOf(one)])
	one.authorities = authorities
	const person = names.get(one.user_id)
	const waits = person?.status === "pending" && person.source === "approval"
	const ways = h("div", { hidden: true })
	const attempt = {
		provider: one.provider, issuer: one.issuer, subject: one.subject, email: one.email, tenant: one.tenant_id,
	}
	const named = (id, otherwise) => {
		const known = names.get(id)
		return known ? h("a", { href: known.href }, userText(known.name)) : otherwise
	}
	append(page.body, [
		pageHead(one.email ? userText(one.email) : "A decision", {
			crumbs: [{ text: "Decisions", href: "/console/decisions" }], lead: outcomeText(one, waits),
			acts: [
				copyTest(attempt, one),
				h("a.btn", { href: `/console/simulator${queryString(attempt)}` }, icon("flask"), "Simulate again"),
			],
		}),
		advice(one), ways,
		isUnproved(one) && one.tenant_id && isAllowed("linkIdentities") && whose(one),
		h("div.two.gap", card("Rule by rule", trace(one.trace, names)),
			card("The attempt", factList([
				["Outcome", statusTag(one.outcome)],
				one.reason && ["Reason", [words(one.reason), " ", h("code", one.reason)]],
				["When", exactTimeNode(one.created_at)],
				["Provider", one.provider_name
					? [userText(one.provider_name), " ", h("span.muted", words(one.provider))] : words(one.provider)],
				["Issuer", userText(one.issuer)],
				["Subject", userText(one.subject, "code")],
				["Tenant", named(one.tenant_id, one.tenant_id ? copyable(one.tenant_id) : noValue("none"))],
				["Policy", one.policy_version ? t`Version ${one.policy_version}` : noValue()],
				["Took", one.duration_ms === null ? noValue() : t`${formatNumber(one.duration_ms)} ms`],
				["User", named(one.user_id, one.user_id ? copyable(one.user_id) : noValue("none"))],
				one.invite_id && ["Invite", h("a", {
					href: `/console/t/${one.tenant_id}/invites${queryString({ q: one.email })}`,
				}, "The invite of this address")],
				one.reference && ["Reference", copyable(one.reference)], ["Id", copyable(one.id)],
			]))),
	])
	if (one.outcome === "refused") await waitBriefly(drawWays(page, one, ways))
}

/**
 * Shows the changes that would now let in the person whom this decision refused. They are requested only after the
 * decision is shown, since finding them is more work for the server.
 */
async function drawWays(page, one, node) {
	const { would_admit } = await page.get(`/provisioning/decisions/${one.id}?would_admit=true`).catch(() => ({}))
	const found = await (await import("../lib/reasons.js")).nearest({ ...one, would_admit })
	node.hidden = !found
	if (found) replaceContent(node, card("What would let this person in", found))
}

/**
 * A sign-in came with the address of an existing account, for which the address was never proved. Here the operator
 * chooses whose account it is.
 */
function whose(one) {
	const path = `/tenants/${one.tenant_id}/provisioning/decisions/${one.id}/resolve`
	const give = () => confirm({
		title: t`Give the account to the person who signed in as ${one.email}?`,
		act: "Give the account", keep: "Cancel", path,
		method: "POST",
		body: { action: "give_account" }, said: "The account is theirs", after: redraw,
		text: "This sign-in is linked and the address counts as proved. The account's password, PIN, sessions, "
			+ "link grants and own "
			+ "keys end, and every sign-in that no operator linked is removed. Both get a mail.",
	})
	const another = () => formDialog({
		title: "Open another account", submit: "Open another",
		lead: "The existing account gets another address, which is not proved. This person's sign-in is decided "
			+ "again at the next attempt.",
		fields: [{
			name: "email", label: "New address of the existing account", required: true, type: "email",
			unique: true,
		}],
		request: values => ({ path, body: { action: "open_another", ...values } }),
		said: "The next attempt is decided again", after: redraw,
	})
	return note("warn", "alert", h(
		"strong", "The address of the existing account was never proved. Whose account is it?",
	),
		h("div.acts", button("It is theirs: give them the account", give, { look: ".tiny" }),
			button("It is another person's: open another", another, { look: ".tiny" })))
}
