// The provider of the platform at which operators sign in to the console.
import { api, button, confirm, etagOf, formDialog, tickField, toast } from "../../lib/ui.js"

const PATH = "/operator-sign-in"

/** Asks for the provider, the domains, and whether passwords end. */
export async function askProvider() {
	const [now, { items }] = await Promise.all([api(PATH), api("/providers?limit=200")])
	const offered = items.filter(one => !one.tenant_id && one.client_id && one.kind !== "cognito")
	if (!offered.length) return toast("Register a provider of the platform first, with a client id.", { stay: true })
	const node = await formDialog({
		title: "Operators' sign-in at a provider", submit: "Save", draft: null, start: now,
		lead: "Who has an address of the domains may sign in there as well. The first sign-in binds the account there "
			+ "to the operator: from then on only that account signs in. Passwords end only in a session that came "
			+ "through the provider; passkeys go on.",
		fields: [
			["provider*", "Provider", { options: offered.map(one => [one.id, one.name]) }],
			["domains*", "Domains", {
				type: "lines", hint: "One a line; the provider must be authoritative for each.",
			}],
			tickField("required", "End the passwords of these domains", now.required),
		],
		request: body => [PATH, { method: "PUT", body, etag: etagOf(now) }],
		said: "Operators sign in there from now on",
	})
	if (!now.provider) return
	node.querySelector("[data-cancel]").before(
		button("End it", () => (node.close(), end()), { look: ".danger.apart" }),
	)
}

const end = () => confirm({
	title: "End operators' sign-in at the provider?", act: "End it", path: PATH, said: "It has ended",
	text: "Their passwords and passkeys sign in as before. Sessions go on.",
})
