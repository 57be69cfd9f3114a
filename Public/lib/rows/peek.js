// A look at a row without leaving its list: all that its record says, beside it. Arrows go on, Escape closes.
import {
	actionWords, button, factList, formatNumber, h, replaceContent, t, timeNode, userText, words,
} from "../core.js"

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
const CODES = /^(status|role|source|outcome|reason|provider|kind|environment|type|delivery.*)$/
const isBlank = value => value == null || value === "" || (typeof value === "object" && !Object.keys(value).length)

function shown(value, name) {
	if (typeof value === "number") return formatNumber(value)
	if (typeof value === "boolean") return words(value ? "yes" : "no")
	if (Array.isArray(value)) return value.map(one => h("div", shown(one, name)))
	if (typeof value === "object" && value) {
		return Object.entries(value).filter(([, one]) => !isBlank(one))
			.map(([own, one]) => h("div", h("span.muted", words(own), ": "), shown(one, own)))
	}
	if (TIME.test(value)) return timeNode(value)
	if (name === "action") return actionWords(value)
	return CODES.test(name) ? words(value) : userText(value)
}

let panel = null
export const isOpen = () => Boolean(panel?.isConnected)
export const close = () => panel?.remove()

/** Shows `item`, which is called `name`; `href`: its page, where it has one. */
export function show(item, name, href, signal) {
	if (!isOpen()) {
		panel = h("aside.peek", { tabIndex: -1, "aria-live": "polite" })
		document.body.append(panel)
		signal.addEventListener("abort", close)
	}
	panel.ariaLabel = t`About ${name}`
	replaceContent(panel,
		h("div.head", h("h2", userText(name)), h("div.acts", href && h("a.btn.tiny", { href }, "Open"),
			button("Close", close, { look: ".tiny" }))),
		factList(Object.entries(item).filter(([, value]) => !isBlank(value))
			.map(([field, value]) => [words(field), shown(value, field)])))
	panel.scrollTop = 0
}
