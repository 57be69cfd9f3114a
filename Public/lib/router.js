// One shell answers every path; the URL is the only state.
import { search, sent } from "./api.js"
import { fill, h, state } from "./html.js"

const routes = [
	["/invite", "outside", true],
	["/reset", "outside", true],
	["/console/setup", "outside", true],
	["/console/sign-in", "outside", true],
	["/console", "overview"],
	["/console/tenants", "tenants"],
	["/console/t/:slug", "tenant"],
	["/console/t/:slug/:tab", "tenant"],
	["/console/t/:slug/:tab/:id", "tenant"],
	["/console/simulator", "simulator"],
	["/console/decisions", "decisions"],
	["/console/decisions/:id", "decisions"],
	["/console/audit", "audit"],
	["/console/operators", "operators"],
	["/console/providers", "providers"],
	["/console/me", "me"],
].map(([path, page, bare]) => ({ form: new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}/?$`), page, bare }))

function match(path) {
	for (const { form, page, bare } of routes) {
		const found = form.exec(path)
		if (found) return { page, bare, params: { ...found.groups } }
	}
	return null
}

export const query = () => Object.fromEntries(new URLSearchParams(location.search))

let current = null
let quiet = false
let first = true

function write(how, query) {
	quiet = true
	history[how](null, "", location.pathname + query)
	quiet = false
}

export function setQuery(next, { replace } = {}) {
	write(replace ? "replaceState" : "pushState", search(next))
	current?.update?.()
}

/** Takes a secret out of the address and the history; the page stays as it is drawn. */
export const hideFragment = () => write("replaceState", location.search)

export const go = url => (window.navigation ? navigation.navigate(url) : location.assign(url))

export let redraw = () => {}

/** `frame(route)` prepares what stands around the page and answers false to stop. */
export function start(frame) {
	const main = document.querySelector("main")
	redraw = async () => {
		current?.stop.abort()
		const stop = new AbortController()
		const mine = (current = { stop, path: location.pathname, update: null })
		const route = match(location.pathname)
		sent.length = 0
		// A dialog belongs to its page, but for the one whose secret would be lost.
		for (const open of document.querySelectorAll("dialog[open]:not([closedby=none])")) open.close()
		// The page's code comes while the frame asks who is there.
		const code = route && import(`../pages/${route.page}.js`)
		code?.catch(() => {})
		if (!(await frame(route)) || mine !== current) return
		const body = h("div")
		const slow = setTimeout(() => main.classList.add("busy"), 120)
		const page = {
			params: route?.params ?? {}, signal: stop.signal, body,
			onUpdate: update => (mine.update = update),
			alive: () => mine === current,
		}
		try {
			if (route) await (await code).default(page)
			else state(body, "missing", { title: "There is no such page", text: "The address may have been mistyped.", href: "/console/" })
		} catch (error) {
			if (error.name === "AbortError") return
			// A page of an older version is gone once the server has a newer one.
			const gone = error instanceof TypeError && /import/i.test(error.message)
			state(body, "error", gone && navigator.onLine
				? { title: "There is a new version of this page", again: () => location.reload() }
				: { error: gone ? Object.assign(error, { title: "You are offline", message: "This page could not be loaded." }) : error, again: redraw })
		} finally {
			clearTimeout(slow)
		}
		if (mine !== current) return
		main.classList.remove("busy")
		fill(main, body)
		if (!main.querySelector("h1")) main.prepend(h("h1.vh", main.querySelector("h2")?.textContent ?? "Gatehouse"))
		const heading = main.querySelector("h1")
		if (heading) {
			heading.tabIndex = -1
			document.title = `${heading.dataset.title ?? heading.textContent} · Gatehouse`
		}
		// The first page leaves the focus before the skip link.
		(main.querySelector("[autofocus]") ?? (first ? null : heading))?.focus({ preventScroll: true })
		first = false
		scrollTo(0, 0)
		main.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" })
	}
	if (window.navigation) {
		navigation.addEventListener("navigate", event => {
			const to = new URL(event.destination.url)
			const ours = /^\/console(\/|$)/.test(to.pathname) && !to.pathname.startsWith("/console/assets/")
			if (quiet || !event.canIntercept || event.hashChange || event.downloadRequest !== null || !ours) return
			const samePage = to.pathname === current?.path && current.update && event.navigationType !== "reload"
			event.intercept({ focusReset: "manual", handler: async () => (samePage ? current.update() : redraw()) })
		})
	} else {
		addEventListener("popstate", () => (current?.update ? current.update() : location.reload()))
	}
	return redraw()
}
