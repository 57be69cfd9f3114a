// One shell answers every path: finds the page of an address, draws it, and asks before an edited one is left.
import { frame, main } from "./frame.js"
import { fileOf, tenant } from "./tenant.js"
import {
	api, h, isPlace, isServerThere, leaveFor, rememberPlace, replaceContent, sentRequests, showState, tenantOf,
	unknownSlugs, view,
} from "../lib/core.js"

const ROUTES = [
	[/^\/(invite|join|reset|email|not-me|console\/(setup|sign-in))$/, "outside"],
	[/^\/console$/, "overview"],
	[/^\/console\/(?<tab>keys|origins)(\/(?<id>[^/]+))?$/, "platform"],
	[/^\/console\/t\/(?<slug>[^/]+)(\/(?<tab>[^/]+)(\/(?<id>[^/]+))?)?$/, "tenant"],
	[/^\/console\/decisions(\/(?<id>[^/]+))?$/, "decisions"],
	[/^\/console\/(?<page>tenants|people|simulator|audit|operators|providers|me)$/],
]

function match(path) {
	for (const [form, page] of ROUTES) {
		const found = form.exec(path.replace(/\/$/, ""))
		if (found?.groups?.slug && !isPlace(found.groups.tab, found.groups.id)) return null
		if (found) return { page: page ?? found.groups.page, params: { ...found.groups } }
	}
	return null
}

// The first page leaves the focus before the skip link, unless it was loaded for what was chosen on the one before.
let first = !sessionStorage.getItem("chosen")
sessionStorage.removeItem("chosen")

addEventListener("beforeunload", event => {
	if (!view.mayLeave && view.current?.isEdited?.()) event.preventDefault()
})

export async function drawPage() {
	view.current?.stop.abort()
	const stop = new AbortController()
	const mine = (view.current = { stop, path: location.pathname, update: null, isEdited: null })
	view.mayLeave = false
	const route = match(location.pathname)
	sentRequests.length = 0
	// A dialog belongs to its page, but for the one whose secret would be lost.
	for (const open of document.querySelectorAll("dialog[open]:not([closedby=none])")) open.close()
	// The page's code, and its tenant, come while the frame asks who is there.
	const code = route && import(`../pages/${fileOf(route)}.js`)
	if (!/outside|overview/.test(route?.page)) import("../lib/ui.js").catch(() => {})
	code?.catch(() => {})
	if (route?.params.slug) tenantOf(route.params.slug).catch(() => {})
	if (!(await frame(route)) || mine !== view.current) return
	const body = h("div")
	const slow = setTimeout(() => main.classList.add("busy"), 120)
	const page = {
		params: route?.params ?? {}, signal: stop.signal, body,
		get: path => api(path, { signal: stop.signal }),
		onUpdate: update => (mine.update = update),
		/** `isEdited()` says whether something is typed here that leaving would lose. */
		onLeave: isEdited => (mine.isEdited = isEdited),
		alive: () => mine === view.current,
	}
	try {
		const draw = (await code)?.default
		if (draw) await (/^(tenant|platform)$/.test(route.page) ? tenant(page, draw) : draw(page))
		else showState(
			body, "missing",
			{
				title: "There is no such page", text: "The address may have been mistyped.",
				link: { href: "/console/", text: "Go to the overview" },
			},
		)
	} catch (error) {
		if (error.name === "AbortError") return
		// A page of an older version is gone once the server has a newer one.
		const isUnloaded = error instanceof TypeError && /import/i.test(error.message)
		const isThere = isUnloaded && await isServerThere()
		if (mine !== view.current) return
		const link = error.status === 404 && (await import("../lib/seldom.js")).wayBack(route, unknownSlugs)
		showState(body, "error", isThere
			? { title: "There is a new version of this page", again: () => location.reload() }
			: { error: isUnloaded ? notLoaded(error) : error, again: isUnloaded ? loadAnew : drawPage, link })
		// A module that did not come is never asked for again by the same page.
		if (isUnloaded && !isThere) comeBack(stop.signal)
	} finally {
		clearTimeout(slow)
	}
	if (mine !== view.current) return
	main.classList.remove("busy")
	replaceContent(main, body)
	if (!main.querySelector("h1")) main.prepend(h("h1.vh", main.querySelector("h2")?.textContent ?? "Gatehouse"))
	const heading = main.querySelector("h1")
	if (heading) {
		heading.tabIndex = -1
		const title = heading.dataset.title ?? heading.textContent
		document.title = `${title} · Gatehouse`
		if (route && route.page !== "outside") rememberPlace(title)
	}
	// An open menu keeps the focus.
	const isHeld = first || document.querySelector(":popover-open:focus-within");
	(main.querySelector("[autofocus]") ?? (isHeld ? null : heading))?.focus({ preventScroll: true })
	first = false
	scrollTo(0, 0)
	main.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" })
}

const notLoaded = error => Object.assign(error, {
	status: 0, title: navigator.onLine ? "The server cannot be reached" : "You are offline",
	message: "This page could not be loaded. It comes by itself once the connection is back.",
})

const loadAnew = async () => await isServerThere() && location.reload()

/** So often, in milliseconds, a server that is away is asked for. */
const PACE = 3000
/** Loads the page anew once the server answers. */
function comeBack(signal) {
	const timer = setInterval(async () => {
		if (!document.hidden && !signal.aborted) loadAnew()
	}, PACE)
	signal.addEventListener("abort", () => clearInterval(timer))
}

if (window.navigation) {
	navigation.addEventListener("navigate", event => {
		const to = new URL(event.destination.url)
		const ours = /^\/console(\/|$)/.test(to.pathname) && !to.pathname.startsWith("/console/assets/")
		// What is loaded anew is so as a whole: in another language, or of a newer version.
		const isOther = event.hashChange || event.downloadRequest !== null || event.navigationType === "reload"
		if (view.isQuiet || !event.canIntercept || isOther || !ours) return
		const samePage = to.pathname === view.current?.path && view.current.update
		if (!samePage && !view.mayLeave && view.current?.isEdited?.() && event.cancelable) {
			event.preventDefault()
			import("../lib/ui.js").then(one => one.askToLeave(() => leaveFor(event.destination.url)))
			return
		}
		event.intercept({ focusReset: "manual", handler: async () => (samePage ? view.current.update() : drawPage()) })
	})
} else {
	addEventListener("popstate", () => (view.current?.update ? view.current.update() : location.reload()))
}
