// One keeper of the focus: what holds it may be removed, hidden or disabled by the very act that it began, and the
// browser then leaves it on the body, where a reader of the page begins again from its top.
import { main } from "./frame.js"

const TAKES = "a[href], button, input, select, textarea, summary, [tabindex='0']"
/** They hold what is there by chance: the focus goes rather to where it was before. */
const TOO_WIDE = "html, body, main, main > *, toast-stack"
/** So many places are remembered. */
const PLACES = 8
/** What is disabled for longer, in milliseconds, does not only wait for an answer. */
const A_WHILE = 2000

/**
 * Where the focus was, newest first: what had it, its name and its tag, and what was above it, which a removed node no
 * longer knows. What is gone is not kept in memory: a field of a dialog may hold a secret.
 */
let places = []

const nameOf = node => node.ariaLabel || (node.matches("a, button, summary") && node.textContent)

function remember(node) {
	if (node === document.body) return
	const above = []
	for (let one = node.parentElement; one; one = one.parentElement) {
		above.push({ held: new WeakRef(one), id: one.dataset.id })
	}
	const place = { held: new WeakRef(node), name: nameOf(node), tag: node.localName, above }
	places = [place, ...places.filter(one => one.held.deref() !== node)].slice(0, PLACES)
}

/** Whether this is nothing that has the focus, or what cannot keep it: the browser takes it away a little later. */
const isLost = node =>
	!node || node === document.body || !node.checkVisibility() || node.matches(":disabled, [inert] *")

/** Gives the focus to what can take it; whether it did. */
function give(node, preventScroll = true) {
	if (isLost(node)) return false
	node.focus({ preventScroll })
	return document.activeElement === node
}

const isThere = node => Boolean(node?.isConnected)

/** What has the name of a place that is gone: it was drawn anew. */
const twinOf = ({ held, name, tag }, around) =>
	!isThere(held.deref()) && name && [...around.querySelectorAll(tag)].find(one => nameOf(one) === name)

/** What was above a place, as it is now: a row that was drawn anew has its id. */
function asItIs({ held, id }) {
	const one = held.deref()
	return isThere(one) || !id ? one : document.querySelector(`tr[data-id="${CSS.escape(id)}"]`)
}

/** What is left above a place, the nearest first. */
const leftAbove = ({ above }) => above.map(asItIs)
	.filter(one => isThere(one) && !one.matches(TOO_WIDE) && one.checkVisibility())

const giveFirst = around =>
	[...around.querySelectorAll(TAKES)].some(one => give(one, false)) || give(around, false)

/** Within what is left around a place: where the focus was last, else near there, else what comes first. */
const giveWithin = around =>
	places.some(place => (around.contains(place.held.deref() ?? null) && give(place.held.deref()))
		|| give(twinOf(place, around)))
	|| places.some(place => leftAbove(place).some(one => one !== around && around.contains(one) && giveFirst(one)))
	|| giveFirst(around)

const giveNear = place => give(place.held.deref()) || leftAbove(place).some(giveWithin)

/** Whether the last place is only disabled while its request is under way. */
function isWaiting([last]) {
	const node = last.held.deref()
	if (!isThere(node) || !node.matches(":disabled") || !node.checkVisibility()) return false
	last.since ??= Date.now()
	const left = last.since + A_WHILE - Date.now()
	if (left > 0) setTimeout(check, left)
	return left > 0
}

function check() {
	isAsked = false
	if (!places.length || !isLost(document.activeElement) || isWaiting(places) || places.some(giveNear)) return
	const heading = main.querySelector("h1")
	if (heading) heading.tabIndex = -1
	give(heading)
}

let isAsked = false
/** The browser takes the focus away after the frame in which its holder went. */
function ask() {
	if (isAsked) return
	isAsked = true
	requestAnimationFrame(() => setTimeout(check))
}

addEventListener("focusin", ({ target }) => remember(target))
// A press beside all that takes the focus gives it up: nothing is brought back. Some browsers do not focus a button
// that is pressed.
addEventListener("pointerdown", ({ target }) => {
	const one = target.closest(`${TAKES}, label, dialog`)
	if (!one) places = []
	else if (one.matches(TAKES) && !one.disabled) remember(one)
}, { capture: true })
for (const end of ["close", "toggle"]) addEventListener(end, ask, { capture: true })
new MutationObserver(ask).observe(document.body, {
	childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "disabled", "inert"],
})
