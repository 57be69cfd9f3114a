// What a decision's outcome, reason and trace mean, in words, and what an operator can do next.
import { button, h, icon, queryString, replaceContent, t, traceStep, translate, userText, words } from "./core.js"
import { api, isAllowed, ownTenant, tenantOf } from "./server.js"
import { formDialog } from "./ui.js"

/**
 * A decision, or the answer to an attempt in the simulator.
 * @typedef {Partial<API.Decision> & { authorities?: string[] }} Attempt
 * @typedef {{ rule: string, result: string, detail?: any, about?: any[] }} Step a step of a trace
 * @typedef {Map<string, { name: string, href: string, status?: string, source?: string }>} Names
 */

// The changes that would admit a refused attempt. One of them is enough. Each has a button that makes the change.

const first = items => {
	if (!items[0]) throw new Error(t`This does not exist any more.`)
	return items[0]
}

/**
 * Returns an `act` that sends a request to `/users/<id>/<word>` for the user of an attempt, with the result of `body`.
 * If the attempt has no user id, the user is found by the address, and with `status` only among users of that status.
 */
const ofUser = (word, body, status) => async (one, place) => {
	const { email: q, user_id: ids } = one
	const { items } = await api(`${place}/users${queryString(ids ? { ids } : { q, status })}`)
	const user = first(items.filter(({ email }) => ids || email.toLowerCase() === q.toLowerCase()))
	return { name: user.email, path: `/users/${user.id}/${word}`, body: body?.(one) }
}
/** Returns an `act` on the domain of the attempt's address, or on the nearest domain above it that the tenant has. */
const ofDomain = (word, options) => async ({ email }, place) => {
	const name = email.split("@")[1].toLowerCase()
	const { items } = await api(`${place}/domains?limit=200`)
	const one = first(items.filter(({ domain }) => name === domain || name.endsWith(`.${domain}`))
		.sort((one, other) => other.domain.length - one.domain.length))
	return { name: one.domain, path: `/domains/${one.id}${word}`, ...options }
}

/**
 * For each change that may admit a refused person: its text, the right that the operator needs for it, and a function
 * `act(one, place, tenant)`. The function gets the tenant's path as `place`, and returns the name of the changed object
 * and the request, whose path is below `place`. A change without `act` is made by hand, on the tenant's page `page` or
 * on the page of providers.
 */
const CHANGES = {
	invite: {
		text: "Invite this address", right: "manageInvites",
		act: ({ email }) => ({ name: email, path: "/invites", body: { email } }),
	},
	approve: { text: "Approve the person", right: "editUsers", act: ofUser("approve") },
	relink: {
		text: "Link this sign-in to the user; nothing checks it", right: "linkIdentities",
		act: ofUser("identities", ({ provider, issuer, subject }) => ({ provider, issuer, subject })),
	},
	verify_domain: {
		text: "Check the domain's DNS record", right: "writePolicy",
		act: ofDomain("/verify", { body: { method: "dns" } }),
	},
	domain_mode: {
		text: "Let the domain's people join", right: "writePolicy",
		act: ofDomain("", { method: "PATCH", body: { mode: "join" } }),
	},
	resume_user: { text: "Resume the user", right: "editUsers", act: ofUser("resume") },
	restore_user: { text: "Restore the user", right: "editUsers", act: ofUser("restore", null, "deleted") },
	resume_tenant: {
		text: "Resume the tenant", right: "suspendTenant",
		act: (_one, _place, { name }) => ({ name, path: "/resume" }),
	},
	resend_invite: {
		text: "Send the invite again", right: "manageInvites",
		act: async ({ email }, place) => {
			const { items } = await api(`${place}/invites${queryString({ q: email, status: "expired" })}`)
			return { name: email, path: `/invites/${first(items).id}/resend` }
		},
	},
	include_subdomains: {
		text: "Let the domain include its subdomains", right: "writePolicy", page: "domains",
	},
	policy_sign_up: { text: "Change the sign-up policy", right: "readPolicy", page: "policy" },
	trust_provider: { text: "Trust the provider's addresses", right: "readPolicy" },
	raise_limit: { text: "Wait: too many attempts were refused" },
}

