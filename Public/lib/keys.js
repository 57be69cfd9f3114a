// Keys that work on every page, never while something is being typed; app.js listens.
import { go, palette, places } from "../app.js"
import { facts, h } from "./core.js"
import { dialog, undo } from "./dialog.js"

const SHEET = {
	"Ctrl K": "Search, jump, act", "/": "Search this list", "Shift N": "New", "J, K": "Next, previous row", X: "Select the row",
	Enter: "Open the row", Z: "Undo the last change", F6: "Messages", "?": "This sheet",
}
let going = 0

export function press(key) {
	if (document.querySelector("dialog[open]")) return
	if (Date.now() - going < 2000) {
		going = 0
		const place = places().find(one => one.key === key.toLowerCase())
		if (place) go(place.href)
		return
	}
	const act = {
		g: () => (going = Date.now()), "/": palette,
		N: () => document.querySelector("[data-new]")?.click(), j: () => move(1), k: () => move(-1),
		x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(), z: undo, "?": sheet,
	}[key]
	act?.()
}

function move(step) {
	const rows = [...document.querySelectorAll("main tbody tr")].filter(row => row.querySelector("a, button"))
	const at = rows.findIndex(row => row.contains(document.activeElement))
	const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
	next?.querySelector("a, td button").focus()
}

const sheet = () => dialog("Keys", facts([...Object.entries(SHEET), ...places().filter(one => one.key).map(one => [`G ${one.key.toUpperCase()}`, one.text])]
	.map(([keys, text]) => [h("kbd", keys), text])))
