// The operator's menu: who is signed in, how the console looks, the way out.
import {
	button, currentOperator, forgetTenants, h, icon, leaveFor, preferences, redraw, replaceContent, setPreference,
	signOut, userText, words,
} from "./core.js"

/** What can be chosen, and what is kept of each choice. */
const CHOICES = {
	theme: { System: "", Light: "light", Dark: "dark" },
	density: { Comfortable: "", Compact: "compact" },
	times: { "Relative times": "", "Exact times": "exact" },
	keys: { "Letter keys": "", "No letter keys": "off" },
	lang: { "As the browser": "", English: "en", Deutsch: "de" },
}

/** Fills the menu. */
export function draw(menu) {
	const choose = ([name, values]) => h("div.segments", { role: "group", "aria-label": words(name) },
		Object.entries(values).map(([text, value]) => button(text, event => look(name, value, event.target),
			{ look: ".tiny", "aria-pressed": String((preferences()[name] ?? "") === value) })))
	replaceContent(menu,
		h(
			"div.line", userText(currentOperator().name || currentOperator().email, "strong"),
			h("div.small.muted", userText(currentOperator().email), " · ", words(currentOperator().role)),
		),
		Object.entries(CHOICES).map(choose),
		h("a.btn.ghost", { href: "/console/me", onclick: () => menu.hidePopover() }, icon("user"), "Your account"),
		button(
			"Keyboard shortcuts", async () => (await import("./palette.js")).press("?"),
			{ look: ".ghost", icon: "list" },
		),
		button("Sign out", leave, { look: ".ghost", icon: "door" }))
}

function look(name, value, pressed) {
	setPreference(name, value)
	if (value) document.documentElement.dataset[name] = value
	else delete document.documentElement.dataset[name]
	for (const one of pressed.parentNode.children) one.setAttribute("aria-pressed", String(one === pressed))
	if (name === "times") redraw()
	if (name === "lang") location.reload()
}

async function leave() {
	await signOut().catch(() => {})
	forgetTenants()
	leaveFor("/console/sign-in")
}
