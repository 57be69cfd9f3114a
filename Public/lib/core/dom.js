// The one way to make DOM. Every string becomes a text node, so no value can turn into markup.
import { translate } from "./i18n.js"

const SVG = "http://www.w3.org/2000/svg"
const SPOKEN = ["aria-label", "title", "placeholder"]
const DATA = ["CODE", "KBD"]

/**
 * Makes an element: `h("button.btn.primary", {onclick, "aria-label": "x"}, ...children)`; the properties may be left
 * out. It is named `h` as in hyperscript, since a page is little else than calls of it.
 */
export function h(selector, ...kids) {
	const props = Object.getPrototypeOf(kids[0] ?? 0) === Object.prototype ? kids.shift() : {}
	const [tag, ...classes] = selector.split(".")
	const node = document.createElement(tag)
	if (classes.length) node.className = classes.join(" ")
	for (const [name, given] of Object.entries(props)) {
		if (given == null || given === false) continue
		const value = SPOKEN.includes(name) ? visible(translate(given)) : given
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
		else if (name in node && name !== "form" && name !== "list") node[name] = value
		else node.setAttribute(name, value === true ? "" : value)
	}
	return append(node, kids)
}

export function append(node, kids) {
	for (const kid of [kids].flat(9)) {
		if (kid == null || kid === false) continue
		node.append(kid instanceof Node ? kid : visible(DATA.includes(node.tagName) ? kid : translate(kid)))
	}
	return node
}

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/gu
// Scripts whose spelling uses the joiners U+200C and U+200D, and emoji that a joiner makes one of several.
const JOINING = "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}"
	+ "\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}"
	+ "\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Khmer}]"
const BEFORE_JOINER = new RegExp(`(${JOINING}|\\p{Extended_Pictographic}[\\ufe0f\\p{Emoji_Modifier}]?)$`, "u")
const AFTER_JOINER = new RegExp(`^(${JOINING}|\\p{Extended_Pictographic}|[♀♂⚕])`, "u")

/**
 * Control characters and those that turn the writing's direction, shown as escapes. A joiner between two letters of a
 * script that is spelled with it, or between two emoji, stays.
 */
const visible = text => String(text).replace(UNSEEN, (char, at, whole) => {
	const isJoiner = char === "\u200c" || char === "\u200d"
	if (isJoiner && BEFORE_JOINER.test(whole.slice(0, at)) && AFTER_JOINER.test(whole.slice(at + 1))) return char
	return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
})

export function replaceContent(node, ...kids) {
	node.replaceChildren()
	return append(node, kids)
}

/** A symbol of the sprite; decorative, so hidden from assistive technology. */
export const icon = name => svgNode("svg", { class: `i i-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true" },
	svgNode("use", { href: `#${name}` }))

export function svgNode(tag, attributes = {}, ...kids) {
	const node = document.createElementNS(SVG, tag)
	for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
	node.append(...kids)
	return node
}
