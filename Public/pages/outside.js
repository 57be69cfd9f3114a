// The pages outside the console, such as sign-in, set-up and a new password. The pages of an invite and of a join link
// are in joining.js.
import {
	button, h, hideFragment, icon, note, query, queryString, replaceAddress, replaceContent, t
} from "../lib/core.js"
import { api } from "../lib/server.js"
import { askPasskey, fillsIn, passkeyRefusal, passkeysFault, signInOptions, signInWays } from "../lib/passkeys.js"
import {
	NAME, PROVED, RECOVERY_CODE, codeField, codeIn, door, newPassword, noCode, orPaste, wayOn
} from "../lib/door.js"
import { form } from "../lib/form.js"

// Sign-in by a passkey: with a button, or from the browser's own list below the address field.

/** Milliseconds after which the page asks for a new challenge; the server accepts a challenge for 5 minutes. */
const FRESH = 270000

// The request to the browser for its list of passkeys; null if there is none. The browser allows one request at a time,
// so a press on any passkey button, even on that of a later step, ends this request.
let waiting = null
/**
 * The part of the page where a person can sign in by a passkey. After the sign-in, it calls `done()`. `ways` are the
 * ways to sign in that the server accepts; if they are given, the field for the email address also lists passkeys.
 * @type {(page: Page, done: () => unknown, ways: Promise<API.SignInWays | null> | null) => HTMLElement}
 */
function passkeySignIn(page, done, ways) {
	const fault = passkeysFault()
	if (fault) return h("p.small.muted", fault)
	const trouble = h("div", { role: "alert" })
	const act = button("Sign in with a passkey", byButton, { look: ".wide", icon: "key" })

	async function signIn(options, more) {
		const passkey = await askPasskey(options, more)
		await api("/session", { body: { passkey } })
		done()
	}

	async function byButton() {
		if (act.disabled) return
		act.disabled = true
		replaceContent(trouble)
		waiting?.abort()
		try {
			await signIn(await signInOptions())
		} catch (error) {
			show(error)
			wait()
		} finally {
			act.disabled = false
		}
	}

	/**
	 * Starts the list of passkeys, unless the server cannot use passkeys at its public address; then a text says why.
	 */
	async function begin() {
		if ((await ways)?.passkeys !== false) return wait()
		const why = "This server's public address has no passkeys: they need a name and https."
		replaceContent(part, h("p.small.muted", why))
	}

	/** Lets the browser offer passkeys in the field for the email address, until one is chosen. */
	async function wait() {
		if (!ways || page.signal.aborted || !await fillsIn()) return
		const own = (waiting = new AbortController())
		page.signal.addEventListener("abort", () => own.abort(), { once: true })
		// If the request for the options fails, nothing is shown: the button says why when it is pressed.
		const options = await signInOptions().catch(() => null)
		if (!options || own.signal.aborted) return
		const timer = setTimeout(() => (own.abort(), wait()), FRESH)
		try {
			await signIn(options, { mediation: "conditional", signal: own.signal })
		} catch (error) {
			// The person did not ask for the list, so an error of the browser or the authenticator is not shown.
			if (own.signal.aborted || error instanceof DOMException) return
			show(error)
			// The server refused the passkey: offer the list again.
			if (error.status === 401) wait()
		} finally {
			clearTimeout(timer)
		}
	}

	function show(error) {
		replaceContent(trouble, note("danger", "alert", passkeyRefusal(error).message))
	}

	const part = h("div.gap", h("div.acts", act), trouble)
	begin()
	return part
}

// Sign-in at the provider that the platform's owners chose for operators.

const PLACE = "gatehouse-next"
/**
 * The path of the page that was asked for before the browser went to the provider.
 * @type {() => string}
 */
const keptPlace = () => sessionStorage.getItem(PLACE) ?? ""

/** @type {Record<string, string>} */
const FAULTS = {
	unknown: "No operator of this console has that account or its address.",
	other_person: "That is not the account of the session that asked, or the session has ended.",
	not_anew: "The provider did not ask you again, so nothing is proved. Use another way.",
	unavailable: "The provider cannot be reached. Try again in a moment.",
}
/**
 * Why the sign-in at the provider failed, in words. The `code` is in the address when the browser comes back from the
 * provider.
 * @type {(code: string) => string}
 */
const faultOf = code => FAULTS[code] ?? "The sign-in at the provider failed. Start again."

/**
 * Called when the link to the provider is pressed. Replaces this page's address by the address of the page that was
 * asked for, so that going back leads there. If nobody is signed in then, that page leads to the sign-in again.
 */
