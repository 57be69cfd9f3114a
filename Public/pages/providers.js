import {
	api, button, closeButton, confirm, dataTable, dialog, formatNumber, formDialog, h, isAllowed, list, liveRegion,
	loadPart, note, noValue, ownTenant, replaceContent, revealSecret, t, timeColumn, timeNode, traceStep, userText,
	words,
} from "../lib/ui.js"
import { reach } from "./operators.js"
import { KINDS } from "./tenant/users.js"

/** @type {Choice[]} */
const TRUST = [
	{ value: "", text: "As is usual for the kind" },
	{ value: "none", text: "None" },
	{ value: "verified_claim", text: "Its claim “verified” counts" },
	{ value: "authoritative", text: "Authoritative for its domains" },
]

/** @type {(page: Page) => Promise<any>} */
export default page => list(page, /** @type {ListSpec<API.Provider>} */ ({
	title: "Providers", lead: "Where people sign in, and how far each one is trusted about addresses.",
	path: "/providers", noun: { one: "provider", many: "providers" },
	create: { right: "writePolicy", text: "Add provider", run: open },
	empty: { title: "No provider yet", text: "Register the identity provider whose sign-ups Gatehouse decides." },
	filters: [
		{ name: "kind", label: "Kind", options: KINDS },
		{
			name: "unreachable", label: "State",
			options: [{ value: "true", text: t`Unreachable` }],
		},
	],
	columns: [
		{
			label: "Name",
			cell: one => [
				userText(one.name, "span.main"), userText(one.issuer, "code.sub"),
				one.unreachable_since && h("span.sub", "Unreachable since", " ", timeNode(one.unreachable_since)),
			],
		},
		{ label: "Kind", cell: one => h("span.tag.plain", words(one.kind)), state: true },
		{ label: "Trust", cell: one => (one.email_trust ? words(one.email_trust) : h("span.muted", "Usual")) },
		{
			label: "Domains",
			cell: one => (one.domains?.length
				? [
					userText(one.domains[0]),
					one.domains.length > 1 && t` and ${formatNumber(one.domains.length - 1)} more`,
				]
				: noValue()),
		},
		{ label: "Owner", cell: one => reach({ scope: one }) },
		timeColumn("Added", "created_at"),
	],
	actions: isAllowed("writePolicy") && ((one, reload) => [
		{ text: "Test", run: () => tryOut(one) },
		{ text: "Edit", run: () => edit(one, reload) },
		one.kind === "cognito" && { text: "Hook credentials", run: () => credentials(one) },
		{ text: "Remove", run: () => remove(one, reload) },
	]),
}))

/** @type {(...kinds: string[]) => (values: any) => boolean} */
const isOf = (...kinds) => ({ kind }) => kinds.includes(kind)
const isPool = isOf("cognito")
const isParty = isOf("oidc", "google", "github")
/**
 * The fields of the form; `when` says for which kinds of provider a field applies.
 * @type {Field[]}
 */
const FIELDS = [
	{ name: "name", label: "Name", required: true },
	{
		name: "issuer", label: "Issuer", required: true, hint: "Its address, such as https://sign-in.example.com.",
		when: isOf("oidc"),
	},
	{
		name: "issuer", label: "Address of GitHub",
		hint: "Empty: https://github.com; else your GitHub Enterprise Server.", when: isOf("github"),
	},
	{
		name: "issuer", label: "Pool", required: true, hint: "The pool's id, such as eu-central-1_aBc123.",
		when: isPool,
	},
	{ name: "client_id", label: "Client id", required: true, when: isParty },
	{
		name: "secret", label: "Client secret", type: "password",
		hint: "Stored, never shown. Leave it empty to keep the stored one.", autocomplete: "off", when: isParty,
	},
	{ name: "email_trust", label: "Trust in its addresses", options: TRUST, when: isOf("oidc", "cognito") },
	{
		name: "domains", label: "Domains it is the authority of", type: "lines",
		when: isOf("oidc", "google", "cognito"),
	},
	{
		name: "endpoints", label: "Endpoints", type: "pairs", when: isOf("oidc", "github"),
		hint: "Only if discovery does not find them, one on each line: token_endpoint = https://… GitHub Enterprise "
			+ "Server needs none: they follow from its issuer.",
	},
	{
		name: "authorized_parties", label: "Other clients that may bring its tokens", type: "lines", when: isOf("oidc"),
		hint: "The azp that a failed sign-in names, one on each line.",
	},
	{
		name: "client_tenants", label: "Tenants of its clients", type: "pairs",
		hint: "A client's id = a tenant's slug, one on each line.",
	},
	{
		name: "upstreams", label: "Providers behind the pool", type: "json", when: isPool,
		hint: 'As JSON: '
			+ '[{"name": "Okta", "kind": "oidc", "issuer": "https://…", "email_trust": "none", "domains": []}]',
	},
	{ name: "strict_upstreams", label: "Refuse providers behind it that are not listed", type: "check", when: isPool },
	{
		name: "admin_create", label: "Users whom the pool's administrator creates",
		options: [{ value: "deny", text: "Refused" }, { value: "allow", text: "Let in" }], when: isPool,
	},
	{
		name: "lambda_open", label: "Hook calls without a credential",
		options: [{ value: "off", text: "Refused" }, { value: "loopback", text: "Only from this machine" }],
		when: isPool,
	},
]

