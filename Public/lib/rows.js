// The menu of a row and the panel with its record. This code is loaded when the first menu or panel is opened.
import {
	actionWords, button, factList, formatNumber, h, replaceContent, t, timeNode, userText, words
} from "./core.js"

// The menu with a row's less usual acts.

/**
 * Opens a menu of `acts` {text, run} below the button `more`. Arrow keys choose; Escape closes it and returns the
 * focus.
 * @type {(more: HTMLElement, acts: Act[], name: Child) => void}
 */
export function openMenu(more, acts, name) {
	/** @type {() => void} */
	const close = () => menu.hidePopover()
	const again = () => place(menu, more)
	const items = acts.map(({ text, run }) => button(text, () => {
		close()
		more.focus()
		run()
	}, { look: ".ghost", name, role: "menuitem" }))
	const menu = h(
		"div.menu.of-row", { popover: "auto", role: "menu", "aria-label": t`More for ${name}`, onkeydown: move }, items,
	)
	menu.addEventListener("toggle", ({ newState }) => {
		more.setAttribute("aria-expanded", String(newState === "open"))
		if (newState !== "closed") return
		removeEventListener("resize", again)
		menu.remove()
	})
	more.parentElement?.append(menu)
	menu.showPopover()
	again()
	items[0].focus()
	// If the window changes its size, for example because a phone is turned, place the menu again.
	addEventListener("resize", again)
	addEventListener("scroll", close, { once: true, capture: true })

	function move(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
		if (event.key === "Tab") close()
		if (!step) return
		event.preventDefault()
		const at = items.findIndex(one => one === document.activeElement)
		items[(at + step + items.length) % items.length].focus()
	}
}

/** Places the menu below its button, or above it if there is no room below, and aligns their ends. */
function place(menu, more) {
	const at = more.getBoundingClientRect()
	const { offsetHeight: height, offsetWidth: width } = menu
	const isBelow = at.bottom + height + 8 < innerHeight
	const isTurned = getComputedStyle(more).direction === "rtl"
	const left = isTurned ? at.left : at.right - width
	menu.style.top = `${isBelow ? at.bottom + 4 : Math.max(8, at.top - height - 4)}px`
	menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`
}

// A panel beside a list, with everything in the record of a row. Arrow keys show the next or previous row, and Escape
// closes the panel.

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
const CODES = /^(status|role|source|outcome|reason|provider|kind|environment|type|delivery.*)$/
const isBlank = value => value == null || value === "" || (typeof value === "object" && !Object.keys(value).length)

/** @type {(value: any, name: string) => Child} */
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

/** @type {HTMLElement | null} */
let panel = null
/** @type {() => boolean} */
export const isOpen = () => Boolean(panel?.isConnected)
export const close = () => panel?.remove()

/**
 * Shows the record `item` in the panel, under the title `name`; `href` is the page of the item, if it has one.
 * @type {(item: object, name: string, href: string | undefined, signal: AbortSignal) => void}
 */
export function show(item, name, href, signal) {
	if (!panel?.isConnected) {
		panel = h("aside.peek", { tabIndex: -1, "aria-live": "polite" })
		document.body.append(panel)
		signal.addEventListener("abort", close)
	}
	panel.ariaLabel = String(t`About ${name}`)
	replaceContent(panel,
		h("div.head", h("h2", userText(name)), h("div.acts", href && h("a.btn.tiny", { href }, "Open"),
			button("Close", close, { look: ".tiny" }))),
		factList(Object.entries(item).filter(([, value]) => !isBlank(value))
			.map(([field, value]) => [words(field), shown(value, field)])))
	panel.scrollTop = 0
}
