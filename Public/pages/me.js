import {
	api, append, button, card, confirm, copyable, copyButton, dataTable, dialog, factList, formDialog, h, keepOperator,
	loadPart, note, noValue, pageHead, replaceContent, revealSecret, runAct, statusTag, t, timeNode, toast, userText,
	words,
} from "../lib/ui.js"
import { codeField, newPassword } from "../lib/door.js"
import { form } from "../lib/form.js"
import { passkeysCard } from "./me/passkeys.js"
import { matrix, reach } from "./operators.js"

/** @type {(page: Page) => Promise<any>} */
export default async page => {
	const body = h("div.stack-gap")
	append(page.body, [pageHead("Your account"), body])
	const draw = () => loadPart(body, async () => {
		const { operator, remedies } = await api("/session", { signal: page.signal })
		keepOperator(operator)
		replaceContent(body, due(operator), hasNone(remedies) && note("warn", "lock",
			h("strong", "You have neither a password nor a passkey yet: without one you cannot sign in again."),
			remedies.includes("set_up") ? h("div", "Set one up here, while this sign-in is fresh.")
				: (await import("../lib/step-up.js")).leadsOn(remedies)),
			about(operator, draw), factors(operator, draw), passkeysCard(draw),
			sessions(page), signIns(page),
			card("What each role may do", matrix()))
	})
	await draw()
}

const hasNone = remedies => /set_up|mail_link|operator_reset/.test(remedies)

const due = ({ second_factor_due: end }) => end && note("warn", "lock",
	t`Your role needs a second factor. Without one, nothing but this page opens from then on: `, timeNode(end))

const about = (one, draw) => card("You", factList([
	["Name", h("div.acts", userText(one.name || "–"),
		button("Change name", () => rename(one, draw), { look: ".tiny" }))],
	["Email", userText(one.email)], ["Role", statusTag(one.role)], ["Scope", reach(one)],
	["This sign-in", timeNode(one.last_sign_in_at)], ["Since", timeNode(one.created_at)], ["Id", copyable(one.id)],
]))

const rename = (one, draw) => formDialog({
	title: "Your name", submit: "Save", fields: [{
		name: "name", label: "Name", required: true, value: one.name, autocomplete: "name",
	}],
	request: values => ({ path: "/me", method: "PATCH", body: values }), done: draw,
})

/** The card with the operator's ways to sign in, each with what can be done about it. */
function factors({ factors: own }, draw) {
	const act = (text, run, name) => button(text, run, { look: ".tiny", name })
	const has = isThere => statusTag(isThere ? "active" : "off")
	const hasFactor = own.totp || own.passkeys > 0
	return card("How you sign in", factList([
		["Password", h("div.acts", act("Change", () => changePassword(draw), "the password"))],
		["Authenticator app", h("div.acts", has(own.totp),
			act(own.totp ? "Replace" : "Set up", () => setUpApp(own, draw), "the authenticator app"),
			own.totp && act("Remove", () => removeApp(own, draw), "the authenticator app"))],
		["Recovery codes", h("div.acts", hasFactor ? t`${own.recovery_codes_left} left` : "Not without a second factor",
			hasFactor && act("Make new ones", () => askForCodes(own, draw), "recovery codes"))],
		own.provider && ["Provider", has(true)],
	]))
}

const changePassword = draw => formDialog({
	title: "A new password", submit: "Set the password", lead: "Every other session of your account ends with it.",
	fields: [newPassword("New password")], draft: null,
	request: values => ({ path: "/me/password", method: "PUT", body: values }), done: draw, said: "The password is set",
})

const removeApp = (own, draw) => confirm({
	title: "Remove the authenticator app?", act: "Remove the app",
	text: own.passkeys
		? "From then on you sign in with a passkey or your password."
		: "From then on the password alone opens your account, and the recovery codes end.",
	path: "/me/totp", said: "The app is removed", after: draw,
})