/**
 * Lists the changes that would admit the attempt `one`, nearest first. Of `one`, it needs {email, provider, issuer,
 * subject, user_id, would_admit}.
 * @type {(one: Attempt) => Promise<Child>}
 */
export async function nearest(one) {
	// Linking a stranger's sign-in to an existing user comes last.
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
	const { text, right, act, page } = CHANGES[change] ?? { text: words(change) }
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
				fields: [!tenant && { name: "tenant", label: "Tenant", required: true, type: "tenant" }],
				request: values => ({ path: `/tenants/${tenant?.id ?? values.tenant}${path}`, method, body }),
				done: async made => {
					say("Done: it counts at the next try.")
					if (made?.accept_url) (await import("../pages/tenant/invites.js")).showLink(made)
				},
			})
		} catch (error) {
			say(error.message)
		}
	}
	const href = page ? tenant && `/console/t/${tenant.slug}/${page}` : !act && "/console/providers"
	replaceContent(slot, !right || !isAllowed(right) ? h("strong", label) : href ? h("a.btn.tiny", { href }, label)
		: button(label, run, { look: ".tiny" }), tenant && [" ", userText(tenant.name, "span.muted")])
	return traceStep("check", "ok", slot)
}

/** @type {Record<string, string>} */
const OUTCOMES = {
	created: "A user was made for this person.",
	linked: "The sign-in was linked to an existing user.",
	existing: "The sign-in is known: nothing was changed.",
	reserved: "A place is reserved; it counts once the provider has confirmed the person.",
	deferred: "Not decided yet: nobody was let in and nobody turned away.",
	refused: "Was turned away.",
}

/**
 * One sentence on an attempt's outcome. `waits`: the attempt's user is waiting for approval now.
 * @type {(one: Pick<Attempt, "outcome">, waits?: boolean) => Sentence}
 */
export const outcomeText = ({ outcome }, waits) => (
	waits ? translate("Waits for approval: the sign-in is refused until then.")
	: translate(OUTCOMES[outcome ?? ""] ?? words(outcome)))

/**
 * For each reason of a refusal: why it was given, and what an operator can do next.
 * @type {Record<string, { why: string, next: string }>}
 */
const REASONS = {
	email_missing: {
		why: "The provider sent no address.",
		next: "Let the provider's app ask for the email scope, or link the sign-in by hand.",
	},
	email_invalid: { why: "The provider sent an invalid email address.", next: "Mend the account at the provider." },
	email_unverified: {
		why: "Nobody whom the tenant trusts has confirmed the address.",
		next: "Invite this address, or set the provider's trust in addresses if it can be relied on.",
	},
	user_suspended: { why: "The user is suspended.", next: "Resume the user to let them sign in." },
	user_deleted: { why: "The user is deleted.", next: "Restore the user, or send an invite." },
	tenant_suspended: { why: "The tenant is suspended.", next: "Resume the tenant to let its people sign in." },
	tenant_deleted: { why: "The tenant is deleted.", next: "Restore the tenant." },
	approval_pending: { why: "The person waits for approval.", next: "Approve the user." },
	invite_unknown: { why: "There is no invite with this link.", next: "Send a new invite." },
	invite_expired: { why: "The invite has expired.", next: "Resend it." },
	invite_revoked: { why: "The invite was revoked.", next: "Send a new invite if the person is to come in." },
	invite_used: {
		why: "The invite was used before.",
		next: "The person can sign in as they did then; otherwise send a new invite.",
	},
	invite_email_mismatch: {
		why: "The invite is for another address.",
		next: "Invite the address that the person signs in with.",
	},
	join_unknown: { why: "There is no join link with this token.", next: "Make a new link." },
	join_expired: { why: "The join link has expired.", next: "Make a new link, or invite this address." },
	join_revoked: {
		why: "The join link was revoked, or its maker may no longer invite.",
		next: "Make a new link, or invite this address.",
	},
	join_used_up: {
		why: "The join link has reached its number of people.",
		next: "Make a new link, or invite this address.",
	},
	identity_link_required: {
		why: "There is an account with this address, and this sign-in is not linked to it.",
		next: "Link the sign-in on the user's page, or give the person a link grant.",
	},
	identity_conflict: { why: "This sign-in belongs to another user already.", next: "Unlink it there first." },
	not_invited: {
		why: "The tenant's policy admits nobody this way without an invite.",
		next: "Invite this address, or change the policy.",
	},
	no_tenant: {
		why: "No tenant knows the address: there is no live invite, no waiting user and no verified domain "
			+ "that counts.",
		next: "Invite the address into a tenant, or verify its domain there.",
	},
	provider_unknown: { why: "The provider is not registered here.", next: "Register it under Providers." },
	tenant_choice_required: {
		why: "Several tenants would admit this person, who has to choose one.",
		next: "Nothing is to be done: the person chooses at the next sign-in.",
	},
	email_blocked: {
		why: "The address is on the tenant's block list.",
		next: "Take it off the list in the policy, or add the user by hand.",
	},
	rate_limited: { why: "Too many attempts at once.", next: "It works again by itself." },
	unavailable: { why: "The service could not answer.", next: "The person can try again." },
}

