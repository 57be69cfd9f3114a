import { api } from "../lib/api.js"
import { door, linkToken, newPassword } from "../lib/door.js"
import { form } from "../lib/form.js"
import { button, facts, time, user } from "../lib/html.js"
import { t, words } from "../lib/language.js"
import { hideFragment } from "../lib/router.js"

/** What an invited person sees. */
export default async function invite(page) {
	const token = linkToken()
	if (!token) return door(page, "No invite here", "Open the link from your invite again; it ends with a long code.")
	let found
	try {
		found = await api("/invites/preview", { body: { token } })
	} catch (error) {
		if (error.status === 404) return door(page, "This invite cannot be used", "It has expired, was revoked or was used before. Ask the person who invited you for a new one.")
		return door(page, error.title, error.message, button("Try again", () => invite(page), { look: ".primary" }))
	}
	const accept = form([
		["name*", "Your name", { attrs: { autocomplete: "name" } }],
		["email", "Email", { type: "email", value: found.email, attrs: { readOnly: true, autocomplete: "username" } }],
		newPassword("Choose a password"),
	], {
		submit: "Accept the invite",
		send: async ({ name, password }) => {
			const { tenant } = await api("/invites/accept", { body: { token, name, password } })
			hideFragment()
			door(page, t`Welcome to ${tenant.name}`, "Your account is ready. You can now sign in where you use it.")
		},
	})
	door(page, t`Join ${found.tenant.name}`, "You have been invited.",
		facts([["For", user(found.email)], ["Role", words(found.role)], ["Ends", time(found.expires_at)]]), accept)
}
