// A new password: by the link of a mail, or asking for that mail. Public, and apart from the console's session.
import { api } from "./lib/api.js"
import { form, linkToken, newPassword, showDoor as show } from "./lib/form.js"
import { h } from "./lib/html.js"

const token = linkToken()
// The secret leaves the address and the history before anything else is asked.
history.replaceState(null, "", location.pathname)

const ask = () => show("Forgot your password?", "A link to set a new one is mailed to the operator at this address.", form([
	["email", "Email", { type: "email", required: true, attrs: { autocomplete: "username" } }],
], {
	submit: "Mail me a link",
	send: async body => {
		await api("/password-resets", { body })
		show("Look into your mail", "If there is an account at this address and this server sends mail, a link is on its way. It works for an hour.")
	},
}), h("p.small", h("a", { href: "/console/sign-in" }, "Back to sign-in")))

const set = () => show("Set a new password", "Every session of the account ends with it.", form([
	newPassword("New password"),
], {
	submit: "Set the password",
	send: async ({ password }) => {
		await api("/password-resets/confirm", { body: { token, password } })
		show("The password is set", "Sign in with it where you use it.", h("p.small", h("a", { href: "/console/sign-in" }, "Sign in to the console")))
	},
}))

if (token) set()
else ask()
