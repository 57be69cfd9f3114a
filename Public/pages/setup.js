import { api } from "../lib/api.js"
import { door, linkToken, newPassword } from "../lib/door.js"
import { form } from "../lib/form.js"
import { h } from "../lib/html.js"
import { hideFragment } from "../lib/router.js"

export default function setup(page) {
	const token = linkToken()
	hideFragment()
	door(page, "Set up Gatehouse", "The first owner holds every key. It takes a minute.", form([
		["token*", "Set-up token", { value: token, hint: "The server logged it once when it started.", attrs: { autocomplete: "off" } }],
		["name*", "Your name", { attrs: { autocomplete: "name" } }],
		["email*", "Email", { type: "email", attrs: { autocomplete: "username" } }],
		newPassword("Password"),
	], {
		submit: "Become the first owner",
		send: async body => {
			try {
				await api("/setup", { body })
				location.replace("/console/")
			} catch (error) {
				if (![404, 409, 410].includes(error.status)) throw error
				door(page, "Set-up is closed", "This service already has an owner.", h("a.btn.primary", { href: "/console/sign-in" }, "Go to sign-in"))
			}
		},
	}))
}
