// The pages outside the gate: sign-in, set-up, an invite, a new password.
import {
	api, factList, goTo, h, hideFragment, icon, note, query, queryString, replaceContent, t, timeNode, userText, words,
} from "../lib/core.js"
import { form } from "../lib/form.js"

/** The gatehouse on one side, what is to be done on the other. */
function door(page, title, lead, ...kids) {
	const heading = h("h1", { tabIndex: -1 }, title)
	replaceContent(page.body, h("div.door",
		h(
			"div.wall", h("span.brand", icon("mark"), h("span", "Gatehouse")), h("p", "Who may come in, and why."),
			icon("mark"),
		),
		h("div.sheet", h("div", heading, h("p.lead", lead), kids))))
	heading.focus()
}

const NAME = ["name*", "Your name", { autocomplete: "name" }]
const EMAIL = ["email*", "Email", { type: "email", autocomplete: "username" }]
const newPassword = label =>
	[
		"password*", label,
		{ type: "password", hint: "At least 15 characters; a sentence is fine.", autocomplete: "new-password" },
	]
const link = (href, text) => h("p.small", h("a", { href }, text))
// The tenant of an operator whose address is not confirmed goes along from page to page.
const withTenant = (path, tenant = query().tenant) => path + queryString({ tenant })
const toSignIn = text => link(withTenant("/console/sign-in"), text)
const tenantField = hint =>
	["tenant", "Tenant", { value: query().tenant, hint, autocomplete: "off", attrs: { maxLength: 63 } }]

function signIn(page, token) {
	const send = async values => {
		await api("/session", { body: token ? { token } : values })
		const { next } = query()
		// To a path of this console, and nowhere else.
		location.replace(/^\/console\//.test(next) ? next : "/console/")
	}
	if (token) return door(
		page, "You have a one-time link", "It signs you in once, then it is spent.",
		form([], { submit: "Continue", send }), toSignIn("Use a password instead"),
	)
	const built = form([
		EMAIL, ["password*", "Password", { type: "password", autocomplete: "current-password" }],
		tenantField("The short name of your tenant, if you are an operator of one tenant alone. Else leave it empty."),
	], { submit: "Sign in", send, refused: showTenant })
	const tenant = built.querySelector("[name=tenant]")
	const reset = link(withTenant("/reset"), "Forgot your password?")
	// An address that several tenants claim says only together with the tenant whose it is; most operators need no
	// such field.
	const field = tenant.closest(".field")
	field.hidden = !tenant.value
	tenant.addEventListener("input", () => {
		reset.firstChild.href = withTenant("/reset", tenant.value.trim())
	})
	function showTenant({ status }) {
		if (status === 401 || status === 429) field.hidden = false
	}
	door(page, "Sign in", "Welcome back. The gate knows its keepers.",
		query().next && note("info", "lock", "Sign in to go on to where you were."),
		built, reset,
		h(
			"p.small.muted",
			"No password yet? Open the one-time link that was sent to you, or that the server printed when it started.",
		))
	page.body.querySelector("input").setAttribute("autofocus", "")
}

function setup(page, token) {
	door(page, "Set up Gatehouse", "The first owner holds every key. It takes a minute.", form([
		[
			"token*", "Set-up token",
			{ value: token, hint: "The server logged it once when it started.", autocomplete: "off" },
		],
		NAME, EMAIL, newPassword("Password"),
	], {
		submit: "Become the first owner",
		send: async body => {
			try {
				await api("/setup", { body })
				location.replace("/console/")
			} catch (error) {
				if (![404, 409, 410].includes(error.status)) throw error
				door(page, "Set-up is closed", "This service already has an owner.", toSignIn("Go to sign-in"))
			}
		},
	}))
}

function reset(page, token) {
	if (token) return door(page, "Set a new password", "Every session of the account ends with it.", form([
		newPassword("New password"),
	], {
		submit: "Set the password",
		send: async ({ password }) => {
			await api("/password-resets/confirm", { body: { token, password } })
			door(page, "The password is set", "Sign in with it where you use it.", toSignIn("Sign in to the console"))
		},
	}))
	door(page, "Forgot your password?", "A link to set a new one is mailed to the operator at this address.", form([
		EMAIL, tenantField("Only if the sign-in asks you for it: the short name of your tenant."),
	], {
		submit: "Mail me a link",
		send: async body => {
			await api("/password-resets", { body })
			door(
				page, "Look into your mail",
				"If there is an account at this address and this server sends mail, a link is on its way. It "
					+ "works for an hour.",
			)
		},
	}), toSignIn("Back to sign-in"))
}

async function invite(page, token) {
	if (!token) return door(page, "No invite here", "Open the link from your invite again; it ends with a long code.")
	let found
	try {
		found = await api("/invites/preview", { body: { token } })
	} catch (error) {
		if (error.status !== 404) throw error
		return door(
			page, "This invite cannot be used",
			"It has expired, was revoked or was used before. Ask the person who invited you for a new one.",
		)
	}
	door(page, t`Join ${found.tenant.name}`, "You have been invited.",
		factList([["For", userText(found.email)], ["Role", words(found.role)], ["Ends", timeNode(found.expires_at)]]),
		found.providers.map(one => form([], {
			submit: t`Continue with ${one.name}`,
			send: async () => goTo((await api("/invites/sign-in", { body: { token, provider: one.id } })).url),
		})),
		found.providers[0] && h("p.lead", "Or with a password:"),
		form([
			NAME,
			[
				"email", "Email",
				{ type: "email", value: found.email, attrs: { readOnly: true, autocomplete: "username" } },
			],
			newPassword("Choose a password"),
		], {
			submit: "Accept the invite",
			send: async ({ name, password }) => {
				const { tenant } = await api("/invites/accept", { body: { token, name, password } })
				hideFragment()
				door(page, t`Welcome to ${tenant.name}`, "Your account is ready. You can now sign in where you use it.")
			},
		}))
}

function email(page, token) {
	if (!token) return door(page, "No link here", "Open the link from your mail again; it ends with a long code.")
	const lead = "From then on your account has this address, and the old one is told."
	door(page, "Confirm your new address", lead, form([], {
		submit: "Confirm the address",
		send: async () => {
			const { email } = await api("/email-changes/confirm", { body: { token } })
			door(page, "The address is confirmed", t`Your account has the address ${email} now.`)
		},
	}))
}

const PAGES = { "/invite": invite, "/reset": reset, "/email": email, "/console/setup": setup }
export default page => {
	// A link's secret stands behind its `#`, where no server sees it, and leaves the address and the history.
	const token = new URLSearchParams(location.hash.slice(1)).get("token")
	if (location.pathname !== "/invite") hideFragment()
	return (PAGES[location.pathname] ?? signIn)(page, token)
}
