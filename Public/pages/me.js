import {
	api, append, button, card, confirm, factList, formDialog, h, keepOperator, loadPart, note, pageHead, replaceContent,
	statusTag, t, timeNode, userText,
} from "../lib/ui.js"
import { newPassword } from "../lib/door.js"
import { sessions, signIns } from "./me/sessions.js"
import { makeCodes, setUpApp } from "./me/totp.js"
import { matrix, reach } from "./operators.js"

export default async page => {
	const body = h("div.stack-gap")
	append(page.body, [pageHead("Your account"), body])
	const draw = () => loadPart(body, async () => {
		const { operator, methods } = await api("/session", { signal: page.signal })
		keepOperator(operator)
		replaceContent(body, due(operator), !methods.length && note("info", "lock",
			"You have no password yet. Set one while this sign-in is fresh; later you would have to sign in anew."),
			about(operator, draw), factors(operator, draw),
			sessions(page), signIns(page),
			card("What each role may do", matrix()))
	})
	await draw()
}

const due = ({ second_factor_due: end }) => end && note("warn", "lock",
	t`Your role needs a second factor. Without one, nothing but this page opens from then on: `, timeNode(end))

const about = (one, draw) => card("You", factList([
	["Name", h("div.acts", userText(one.name || "–"),
		button("Change name", () => rename(one, draw), { look: ".tiny" }))],
	["Email", userText(one.email)], ["Role", statusTag(one.role)], ["Scope", reach(one)],
	["This sign-in", timeNode(one.last_sign_in_at)], ["Since", timeNode(one.created_at)], ["Id", h("code", one.id)],
]))

const rename = (one, draw) => formDialog({
	title: "Your name", submit: "Save", fields: [["name*", "Name", { value: one.name, autocomplete: "name" }]],
	request: values => ["/me", { method: "PATCH", body: values }], done: draw,
})

/** What the operator signs in with, each with what can be done about it. */
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
	]))
}

const changePassword = draw => formDialog({
	title: "A new password", submit: "Set the password", lead: "Every other session of your account ends with it.",
	fields: [newPassword("New password")], draft: null,
	request: values => ["/me/password", { method: "PUT", body: values }], done: draw, said: "The password is set",
})

const removeApp = (own, draw) => confirm({
	title: "Remove the authenticator app?", act: "Remove the app",
	text: own.passkeys
		? "You sign in by passkey or password from then on."
		: "The password alone opens your account from then on, and the recovery codes end.",
	path: "/me/totp", said: "The app is removed", after: draw,
})

function askForCodes(own, draw) {
	if (!own.recovery_codes_left) return makeCodes(draw)
	return confirm({
		title: "Make new recovery codes?", act: "Make new codes", text: "Those that you have end at once.",
		run: () => makeCodes(draw), said: null,
	})
}
