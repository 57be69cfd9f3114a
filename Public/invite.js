// The page an invited person sees: public, and apart from the console's session.
import { api } from "./lib/api.js"
import { door, form } from "./lib/form.js"
import { facts, fill, h, time, user, words } from "./lib/html.js"

const main = document.querySelector("main")
const show = (...page) => {
	fill(main, door(...page))
	const heading = main.querySelector("h1")
	heading.tabIndex = -1
	heading.focus()
}
const token = new URLSearchParams(location.hash.slice(1)).get("token")

async function open() {
	if (!token) return show("No invite here", "Open the link from your invite again; it ends with a long code.")
	let invite
	try {
		invite = await api("/invites/preview", { method: "POST", body: { token } })
	} catch (error) {
		if (error.status === 404) return show("This invite cannot be used", "It has expired, was revoked or was used before. Ask the person who invited you for a new one.")
		return show(error.title, error.message, h("button.btn.primary", { type: "button", onclick: open }, "Try again"))
	}
	const built = form([
		["name", "Your name", { required: true, attrs: { autocomplete: "name" } }],
		["email", "Email", { type: "email", value: invite.email, attrs: { readOnly: true, autocomplete: "username" } }],
		["password", "Choose a password", { type: "password", required: true, hint: "At least 15 characters; a sentence is fine.", attrs: { autocomplete: "new-password" } }],
	], {
		submit: "Accept the invite",
		send: async ({ name, password }) => {
			const { tenant } = await api("/invites/accept", { method: "POST", body: { token, name, password } })
			history.replaceState(null, "", location.pathname)
			show(`Welcome to ${tenant.name}`, "Your account is ready. You can now sign in where you use it.")
		},
	})
	show(`Join ${invite.tenant.name}`, "You have been invited.",
		facts([["For", user(invite.email)], ["Role", words(invite.role)], ["Ends", time(invite.expires_at)]]), built)
}
open()
