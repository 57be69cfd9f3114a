// The menu of a row's further acts.
import { append, button, h, t } from "../core.js"

/** Opens `acts` {text, run} below the button `more`; arrows choose, Escape closes and gives the focus back. */
export function openMenu(more, acts, name) {
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
	append(more.parentNode, [menu])
	menu.showPopover()
	again()
	items[0].focus()
	// A phone that is turned has another width.
	addEventListener("resize", again)
	addEventListener("scroll", close, { once: true, capture: true })

	function move(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
		if (event.key === "Tab") close()
		if (!step) return
		event.preventDefault()
		const at = items.indexOf(document.activeElement)
		items[(at + step + items.length) % items.length].focus()
	}
}

/** Below its button, or above it where the window ends; its end at the button's end. */
function place(menu, more) {
	const at = more.getBoundingClientRect()
	const { offsetHeight: height, offsetWidth: width } = menu
	const isBelow = at.bottom + height + 8 < innerHeight
	const isTurned = getComputedStyle(more).direction === "rtl"
	const left = isTurned ? at.left : at.right - width
	menu.style.top = `${isBelow ? at.bottom + 4 : Math.max(8, at.top - height - 4)}px`
	menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`
}
