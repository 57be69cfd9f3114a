import { api } from "../lib/api.js"
import { door, form, linkToken } from "../lib/form.js"
import { add, h, note } from "../lib/html.js"
import { hideFragment, query } from "../lib/router.js"

/** Only a path of this console is a place to go to after signing in. */
function safeNext(text) {
	try {
		const url = new URL(text ?? "/console/", location.origin)
		if (url.origin === location.origin && url.pathname.startsWith("/console/")) return url.pathname + url.search
	} catch {
		// Not an address at all.
	}
	return "/console/"
}

export default async function signIn(page) {
	const enter = () => location.replace(safeNext(query().next))
	const token = linkToken()
	if (token) return oneTime(page, token, enter)
	const built = form([
		["email", "Email", { type: "email", required: true, attrs: { autocomplete: "username", autofocus: true } }],
		["password", "Password", { type: "password", required: true, attrs: { autocomplete: "current-password" } }],
	], {
		submit: "Sign in",
		send: async values => {
			await api("/session", { body: values })
			enter()
		},
	})
	add(page.body, door("Sign in", "Welcome back. The gate knows its keepers.",
		query().next && note("info", "lock", "Sign in to go on to where you were."), built,
		h("p.small", h("a", { href: "/reset" }, "Forgot your password?")),
		h("p.small.muted", "No password yet? Open the one-time link that was sent to you, or that the server printed when it started.")))
}

function oneTime(page, token, enter) {
	// The secret leaves the address and the history before anything else is asked.
	hideFragment()
	const built = form([], {
		submit: "Continue",
		send: async () => {
			await api("/session", { body: { token } })
			enter()
		},
	})
	add(page.body, door("You have a one-time link", "It signs you in once, then it is spent.", built,
		h("p.small", h("a", { href: "/console/sign-in" }, "Use a password instead"))))
}