const open = after => formDialog({
	title: "Add provider",
	fields: [
		{ name: "kind", label: "Kind", options: KINDS },
		...FIELDS,
		!ownTenant()
			&& {
				name: "tenant", label: "Only for this tenant", type: "tenant",
				hint: "Its name or slug; leave it empty for the whole platform.",
			},
	],
	path: "/providers", said: made => t`${made.name} is registered`, after,
})

/**
 * Checks now what the provider publishes, and shows what is wrong with it.
 * @type {(one: API.Provider) => Promise<void>}
 */
function tryOut(one) {
	const found = liveRegion(h("p.muted", "Asking the provider…"))
	dialog(t`Test of ${one.name}`, found, closeButton())
	return loadPart(found, async () => {
		const { ok, findings } = await api(`/providers/${one.id}/test`, { method: "POST" })
		replaceContent(found, ok
			? note("ok", "check", "As far as this test can see, people can sign in there.")
			: note("danger", "alert", "People cannot sign in there now."),
			h(
				"ol.trace",
				findings.map(
					({ check, ok, detail }) =>
						traceStep(
							ok ? "check" : "x", ok ? "ok" : "danger", h("strong", words(check)),
							userText(detail, "div.small.muted"),
						),
				),
			))
	})
}

/** @type {(one: API.Provider, reload: () => unknown) => Promise<void>} */
async function edit(one, reload) {
	const path = `/providers/${one.id}`
	formDialog({ title: t`Edit ${one.name}`, fields: FIELDS, edits: await api(path), path, after: reload })
}

/**
 * Shows the credentials with which a pool's triggers sign their calls. To replace one: make a new one, put it into
 * the triggers, then remove the old one.
 * @type {(one: API.Provider) => Promise<void>}
 */
async function credentials(one) {
	const path = `/providers/${one.id}/hook-credentials`
	const { items } = await api(path)
	const drop = ({ id, name }) => confirm({
		title: t`Remove ${name ?? id}?`, act: "Remove", text: "Calls that it signs are refused at once. This is final.",
		path: `${path}/${id}`, said: "Removed",
	})
	const node = await formDialog({
		title: t`Hook credentials of ${one.name}`, submit: "Make one", draft: null, path, method: "POST",
		lead: "For AWS Signature Version 4. To rotate: make one, put it in place, then remove the old one.",
		fields: [{ name: "name", label: "Name" }],
		done: made => revealSecret({
			title: "Hook credential", file: {
				name: "hook.env", label: "Download .env",
				text: `AWS_ACCESS_KEY_ID=${made.id}\nAWS_SECRET_ACCESS_KEY=${made.secret}\n`,
			},
			secret: made.secret, text: t`The secret of the access key ${made.id}. It is shown only now.`,
		}),
	})
	if (!node) return
	const rows = items.map(own => [
		[userText(own.name ?? "–", "span.main"), h("code.sub", own.id)], timeNode(own.created_at),
		button("Remove", () => (node.close(), drop(own)), { look: ".ghost.tiny", name: own.name ?? own.id }),
	])
	node.querySelector("form")?.before(
		rows.length ? dataTable("Hook credentials", ["Name", "Made", ""], rows) : noValue("None yet."),
	)
}

/** @type {(one: API.Provider, reload: () => unknown) => unknown} */
const remove = (one, reload) => confirm({
	title: t`Remove ${one.name}?`, act: "Remove provider",
	text: "Sign-ups and sign-ins through it are refused from now on. Its identities stay listed.",
	path: `/providers/${one.id}`, said: "Removed", after: reload,
})
