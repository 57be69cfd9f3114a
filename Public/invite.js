// The page an invited person sees: public, and apart from the console's session.
import { api } from "./lib/api.js"
import { form, linkToken, newPassword, showDoor as show } from "./lib/form.js"
import { facts, h, time, user, words } from "./lib/html.js"

const token = linkToken()

async function open() {
	if (!token) return show("No invite here", "Open the link from your invite again; it ends with a long code.")
	let invite
	try {
		invite = await api("/invites/preview", { body: { token } })
	} catch (error) {
		if (error.status === 404) return show("This invite cannot be used", "It has expired, was revoked or was used before. Ask the person who invited you for a new one.")
		return show(error.title, error.message, h("button.btn.primary", { type: "button", onclick: open }, "Try again"))
	}
	const built = form([
		["name", "Your name", { required: true, attrs: { autocomplete: "name" } }],
		["email", "Email", { type: "email", value: invite.email, attrs: { readOnly: true, autocomplete: "username" } }],
		newPassword("Choose a password"),
	], {
		submit: "Accept the invite",
		send: async ({ name, password }) => {
			const { tenant } = await api("/invites/accept", { body: { token, name, password } })
			history.replaceState(null, "", location.pathname)
			show(`Welcome to ${tenant.name}`, "Your account is ready. You can now sign in where you use it.")
		},
	})
	show(`Join ${invite.tenant.name}`, "You have been invited.",
		facts([["For", user(invite.email)], ["Role", words(invite.role)], ["Ends", time(invite.expires_at)]]), built)
}
open()
