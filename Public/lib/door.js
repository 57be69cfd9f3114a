// What stands around the pages outside the gate, and what several of them have.
import { goTo, h, icon, replaceContent, t, userText } from "./core.js"
import { form } from "./form.js"

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
	// As the page opens, what is typed first or pressed has the focus, unless that ends something.
	const first = page.body.querySelector("input:not([readonly]), .btn.primary")
	if (!page.body.isConnected) first?.setAttribute("autofocus", "")
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

/** A text without what mail programs and people put into a link that they hand on: percent-encoding, line breaks. */
function plainOf(text) {
	let plain = text
	for (let round = 0; round < 3; round++) {
		try {
			plain = decodeURIComponent(plain)
		} catch {
			break
		}
	}
	return plain.replace(/\s/g, "")
}

/** The code of a one-time link, also with punctuation behind it, or a code alone; else null. */
export function codeIn(text) {
	const plain = plainOf(text)
	const found = /(?:token|grant)=([\w-]+)/i.exec(plain)
		?? (/[:/]{3}/.test(plain) ? null : /([\w-]{20,128})/.exec(plain))
	return found && found[1].replace(/^(.{43}|.{49})[-_]+$/, "$1")
}

/** Takes a pasted link or code, where the page was opened without it; then `go(code)`. */
export const pasteForm = go => form([
	["pasted*", "Link or code", { autocomplete: "off", attrs: { spellcheck: false, maxLength: 4096 } }],
], {
	submit: "Continue",
	send: async ({ pasted }) => {
		const code = codeIn(pasted)
		const detail = t`There is no code in this. It is the long run of letters and digits at the end of the link.`
		if (!code) throw Object.assign(new Error(detail), { errors: [{ pointer: "/pasted", detail }] })
		const [, path] = /(\/(?:invite|join|reset|email|not-me|console\/sign-in|sign-in))#/.exec(plainOf(pasted)) ?? []
		if (!path || path === location.pathname) return go(code)
		goTo(`${path}#${path === "/sign-in" ? "grant" : "token"}=${code}`)
	},
})

/** The page of a link that was opened without what stands behind its `#`, as where a mail program cut it. */
export const noCode = (page, title, go) => door(
	page, title,
	"The page was opened without its code. Paste the whole link, or the code that stands beneath it in the mail.",
	pasteForm(go),
)

/** The same below a page's own form. */
export const orPaste = go => h("details.small", h("summary", "I have a link or a code"), pasteForm(go))

/** Where a window at the provider says to the page that asked that its operator was proved to be there. */
export const PROVED = "gatehouse-proved"
