// The URL is the only state of a page.
import { queryString } from "./api.js"

/** The page that is drawn now, and whether it may be left without a question: the session is over, or what was typed
 * was sent or given up. Only the router changes it. */
export const view = { current: null, isQuiet: false, mayLeave: false, draw: null }

export const query = () => Object.fromEntries(new URLSearchParams(location.search))

function write(how, url) {
	view.isQuiet = true
	history[how](null, "", url)
	view.isQuiet = false
}

export function setQuery(next, { replace } = {}) {
	write(replace ? "replaceState" : "pushState", location.pathname + queryString(next))
	view.current?.update?.()
}

/** Puts another address in the place of this one; the page stays as it is drawn. */
export const replaceAddress = url => write("replaceState", url)

/** Takes a secret out of the address and the history; the page stays as it is drawn. */
export const hideFragment = () => replaceAddress(location.pathname + location.search)

export const goTo = url => location.assign(url)

/** Goes on although something on the page is typed and not sent. */
export function leaveFor(url) {
	view.mayLeave = true
	goTo(url)
}

/** Draws the page of this address anew. */
export const redraw = () => view.draw()
