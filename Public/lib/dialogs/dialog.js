// Dialogs, and where the focus goes when they close.
import { button, h } from "../core.js"
import { toast } from "./toasts.js"

let serial = 0

/** Opens a modal dialog; it leaves the DOM when it closes, and focus returns to where it was: see app/focus.js. */
export function dialog(title, ...kids) {
	const id = `d${(serial += 1)}`
	const isNew = document.activeElement?.matches("[data-new]") ? "" : null
	const props = { "aria-labelledby": id, "data-new": isNew, onclose: () => node.remove() }
	const node = h("dialog", props, h("h2", { id }, title), kids)
	document.body.append(node)
	node.showModal()
	return node
}

/** The last line of a dialog that only informs. */
export const closeButton = () => h("div.acts", button("Close", event => event.target.closest("dialog").close()))

/** A button that copies a text. */
export const copyButton = (text, label = "Copy", look = "") => button(label, () => navigator.clipboard.writeText(text)
	.then(
		() => toast("Copied"), () => toast("The browser did not allow copying.", { stay: true }),
	), { look, icon: "copy" })

/** An id, which a press copies. */
export const copyable = id => copyButton(id, h("code", id), ".ghost.tiny.id")

/** Gives the browser a file to keep. */
export function saveFile(name, parts, type) {
	const href = URL.createObjectURL(new Blob(parts, { type }))
	h("a", { href, download: name }).click()
	URL.revokeObjectURL(href)
}
