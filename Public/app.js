// The router, and what stands around every page: top bar, navigation, operator menu.
import {
	add, api, button, fill, forgetTenants, h, head, icon, keep, kept, loadMe, may, say, scope, search, sent, speak, state,
	t, tenantOf, user,
} from "./lib/core.js"

const main = document.querySelector("main")

// One shell answers every path; the URL is the only state.

const ROUTES = [
	[/^\/(invite|reset|email|console\/(setup|sign-in))$/, "outside"],
	[/^\/console$/, "overview"],
	[/^\/console\/t\/(?<slug>[^/]+)(\/(?<tab>[^/]+)(\/(?<id>[^/]+))?)?$/, "tenant"],
	[/^\/console\/decisions(\/(?<id>[^/]+))?$/, "decisions"],
	[/^\/console\/(?<page>tenants|simulator|audit|operators|providers|me)$/],
]

function match(path) {
	for (const [form, page] of ROUTES) {
		const found = form.exec(path.replace(/\/$/, ""))
		if (found) return { page: page ?? found.groups.page, params: { ...found.groups } }
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

export const go = url => location.assign(url)

// Set while the page may be left without a question: the session is over, or what was typed was sent or given up.
let mayLeave = false

/** Goes on although something on the page is typed and not sent. */
export function leaveFor(url) {
	mayLeave = true
	go(url)
}

addEventListener("beforeunload", event => {
	if (!mayLeave && current?.isEdited?.()) event.preventDefault()
})

export async function redraw() {
	current?.stop.abort()
	const stop = new AbortController()
	const mine = (current = { stop, path: location.pathname, update: null, isEdited: null })
	mayLeave = false
	const route = match(location.pathname)
	sent.length = 0
	// A dialog belongs to its page, but for the one whose secret would be lost.
	for (const open of document.querySelectorAll("dialog[open]:not([closedby=none])")) open.close()
	// The page's code, and its tenant, come while the frame asks who is there.
	const code = route && import(`./pages/${fileOf(route)}.js`)
	if (!/outside|overview/.test(route?.page)) import("./lib/ui.js").catch(() => {})
	code?.catch(() => {})
	if (route?.params.slug) tenantOf(route.params.slug).catch(() => {})
	if (!(await frame(route)) || mine !== current) return
	const body = h("div")
	const slow = setTimeout(() => main.classList.add("busy"), 120)
	const page = {
		params: route?.params ?? {}, signal: stop.signal, body,
		get: path => api(path, { signal: stop.signal }),
		onUpdate: update => (mine.update = update),
		/** `isEdited()` says whether something is typed here that leaving would lose. */
		onLeave: isEdited => (mine.isEdited = isEdited),
		alive: () => mine === current,
	}
	try {
		const draw = (await code)?.default
		if (draw) await (route.page === "tenant" ? tenant(page, draw) : draw(page))
		else state(body, "missing", { title: "There is no such page", text: "The address may have been mistyped.", link: { href: "/console/", text: "Go to the overview" } })
	} catch (error) {
		if (error.name === "AbortError") return
		// A page of an older version is gone once the server has a newer one.
		const gone = error instanceof TypeError && /import/i.test(error.message)
		const link = error.status === 404 && (await import("./lib/gone.js")).wayBack(route, unknown)
		state(body, "error", gone && navigator.onLine
			? { title: "There is a new version of this page", again: () => location.reload() }
			: { error: gone ? notLoaded(error) : error, again: redraw, link })
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

const notLoaded = error =>
	Object.assign(error, { status: 0, title: "You are offline", message: "This page could not be loaded." })

if (window.navigation) {
	navigation.addEventListener("navigate", event => {
		const to = new URL(event.destination.url)
		const ours = /^\/console(\/|$)/.test(to.pathname) && !to.pathname.startsWith("/console/assets/")
		if (quiet || !event.canIntercept || event.hashChange || event.downloadRequest !== null || !ours) return
		const samePage = to.pathname === current?.path && current.update && event.navigationType !== "reload"
		if (!samePage && !mayLeave && current?.isEdited?.() && event.cancelable) {
			event.preventDefault()
			import("./lib/dialog.js").then(one => one.askToLeave(() => leaveFor(event.destination.url)))
			return
		}
		event.intercept({ focusReset: "manual", handler: async () => (samePage ? current.update() : redraw()) })
	})
} else {
	addEventListener("popstate", () => (current?.update ? current.update() : location.reload()))
}

// The frame.

let top, nav

const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
// Tenants of the address that are not there.
const unknown = new Set()
const known = slug => (unknown.has(slug) ? null : slug)
export const tenantHere = () => known(slugOf(location.pathname)) ?? scope() ?? kept().tenant

export function places() {
	const tenant = tenantHere()
	const place = (text, path, look, key, pin) => ({ text, href: `/console/${path}`, look, key, pin })
	const own = (text, tab, look, key) => tenant && place(text, `t/${tenant}/${tab}`, look, key)
	return [
		place("Overview", "", "home", "o", true),
		{ group: "Directory" },
		!scope() && place("Tenants", "tenants", "building", "t", true),
		own("Users", "users", "users", "u"),
		own("Invites", "invites", "mail", "i"),
		{ group: "Access" },
		may("readPolicy") && own("Sign-up policy", "policy", "shield", "p"),
		place("Decisions", "decisions", "branch", "d", true),
		place("Simulator", "simulator", "flask", "s"),
		own("API keys", "keys", "key", "k"),
		may("readOrigins") && own("CORS origins", "origins", "globe", "c"),
		may("readPolicy") && place("Providers", "providers", "door", "r"),
		{ group: "Observe" },
		may("readAudit") && place("Audit", "audit", "list", "a", true),
		{ group: "Manage" },
		may("readOperators") && place("Operators", "operators", "badge", "m"),
		{ text: "API docs", href: "/docs", look: "book" },
	].filter(Boolean)
}

function isHere(href) {
	const [here, mine] = [location.pathname, href].map(path => path.replace(/\/$/, ""))
	// Tabs without an entry.
	if (mine === "/console/tenants" && /^\/console\/t\/.*\/(decisions|audit|settings|domains|clients)$/.test(here)) return true
	return here === mine || (mine !== "/console" && here.startsWith(`${mine}/`))
}

function drawFrame() {
	document.body.classList.remove("bare")
	if (!top.children.length) drawTop()
	top.hidden = nav.hidden = false
	const slug = slugOf(location.pathname)
	fill(nav, h("ul", places().map((place, at, all) => (place.group
		? !all[at + 1]?.group && h("li.group", place.group)
		: h(`li${place.pin ? ".pin" : ""}`, h("a", { href: place.href, "aria-current": isHere(place.href) ? "page" : null }, icon(place.look), h("span", place.text))))),
	h("li.pin.more", h("button", { type: "button", onclick: () => palette() }, icon("dots"), h("span", "More")))))
	drawSwitch(top.querySelector(".switch"), known(slug) ?? scope())
}

// The tenant that the page is about; another can be chosen and the page stays.
async function drawSwitch(node, slug) {
	node.hidden = !slug
	if (!slug) return
	const tab = location.pathname.split("/")[4] ?? "users"
	const one = await tenantOf(slug).catch(() => null)
	// Kept only once it is known to exist: the navigation of every page leads into it.
	if (one && slugOf(location.pathname) === slug) keep("tenant", one.slug)
	fill(node, icon("building"), user(one?.name ?? slug), !scope() && icon("down"))
	node.disabled = Boolean(scope())
	node.onclick = () => palette({ tab })
}

export const isMac = /mac/i.test(navigator.userAgentData?.platform ?? navigator.platform)

let code
const load = () => (code ??= import("./lib/palette.js"))
export const palette = options => load().then(one => one.open(options))
export const press = key => load().then(one => one.press(key))

function drawTop() {
	// What stands in it comes when it is opened.
	const menu = h("div.menu", { popover: "auto", onbeforetoggle: async ({ newState }) => {
		if (newState === "open") (await import("./lib/account.js")).draw(menu)
	} })
	fill(top,
		h("a.brand", { href: "/console/", "aria-label": "Gatehouse, overview" }, icon("mark"), h("span", "Gatehouse")),
		button(null, null, { look: ".ghost.switch", hidden: true, title: "Switch tenant" }),
		button([h("span", "Search or jump to…"), h("kbd", isMac ? "⌘ K" : "Ctrl K")], () => palette(), { look: ".finder", icon: "search", "aria-label": "Search or jump to" }),
		button(null, async () => (await import("./lib/dialog.js")).showRequests(), { look: ".ghost", icon: "code", title: "Show the requests of this view" }),
		button(icon("down"), null, { look: ".ghost", icon: "user", popoverTargetElement: menu, "aria-label": "Operator menu" }), menu)
}

let leaving = false
// Signs in again and comes back; what was refused is not replayed.
addEventListener("session-over", () => {
	if (leaving || !/^\/console(?!\/sign-in)/.test(location.pathname)) return
	leaving = true
	// A form for a new thing is opened again, with what was typed; see the drafts of lib/form.js.
	const again = document.querySelector("dialog[data-new]") && !query().new ? { ...query(), new: 1 } : query()
	leaveFor(`/console/sign-in${search({ next: location.pathname + search(again) })}`)
})

function drawOffline() {
	document.querySelector(".offline")?.remove()
	if (!navigator.onLine) document.body.prepend(h("div.offline", { role: "status" }, icon("alert"),
		"You are offline. What is shown may be old; nothing can be changed until the connection is back."))
}
for (const change of ["online", "offline"]) addEventListener(change, drawOffline)

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
	if (typing || held || event.altKey || kept().keys === "off" || !/^[/?a-zA-Z]$/.test(key)) return
	// A key that opens a form is no letter of it.
	event.preventDefault()
	const box = key === "/" && document.querySelector("[data-search]")
	if (box) box.focus()
	else press(key)
})

/** Prepares what stands around the page; false: nobody is signed in. */
async function frame(route) {
	if (route?.page === "outside") {
		document.body.classList.add("bare")
		for (const node of [top, nav]) fill(node).hidden = true
		return true
	}
	try {
		await loadMe()
	} catch (error) {
		if (error.status === 401) return false
		state(main, "error", { error, again: () => location.reload() })
		main.prepend(h("h1.vh", error.title))
		return false
	}
	drawFrame()
	return true
}

// What stands around each page of a tenant.

const TABS = [
	["users", "Users"], ["invites", "Invites"], ["policy", "Policy", "readPolicy"], ["domains", "Domains", "readPolicy"],
	["keys", "API keys"], ["origins", "Origins", "readOrigins"], ["clients", "Clients", "readOrigins"],
	["decisions", "Decisions"], ["audit", "Audit", "readAudit"], ["settings", "Settings"],
]
export const tabOf = wanted => TABS.find(([name]) => name === wanted) ?? TABS[0]
/** The file of a page. */
function fileOf({ page, params: { tab, id } }) {
	if (page !== "tenant") return page
	const [name] = tabOf(tab)
	const file = id && { "users/": "user", "keys/": "key", "keys/new": "new-key" }[`${name}/${id === "new" ? id : ""}`]
	return /decisions|audit/.test(name) ? name : `tenant/${file ?? name}`
}

async function tenant(page, draw) {
	const { slug, tab, id } = page.params
	const [known, name] = tabOf(tab)
	const one = await tenantOf(slug).catch(error => {
		throw noTenant(slug, error)
	})
	const base = `/console/t/${slug}`
	const again = () => {
		forgetTenants()
		return redraw()
	}
	const title = head(user(one.name), { crumbs: scope() ? null : [["Tenants", "/console/tenants"]] })
	title.querySelector("h1").dataset.title = t`${say(name)} · ${one.name}`
	const section = h("section", { "aria-label": name })
	// A tab that may not be read is absent; who comes by a link is told why.
	const tabs = TABS.filter(([, , right]) => !right || may(right))
	const isWell = one.status === "active"
	add(page.body, [
		title, isWell ? null : (await import("./lib/gone.js")).banner(one, again),
		h("nav.tabs", { "aria-label": "Tenant" }, tabs.map(([tab, text]) =>
			h("a", { href: `${base}/${tab}`, "aria-current": tab === known ? "page" : null }, text))),
		section,
	])
	const isGone = one.status === "deleted"
	await draw({ ...page, body: section, tenant: one, isGone, base, path: `/tenants/${one.id}`, id, again })
}

/** A tenant that is not there is not kept: the navigation would lead into it from every page. */
function noTenant(slug, error) {
	if (error.status !== 404) return error
	unknown.add(slug)
	if (kept().tenant === slug) keep("tenant", null)
	drawFrame()
	return error
}

// A language without a catalogue here is English.
if (kept().lang) await import(`./lang/${kept().lang}.js`).then(one => speak(one.default), () => {})
top = h("header.top", { hidden: true })
nav = h("nav.nav", { "aria-label": "Main", hidden: true })
main.before(h("a.skip", { href: "#main" }, "Skip to content"), top, nav)
drawOffline()
redraw()
