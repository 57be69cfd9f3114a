import { api } from "../lib/api.js"
import { door, linkToken, newPassword } from "../lib/door.js"
import { form } from "../lib/form.js"
import { h } from "../lib/html.js"
import { hideFragment } from "../lib/router.js"

const back = text => h("p.small", h("a", { href: "/console/sign-in" }, text))

/** A new password: by the link of a mail, or asking for that mail. */
export default function reset(page) {
	const token = linkToken()
	hideFragment()
	if (token) return door(page, "Set a new password", "Every session of the account ends with it.", form([newPassword("New password")], {
		submit: "Set the password",
		send: async ({ password }) => {
			await api("/password-resets/confirm", { body: { token, password } })
			door(page, "The password is set", "Sign in with it where you use it.", back("Sign in to the console"))
		},
	}))
	door(page, "Forgot your password?", "A link to set a new one is mailed to the operator at this address.", form([
		["email*", "Email", { type: "email", attrs: { autocomplete: "username" } }],
	], {
		submit: "Mail me a link",
		send: async body => {
			await api("/password-resets", { body })
			door(page, "Look into your mail", "If there is an account at this address and this server sends mail, a link is on its way. It works for an hour.")
		},
	}), back("Back to sign-in"))
}
