// The frame of the pages outside the console, and what several of them share.
import { goTo, h, icon, replaceContent, t, userText } from "./core.js"
import { form } from "./form.js"

/**
 * The content of the wall: the tenant's logo and name, or else Gatehouse's own.
 * @type {(face: API.Appearance | undefined) => Child}
 */
export const wall = face => (face
	? [h("span.brand", face.logo_url ? h("img.logo", { src: face.logo_url, alt: "" }) : icon("door")),
		h("p", userText(face.name))]
	: [h("span.brand", icon("mark"), h("span", "Gatehouse")), h("p", "Who may come in, and why."), icon("mark")])

/**
 * The wall on one side, the task on the other. `page.face` is that of the tenant to which the page belongs.
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
	// When the page opens, its first field or its main button has the focus, but never a button that ends something.
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
 * The code of an authenticator app.
 * @type {(name: string, label: string) => Field}
 */
export const codeField = (name, label) => ({
	name, label, required: true, autocomplete: "one-time-code",
	attrs: { inputMode: "numeric", maxLength: 7, pattern: "[0-9 ]*", spellcheck: false },
})

/**
 * The link to the app to which a page leads in the end; nothing goes there by itself.
 * @type {(to: string | null | undefined) => Child}
 */
export const wayOn = to => to && h("p", h("a.btn.primary", { href: to }, "Go to the app"))

/** Removes what mail programs and people add to a link that they pass on: percent-encoding, line breaks. */
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
 * The code of a one-time link, even with punctuation after it, or a code alone; else null.
 * @type {(text: string) => string | null}
 */
export function codeIn(text) {
	const plain = plainOf(text)
	const found = /(?:token|grant)=([\w-]+)/i.exec(plain)
		?? (/[:/]{3}/.test(plain) ? null : /([\w-]{20,128})/.exec(plain))
	return found && found[1].replace(/^(.{43}|.{49})[-_]+$/, "$1")
}

/**
 * Takes a pasted link or code if the page was opened without it, then calls `go(code)`.
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
 * A closed section below a page's own form, in which a link or a code can be pasted.
 * @type {(go: (code: string) => unknown) => HTMLElement}
 */
export const orPaste = go => h("details.small", h("summary", "I have a link or a code"), pasteForm(go))

/**
 * The channel on which a window at the provider reports to the page that asked that its operator's presence was proved.
 */
export const PROVED = "gatehouse-proved"
