// The router, and what stands around every page: top bar, navigation, operator menu.
import { add, api, button, fill, forgetTenants, h, head, icon, keep, kept, loadMe, may, me, note, say, scope, search, sent, signOut, speak, state, t, tenantOf, user, words } from "./lib/core.js"

const main = document.querySelector("main")

// One shell answers every path; the URL is the only state.

const ROUTES = [
	[/^\/(invite|reset|console\/(setup|sign-in))$/, "outside"],
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

export async function redraw() {
	current?.stop.abort()
	const stop = new AbortController()
	const mine = (current = { stop, path: location.pathname, update: null })
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
		alive: () => mine === current,
	}
	try {
		const draw = (await code)?.default
		if (draw) await (route.page === "tenant" ? tenant(page, draw) : draw(page))
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

// The frame.

let top, nav

const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]
export const tenantHere = () => slugOf(location.pathname) ?? scope() ?? kept().tenant

export function places() {
	const tenant = tenantHere()
	const place = (text, path, look, key, pin) => ({ text, href: `/console/${path}`, look, key, pin })
	const own = (text, tab, look, key) => tenant && place(text, `t/${tenant}/${tab}`, look, key)
	return [
		!scope() && place("Overview", "", "home", "o", true),
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
	if (slug) keep("tenant", slug)
	fill(nav, h("ul", places().map((place, at, all) => (place.group
		? !all[at + 1]?.group && h("li.group", place.group)
		: h(`li${place.pin ? ".pin" : ""}`, h("a", { href: place.href, "aria-current": isHere(place.href) ? "page" : null }, icon(place.look), h("span", place.text))))),
	h("li.pin.more", h("button", { type: "button", onclick: () => palette() }, icon("dots"), h("span", "More")))))
	drawSwitch(top.querySelector(".switch"), slug ?? scope())
}

// The tenant that the page is about; another can be chosen and the page stays.
async function drawSwitch(node, slug) {
	node.hidden = !slug
	if (!slug) return
	const tab = location.pathname.split("/")[4] ?? "users"
	const one = await tenantOf(slug).catch(() => null)
	fill(node, icon("building"), user(one?.name ?? slug), !scope() && icon("down"))
	node.disabled = Boolean(scope())
	node.onclick = () => palette({ tab })
}

let code
const load = () => (code ??= import("./lib/palette.js"))
export const palette = options => load().then(one => one.open(options))
const press = key => load().then(one => one.press(key))

function drawTop() {
	const choose = (name, values) => h("div.segments", { role: "group", "aria-label": words(name) }, Object.entries(values).map(([text, value]) =>
		button(text, event => look(name, value, event.target), { look: ".tiny", "aria-pressed": String((kept()[name] ?? "") === value) })))
	const menu = h("div.menu", { popover: "auto" },
		h("div.line", user(me().name || me().email, "strong"), h("div.small.muted", user(me().email), " · ", words(me().role))),
		choose("theme", { System: "", Light: "light", Dark: "dark" }),
		choose("density", { Comfortable: "", Compact: "compact" }),
		choose("keys", { "Letter keys": "", "No letter keys": "off" }),
		h("a.btn.ghost", { href: "/console/me", onclick: () => menu.hidePopover() }, icon("user"), "Your account"),
		button("List of keys", () => press("?"), { look: ".ghost", icon: "list" }),
		button("Sign out", leave, { look: ".ghost", icon: "door" }))
	fill(top,
		h("a.brand", { href: "/console/", "aria-label": "Gatehouse, overview" }, icon("mark"), h("span", "Gatehouse")),
		button(null, null, { look: ".ghost.switch", hidden: true, title: "Switch tenant" }),
		button([h("span", "Search or jump to…"), h("kbd", "Ctrl K")], () => palette(), { look: ".finder", icon: "search", "aria-label": "Search or jump to" }),
		button(null, async () => (await import("./lib/dialog.js")).showRequests(), { look: ".ghost", icon: "code", title: "Show the requests of this view" }),
		button(icon("down"), null, { look: ".ghost", icon: "user", popoverTargetElement: menu, "aria-label": "Operator menu" }), menu)
}

function look(name, value, pressed) {
	keep(name, value)
	if (value) document.documentElement.dataset[name] = value
	else delete document.documentElement.dataset[name]
	for (const one of pressed.parentNode.children) one.setAttribute("aria-pressed", String(one === pressed))
}

async function leave() {
	await signOut().catch(() => {})
	forgetTenants()
	go("/console/sign-in")
}

let leaving = false
// Signs in again and comes back; what was refused is not replayed.
addEventListener("session-over", () => {
	if (leaving || !/^\/console(?!\/sign-in)/.test(location.pathname)) return
	leaving = true
	location.assign(`/console/sign-in${search({ next: location.pathname + location.search })}`)
})

function drawOffline() {
	document.querySelector(".offline")?.remove()
	if (!navigator.onLine) document.body.prepend(h("div.offline", { role: "status" }, icon("alert"),
		"You are offline. What is shown may be old; nothing can be changed until the connection is back."))
}
for (const change of ["online", "offline"]) addEventListener(change, drawOffline)

addEventListener("keydown", event => {
	if (document.body.classList.contains("bare")) return
	const held = event.ctrlKey || event.metaKey
	// Its code is on the way before the K is.
	if (held) load()
	if (held && event.key.toLowerCase() === "k") {
		event.preventDefault()
		palette()
		return
	}
	const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")
	if (typing || held || event.altKey || kept().keys === "off" || !/^[/?a-zA-Z]$/.test(event.key)) return
	// A key that opens a form is no letter of it.
	event.preventDefault()
	const box = event.key === "/" && document.querySelector("[data-search]")
	if (box) box.focus()
	else press(event.key)
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
	["users", "Users"], ["invites", "Invites"], ["policy", "Policy", "readPolicy"], ["domains", "Domains", "readPolicy"], ["keys", "API keys"],
	["origins", "Origins", "readOrigins"], ["clients", "Clients", "readOrigins"], ["decisions", "Decisions"], ["audit", "Audit", "readAudit"], ["settings", "Settings"],
]
const tabOf = wanted => TABS.find(([name]) => name === wanted) ?? TABS[0]
/** The file of a page. */
function fileOf({ page, params: { tab, id } }) {
	if (page !== "tenant") return page
	const [name] = tabOf(tab)
	const file = id && { "users/": "user", "keys/": "key", "keys/new": "new-key" }[`${name}/${id === "new" ? id : ""}`]
	return /decisions|audit/.test(name) ? name : `tenant/${file ?? name}`
}

async function tenant(page, draw) {
	const { slug, tab, id } = page.params
	// A tab that may not be read is absent; who comes by a link is told why.
	const tabs = TABS.filter(([, , right]) => !right || may(right))
	const [known, name] = tabOf(tab)
	const one = await tenantOf(slug)
	const base = `/console/t/${slug}`
	const again = () => {
		forgetTenants()
		return redraw()
	}
	const title = head(user(one.name), { crumbs: scope() ? null : [["Tenants", "/console/tenants"]] })
	title.querySelector("h1").dataset.title = t`${say(name)} · ${one.name}`
	const change = (text, verb, said) => may("suspendTenant") && button(text, async () => (await import("./lib/dialog.js")).act(`/tenants/${one.id}/${verb}`, {}, said, again), { look: ".tiny" })
	const section = h("section", { "aria-label": name })
	add(page.body, [
		title,
		one.status === "suspended" && note("warn", "alert", "This tenant is suspended: its sign-ins, sessions and keys are refused. ", change("Resume", "resume", "Resumed")),
		one.status === "deleted" && note("danger", "alert", "This tenant is deleted; it can be restored for 30 days. ", change("Restore", "restore", "Restored")),
		h("nav.tabs", { "aria-label": "Tenant" }, tabs.map(([tab, text]) => h("a", { href: `${base}/${tab}`, "aria-current": tab === known ? "page" : null }, text))),
		section,
	])
	await draw({ ...page, body: section, tenant: one, base, path: `/tenants/${one.id}`, id, again })
}

if (kept().lang) speak((await import(`./lang/${kept().lang}.js`)).default)
top = h("header.top", { hidden: true })
nav = h("nav.nav", { "aria-label": "Main", hidden: true })
main.before(h("a.skip", { href: "#main" }, "Skip to content"), top, nav)
drawOffline()
redraw()
