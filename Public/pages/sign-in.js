import { api } from "../lib/api.js"
import { door, linkToken } from "../lib/door.js"
import { form } from "../lib/form.js"
import { h, note } from "../lib/html.js"
import { hideFragment, query } from "../lib/router.js"

/** Only a path of this console is a place to go to after signing in. */
const safeNext = next => (/^\/console\//.test(next) ? next : "/console/")

export default function signIn(page) {
	const token = linkToken()
	const enter = async body => {
		await api("/session", { body })
		location.replace(safeNext(query().next))
	}
	hideFragment()
	if (token) return door(page, "You have a one-time link", "It signs you in once, then it is spent.",
		form([], { submit: "Continue", send: () => enter({ token }) }),
		h("p.small", h("a", { href: "/console/sign-in" }, "Use a password instead")))
	door(page, "Sign in", "Welcome back. The gate knows its keepers.",
		query().next && note("info", "lock", "Sign in to go on to where you were."),
		form([
			["email*", "Email", { type: "email", attrs: { autocomplete: "username", autofocus: true } }],
			["password*", "Password", { type: "password", attrs: { autocomplete: "current-password" } }],
		], { submit: "Sign in", send: enter }),
		h("p.small", h("a", { href: "/reset" }, "Forgot your password?")),
		h("p.small.muted", "No password yet? Open the one-time link that was sent to you, or that the server printed when it started."))
}
