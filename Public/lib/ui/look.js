// What a reader chooses to see of a list: its columns, and all that one row's record says.
import { button, preferences, setPreference, t, translate } from "../core.js"

/**
 * The columns of the list `name` that are shown, which this browser keeps, and the button that chooses them; the first
 * one always is. `change()`: another choice was made.
 */
export function columnChoice(all, name, change) {
	const key = `hide ${name}`
	const isHidden = one => Boolean(preferences()[key]?.includes(one.label))
	const turn = one => {
		setPreference(key, all.filter(each => isHidden(each) !== (each === one)).map(each => each.label))
		change()
	}
	const open = async () => (await import("../rows.js")).openMenu(node, all.slice(1).map(one => ({
		text: isHidden(one) ? t`Show: ${translate(one.label)}` : t`Hide: ${translate(one.label)}`, run: () => turn(one),
	})), name)
	const node = button(null, open, {
		look: ".ghost.tiny", icon: "sliders", title: "Columns", "aria-haspopup": "menu", "aria-expanded": "false",
	})
	return { node, shown: () => all.filter((one, at) => !at || !isHidden(one)) }
}

/**
 * What looks at a row: Space on its link or a click beside what it holds; then arrows go on, and Escape ends.
 * `find(id)` → the row's item, `named(item)` → what it is called.
 */
export const lookOf = (find, named, signal) => async event => {
	const { key, type, target } = event
	const row = target.closest("tr[data-id]")
	const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[key]
	const isSpace = key === " " && target.matches("a")
	const isClick = type === "click" && !target.closest("a, button, input, label") && getSelection().isCollapsed
	if (!row || !(isSpace || isClick || step || key === "Escape")) return
	if (isSpace || (step && document.querySelector(".peek"))) event.preventDefault()
	const { close, isOpen, show } = await import("../rows.js")
	if (isOpen() && (isSpace || key === "Escape")) return close()
	if (!isSpace && !isClick && !(step && isOpen())) return
	const other = (step && row[step]) || row
	const item = find(other.dataset.id)
	other.querySelector("a, button")?.focus()
	show(item, named(item), other.querySelector("a.main, .who a")?.href, signal)
}