function leave({ ctrlKey, metaKey, shiftKey }) {
	const { next = "" } = query()
	sessionStorage.setItem(PLACE, next)
	if (ctrlKey || metaKey || shiftKey) return
	replaceAddress(/^\/console\//.test(next) ? next : "/console/")
	// The address is now that of the page that was asked for. If the person goes back, the browser may show the sign-in
	// from its cache under this address, so load the page that was asked for.
	addEventListener("pageshow", event => event.persisted && location.reload())
}

/**
 * The part of the page for the sign-in at the provider. It stays empty unless `ways`, the ways to sign in that the
 * server accepts, include a provider.
 * @type {(ways: Promise<API.SignInWays | null>) => HTMLElement}
 */
function providerSignIn(ways) {
	const part = h("div")
	ways.then(all => all?.provider && part.replaceChildren(h("div.acts.gap", h("a.btn.wide", {
		href: "/v1/session/provider", onclick: leave,
	}, icon("door"), h("span", t`Sign in at ${all.provider.name}`)))))
	return part
}

/** @type {Field} */
const EMAIL = { name: "email", label: "Email", required: true, type: "email", autocomplete: "username" }
// If passkeys can be used, the browser lists them below this field.
/** @type {Field} */
const KNOWN_EMAIL = { name: "email", label: "Email", required: true, type: "email", autocomplete: "username webauthn" }
const NO_OWNER = "This server is not set up yet: it has no owner who could sign in. Open the link in the server's log, "
	+ "or the one that “gatehouse setup” prints beside the running server."
const link = (href, text) => h("p.small", h("a", { href }, text))
// Adds the tenant to the path of the next page. An operator whose address is not confirmed needs the tenant on each
// page.
const withTenant = (path, tenant = query().tenant) => path + queryString({ tenant })
const toSignIn = text => link(withTenant("/console/sign-in"), text)
/** @type {(hint: string) => Field} */
const tenantField = hint =>
	({ name: "tenant", label: "Tenant", value: query().tenant, hint, autocomplete: "off", attrs: { maxLength: 63 } })

/** @type {(page: Page, token: string | null, came: { arrived?: string, fault?: string | null }) => unknown} */
function signIn(page, token, { arrived, fault }) {
	const goOn = () => {
		const { next = keptPlace() } = query()
		// Go only to a path of this console.
		location.replace(/^\/console\//.test(next) ? next : "/console/")
	}
	if (arrived === "signed-in") return goOn()
	if (arrived === "stepped-up") {
		new BroadcastChannel(PROVED).postMessage(true)
		close()
		return door(page, "Proved", "You may close this window: the console continues where you were.")
	}
	const send = async values => {
		const { operator, remedies = [] } = await api("/session", { body: token ? { token } : values })
		if (!remedies.includes("set_up")) return goOn()
		// After the operator's first link, the set-up may be put off; after a later link, it is required.
		location.replace(withQuery({ "set-up": operator.last_sign_in_at ? "now" : "first" }))
	}
	if (query()["set-up"]) return chooseWay(page, goOn)
	if (token) return door(
		page, "You have a one-time link", "It signs you in only once.",
		form([], { submit: "Continue", send }), toSignIn("Use a password instead"),
	)
	const built = form([
		KNOWN_EMAIL,
		{ name: "password", label: "Password", required: true, type: "password", autocomplete: "current-password" },
		tenantField(
			"The short name of your tenant, if you are an operator of only one tenant. Otherwise leave it empty.",
		),
	], { submit: "Sign in", send, refused: showMore })
	const tenant = /** @type {HTMLInputElement} */ (built.querySelector("[name=tenant]"))
	const forgot = h("a", { href: withTenant("/reset") }, "Forgot your password?")
	// Hide the field for the tenant, if it is empty, until a sign-in fails: most operators do not need it. An operator
	// needs it if several tenants claim the operator's address.
	const field = /** @type {HTMLElement} */ (tenant.closest(".field"))
	field.hidden = !tenant.value
	tenant.addEventListener("input", () => {
		forgot.href = withTenant("/reset", tenant.value.trim())
	})
	/** @type {(error: Refusal, values: any) => boolean} */
	function showMore({ status, code, methods }, values) {
		// If there is no second factor to ask for, the refusal itself says who can help.
		if (methods?.length && code === "second_factor_required") {
			return secondStep(page, values, methods, { send, goOn }), true
		}
		if (status === 401 || status === 429) field.hidden = false
		return false
	}
	const ways = signInWays().catch(() => null)
	door(page, "Sign in", "The gate knows its keepers.",
		fault && note("danger", "alert", faultOf(fault)),
		query().next && note("info", "lock", "Sign in to continue where you were."),
		built, passkeySignIn(page, goOn, ways), providerSignIn(ways), h("p.small", forgot),
		h(
			"p.small.muted",
			"No password yet? Open the one-time link that was sent to you, or that the server printed when it started.",
		), orPaste(code => signIn(page, code, {})))
	const say = text => page.body.querySelector(".lead")?.replaceWith(note("info", "lock", text))
	ways.then(all => all?.set_up === false && say(NO_OWNER))
}

const withQuery = more => location.pathname + queryString({ ...query(), ...more })

/** Lets an operator who came by a one-time link set up a way to sign in again. */
async function chooseWay(page, goOn) {
	const { remedies } = await api("/session").catch(() => ({}))
	if (!remedies) return location.replace(withQuery({ "set-up": "" }))
	if (!remedies.includes("set_up")) return goOn()
	const isFirst = query()["set-up"] === "first"
	door(
		page, "Choose how you come back",
		"The link cannot be used again. With a password or a passkey you can sign in at any time.",
		(await import("../lib/set-up.js")).setUpWays(goOn),
		isFirst && h("div.acts.gap", button("Not now", goOn, { look: ".ghost" })),
	)
}

/** Draws the second step of a sign-in, which asks for a second factor after the right password. */
function secondStep(page, first, methods, then, isRecovery = !methods.includes("totp")) {
	const other = (text, toRecovery) => h("p.small", button(text,
		() => secondStep(page, first, methods, then, toRecovery), { look: ".ghost.tiny" }))
	const passkey = methods.includes("passkey") && passkeySignIn(page, then.goOn, null)
	const again = link("/console/sign-in", "Start over")
	if (!methods.some(one => one === "totp" || one === "recovery_code")) {
		return door(
			page, "One more step", "The password is right. Your account asks for your passkey, too.", passkey, again,
		)
	}
	const fields = isRecovery
		? [RECOVERY_CODE]
		: [codeField("totp", "Code")]
	door(page, "One more step", isRecovery
		? "Type one of the recovery codes that you keep in a safe place."
		: "Type the code that your authenticator app shows now.",
		form(fields, { submit: "Sign in", send: more => then.send({ ...first, ...more }) }), passkey,
		!isRecovery && methods.includes("recovery_code") && other("Use a recovery code", true),
		isRecovery && methods.includes("totp") && other("Use the app instead", false), again)
	page.body.querySelector("input").focus()
}

const isSetUp = page => door(
	page, "Set-up is closed", "This service already has an operator, or the set-up was completed.",
	toSignIn("Go to sign-in"),
)

async function setup(page, token) {
	// Do not show a form that the server would refuse. If this request fails, show the form: the server's answer to the
	// form decides.
	if ((await signInWays().catch(() => null))?.set_up) return isSetUp(page)
	door(page, "Set up Gatehouse", "The first owner holds every key. It takes a minute.", form([
		{
			name: "token", label: "Set-up token", required: true, value: token,
			hint: "The server logs it when it starts.", autocomplete: "off",
		},
		NAME,
		EMAIL,
		newPassword("Password"),
	], {
		submit: "Become the first owner",
		send: async values => {
			try {
				await api("/setup", { body: { ...values, token: codeIn(values.token) ?? values.token } })
				location.replace("/console/")
			} catch (error) {
				if (![404, 409, 410].includes(error.status)) throw error
				isSetUp(page)
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
			const said = await api("/password-resets/confirm", { body: { token, password } })
			door(
				page, "The password is set", "Sign in with it where you use it.", wayOn(said?.return_to),
				toSignIn("Sign in to the console"),
			)
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
	}), toSignIn("Back to sign-in"), orPaste(code => reset(page, code)))
}

/**
 * The page for reporting a change that the person did not make. Only its button ends the sessions; opening the link
 * does not, since mail systems open links by themselves.
 */
function notMe(page, token) {
	if (!token) return noCode(page, "No link here", code => notMe(page, code))
	const lead = "The button ends every session of your account and its password. A link to a new one is mailed to you."
	door(page, "This was not you?", lead, form([], {
		submit: "End all sessions", danger: true,
		send: async () => {
			const { reset_mailed: isMailed } = await api("/session/not-me", { body: { token } })
			door(
				page, "Every session has ended", isMailed
					? "A link to set a new password is on its way to you by mail. Then look through the passkeys, the "
						+ "app and the codes of your account: remove what is not yours."
					: "Sign in again, and look through the passkeys of your account.",
				toSignIn("Go to sign-in"),
			)
		},
	}))
}

function email(page, token) {
	if (!token) return noCode(page, "No link here", code => email(page, code))
	const lead = "From then on your account has this address, and the old address is informed."
	door(page, "Confirm your new address", lead, form([], {
		submit: "Confirm the address",
		send: async () => {
			const { email } = await api("/email-changes/confirm", { body: { token } })
			door(page, "The address is confirmed", t`Your account has the address ${email} now.`)
		},
	}))
}

const joining = name => async (page, token) => (await import("./joining.js"))[name](page, token)
const PAGES = {
	"/invite": joining("invite"), "/join": joining("join"), "/reset": reset, "/email": email, "/not-me": notMe,
	"/console/setup": setup,
}
/** @type {(page: Page) => any} */
export default page => {
	// The secret of a link is after its `#`, which browsers do not send to a server. It is removed from the address and
	// the history, except on the pages of an invite and of a join link.
	const hash = new URLSearchParams(location.hash.slice(1))
	const token = /token(=|%3D)/i.test(location.hash) ? codeIn(location.hash) : null
	const arrived = ["signed-in", "stepped-up"].find(one => hash.has(one))
	if (!/^\/(invite|join)$/.test(location.pathname)) hideFragment()
	return (PAGES[location.pathname] ?? signIn)(page, token, { arrived, fault: hash.get("fault") })
}
