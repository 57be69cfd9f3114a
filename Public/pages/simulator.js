import { form } from "../lib/form.js"
import { advice, authoritiesOf, namesOf, nearest, outcomeText, trace } from "../lib/reasons.js"
import {
	api, append, card, copyButton, h, isAllowed, liveRegion, note, pageHead, query, replaceContent, setPreference,
	setQuery, statusTag, t, tenantOf, tickField, userText, words,
} from "../lib/ui.js"
import { copyTest } from "./decisions.js"
import { KINDS, SUBJECT } from "./tenant/users.js"

/**
 * The attempt in a pasted hook payload, which is either the payload of a generic hook or the event of a Cognito
 * trigger.
 */
function attemptOf(text) {
	const given = JSON.parse(text)
	if (!given.request?.userAttributes) return given.attempt ?? given
	const { email, email_verified: verified, name, sub } = given.request.userAttributes
	const meta = { ...given.request.validationData, ...given.request.clientMetadata }
	return { provider: "cognito", issuer: given.userPoolId, subject: sub
		?? given.userName, email, name, tenant: meta.tenant, invite_token: meta.invite_token,
		join_token: meta.join_token,
		client_id: given.callerContext?.clientId, email_verified: verified === true || verified === "true" }
}

/**
 * The choices for the provider: the kinds, the registered providers, and the provider `named` in the attempt if it is
 * not among these.
 */
async function providers(named) {
	const { items = [] } = isAllowed("readPolicy") ? await api("/providers?limit=200").catch(() => ({})) : {}
	const all = [...KINDS, ...items.map(one => ({ value: one.id, text: t`${one.name}` }))]
	return !named || all.some(({ value }) => value === named) ? all : [...all, { value: named, text: words(named) }]
}

/** @type {(page: Page) => Promise<any>} */
export default async page => {
	const result = liveRegion(h("p.muted", "Run an attempt to see each rule and its answer."))
	const place = h("div")
	const draw = async asked => {
		// A link may name the tenant by its id.
		const isId = /^[\da-f]{8}-[\da-f-]{27}$/.test(asked.tenant)
		const tenant = isId ? await tenantOf(asked.tenant).then(one => one.slug, () => asked.tenant) : asked.tenant
		const options = await providers(asked.provider)
		const extra = Object.fromEntries(
			["issuer", "client_id"].filter(name => asked[name]).map(name => [name, asked[name]]),
		)
		const built = form([
			{ name: "provider", label: "Provider", required: true, options },
			SUBJECT,
			{ name: "email", label: "Email", type: "email", attrs: { autofocus: true } },
			tickField(
				"email_verified", "The provider says the address is verified", String(asked.email_verified) !== "false",
			),
			{ name: "name", label: "Name" },
			{
				name: "tenant", label: "Tenant", type: "tenant",
				hint: "Its name or slug; if it is empty, the rules choose.",
			},
			{ name: "invite_token", label: "Invite token" },
			{ name: "join_token", label: "Join link's token" },
		], {
			submit: "Run", start: { provider: "google", subject: "test-subject", ...asked, tenant },
			request: values => ({ path: "/provisioning/evaluate", body: { ...extra, ...values } }),
			done: async (said, values) => {
				const attempt = { ...extra, ...values }
				// Put the attempt, but no token, into the address, so that the link can be passed on.
				setPreference("tried", true)
				const chosen = values.tenant ? await tenantOf(values.tenant) : null
				setQuery({ ...attempt, tenant: chosen?.slug, invite_token: "", join_token: "" }, { replace: true })
				const one = {
					...said, provider: values.provider, email: values.email, tenant_id: said.tenant?.id,
					user_id: said.user?.id,
				}
				one.authorities = await authoritiesOf(one)
				replaceContent(result, h("div.stack-gap",
					h("p", statusTag(said.outcome), " ", said.reason && words(said.reason),
						said.tenant && [" in ", userText(said.tenant.name, "strong")],
						said.user && [" as ", userText(said.user.email ?? said.user.name)]),
					said.policy_version && said.tenant && h("p.small.muted",
						t`Judged by version ${said.policy_version} of the policy of ${said.tenant.name}.`),
					advice(one) ?? h("p.muted", outcomeText(one)),
					await nearest(one), trace(said.trace, await namesOf(one)),
					h("div.acts", copyTest(attempt, said), copyButton(location.href, "Copy link"))))
			},
		})
		replaceContent(place, built)
	}
	await draw(query())
	const paste = form([
		{
			name: "payload", label: "Payload", required: true, type: "textarea",
			hint: "The JSON of a hook call or of a Cognito event.",
		},
	], {
		submit: "Fill the form",
		send: async ({ payload }) => {
			try {
				await draw(attemptOf(payload))
			} catch {
				throw new Error("That is not JSON of a hook call.")
			}
		},
	})
	append(page.body, [pageHead("Simulator", { lead: "What would happen if this person knocked now?" }),
		note("info", "flask", "This writes nothing: no user and no invite is touched."),
		h(
			"div.two", card("The attempt", place, h("details", h("summary", "Paste a hook payload instead"), paste)),
			card("The answer", result),
		)])
}
