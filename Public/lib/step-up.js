// The proof of presence within a session.
import { button, h, icon, leaveFor, note, queryString, replaceContent } from "./core.js"
import { api } from "./server.js"
import { dialog } from "./dialogs.js"
import { codeField, PROVED, RECOVERY_CODE } from "./door.js"
import { form } from "./form.js"
import { askPasskey, passkeyRefusal, passkeysFault, stepUpOptions } from "./passkeys.js"
import { setUpWays } from "./set-up.js"

/** @type {Record<string, Field>} */
const FIELDS = {
	totp: codeField("totp", "Code of your authenticator app"),
	password: {
		name: "password", label: "Your password", required: true, type: "password", autocomplete: "current-password",
	},
	recovery_code: RECOVERY_CODE,
}

/**
 * Asks the operator for a proof of presence by one of `methods`; returns whether it was given. If there are no
 * methods, `remedies` decide what is offered instead.
 * @type {(problem: { detail: string, methods?: string[], remedies?: string[] }) => Promise<boolean>}
 */
export function stepUp({ detail, methods = [], remedies = [] }) {
	const { promise, resolve } = Promise.withResolvers()
	const [field, other] = methods.map(one => FIELDS[one]).filter(Boolean)
	const done = () => (resolve(true), node.close())
	const cancel = () => node.close()
	const passkey = methods.includes("passkey") && byPasskey(done, !field)
	const typed = one => form([one], {
		submit: "Continue", done, cancel, send: body => api("/session/step-up", { body }),
	})
	const kids = field && typed(field)
	const turn = other && button("Use a recovery code", () => {
		kids.replaceWith(typed(other))
		turn.remove()
		node.querySelector("input")?.focus()
	}, { look: ".ghost.tiny" })
	const heard = methods.includes("provider") ? new BroadcastChannel(PROVED) : null
	const provider = heard && byProvider(heard, done, !field && !passkey)
	const isAsked = field || passkey || provider
	const node = dialog(isAsked ? "Is it still you?" : "There is nothing to prove it by", h("p.lead", detail),
		isAsked && note("info", "lock", "What you were about to do continues right after."), passkey, kids, turn,
		provider, !isAsked && leadsOn(remedies, done),
		!kids && h("div.acts.gap", button("Cancel", cancel, { "data-cancel": "" })))
	node.addEventListener("close", () => (resolve(false), heard?.close()))
	node.querySelector("input, button, a")?.focus()
	return promise
}

/**
 * What an operator without a method of proof can do. Signing in again, which ends the session, is offered only if it is
 * among the `remedies`.
 * @type {(remedies: string[], done: () => unknown) => HTMLElement}
 */
export function leadsOn(remedies, done = () => {}) {
	const parts = []
	if (remedies.includes("set_up")) {
		parts.push(
			h("p", "Set up what you sign in with; what you were about to do continues right after."), setUpWays(done),
		)
	}
	if (remedies.includes("mail_link")) parts.push(byMail())
	if (remedies.includes("sign_in_again")) {
		parts.push(h("div.acts", button("Sign in again", signInAgain, { look: ".primary" })))
	}
	if (remedies.includes("operator_reset")) {
		parts.push(h("p", remedies.includes("mail_link")
			? "If no mail comes, the server's administrator makes a link by this command:"
			: "The server's administrator makes you a link by this command:"),
		h("code.code", "gatehouse operator reset"))
	}
	if (!remedies.includes("sign_in_again")) {
		parts.push(h("p.small.muted", "You stay signed in, and can do everything that needs no proof."))
	}
	return h("div.stack-gap", parts)
}

/** A button that mails a new one-time link to the operator's own address. The session continues. */
function byMail() {
	const said = h("div", { role: "status" })
	const act = button("Mail me a new link", async () => {
		act.disabled = true
		try {
			await api("/session/link", { method: "POST" })
			replaceContent(said, note("ok", "mail",
				"It is on its way to your address. Open it within a day, and choose a password or a passkey there."))
		} catch (error) {
			replaceContent(said, note("danger", "alert", error.message))
			act.disabled = false
		}
	}, { look: ".primary", icon: "mail" })
	return h("div.stack-gap", h("div.acts", act), said)
}

/**
 * Ends the session, so that the operator signs in again as the proof. This is for a provider that does not say when
 * it last authenticated its user.
 */
async function signInAgain() {
	await api("/session", { method: "DELETE" })
	sessionStorage.clear()
	leaveFor(`/console/sign-in${queryString({ next: location.pathname })}`)
}

/** A button that asks the browser for a passkey. `isOnly`: there is no other method. */
function byPasskey(done, isOnly) {
	const fault = passkeysFault()
	if (fault) return note("info", "key", fault)
	const trouble = h("div", { role: "alert" })
	const act = button("Use your passkey", async () => {
		act.disabled = true
		replaceContent(trouble)
		try {
			await api("/session/step-up", { body: { passkey: await askPasskey(await stepUpOptions()) } })
			done()
		} catch (error) {
			replaceContent(trouble, note("danger", "alert", passkeyRefusal(error).message))
		} finally {
			act.disabled = false
		}
	}, { look: isOnly ? ".primary" : "", icon: "key" })
	return h("div.stack-gap", h("div.acts", act), trouble)
}

/**
 * A link that opens the provider in a new window, where the operator is authenticated again. That window then reports
 * on the channel `heard`. `isOnly`: there is no other method.
 */
function byProvider(heard, done, isOnly) {
	heard.onmessage = done
	const link = h(`a.btn${isOnly ? ".primary" : ""}`, {
		href: "/v1/session/step-up/provider", target: "_blank", rel: "opener",
	}, icon("door"), h("span", "Prove it at your provider"))
	return h("div.acts.stack-gap", link)
}
