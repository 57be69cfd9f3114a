// Starts the console, and what stands around every page: top bar, navigation, operator menu.
import { forgetTenants, keep, kept, loadMe, may, me, scope, signOut, tenantOf } from "./lib/api.js"
import { button, fill, h, icon, speak, state, user, words } from "./lib/html.js"
import { go, start } from "./lib/router.js"

const main = document.querySelector("main")
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
		may("policy") && own("Sign-up policy", "policy", "shield", "p"),
		place("Decisions", "decisions", "branch", "d", true),
		place("Simulator", "simulator", "flask", "s"),
		own("API keys", "keys", "key", "k"),
		may("origins") && own("CORS origins", "origins", "globe", "c"),
		may("policy") && place("Providers", "providers", "door", "r"),
		{ group: "Observe" },
		may("audit") && place("Audit", "audit", "list", "a", true),
		{ group: "Manage" },
		may("operators") && place("Operators", "operators", "badge", "m"),
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

export const palette = async options => (await import("./elements/command-palette.js")).open(options)
let keys
const press = key => (keys ??= import("./lib/keys.js")).then(one => one.press(key))

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
	const requests = "Show the requests of this view"
	fill(top,
		h("a.brand", { href: "/console/", "aria-label": "Gatehouse, overview" }, icon("mark"), h("span", "Gatehouse")),
		button(null, null, { look: ".ghost.switch", hidden: true, title: "Switch tenant" }),
		h("button.btn.finder", { type: "button", "aria-label": "Search or jump to", onclick: () => palette() }, icon("search"), h("span", "Search or jump to…"), h("kbd", "Ctrl K")),
		button(null, async () => (await import("./lib/dialog.js")).showRequests(), { look: ".ghost", icon: "code", title: requests, "aria-label": requests }),
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
	location.assign(`/console/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`)
})

function drawOffline() {
	document.querySelector(".offline")?.remove()
	if (!navigator.onLine) document.body.prepend(h("div.offline", { role: "status" }, icon("alert"),
		"You are offline. What is shown may be old; nothing can be changed until the connection is back."))
}
addEventListener("online", drawOffline)
addEventListener("offline", drawOffline)

addEventListener("keydown", event => {
	if (document.body.classList.contains("bare")) return
	const held = event.ctrlKey || event.metaKey
	if (held && event.key.toLowerCase() === "k") {
		event.preventDefault()
		palette()
		return
	}
	const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")
	if (typing || held || event.altKey || kept().keys === "off" || !/^[/?a-zA-Z]$/.test(event.key)) return
	if (event.key === "/") event.preventDefault()
	const box = event.key === "/" && document.querySelector("[data-search]")
	if (box) box.focus()
	else press(event.key)
})

async function frame(route) {
	if (route?.bare) {
		document.body.classList.add("bare")
		for (const node of [top, nav]) fill(node).hidden = true
		return true
	}
	try {
		await loadMe()
	} catch (error) {
		if (error.status === 401) return false
		state(fill(main), "error", { error, again: () => location.reload() })
		main.prepend(h("h1.vh", error.title))
		return false
	}
	drawFrame()
	return true
}

if (kept().lang) speak((await import(`./lang/${kept().lang}.js`)).default)
top = h("header.top", { hidden: true })
nav = h("nav.nav", { "aria-label": "Main", hidden: true })
main.before(h("a.skip", { href: "#main" }, "Skip to content"), top, nav)
drawOffline()
start(frame)
