// The proof, within a session, that its operator is there.
import { api, button, h, leaveFor, note, queryString } from "./core.js"
import { dialog } from "./dialogs.js"
import { codeField } from "./door.js"
import { form } from "./form.js"

const FIELDS = {
	totp: () => codeField("totp*", "Code of your authenticator app"),
	password: () => ["password*", "Your password", { type: "password", autocomplete: "current-password" }],
}

/** Asks for one of `methods`; whether it was given. */
export function stepUp({ detail, methods = [] }) {
	const { promise, resolve } = Promise.withResolvers()
	const field = methods.map(one => FIELDS[one]).find(Boolean)
	const done = () => (resolve(true), node.close())
	const kids = field
		? form([field()], {
			submit: "Continue", done, cancel: () => node.close(), send: body => api("/session/step-up", { body }),
		})
		: h("div.acts", button("Sign in again", signInAgain, { look: ".primary" }))
	const node = dialog(field ? "Is it still you?" : "Sign in once more", h("p.lead", detail),
		field && note("info", "lock", "What you were about to do goes on right after."), kids)
	node.addEventListener("close", () => resolve(false))
	node.querySelector("input, button").focus()
	return promise
}

/** Who has neither a password nor a second factor proves it by signing in anew. */
async function signInAgain() {
	await api("/session", { method: "DELETE" })
	sessionStorage.clear()
	leaveFor(`/console/sign-in${queryString({ next: location.pathname })}`)
}