/**
 * Whether an attempt was refused only because the provider is not the authority of the address's domain.
 * @type {(one: Attempt) => boolean | undefined}
 */
const lacksAuthority = ({ reason, trace }) => reason === "email_unverified"
	&& trace?.some(({ rule, detail }) => rule === "9" && detail === "not authoritative")

const namesIn = about => [...new Set(about.map(one => one.name))].join(", ")

/** More precise explanations than those of `REASONS`, by the reason and the detail of the step that refused. */
const CASES = {
	"no_tenant two tenants were named": ({ about = [] }) => ({
		why: about.length > 1
			? t`Two tenants were named: ${namesIn(about)}. What belongs to one tenant signs nobody in to another.`
			: translate("Two tenants were named: what belongs to one tenant signs nobody in to another."),
		next: translate(
			"Let the call ask for the tenant that the provider, the key or the link belongs to, or for none.",
		),
	}),
	"no_tenant no such tenant": () => ({
		why: translate("The requested tenant does not exist."),
		next: translate("Let the call name a tenant by its current id or slug."),
	}),
	"not_invited the tenant is closed": () => ({
		why: translate("The tenant is closed: it admits nobody new, not even with an invite."),
		next: translate("Change the sign-up policy, or add the user by hand."),
	}),
	"not_invited outside the allowed domains": () => ({
		why: translate("The address belongs to a domain that the tenant's policy does not allow."),
		next: translate("Add the domain to the allowed ones in the policy, or invite this address."),
	}),
	"not_invited outside the link's domains": () => ({
		why: translate("The join link is for addresses of other domains."),
		next: translate("Make a link for this domain, or invite this address."),
	}),
	"email_unverified several tenants": () => ({
		why: translate("Several tenants know the address, and nobody has confirmed it: none of them can be chosen."),
		next: translate(
			"Let the call name one tenant, or set the provider's trust in addresses if it can be relied on.",
		),
	}),
}
/**
 * The entry of `CASES` for the last step that refused for the attempt's reason.
 * @type {(one: Attempt) => { why: Sentence, next: Sentence } | undefined}
 */
function caseOf({ reason, trace = [] }) {
	const step = trace.findLast(one => one.result === reason)
	return CASES[`${reason} ${step?.detail}`]?.(step)
}

/**
 * The names of the providers that are the authority of the address's domain. They are requested only if the attempt was
 * refused because its own provider is not such an authority.
 * @type {(one: Attempt) => Promise<string[]>}
 */
