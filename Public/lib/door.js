// What stands around the pages outside the gate, and what several of them have.
import { h, icon, replaceContent, userText } from "./core.js"

/** What stands on the wall: the tenant's logo and name, else the gatehouse's own. */
export const wall = face => (face
	? [h("span.brand", face.logo_url ? h("img.logo", { src: face.logo_url, alt: "" }) : icon("door")),
		h("p", userText(face.name))]
	: [h("span.brand", icon("mark"), h("span", "Gatehouse")), h("p", "Who may come in, and why."), icon("mark")])

/** The gatehouse on one side, what is to be done on the other. `page.face`: of the tenant whose page it is. */
export function door(page, title, lead, ...kids) {
	const heading = h("h1", { tabIndex: -1 }, title)
	const { accent, on_accent: ink } = page.face ?? {}
	if (accent) {
		page.body.style.setProperty("--own", accent)
		page.body.style.setProperty("--on-own", ink)
	}
	replaceContent(page.body, h(`div.door${accent ? ".own" : ""}`,
		h("div.wall", wall(page.face)),
		h("div.sheet", h("div", heading, h("p.lead", lead), kids, page.face
			&& h("p.small.muted.gap", userText(page.face.slug), " · ", userText(location.host))))))
	heading.focus()
}

export const NAME = ["name*", "Your name", { autocomplete: "name" }]
export const newPassword = label =>
	[
		"password*", label,
		{ type: "password", hint: "At least 15 characters; a sentence is fine.", autocomplete: "new-password" },
	]

/** The code of an authenticator app. */
export const codeField = (name, label) => [name, label, {
	autocomplete: "one-time-code", attrs: { inputMode: "numeric", maxLength: 7, pattern: "[0-9 ]*", spellcheck: false },
}]

/** The link to the app that a page leads to in the end; nothing goes there by itself. */
export const wayOn = to => to && h("p", h("a.btn.primary", { href: to }, "Go to the app"))

/** Where a window at the provider says to the page that asked that its operator was proved to be there. */
export const PROVED = "gatehouse-proved"
