// The operator's menu: who is signed in, how the console looks, the way out.
import { button, currentOperator, h, icon, preferences, replaceContent, userText, words } from "../core.js"
import { choose, leave } from "./choices.js"
import { press } from "./key-acts.js"

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
	const choice = ([name, values]) => h("div.segments", { role: "group", "aria-label": words(name) },
		Object.entries(values).map(([text, value]) => button(text, ({ target }) => {
			choose(name, value)
			for (const one of target.parentNode.children) one.setAttribute("aria-pressed", String(one === target))
		},
			{ look: ".tiny", "aria-pressed": String((preferences()[name] ?? "") === value) })))
	replaceContent(menu,
		h(
			"div.line", userText(currentOperator().name || currentOperator().email, "strong"),
			h("div.small.muted", userText(currentOperator().email), " · ", words(currentOperator().role)),
		),
		Object.entries(CHOICES).map(choice),
		h("a.btn.ghost", { href: "/console/me", onclick: () => menu.hidePopover() }, icon("user"), "Your account"),
		button("Keyboard shortcuts", () => press("?"), { look: ".ghost", icon: "list" }),
		button("Sign out", leave, { look: ".ghost", icon: "door" }))
}
