import {
	api, closeButton, confirm, dialog, formatNumber, formDialog, h, isAllowed, list, liveRegion, loadPart, note,
	noValue, ownTenant, replaceContent, t, timeColumn, traceStep, userText, words,
} from "../lib/ui.js"
import { reach } from "./operators.js"
import { KINDS } from "./tenant/users.js"

const TRUST = [
	["", "As is usual for the kind"], ["none", "None"], ["verified_claim", "Its claim “verified” counts"],
	["authoritative", "Authoritative for its domains"],
]

export default page => list(page, {
	title: "Providers", lead: "Where people sign in, and what each one's word about an address is worth.",
	path: "/providers", noun: ["provider", "providers"], create: ["writePolicy", "Add provider", open],
	empty: { title: "No provider yet", text: "Register the identity provider whose sign-ups Gatehouse shall decide." },
	filters: [["kind", "Kind", { options: KINDS }]],
	columns: [
		["Name", one => [userText(one.name, "span.main"), userText(one.issuer, "code.sub")]],
		["Kind", one => h("span.tag.plain", words(one.kind)), { state: true }],
		["Trust", one => (one.email_trust ? words(one.email_trust) : h("span.muted", "Usual"))],
		[
			"Domains",
			one =>
				(one.domains?.length
					? [
						userText(one.domains[0]),
						one.domains.length > 1 && t` and ${formatNumber(one.domains.length - 1)} more`,
					]
					: noValue()),
		],
		["Owner", one => reach({ scope: one })],
		timeColumn("Added", "created_at"),
	],
	actions: isAllowed("writePolicy") && ((one, reload) => [
		{ text: "Test", run: () => tryOut(one) },
		{ text: "Edit", run: () => edit(one, reload) },
		{ text: "Remove", run: () => remove(one, reload) },
	]),
})

const FIELDS = [
	["name*", "Name"],
	["issuer", "Issuer", { hint: "Its address; of a Cognito pool the pool's id. Google and GitHub need none." }],
	["client_id", "Client id", { hint: "Not for Cognito." }],
	[
		"secret", "Client secret",
		{ type: "password", hint: "Stored, never shown. Where there is one, empty keeps it.", autocomplete: "off" },
	],
	["email_trust", "Trust in its addresses", { options: TRUST }],
	["domains", "Domains it is the authority of", { type: "lines" }],
]

const open = after => formDialog({
	title: "Add provider",
	fields: [
		["kind", "Kind", { options: KINDS }], ...FIELDS,
		!ownTenant()
			&& [
				"tenant", "Only for this tenant",
				{ type: "tenant", hint: "Its name or slug; empty is the whole platform." },
			],
	],
	path: "/providers", said: made => t`${made.name} is registered`, after,
})

/** Asks the provider for what it publishes, now, and says what is wrong with it. */
function tryOut(one) {
	const found = liveRegion(h("p.muted", "Asking the provider…"))
	dialog(t`Test of ${one.name}`, found, closeButton())
	return loadPart(found, async () => {
		const { ok, findings } = await api(`/providers/${one.id}/test`, { method: "POST" })
		replaceContent(found, ok
			? note("ok", "check", "People can sign in there, as far as can be seen.")
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

async function edit(one, reload) {
	const path = `/providers/${one.id}`
	formDialog({ title: t`Edit ${one.name}`, fields: FIELDS, edits: await api(path), path, after: reload })
}

const remove = (one, reload) => confirm({
	title: t`Remove ${one.name}?`, act: "Remove provider",
	text: "Sign-ups and sign-ins through it are refused from now on. Identities that came by it stay listed.",
	path: `/providers/${one.id}`, said: "Removed", after: reload,
})
