// The pages of an invite and of a join link.
import { factList, goTo, h, hideFragment, note, t, timeNode, userText, words } from "../lib/core.js"
import { api } from "../lib/server.js"
import { door, NAME, newPassword, noCode, wayOn } from "../lib/door.js"
import { form } from "../lib/form.js"

/**
 * Requests what an invite or join link offers. If it offers nothing any more, returns only the `reference` by which
 * an operator finds the reason.
 */
async function offered(path, token) {
	try {
		return await api(path, { body: { token } })
	} catch (error) {
		if (error.status !== 404) throw error
		return { reference: error.reference }
	}
}

const named = ({ reference }) => reference && h("p.small.muted", t`Name this reference: ${reference}`)

const providers = (found, token, path) => found.providers.map(one => form([], {
	submit: t`Continue with ${one.name}`,
	send: async () => goTo((await api(path, { body: { token, provider: one.id } })).url),
}))

/** Gives the page the tenant's colour, logo and name from now on; returns that name. */
function wear(page, { name, slug, appearance }) {
	page.face = { ...appearance, name: appearance.name ?? name, slug }
	return page.face.name
}

/** @type {(page: Page, token: string | null) => Promise<any>} */
export async function invite(page, token) {
	if (!token) return noCode(page, "No invite here", code => invite(page, code))
	const found = await offered("/invites/preview", token)
	if (!found.tenant) {
		return door(
			page, "This invite cannot be used",
			"It has expired, was revoked or was used before. Ask the person who invited you for a new one.",
			named(found),
		)
	}
	door(page, t`Join ${wear(page, found.tenant)}`, "You have been invited.",
		factList([["For", userText(found.email)], ["Role", words(found.role)], ["Ends", timeNode(found.expires_at)]]),
		providers(found, token, "/invites/sign-in"),
		found.providers[0] && h("p.lead", "Or with a password:"),
		form([
			NAME,
			{
				name: "email", label: "Email", type: "email", value: found.email,
				attrs: { readOnly: true, autocomplete: "username" },
			},
			newPassword("Choose a password"),
		], {
			submit: "Accept the invite",
			send: async ({ name, password }) => {
				const { return_to: to } = await api("/invites/accept", { body: { token, name, password } })
				hideFragment()
				door(
					page, t`Welcome to ${page.face?.name}`,
					"Your account is ready. You can now sign in where you use it.",
					wayOn(to),
				)
			},
		}))
}

/** @type {(page: Page, token: string | null) => Promise<any>} */
export async function join(page, token) {
	if (!token) return noCode(page, "No link here", code => join(page, code))
	const found = await offered("/join-links/preview", token)
	if (!found.tenant) {
		return door(
			page, "This link cannot be used",
			"It has ended or has reached its number of people. Ask the person who gave it to you for a new one.",
			named(found),
		)
	}
	const { domains } = found
	door(
		page, t`Join ${wear(page, found.tenant)}`, "Sign in, and you are a member.",
		factList([
			domains.length && ["For addresses of", userText(domains.join(", "))], ["Ends", timeNode(found.expires_at)],
		].filter(Boolean)),
		found.providers[0] ? providers(found, token, "/join-links/sign-in")
			: note("info", "lock", "No provider is set up yet. Ask the person who gave you the link."),
	)
}
