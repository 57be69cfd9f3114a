// What the keys do that work on every page; app/shortcuts.js listens.
import { factList, goTo, h, isMac, places } from "../core.js"
import { closeButton, dialog, undo } from "../dialogs.js"
import { open } from "./search.js"

const SHEET = {
	"Ctrl K": "Search, jump, act", "/": "Search this list", "Shift N": "New", E: "Export", "J, K": "Next, previous row",
	X: "Select the row", Space: "Look at the row; arrows go on",
	Enter: "Open the row", Z: "Undo the last change", F6: "Messages", "?": "This sheet",
}
let going = 0

export function press(key) {
	if (document.querySelector("dialog[open]")) return
	if (Date.now() - going < 2000) {
		going = 0
		const place = places().find(one => one.key === key.toLowerCase())
		if (place) goTo(place.href)
		return
	}
	const act = {
		g: () => (going = Date.now()), "/": () => open(),
		N: () => use("[data-new]"), e: () => use("[data-export]"), j: () => move(1), k: () => move(-1),
		x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(), z: undo,
		"?": sheet,
	}[key]
	act?.()
}

/** Presses a button that gets the focus, and has it back from a dialog. */
function use(button) {
	const one = document.querySelector(button)
	one?.focus()
	one?.click()
}

function move(step) {
	const rows = [...document.querySelectorAll("main tbody tr")].filter(row => row.querySelector("a, button"))
	const at = rows.findIndex(row => row.contains(document.activeElement))
	const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
	next?.querySelector("a, td button").focus()
}

const sheet = () => dialog("Keyboard shortcuts", factList([
	...Object.entries(SHEET).map(([keys, text]) => [isMac ? keys.replace("Ctrl", "⌘") : keys, text]),
	...places().filter(({ key }, at, all) => key && all.findIndex(one => one.key === key) === at)
		.map(one => [`G ${one.key.toUpperCase()}`, one.text]),
].map(([keys, text]) => [h("kbd", keys), text])), closeButton())