export async function authoritiesOf(one) {
	const domain = one.email?.split("@")[1]?.toLowerCase()
	if (!lacksAuthority(one) || !domain || !isAllowed("readPolicy")) return []
	const { items } = await api("/providers?limit=100").catch(() => ({ items: [] }))
	return items.filter(each => each.email_trust === "authoritative" && each.domains?.includes(domain))
		.map(each => each.name)
}

const authorityFor = (domain, [...names]) => (names.length
	? t`${names.join(", ")} is the authority of ${domain}: let the person sign in there, or invite this address.`
	: registerFor(domain))
const registerFor = domain =>
	t`Register a provider as the authority of ${domain} (Providers, trust: authoritative), or invite this address.`

/**
 * Why an attempt was refused, and what to do next; null if it has no reason.
 * @type {(one: Attempt) => { why: Sentence, next: Sentence } | null}
 */
function explained(one) {
	if (!one.reason) return null
	if (lacksAuthority(one)) {
		const domain = one.email?.split("@")[1] ?? translate("this domain")
		return {
			why: translate("The provider says that the address is verified, and the tenant has verified the "
				+ "domain. That is not enough to join by the domain alone: the provider must be the "
				+ "authority of the domain."),
			next: authorityFor(domain, one.authorities ?? []),
		}
	}
	const { why, next } = REASONS[one.reason] ?? { why: words(one.reason) }
	return caseOf(one) ?? { why: translate(why), next: translate(next) }
}

// The rules by which a sign-in is decided, as questions. A rule's index is its number in a trace.
const RULES = [
	"", "Is the identity known?", "Is there an address?", "Is there a token of an invite or a join link?",
	"Which tenants may it be?",
	"Does anything vouch for the address?", "Is there a live invite?", "Is a user waiting?", "Is there an active user?",
	"May the people of a verified domain come in?", "Is the tenant open?"]
const GOOD = ["linked", "created", "existing", "reserved", "vouched for", "as if vouched for"]
const OPEN = ["deferred"]

/**
 * How far an email address is proved, in words, for each code that rule 5 writes into a trace.
 * @type {Record<string, string>}
 */
const VOUCHING = {
	claim: "The provider says so; that counts for invites and for an open tenant.",
	proved: "The mailbox was proved.",
	authoritative: "The provider is the authority of the domain.",
	native: "It will be proved when the sign-up is confirmed.",
}
/** @type {Record<string, string>} */
const DETAILS = {
	none: "None.", "not authoritative": "The domain is verified, but the provider is not its authority.",
	invite_only: "The policy is “Invite only”.", closed: "The policy is “Closed”.", domain: "The policy is “Domain”.",
	approval: "The policy is “Approval”.",
	"the domain's mode is invite_only": "The domain's mode is “Invite only”.",
	blocked_emails: "The address is blocked.", blocked_domains: "The domain is blocked.",
	block_disposable: "The domain is one of disposable mailboxes.",
	"outside the allowed domains": "The domain is not among the allowed domains.",
	"outside the link's domains": "The join link is not for this domain.",
}
const detailOf = (rule, detail) => (rule === "5" && VOUCHING[detail]) || DETAILS[detail]

const UUID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/
/** Splits a text at its ids, and replaces each id whose name is known by a link with that name. */
const withNames = (text, names) => text.split(UUID).map(part =>
	(names.has(part) ? h("a", { href: names.get(part).href }, userText(names.get(part).name)) : part && userText(part)))

/**
 * The results of rule 4 for objects that exist but could not admit the person, such as an expired invite. Each has a
 * description.
 * @type {Record<string, string>}
 */
const UNHELPFUL = {
	invite_expired: "An invite that has expired", invite_revoked: "An invite that was revoked",
	tenant_suspended: "A suspended tenant",
	domain_unproved: "A domain that is claimed but not proved",
	subdomain_not_included: "A verified domain without its subdomains",
}
/** @type {(step: Step) => boolean} */
const isUnhelpful = ({ rule, result, about }) => rule === "4" && Boolean(about?.length) && result in UNHELPFUL

