// A new password: by the link of a mail, or asking for that mail. Public, and apart from the console's session.
import { api } from "./lib/api.js"
import { door, form } from "./lib/form.js"
import { fill, h } from "./lib/html.js"

const main = document.querySelector("main")
const show = (...page) => {
	fill(main, door(...page))
	const heading = main.querySelector("h1")
	heading.tabIndex = -1
	heading.focus()
}
const token = new URLSearchParams(location.hash.slice(1)).get("token")
// The secret leaves the address and the history before anything else is asked.
history.replaceState(null, "", location.pathname)

const ask = () => show("Forgot your password?", "A link to set a new one is mailed to the operator at this address.", form([
	["email", "Email", { type: "email", required: true, attrs: { autocomplete: "username" } }],
], {
	submit: "Mail me a link",
	send: async body => {
		await api("/password-resets", { method: "POST", body })
		show("Look into your mail", "If there is an account at this address and this server sends mail, a link is on its way. It works for an hour.")
	},
}), h("p.small", h("a", { href: "/console/sign-in" }, "Back to sign-in")))

const set = () => show("Set a new password", "Every session of the account ends with it.", form([
	["password", "New password", { type: "password", required: true, hint: "At least 15 characters; a sentence is fine.", attrs: { autocomplete: "new-password" } }],
], {
	submit: "Set the password",
	send: async ({ password }) => {
		await api("/password-resets/confirm", { method: "POST", body: { token, password } })
		show("The password is set", "Sign in with it where you use it.", h("p.small", h("a", { href: "/console/sign-in" }, "Sign in to the console")))
	},
}))

if (token) set()
else ask()
