// The pages outside the gate: sign-in, set-up, an invite, a new password.
import { fill, h, icon } from "./html.js"

/** The secret that a link carries behind its `#`, where no server sees it. */
export const linkToken = () => new URLSearchParams(location.hash.slice(1)).get("token")

/** The field of a password that is chosen now. */
export const newPassword = label => ["password*", label, { type: "password", hint: "At least 15 characters; a sentence is fine.", attrs: { autocomplete: "new-password" } }]

/** Draws the gatehouse on one side, what is to be done on the other. */
export function door(page, title, lead, ...kids) {
	const heading = h("h1", { tabIndex: -1 }, title)
	fill(page.body, h("div.door",
		h("div.wall", h("span.brand", icon("mark"), h("span", "Gatehouse")), h("p", "Who may come in, and why."), icon("mark", "big")),
		h("div.sheet", h("div", heading, h("p.lead", lead), kids))))
	heading.focus()
}
