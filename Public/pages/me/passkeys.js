// The operator's passkeys: they can be added, renamed and removed.
import {
	api, button, buttons, card, confirm, formDialog, h, loadPart, note, replaceContent, t, timeNode, toast, userText,
} from "../../lib/ui.js"
import { makePasskey, passkeyRefusal, passkeysFault } from "../../lib/passkeys.js"

/** @type {Field} */
const NAME = {
	name: "name", label: "Name", required: true, hint: "Where it is: a device, or a key on a ring.",
	autocomplete: "off",
}
const LEAD = "A passkey signs you in without a password: with a fingerprint, a face, or the code of a device."

/**
 * The card with the operator's passkeys; `after()` is called when one was added or removed.
 * @type {(after: () => unknown) => HTMLElement}
 */
export function passkeysCard(after) {
	const body = h("div", { "aria-live": "polite" })
	const load = () => loadPart(body, async () => {
		replaceContent(body, drawn((await api("/me/passkeys")).items, { load, after }))
	})
	load()
	return card("Passkeys", h("div.stack-gap", h("p.muted", LEAD), body))
}

function drawn(items, then) {
	const fault = passkeysFault()
	return h("div.stack-gap",
		h("div.stack-gap", { role: items.length ? "list" : null }, items.map(one => line(one, then))),
		!items.length && h("p", "You have none yet."),
		fault ? note("info", "key", fault) : h("div.acts", button("Add a passkey", () => add(then), { icon: "plus" })))
}

const line = (one, then) => h("div.line", { role: "listitem" },
	h("div", userText(one.name, "strong"),
		h("div.small.muted", "Added ", timeNode(one.created_at), " · ",
			one.last_used_at ? ["used ", timeNode(one.last_used_at)] : "never used", " · ",
			one.backed_up ? "on several devices" : "on one device"),
		!one.usable && h("div.small", t`Not good here: it was made for ${one.relying_party}.`)),
	h("div.acts", buttons([
		{ text: "Rename", run: () => rename(one, then) },
		{ text: "Remove", run: () => remove(one, then) },
	], ".ghost.tiny", one.name)))

const add = ({ after }) => formDialog({
	title: "Add a passkey", lead: "Name it first; the browser then asks where to keep it.", fields: [NAME],
	submit: "Go on", draft: null,
	send: async ({ name }) => {
		const passkey = await makePasskey().catch(error => { throw passkeyRefusal(error) })
		return api("/me/passkeys", { body: { name, passkey } })
	},
	done: made => {
		toast(t`${made.name} signs you in from now on.`)
		after()
	},
})

const rename = (one, { load }) => formDialog({
	title: "Rename the passkey", fields: [NAME], edits: one, path: `/me/passkeys/${one.id}`, etag: null, draft: null,
	after: load,
})

const remove = (one, { after }) => confirm({
	title: t`Remove ${one.name}?`, act: "Remove", path: `/me/passkeys/${one.id}`, said: "The passkey is removed",
	text: "It no longer signs you in. Your device keeps its part until you delete it there, too.",
	after,
})
