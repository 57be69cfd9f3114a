// Messages and dialogs.
import { button, h } from "./core.js"
import { api } from "./server.js"

// Messages, and the undo of the last change.

const stack = /** @type {HTMLElement} */ (document.querySelector("toast-stack"))
addEventListener("keydown", event => {
	if (event.key !== "F6" || !stack.children.length) return
	event.preventDefault()
	stack.lastElementChild?.querySelector("button")?.focus()
})

/**
 * Shows a message for six seconds; screen readers read it out when they are idle. With an `action`, or with `stay`,
 * it remains until it is closed. F6 moves the focus to it. Returns a function that closes it.
 * @type {(text: Child, options?: { action?: string, run?: () => unknown, stay?: boolean }) => () => void}
 */
export function toast(text, { action, run, stay = Boolean(action) } = {}) {
	let timer
	const close = () => node.remove()
	const hold = () => clearTimeout(timer)
	const wait = time => !stay && (timer = setTimeout(close, time))
	const node = h("div.toast", {
		onpointerenter: hold, onfocusin: hold, onpointerleave: () => wait(3000),
	}, h("span", { dir: "auto" }, text),
		action && h("button", { type: "button", onclick: () => (close(), run?.()) }, action, h("kbd", "Z")),
		h("button", { type: "button", "aria-label": "Dismiss", onclick: close }, "×"))
	while (stack.children.length > 3) stack.firstElementChild?.remove()
	stack.append(node)
	wait(6000)
	return close
}

/** @type {(() => unknown) | null} */
let lastUndo = null
/** Undoes the last change. It is called by the `Z` key, and by the button in the message about the change. */
export function undo() {
	const run = lastUndo
	lastUndo = null
	return run ? run() : toast("There is nothing to undo here.")
}
/**
 * Shows what was done, with a button that undoes it; the `Z` key does the same.
 * @type {(said: Child, run: () => unknown) => void}
 */
export function undoable(said, run) {
	const close = toast(said, { action: "Undo", run: undo })
	lastUndo = () => (close(), run())
}

/**
 * Sends one request, for an act that needs no form, and shows the message `said`. `back`, if there is one, undoes the
 * act.
 * @param {string} path
 * @param {RequestOptions & { back?: Nothing | (() => unknown) }} options
 * @param {Child} said
 * @param {(answer: any) => unknown} after
 */
export async function runAct(path, { back, ...options }, said, after = () => {}) {
	try {
		const answer = await api(path, { method: "POST", ...options })
		if (back) undoable(said, back)
		else if (said) toast(said)
		await after(answer)
	} catch (error) {
		toast(error.message, { stay: true })
	}
}

// Dialogs, and where the focus goes when they close.

let serial = 0

/**
 * Opens a modal dialog. When it closes, it is removed from the page, and the focus returns to where it was: see
 * app.js.
 * @type {(title: Child, ...kids: Child[]) => HTMLDialogElement}
 */
export function dialog(title, ...kids) {
	const id = `d${(serial += 1)}`
	const isNew = document.activeElement?.matches("[data-new]") ? "" : null
	const props = { "aria-labelledby": id, "data-new": isNew, onclose: () => node.remove() }
	const node = h("dialog", props, h("h2", { id }, title), kids)
	document.body.append(node)
	node.showModal()
	return node
}

/**
 * The row with the Close button, for a dialog that only informs.
 * @type {() => HTMLElement}
 */
export const closeButton = () => h("div.acts", button("Close", event => event.target.closest("dialog").close()))

/**
 * A button that copies a text.
 * @type {(text: string | undefined, label?: Child, look?: string) => HTMLButtonElement}
 */
export const copyButton = (text = "", label = "Copy", look = "") => button(label, () =>
	navigator.clipboard.writeText(text).then(
		() => toast("Copied"), () => toast("The browser did not allow copying.", { stay: true }),
	), { look, icon: "copy" })

/**
 * A button that shows an id and copies it.
 * @type {(id: string) => HTMLButtonElement}
 */
export const copyable = id => copyButton(id, h("code", id), ".ghost.tiny.id")

/**
 * Lets the browser save a file with this content.
 * @type {(name: string, parts: BlobPart[], type: string) => void}
 */
export function saveFile(name, parts, type) {
	const href = URL.createObjectURL(new Blob(parts, { type }))
	h("a", { href, download: name }).click()
	URL.revokeObjectURL(href)
}
