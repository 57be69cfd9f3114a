// Under which single changes a refused attempt would be admitted, each with the button that makes it.
import {
	api, button, h, isAllowed, queryString, replaceContent, t, tenantOf, traceStep, translate, userText, words,
} from "../core.js"
import { formDialog } from "../ui.js"

const first = items => {
	if (!items[0]) throw new Error(t`This is not there any more.`)
	return items[0]
}

/** The user whom an attempt is about, and what is sent to it; a deleted one where that is asked. */
const ofUser = (word, body, status) => async (one, place) => {
	const { email: q, user_id: ids } = one
	const { items } = await api(`${place}/users${queryString(ids ? { ids } : { q, status })}`)
	const user = first(items.filter(({ email }) => ids || email.toLowerCase() === q.toLowerCase()))
	return { name: user.email, path: `/users/${user.id}/${word}`, body: body?.(one) }
}
/** The domain of the address, or the one above it. */
const ofDomain = (word, options) => async ({ email }, place) => {
	const name = email.split("@")[1].toLowerCase()
	const { items } = await api(`${place}/domains?limit=200`)
	const one = first(items.filter(({ domain }) => name === domain || name.endsWith(`.${domain}`))
		.sort((one, other) => other.domain.length - one.domain.length))
	return { name: one.domain, path: `/domains/${one.id}${word}`, ...options }
}

/** Of each change: its name, its right, and what makes it below the tenant, or the tenant's page for it. */
const CHANGES = {
	invite: [
		"Invite this address", "manageInvites", ({ email }) => ({ name: email, path: "/invites", body: { email } }),
	],
	approve: ["Approve the person", "editUsers", ofUser("approve")],
	relink: [
		"Link this sign-in to the user, by your word alone", "linkIdentities",
		ofUser("identities", ({ provider, issuer, subject }) => ({ provider, issuer, subject })),
	],
	verify_domain: ["Check the domain's DNS record", "writePolicy", ofDomain("/verify", { body: { method: "dns" } })],
	domain_mode: [
		"Let the domain's people join", "writePolicy", ofDomain("", { method: "PATCH", body: { mode: "join" } }),
	],
	resume_user: ["Resume the user", "editUsers", ofUser("resume")],
	restore_user: ["Restore the user", "editUsers", ofUser("restore", null, "deleted")],
	resume_tenant: ["Resume the tenant", "suspendTenant", (_, place, { name }) => ({ name, path: "/resume" })],
	resend_invite: ["Send the invite again", "manageInvites", async ({ email }, place) => {
		const { items } = await api(`${place}/invites${queryString({ q: email, status: "expired" })}`)
		return { name: email, path: `/invites/${first(items).id}/resend` }
	}],
	include_subdomains: ["Let the domain include its subdomains", "writePolicy", "domains"],
	policy_sign_up: ["Change the sign-up policy", "readPolicy", "policy"],
	trust_provider: ["Trust the provider's addresses", "readPolicy"],
	raise_limit: ["Wait: too many attempts were refused"],
}

/** The changes of `one`, {email, provider, issuer, subject, user_id, would_admit}, the nearest first. */
export async function nearest(one) {
	// What makes a stranger's sign-in a user's comes last.
	const all = (one.would_admit ?? []).toSorted((one, other) =>
		Number(one.change === "relink") - Number(other.change === "relink"))
	const tenants = await Promise.all(all.map(({ tenant_id: id }) => id && tenantOf(id).catch(() => null)))
	return all.length > 0 && h("ol.ways", all.map((change, at) => line(one, change, tenants[at])))
}

const strangers = ({ subject, issuer, provider }) => [
	t`Whoever has the sign-in ${subject} at ${issuer ?? words(provider)} will be this user.`,
	" ", "Link it only if you know that it is theirs.",
]

function line(one, { change, detail }, tenant) {
	const [text, right, act] = CHANGES[change] ?? [words(change)]
	const mode = change === "policy_sign_up" && /(\w+)\.$/.exec(detail)?.[1]
	const label = mode ? t`Set the sign-up policy to “${words(mode)}”` : text
	const slot = h("div")
	const say = said => replaceContent(slot, h("strong", label), " ", h("span.muted", { role: "status" }, said))
	const run = async () => {
		try {
			const { name, path, body, method = "POST" } = await act(one, `/tenants/${tenant?.id}`, tenant)
			await formDialog({
				title: t`${translate(label)}: ${name}?`, submit: label, draft: null,
				lead: change === "relink" && strangers(one),
				fields: [!tenant && ["tenant*", "Tenant", { type: "tenant" }]],
				request: values => [`/tenants/${tenant?.id ?? values.tenant}${path}`, { method, body }],
				done: async made => {
					say("Done: it counts at the next try.")
					if (made?.accept_url) (await import("../../pages/tenant/invites.js")).showLink(made)
				},
			})
		} catch (error) {
			say(error.message)
		}
	}
	const href = !act ? "/console/providers" : typeof act === "string" && tenant && `/console/t/${tenant.slug}/${act}`
	replaceContent(slot, !isAllowed(right) ? h("strong", label) : href ? h("a.btn.tiny", { href }, label)
		: button(label, run, { look: ".tiny" }), tenant && [" ", userText(tenant.name, "span.muted")])
	return traceStep("check", "ok", slot)
}