function askForCodes(own, draw) {
	if (!own.recovery_codes_left) return makeCodes(draw)
	return confirm({
		title: "Make new recovery codes?", act: "Make new codes", text: "Those that you have end at once.",
		run: () => makeCodes(draw), said: null,
	})
}

/** Sets up an authenticator app in two steps: the app reads the seed, then one of its codes confirms it. */
async function setUpApp(own, after) {
	const made = await api("/me/totp", { method: "POST" }).catch(error => toast(error.message, { stay: true }))
	if (!made?.seed) return
	const code = h("img.qr", {
		alt: "QR code for the authenticator app", src: `data:image/svg+xml,${encodeURIComponent(made.qr_svg)}`,
		width: 208, height: 208,
	})
	const confirmed = async () => {
		node.close()
		toast("The app is set up")
		if (!own.recovery_codes_left) await makeCodes(after)
		else after()
	}
	const node = dialog(own.totp ? "Replace the authenticator app" : "Set up an authenticator app",
		h("p.lead", own.totp
			? "Scan this with the new app. The old one works until you type a code of the new one."
			: "Scan this with an authenticator app on your phone, then type the code that it shows."),
		code,
		h("details.small", h("summary", "Type the key instead"),
			h("div.stack-gap", h("code.code", made.seed.replace(/(.{4})(?=.)/g, "$1 ")),
				h("div.acts", copyButton(made.seed)))),
		form([codeField("code", "Code")], {
			submit: "Confirm", cancel: () => node.close(), done: confirmed,
			send: body => api("/me/totp/confirm", { body }),
		}))
	node.querySelector("input")?.focus()
}

/** Makes new recovery codes and shows them once, to be stored as a file or on paper. */
async function makeCodes(after) {
	const { codes } = await api("/me/recovery-codes", { method: "POST" })
	const text = `Recovery codes for the console at ${location.host}. Each works once.\n\n${codes.join("\n")}\n`
	const node = revealSecret({
		title: "Recovery codes", secret: codes.join("\n"),
		text: "If you lose your phone, each of these signs you in once. This is the only time they are shown: keep "
			+ "them in a safe place, on paper or as a file.",
		file: { name: "gatehouse-recovery-codes.txt", text, type: "text/plain", label: "Download" },
		more: button("Print", () => print()),
	})
	node.addEventListener("close", after)
}

/** @type {(title: string, load: (body: HTMLElement) => unknown) => HTMLElement} */
const part = (title, load) => {
	const body = h("div", h("p.muted", "Loading…"))
	loadPart(body, () => load(body))
	return card(title, body)
}

const sessions = page => part("Where you are signed in", async function draw(body) {
	const again = () => draw(body)
	const { items } = await api("/me/sessions", { signal: page.signal })
	const device = one => one.device ?? "Unknown"
	const endButton = one => button("End", () => end(one), {
		look: ".ghost.tiny", name: t`the session on ${device(one)}`,
	})
	const end = one => runAct(`/me/sessions/${one.id}`, { method: "DELETE" }, "The session is ended", again)
	replaceContent(body, dataTable("Your sessions", ["Device", "Address", "Signed in", "Last seen", "By", "End"],
		items.map(one => [device(one), h("code", one.ip ?? "–"), timeNode(one.created_at),
			timeNode(one.last_seen_at), words(one.method), one.current ? statusTag("this one") : endButton(one)])),
		items.length > 1 && h("div.acts", button("End all others", () => confirm({
			title: "End all other sessions?", act: "End them", path: "/me/sessions", said: "They are ended",
			after: again, text: "Everybody who uses one of them is signed out at once. This one continues.",
		}))))
})

const signIns = page => part("Your last sign-ins", async body => {
	const { items } = await api("/me/sign-ins", { signal: page.signal })
	replaceContent(body, dataTable("Your last sign-ins", ["When", "Address", "By"],
		items.map(one => [timeNode(one.at), h("code", one.ip ?? "–"), one.method ? words(one.method) : noValue()])))
})
