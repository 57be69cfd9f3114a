import { api } from "../lib/api.js"
import { door, form, linkToken, newPassword } from "../lib/form.js"
import { add, fill, h } from "../lib/html.js"
import { hideFragment } from "../lib/router.js"

export default async function setup(page) {
	const token = linkToken()
	if (token) hideFragment()
	const built = form([
		["token", "Set-up token", { value: token, required: true, hint: "The server logged it once when it started.", attrs: { autocomplete: "off" } }],
		["name", "Your name", { required: true, attrs: { autocomplete: "name" } }],
		["email", "Email", { type: "email", required: true, attrs: { autocomplete: "username" } }],
		newPassword("Password"),
	], {
		submit: "Become the first owner",
		send: async values => {
			try {
				await api("/setup", { body: values })
				location.replace("/console/")
			} catch (error) {
				if (![404, 409, 410].includes(error.status)) throw error
				fill(page.body, door("Set-up is closed", "This service already has an owner.",
					h("a.btn.primary", { href: "/console/sign-in" }, "Go to sign-in")))
			}
		},
	})
	add(page.body, door("Set up Gatehouse", "The first owner holds every key. It takes a minute.", built))
}
