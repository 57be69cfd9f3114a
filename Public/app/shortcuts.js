// The keys that work on every page; what they do comes with the first of them.
import { preferences } from "../lib/core.js"

let found
const load = () => (found ??= import("../lib/palette.js"))
export const palette = options => load().then(one => one.open(options))
// One promise for all presses: two keys in a row are acted on in their order.
export const press = key => load().then(one => one.press(key))

/** The Latin letter of a key: of a layout without Latin letters the one that stands there on the others. */
function letterOf({ key, code, shiftKey }) {
	const [, place] = /^Key([A-Z])$/.exec(code) ?? []
	if (!place || !/\p{L}/u.test(key) || /[a-z]/i.test(key)) return key
	return shiftKey ? place : place.toLowerCase()
}

addEventListener("keydown", event => {
	if (document.body.classList.contains("bare")) return
	const held = event.ctrlKey || event.metaKey
	const key = letterOf(event)
	// Its code is on the way before the K is.
	if (held) load()
	if (held && key.toLowerCase() === "k") {
		event.preventDefault()
		palette()
		return
	}
	const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")
	if (typing || held || event.altKey || preferences().keys === "off" || !/^[/?a-zA-Z]$/.test(key)) return
	// A key that opens a form is no letter of it.
	event.preventDefault()
	const box = key === "/" && document.querySelector("[data-search]")
	if (box) box.focus()
	else press(key)
})
