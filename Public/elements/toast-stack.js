import { h } from "../lib/html.js"

/** `<toast-stack>`: polite news. Six seconds; what has an action or is an error stays. F6 reaches it. */
class ToastStack extends HTMLElement {
	connectedCallback() {
		this.setAttribute("role", "status")
		this.setAttribute("aria-live", "polite")
		addEventListener("keydown", event => {
			if (event.key === "F6" && this.children.length) {
				event.preventDefault()
				this.lastElementChild.querySelector("button").focus()
			}
		})
	}

	show(text, { action, run, stay = Boolean(action) } = {}) {
		const close = () => node.remove()
		const node = h("div.toast", h("span", { dir: "auto" }, text),
			action && h("button", { type: "button", onclick: () => (close(), run()) }, action, h("kbd", "Z")),
			h("button", { type: "button", "aria-label": "Dismiss", onclick: close }, "×"))
		while (this.children.length > 3) this.firstElementChild.remove()
		this.append(node)
		if (stay) return
		let timer = setTimeout(close, 6000)
		const hold = () => clearTimeout(timer)
		const resume = () => (timer = setTimeout(close, 3000))
		node.addEventListener("pointerenter", hold)
		node.addEventListener("pointerleave", resume)
		node.addEventListener("focusin", hold)
	}
}
customElements.define("toast-stack", ToastStack)

export const toast = (text, options) => document.querySelector("toast-stack").show(text, options)