/**
 * Draws a trace as a list of its steps. `names` is what `namesOf` returns.
 * @type {(steps: Step[] | undefined, names?: Names) => HTMLElement}
 */
export const trace = (steps, names = new Map()) => h("ol.trace", (steps ?? []).map(one => {
	const { rule, result, detail } = one
	const text = typeof detail === "string" ? detail : JSON.stringify(detail ?? "")
	if (isUnhelpful(one)) {
		return traceStep("next", "quiet", h("strong", "Seen, but of no help:"), " ", h("span.muted", UNHELPFUL[result]),
			h("div.small.muted", withNames(text, names)))
	}
	const [tone, look] = GOOD.includes(result) ? ["ok", "check"] : OPEN.includes(result) ? ["warn", "next"]
		: REASONS[result] || result === UNPROVED ? ["danger", "x"] : ["quiet", "next"]
	const known = detailOf(rule, detail)
	return traceStep(look, tone, h("strong", RULES[rule] ?? words(rule)), " ", h("span.muted", words(result)),
		text && h("div.small.muted", known ? translate(known) : withNames(text, names)))
}))

/** The result of rule 8 if the account's address was never proved: an operator has to say whose account it is. */
const UNPROVED = "address_unproved"
/** @type {(one: Attempt) => boolean} */
export const isUnproved = ({ outcome, trace }) =>
	outcome === "refused" && Boolean(trace?.some(one => one.result === UNPROVED))

/**
 * The path, below /console/, of the page with the object that a step of a trace was about.
 * @type {(one: API.TraceReference) => string}
 */
const placeOf = ({ type, id, name, tenant_id: tenant }) => ({
	tenant: `t/${id}/users`, user: `t/${tenant}/users/${id}`,
	invite: `t/${tenant}/invites?q=${encodeURIComponent(name ?? "")}`,
	join_link: `t/${tenant}/invites/join-links`, domain: `t/${tenant}/domains`, provider: "providers",
})[type]

/**
 * The names of the tenants, users and providers whose ids occur in a decision, each with its page.
 * @type {(one: Attempt) => Promise<Names>}
 */
export async function namesOf({ trace, provider, tenant_id: tenant, user_id: person }) {
	const names = new Map()
	for (const one of (trace ?? []).flatMap(({ about }) => about ?? [])) {
		if (one.name) names.set(one.id, { name: one.name, href: `/console/${placeOf(one)}` })
	}
	const text = JSON.stringify([trace, provider, tenant])
	const ids = new Set(text.match(new RegExp(UUID, "g")))
	const nameTenant = async id => {
		const one = await tenantOf(id)
		names.set(id, { name: one.name, href: `/console/t/${one.slug}/users` })
	}
	const nameUsers = async () => {
		const { items } = await api(`/tenants/${tenant}/users?ids=${[person, ...ids].join(",")}`)
		for (const one of items) {
			names.set(one.id, { ...one, name: one.name || one.email, href: `/console/t/${tenant}/users/${one.id}` })
		}
	}
	const nameProviders = async () => {
		const { items } = await api("/providers?limit=100")
		for (const one of items) names.set(one.id, { name: one.name, href: "/console/providers" })
	}
	const isMine = tenant && (!ownTenant() || ownTenant() === tenant)
	await Promise.allSettled([
		isMine && nameTenant(tenant), isMine && person && nameUsers(),
		ids.size > 0 && isAllowed("readPolicy") && nameProviders(),
	])
	return names
}

/**
 * A note with the reason of a refusal and what to do next; nothing for an admitted attempt.
 * @type {(one: Attempt) => Child}
 */
export function advice(one) {
	const { why, next } = explained(one) ?? {}
	return why && h("div.note.info", icon("flask"), h("div", h("strong", why), next && h("div", next)))
}
