// Starts the console, and what stands around every page: top bar, navigation, operator menu.
import { forgetTenants, keep, kept, loadMe, may, me, scope, signOut, tenantOf } from "./lib/api.js"
import { button, fill, h, icon, speak, state, user, words } from "./lib/html.js"
import { go, start } from "./lib/router.js"

const here = () => location.pathname.replace(/\/$/, "")
const slugOf = path => path.match(/^\/console\/t\/([^/]+)/)?.[1]

/** The places of the console that this operator may see; those of a tenant where one is chosen. */
export function places() {
	const tenant = slugOf(location.pathname) ?? scope() ?? kept().tenant
	const own = (text, tab, look, key) => tenant && { text, href: `/console/t/${tenant}/${tab}`, look, key }
	return [
		!scope() && { text: "Overview", href: "/console/", look: "home", key: "o", pin: true },
		{ group: "Directory" },
		!scope() && { text: "Tenants", href: "/console/tenants", look: "building", key: "t", pin: true },
		own("Users", "users", "users", "u"),
		own("Invites", "invites", "mail", "i"),
		{ group: "Access" },
		may("policy") && own("Sign-up policy", "policy", "shield", "p"),
		{ text: "Decisions", href: "/console/decisions", look: "branch", key: "d", pin: true },
		{ text: "Simulator", href: "/console/simulator", look: "flask", key: "s" },
		own("API keys", "keys", "key", "k"),
		may("origins") && own("CORS origins", "origins", "globe", "c"),
		may("policy") && { text: "Providers", href: "/console/providers", look: "door", key: "r" },
		{ group: "Observe" },
		may("audit") && { text: "Audit", href: "/console/audit", look: "list", key: "a", pin: true },
		{ group: "Manage" },
		may("operators") && { text: "Operators", href: "/console/operators", look: "badge", key: "m" },
		{ text: "API docs", href: "/docs", look: "book" },
	].filter(Boolean)
}

function isHere(href) {
	const mine = href.replace(/\/$/, "")
	if (mine === "/console") return here() === mine
	if (mine === "/console/tenants" && slugOf(here())) return /\/(decisions|audit|settings|domains|clients)$/.test(here())
	return here() === mine || here().startsWith(`${mine}/`)
}

const entry = place => h(`li${place.pin ? ".pin" : ""}`,
	h("a", { href: place.href, "aria-current": isHere(place.href) ? "page" : null }, icon(place.look), h("span", place.text)))

function drawFrame() {
	document.body.classList.remove("bare")
	const [top, nav] = [document.querySelector(".top"), document.querySelector(".nav")]
	if (!top.children.length) drawTop(top)
	top.hidden = nav.hidden = false
	const slug = slugOf(location.pathname)
	if (slug) keep("tenant", slug)
	fill(nav, h("ul", places().map((place, at, all) => {
		if (!place.group) return entry(place)
		return all[at + 1]?.group ? null : h("li.group", place.group)
	}), h("li.pin.more", h("button", { type: "button", onclick: () => palette() }, icon("dots"), h("span", "More")))))
	drawSwitch(top.querySelector(".switch"), slug ?? scope())
}

// The tenant that the page is about; another can be chosen and the page stays.
async function drawSwitch(node, slug) {
	node.hidden = !slug
	if (!slug) return
	const tab = location.pathname.split("/")[4] ?? "users"
	const one = await tenantOf(slug).catch(() => null)
	fill(node, icon("building"), one ? user(one.name) : slug, !scope() && icon("down"))
	node.disabled = Boolean(scope())
	node.onclick = () => palette({ tab })
}

export const palette = async options => (await import("./elements/command-palette.js")).open(options)

function drawTop(top) {
	const choose = (name, values) => h("div.segments", { role: "group", "aria-label": words(name) }, values.map(([value, text]) =>
		h("button.btn.tiny", { type: "button", "aria-pressed": String((kept()[name] ?? "") === value), onclick: event => look(name, value, event.target) }, text)))
	const menu = h("div.menu", { popover: "auto", id: "who" },
		h("div.line", user(me().name || me().email, "strong"), h("div.small.muted", user(me().email), " · ", words(me().role))),
		choose("theme", [["", "System"], ["light", "Light"], ["dark", "Dark"]]),
		choose("density", [["", "Comfortable"], ["compact", "Compact"]]),
		choose("keys", [["", "Letter keys"], ["off", "No letter keys"]]),
		h("a.btn.ghost", { href: "/console/me", onclick: () => menu.hidePopover() }, icon("user"), "Your account"),
		button("List of keys", () => press("?"), { look: ".ghost", icon: "list" }),
		button("Sign out", leave, { look: ".ghost", icon: "door" }))
	fill(top,
		h("a.brand", { href: "/console/", "aria-label": "Gatehouse, overview" }, icon("mark"), h("span", "Gatehouse")),
		h("button.btn.ghost.switch", { type: "button", hidden: true, title: "Switch tenant" }),
		h("button.btn.finder", { type: "button", "aria-label": "Search or jump to", onclick: () => palette() }, icon("search"), h("span", "Search or jump to…"), h("kbd", "Ctrl K")),
		h("button.btn.ghost", { type: "button", title: "Show the requests of this view", "aria-label": "Show the requests of this view", onclick: requests }, icon("code")),
		h("button.btn.ghost", { type: "button", popoverTargetElement: menu, "aria-label": "Operator menu" }, icon("user"), icon("down")), menu)
}

const requests = async () => (await import("./lib/dialog.js")).showRequests()
const press = async key => (await import("./lib/keys.js")).press(key)

function look(name, value, pressed) {
	keep(name, value || null)
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
	if (leaving || location.pathname === "/console/sign-in") return
	leaving = true
	location.assign(`/console/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`)
})

function drawOffline() {
	const old = document.querySelector(".offline")
	if (navigator.onLine) return old?.remove()
	if (!old) document.body.prepend(h("div.offline", { role: "status" }, icon("alert"), "You are offline. What is shown may be old; nothing can be changed until the connection is back."))
	return null
}
addEventListener("online", drawOffline)
addEventListener("offline", drawOffline)

addEventListener("keydown", event => {
	if (document.body.classList.contains("bare")) return
	if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
		event.preventDefault()
		palette()
		return
	}
	const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")
	if (typing || event.ctrlKey || event.metaKey || event.altKey || kept().keys === "off" || !/^[/?a-zA-Z]$/.test(event.key)) return
	const box = event.key === "/" && document.querySelector("[data-search]")
	if (event.key === "/") event.preventDefault()
	if (box) box.focus()
	else press(event.key)
})

async function frame(route) {
	const main = document.querySelector("main")
	if (route?.bare) {
		document.body.classList.add("bare")
		for (const node of document.querySelectorAll(".top, .nav")) fill(node).hidden = true
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

if (kept().lang) speak((await import("./lib/pseudo.js")).pseudo)
drawOffline()
start(frame)
