// The layout of the pages outside the console, such as sign-in and invites, and what several of them share.
import { goTo, h, icon, replaceContent, t, userText } from "./core.js"
import { form } from "./form.js"

/**
 * The side of a sign-in or invite page that shows to whom the page belongs: the logo and name of the tenant or, without
 * a tenant, of Gatehouse.
 * @type {(face: API.Appearance | undefined) => Child}
 */
export const wall = face => (face
	? [h("span.brand", face.logo_url ? h("img.logo", { src: face.logo_url, alt: "" }) : icon("door")),
		h("p", userText(face.name))]
	: [h("span.brand", icon("mark"), h("span", "Gatehouse")), h("p", "Who may come in, and why."), icon("mark")])

/**
 * Draws a page outside the console: one side shows the logo and name of its owner (`wall`), and the other side shows
 * the task. `page.face` is the appearance of the tenant to which the page belongs.
 * @type {(page: Page, title: Child, lead: Child, ...kids: Child[]) => void}
 */
export function door(page, title, lead, ...kids) {
	const heading = h("h1", { tabIndex: -1 }, title)
	const { accent, on_accent: ink } = page.face ?? {}
	if (accent) {
		page.body.style.setProperty("--own", accent)
		page.body.style.setProperty("--on-own", ink ?? null)
	}
	replaceContent(page.body, h(`div.door${accent ? ".own" : ""}`,
		h("div.wall", wall(page.face)),
		h("div.sheet", h("div", heading, h("p.lead", lead), kids, page.face
			&& h("p.small.muted.gap", userText(page.face.slug), " · ", userText(location.host))))))
	// When the page opens, focus its first field or its main button, but never a button for a dangerous act.
	const first = page.body.querySelector("input:not([readonly]), .btn.primary")
	if (!page.body.isConnected) first?.setAttribute("autofocus", "")
	heading.focus()
}

/** @type {Field} */
export const NAME = { name: "name", label: "Your name", required: true, autocomplete: "name" }
/** @type {(label: string) => Field} */
export const newPassword = label =>
	({
		name: "password", label, required: true, type: "password", hint: "At least 15 characters; a sentence is fine.",
		autocomplete: "new-password",
	})

/** @type {Field} */
export const RECOVERY_CODE = {
	name: "recovery_code", label: "Recovery code", required: true, autocomplete: "off", hint: "Each works once.",
}

/**
 * The field for a code of an authenticator app.
 * @type {(name: string, label: string) => Field}
 */
export const codeField = (name, label) => ({
	name, label, required: true, autocomplete: "one-time-code",
	attrs: { inputMode: "numeric", maxLength: 7, pattern: "[0-9 ]*", spellcheck: false },
})

/**
 * The link to the user's app, shown when the task of a page is done. The browser does not go there by itself.
 * @type {(to: string | null | undefined) => Child}
 */
export const wayOn = to => to && h("p", h("a.btn.primary", { href: to }, "Go to the app"))

/** Removes from a link what mail programs and people add when they pass it on: percent-encoding and line breaks. */
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

/**
 * Finds the code in a text. The text is either a one-time link, which may have punctuation after it, or only the code.
 * Returns null if there is no code.
 * @type {(text: string) => string | null}
 */
export function codeIn(text) {
	const plain = plainOf(text)
	const found = /(?:token|grant)=([\w-]+)/i.exec(plain)
		?? (/[:/]{3}/.test(plain) ? null : /([\w-]{20,128})/.exec(plain))
	return found && found[1].replace(/^(.{43}|.{49})[-_]+$/, "$1")
}

/**
 * A form in which a link or a code can be pasted. If the link belongs to another page, that page is opened. Otherwise
 * `go(code)` is called.
 * @type {(go: (code: string) => unknown) => HTMLFormElement}
 */
const pasteForm = go => form([
	{
		name: "pasted", label: "Link or code", required: true, autocomplete: "off",
		attrs: { spellcheck: false, maxLength: 4096 },
	},
], {
	submit: "Continue",
	send: async ({ pasted }) => {
		const code = codeIn(pasted)
		const detail = t`This contains no code. The code is the long run of letters and digits at the end of the link.`
		if (!code) throw Object.assign(new Error(detail), { errors: [{ pointer: "/pasted", detail }] })
		const [, path] = /(\/(?:invite|join|reset|email|not-me|console\/sign-in|sign-in))#/.exec(plainOf(pasted)) ?? []
		if (!path || path === location.pathname) return go(code)
		goTo(`${path}#${path === "/sign-in" ? "grant" : "token"}=${code}`)
	},
})

/**
 * The page of a link that was opened without the part after its `#`, for example because a mail program cut it off.
 * @type {(page: Page, title: string, go: (code: string) => unknown) => void}
 */
export const noCode = (page, title, go) => door(
	page, title,
	"The page was opened without its code. Paste the whole link, or the code below it in the mail.",
	pasteForm(go),
)

/**
 * A collapsed section below a page's own form, in which a link or a code can be pasted.
 * @type {(go: (code: string) => unknown) => HTMLElement}
 */
export const orPaste = go => h("details.small", h("summary", "I have a link or a code"), pasteForm(go))

/**
 * The name of the broadcast channel for step-ups at the provider. When the operator has proved their presence in the
 * provider's window, that window sends a message on this channel to the page that asked for the proof.
 */
export const PROVED = "gatehouse-proved"
