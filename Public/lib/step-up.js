// The proof, within a session, that its operator is there.
import { api, button, h, icon, leaveFor, note, queryString, replaceContent } from "./core.js"
import { dialog } from "./dialogs.js"
import { codeField, PROVED } from "./door.js"
import { form } from "./form.js"
import { askPasskey, passkeyRefusal, passkeysFault, stepUpOptions } from "./passkeys.js"

const FIELDS = {
	totp: () => codeField("totp*", "Code of your authenticator app"),
	password: () => ["password*", "Your password", { type: "password", autocomplete: "current-password" }],
	recovery_code: () => ["recovery_code*", "Recovery code", { autocomplete: "off", hint: "Each works once." }],
}

/** Asks for one of `methods`; whether it was given. */
export function stepUp({ detail, methods = [] }) {
	const { promise, resolve } = Promise.withResolvers()
	const [field, other] = methods.map(one => FIELDS[one]).filter(Boolean)
	const done = () => (resolve(true), node.close())
	const passkey = methods.includes("passkey") && byPasskey(done, !field)
	const typed = one => form([one()], {
		submit: "Continue", done, cancel: () => node.close(), send: body => api("/session/step-up", { body }),
	})
	const kids = field && typed(field)
	const turn = other && button("Use a recovery code", () => {
		kids.replaceWith(typed(other))
		turn.remove()
		node.querySelector("input").focus()
	}, { look: ".ghost.tiny" })
	const provider = methods.includes("provider") && byProvider(done, !field && !passkey)
	const isAsked = field || passkey || provider
	const node = dialog(isAsked ? "Is it still you?" : "Sign in once more", h("p.lead", detail),
		isAsked && note("info", "lock", "What you were about to do goes on right after."), passkey, kids, turn,
		provider,
		!isAsked && h("div.acts", button("Sign in again", signInAgain, { look: ".primary" })))
	node.addEventListener("close", () => (resolve(false), provider?.forget?.()))
	node.querySelector("input, button, a")?.focus()
	return promise
}

/** A button that asks the browser for a passkey; `isOnly`: there is no other way. */
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

/** Who has neither a password nor a second factor proves it by signing in anew. */
async function signInAgain() {
	await api("/session", { method: "DELETE" })
	sessionStorage.clear()
	leaveFor(`/console/sign-in${queryString({ next: location.pathname })}`)
}

/** A link to the provider, which asks its user anew; `isOnly`: there is no other way. */
function byProvider(done, isOnly) {
	const heard = new BroadcastChannel(PROVED)
	heard.onmessage = done
	const link = h(`a.btn${isOnly ? ".primary" : ""}`, {
		href: "/v1/session/step-up/provider", target: "_blank", rel: "opener",
	}, icon("door"), h("span", "Prove it at your provider"))
	const part = h("div.acts.stack-gap", link)
	part.forget = () => heard.close()
	return part
}
