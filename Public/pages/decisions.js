import { add, card, copies, facts, h, head, icon, list, may, none, number, only, search, step, t, tag, time, user, when, words } from "../lib/ui.js"
import { invite } from "./tenant/invites.js"

const REASONS = "email_missing email_invalid email_unverified user_suspended user_deleted tenant_suspended tenant_deleted approval_pending "
	+ "invite_unknown invite_expired invite_revoked invite_used invite_email_mismatch identity_link_required identity_conflict not_invited no_tenant "
	+ "provider_unknown tenant_choice_required rate_limited unavailable"

/** The provisioning decisions: of all tenants, or of the one that `path` is of. */
export default ({ path = "", ...page }) => {
	if (!path && page.params.id) return decision(page)
	return list(page, {
		title: !path && "Decisions", lead: "Who knocked, what was answered, and the rule that decided.", path: `${path}/provisioning/decisions`, noun: ["decision", "decisions"], live: true, exports: true,
		empty: { title: "Nobody has knocked yet", text: "Each sign-up attempt is kept here with the rules that decided it.", action: h("a.btn", { href: "/console/simulator" }, icon("flask"), "Try the simulator") },
		filters: [
			["outcome", "Outcome", "created linked existing reserved deferred refused"],
			["reason", "Reason", REASONS],
			["email", "Whole address", { type: "email" }],
		],
		columns: [
			["Email", one => [h("a.main", { href: `/console/decisions/${one.id}` }, one.email ? user(one.email) : "No address"), h("span.sub", words(one.provider))]],
			["Outcome", one => tag(one.outcome), { state: true }],
			["Reason", one => (one.reason ? only("reason", one.reason, h("code", one.reason)) : none())],
			["Took", one => t`${number(Math.round(one.duration_ms * 10) / 10)} ms`],
			when("When", "created_at"),
		],
		actions: one => [path && one.outcome === "refused" && one.email && may("manageInvites") && !/suspended|deleted/.test(one.reason)
			&& ["Invite", () => invite(`${path}/invites`, null, one.email)]],
	})
}

// The rules of the engine, by the number that a trace gives them.
const RULES = ["", "Is the identity known?", "Is there an address?", "Is there an invite token?", "Which tenants may it be?", "Is the address vouched for?",
	"Is there a live invite?", "Is a user waiting?", "Is there an active user?", "Is the domain verified?", "Is the tenant open?"]
const GOOD = ["linked", "created", "existing", "reserved", "deferred", "vouched for"]

export const trace = steps => h("ol.trace", (steps ?? []).map(({ rule, result, detail }) => {
	const [tone, look] = GOOD.includes(result) ? ["ok", "check"] : REASONS.split(" ").includes(result) ? ["danger", "x"] : ["quiet", "next"]
	return step(look, tone, h("strong", RULES[rule] ?? words(rule)), " ", h("span.muted", words(result)), detail && user(typeof detail === "string" ? detail : JSON.stringify(detail), "div.small.muted"))
}))

/** Copies an attempt and what was answered to it, for a test of one's own. */
export const copyTest = (attempt, { outcome, reason }) =>
	copies(JSON.stringify({ attempt, expect: { outcome, reason } }, null, 2), "Copy as test")

async function decision(page) {
	const one = await page.get(`/provisioning/decisions/${page.params.id}`).catch(error => {
		throw /404|422/.test(error.status) ? Object.assign(error, { status: 404, message: "Decisions are kept for 90 days; an older one is gone." }) : error
	})
	const attempt = { provider: one.provider, issuer: one.issuer, subject: one.subject, email: one.email, tenant: one.tenant_id }
	add(page.body, [
		head(one.email ? user(one.email) : "A decision", {
			crumbs: [["Decisions", "/console/decisions"]], lead: one.outcome === "refused" ? "Was turned away." : "Was let in.",
			acts: [copyTest(attempt, one), h("a.btn", { href: `/console/simulator${search(attempt)}` }, icon("flask"), "Simulate again")],
		}),
		h("div.two", card("Rule by rule", trace(one.trace)),
			card("The attempt", facts([["Outcome", tag(one.outcome)], one.reason && ["Reason", h("code", one.reason)], ["When", time(one.created_at)],
				["Provider", words(one.provider)], ["Issuer", user(one.issuer)], ["Subject", user(one.subject, "code")],
				["Policy", one.policy_version ? t`Version ${one.policy_version}` : none()], ["Took", t`${number(one.duration_ms)} ms`],
				["User", one.user_id && one.tenant_id ? h("a", { href: `/console/t/${one.tenant_id}/users/${one.user_id}` }, "Open the user") : none("none")],
				one.reference && ["Reference", h("code", one.reference)], ["Id", h("code", one.id)]]))),
	])
}
