import { add, api, card, facts, h, head, icon, none, number, search, state, t, tag, time, user, words } from "../lib/console.js"
import { copyTest, trace } from "./decisions.js"

export default async function decision(page) {
	const crumbs = [["Decisions", "/console/decisions"]]
	let one
	try {
		one = await api(`/provisioning/decisions/${page.params.id}`, { signal: page.signal })
	} catch (error) {
		if (error.status !== 404 && error.status !== 422) throw error
		add(page.body, [head("No such decision", { crumbs }), state(h("div"), "missing", { title: "It is not here", text: "Decisions are kept for 90 days; an older one is gone." })])
		return
	}
	const attempt = { provider: one.provider, issuer: one.issuer, subject: one.subject, email: one.email, tenant: one.tenant_id }
	add(page.body, [
		head(one.email ? user(one.email) : "A decision", {
			crumbs, lead: one.outcome === "refused" ? "Was turned away." : "Was let in.",
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
