// The router, and the frame around every page. If there are no texts in the chosen language, the console is in English.
import {
	append, button, h, icon, isMac, language, leaveFor, pageHead, preferences, query, queryString, redraw,
	replaceContent, setCatalogue, setPreference, showState, slugOf, t, translate, userText, view
} from "./lib/core.js"
import {
	api, forgetOperator, forgetTenants, isPlace, isServerThere, knownSlug, loadMe, ownTenant, placesHere, rememberPlace,
	sentRequests, tabOf, tabsHere, tenantHere, tenantOf, unknownSlugs, waitingIn
} from "./lib/server.js"

// Keyboard shortcuts that work on every page. Their code is loaded when the first of them is pressed.

let found
const load = () => (found ??= import("./lib/palette.js"))
/** @type {(options?: { tab?: string, text?: string }) => Promise<void>} */
const palette = options => load().then(one => one.open(options))
// All presses wait for the same load, so that two keys in a row act in the order in which they were pressed.
/** @type {(key: string) => Promise<void>} */
const press = key => load().then(one => one.press(key))

/**
 * Returns the key that was pressed. If the key has a letter of another script, returns the Latin letter at the same
 * position of the keyboard.
 * @type {(event: KeyboardEvent) => string}
 */
function letterOf({ key, code, shiftKey }) {
	const [, place] = /^Key([A-Z])$/.exec(code) ?? []
	if (!place || !/\p{L}/u.test(key) || /[a-z]/i.test(key)) return key
	return shiftKey ? place : place.toLowerCase()
}

addEventListener("keydown", event => {
	if (document.body.classList.contains("bare")) return
	const held = event.ctrlKey || event.metaKey
	const key = letterOf(event)
	// Load the palette's code as soon as Ctrl or Cmd is held, even before K is pressed.
	if (held) load()
	if (held && key.toLowerCase() === "k") {
		event.preventDefault()
		palette()
		return
	}
	const at = /** @type {Element} */ (event.target)
	const typing = at.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")
	if (typing || held || event.altKey || preferences().keys === "off" || !/^[/?a-zA-Z]$/.test(key)) return
	// Keep the browser from typing the key: if the key opens a form, it would also be typed into the form.
	event.preventDefault()
	const box = key === "/" && document.querySelector("[data-search]")
	if (box) box.focus()
	else press(key)
})

// The frame of every page: top bar, navigation, operator menu.

// The top bar and the navigation, created once the language is known.
let top
let nav
const main = /** @type {HTMLElement} */ (document.querySelector("main"))

/** Adds the empty frame to the document. `drawFrame` fills it. */
function putFrame() {
	top = h("header.top", { hidden: true })
	nav = h("nav.nav", { "aria-label": "Main", hidden: true })
	main.before(h("a.skip", { href: "#main" }, "Skip to content"), top, nav)
	drawOffline()
}

function isHere(href) {
	const [here, mine] = [location.pathname, href].map(path => path.replace(/\?.*/, "").replace(/\/$/, ""))
	return here === mine || (mine !== "/console" && here.startsWith(`${mine}/`))
}

function drawFrame() {
	document.body.classList.remove("bare")
	if (!top.children.length) drawTop()
	top.hidden = nav.hidden = false
	const slug = slugOf(location.pathname)
	replaceContent(nav, h("ul", placesHere().map((place, at, all) => ("group" in place
		? all[at + 1]?.href && h("li.group", place.group)
		: h(
			`li${place.pin ? ".pin" : ""}${place.isNarrow ? ".narrow" : ""}`,
			h(
				"a", { href: place.href, "aria-current": isHere(place.href) ? "page" : null }, icon(place.look),
				h("span", place.text),
			),
		))),
	h("li.pin.more", h("button", { type: "button", onclick: () => palette() }, icon("dots"), h("span", "More")))))
	drawSwitch(top.querySelector(".switch"), knownSlug(slug) ?? ownTenant())
	drawWaiting()
}

/** Shows the number of people who ask to join, beside the navigation's link to the page of join requests. */
async function drawWaiting() {
	const link = nav?.querySelector("a[href$='/requests']")
	if (!link) return
	const number = await waitingIn(tenantHere())
	link.querySelector(".tag")?.remove()
	if (number) link.append(h("span.tag", { title: t`${number} waiting` }, number))
}
addEventListener("waiting-changed", drawWaiting)

let drawn = 0
// Draws the button with the name of the page's tenant. A press on it opens the palette. If the operator chooses another
// tenant there, the same page of the chosen tenant opens.
/** @type {(node: HTMLButtonElement, slug: string | null | undefined) => Promise<void>} */
async function drawSwitch(node, slug) {
	const mine = ++drawn
	node.hidden = !slug
	if (!slug) return
	const tab = location.pathname.split("/")[4] ?? "users"
	const one = await tenantOf(slug).catch(() => null)
	if (mine !== drawn) return
	// Store the tenant only after the server has confirmed that the tenant exists. Otherwise the palette and the
	// keyboard shortcuts, which lead to pages of the stored tenant, could lead to pages that do not exist.
	if (one && slugOf(location.pathname) === slug) setPreference("tenant", one.slug)
	replaceContent(node, icon("building"), userText(one?.name ?? slug), !ownTenant() && icon("down"))
	node.disabled = Boolean(ownTenant())
	node.onclick = () => palette({ tab })
}

let drawMenu
function drawTop() {
	// The menu's code is loaded when the menu is first opened. From then on, the menu is drawn before it is shown: a
	// press on content that is just being replaced would be lost.
	const menu = h("div.menu", { popover: "auto", onbeforetoggle: async ({ newState }) => {
		if (newState !== "open") return
		drawMenu ??= (await import("./lib/palette.js")).draw
		drawMenu(menu)
	} })
	replaceContent(top,
		h("a.brand", { href: "/console/", "aria-label": "Gatehouse, overview" }, icon("mark"), h("span", "Gatehouse")),
		button(null, null, { look: ".ghost.switch", hidden: true, title: "Switch tenant" }),
		button(
			[h("span", "Search or jump to…"), h("kbd", isMac ? "⌘ K" : "Ctrl K")], () => palette(),
			{ look: ".finder", icon: "search", "aria-label": "Search or jump to" },
		),
		button(
			null, async () => (await import("./lib/seldom.js")).showRequests(),
			{ look: ".ghost", icon: "code", title: "Show the requests of this view" },
		),
		button(
			icon("down"), null,
			{ look: ".ghost", icon: "user", popoverTargetElement: menu, "aria-label": "Operator menu" },
		),
		menu)
}

let leaving = false
// When the session is over, opens the sign-in page, which leads back to this page. The refused request is not repeated.
addEventListener("session-over", () => {
	if (leaving || !/^\/console(?!\/sign-in)/.test(location.pathname)) return
	leaving = true
	// If a form for a new object is open, it opens again after the sign-in, with what was typed: see the drafts in
	// lib/form.js.
	const again = document.querySelector("dialog[data-new]") && !query().new ? { ...query(), new: 1 } : query()
	leaveFor(`/console/sign-in${queryString({ next: location.pathname + queryString(again) })}`)
})

// A promise while the operator is being asked for a proof of presence; otherwise null. Acts that are refused at the
// same time share this promise.
let proof = null
/**
 * Asks the operator for a proof of presence when the server refuses an act for lack of a recent proof. After the proof,
 * the refused request is sent again.
 */
addEventListener("step-up", event => {
	const { resolve, ...problem } = event.detail
	event.preventDefault()
	proof ??= import("./lib/step-up.js").then(({ stepUp }) => stepUp(problem)).finally(() => (proof = null))
	proof.then(resolve, () => resolve(false))
})

// An operator who needs a second factor and has none can open only the page where a second factor is set up.
addEventListener("second-factor", () => location.pathname !== "/console/me" && leaveFor("/console/me"))

function drawOffline() {
	document.querySelector(".offline")?.remove()
	if (!navigator.onLine) document.body.prepend(h("div.offline", { role: "status" }, icon("alert"),
		"You are offline. What you see may be out of date; nothing can be changed until the connection is back."))
}
for (const change of ["online", "offline"]) addEventListener(change, drawOffline)

/**
 * Prepares the frame around the page. Returns false if nobody is signed in.
 * @type {(route: Route | null) => Promise<boolean>}
 */
async function frame(route) {
	if (route?.page === "outside") {
		forgetOperator()
		unknownSlugs.clear()
		leaving = false
		document.body.classList.add("bare")
		for (const node of [top, nav]) replaceContent(node).hidden = true
		return true
	}
	try {
		await loadMe(tenantHere())
	} catch (error) {
		if (error.status === 401) return false
		showState(main, "error", { error, again: () => location.reload() })
		main.prepend(h("h1.vh", error.title))
		return false
	}
	drawFrame()
	return true
}

// Keeping the focus, on all pages. An act may remove, hide or disable the very element that has the focus. The browser
// then leaves the focus on the body, where a screen reader starts again from the top. This code moves the focus to a
// place near that element instead.

const TAKES = "a[href], button, input, select, textarea, summary, [tabindex='0']"
/**
 * Elements that are too large to count as near the lost focus: in them, the focus would start again at the top of the
 * page.
 */
const TOO_WIDE = "html, body, main, main > *, toast-stack"
/** How many of the last focused elements are remembered. */
const PLACES = 8
/**
 * If the focused element is disabled, it is assumed to wait for the answer to its request. If it is still disabled
 * after this time, in milliseconds, the focus is moved to another element.
 */
const A_WHILE = 2000

/**
 * A remembered place of the focus: the focused element, its name, its tag and its ancestors. The ancestors are stored
 * because an element has none after it is removed. The references are weak, since a removed field may hold a secret.
 * `since` is when the element was first seen disabled.
 * @typedef {{ held: WeakRef<HTMLElement>, id?: string }} Held
 * @typedef {{ name: Nothing | string, tag: string, above: Held[], since?: number } & Held} LastPlace
 */

/** The remembered places, newest first. */
let places = /** @type {LastPlace[]} */ ([])

/** @type {(node: HTMLElement) => Nothing | string} */
const nameOf = node => node.ariaLabel || (node.matches("a, button, summary") && node.textContent)

/** @type {(node: HTMLElement) => void} */
function remember(node) {
	if (node === document.body) return
	const above = []
	for (let one = node.parentElement; one; one = one.parentElement) {
		above.push({ held: new WeakRef(one), id: one.dataset.id })
	}
	const place = { held: new WeakRef(node), name: nameOf(node), tag: node.localName, above }
	places = [place, ...places.filter(one => one.held.deref() !== node)].slice(0, PLACES)
}

/**
 * Whether `node` cannot have or keep the focus: it is missing, is the body, is not visible or is disabled. The browser
 * takes the focus away from such an element a little later.
 * @type {(node: Element | null | undefined) => boolean}
 */
const isLost = node =>
	!node || node === document.body || !node.checkVisibility() || node.matches(":disabled, [inert] *")

/**
 * Focuses `node` if it can take the focus. Returns whether `node` has the focus then.
 * @type {(node: HTMLElement | null | undefined, preventScroll?: boolean) => boolean}
 */
function give(node, preventScroll = true) {
	if (!node || isLost(node)) return false
	node.focus({ preventScroll })
	return document.activeElement === node
}

/**
 * @param {HTMLElement | null | undefined} node
 * @returns {node is HTMLElement}
 */
const isThere = node => Boolean(node?.isConnected)

/**
 * When a part of the page is redrawn, its elements are replaced. Returns the element inside `around` that replaced a
 * removed one: it has the same tag and name.
 * @type {(place: LastPlace, around: HTMLElement) => HTMLElement | null | undefined}
 */
const twinOf = ({ held, name, tag }, around) =>
	(!name || isThere(held.deref()) ? null : [...around.querySelectorAll(tag)].find(one => nameOf(one) === name))

/**
 * An ancestor of a remembered element, as it is on the page now: a row that was redrawn is found by its id.
 * @type {(one: Held) => HTMLElement | null | undefined}
 */
function asItIs({ held, id }) {
	const one = held.deref()
	return isThere(one) || !id ? one : document.querySelector(`tr[data-id="${CSS.escape(id)}"]`)
}

/**
 * The ancestors of a remembered element that are still visible on the page and not too large, nearest first.
 * @type {(place: LastPlace) => HTMLElement[]}
 */
const leftAbove = ({ above }) => above.map(asItIs)
	.filter(isThere).filter(one => !one.matches(TOO_WIDE) && one.checkVisibility())

/** @type {(around: HTMLElement) => boolean} */
const giveFirst = around =>
	[...around.querySelectorAll(TAKES)].some(one => give(one, false)) || give(around, false)

/**
 * Focuses something inside `around`: an element that had the focus before, or else an element near a place that had it,
 * or else the first element that can take the focus. Returns whether anything could be focused.
 */
const giveWithin = around =>
	places.some(place => (around.contains(place.held.deref() ?? null) && give(place.held.deref()))
		|| give(twinOf(place, around)))
	|| places.some(place => leftAbove(place).some(one => one !== around && around.contains(one) && giveFirst(one)))
	|| giveFirst(around)

const giveNear = place => give(place.held.deref()) || leftAbove(place).some(giveWithin)

/**
 * Whether the last focused element is disabled only while its request is under way.
 * @type {(last: LastPlace) => boolean}
 */
function isWaiting(last) {
	const node = last.held.deref()
	if (!isThere(node) || !node.matches(":disabled") || !node.checkVisibility()) return false
	last.since ??= Date.now()
	const left = last.since + A_WHILE - Date.now()
	if (left > 0) setTimeout(check, left)
	return left > 0
}

function check() {
	isAsked = false
	if (!places.length || !isLost(document.activeElement) || isWaiting(places[0]) || places.some(giveNear)) return
	const heading = main.querySelector("h1")
	if (heading) heading.tabIndex = -1
	give(heading)
}

let isAsked = false
/**
 * Checks the focus after the browser has drawn the page again: only then does it take the focus away from an element
 * that was removed.
 */
function ask() {
	if (isAsked) return
	isAsked = true
	requestAnimationFrame(() => setTimeout(check))
}

addEventListener("focusin", ({ target }) => remember(/** @type {HTMLElement} */ (target)))
// If the press is at a place where nothing can take the focus, the person has given the focus up, and it is not
// restored. A pressed button is remembered here, because some browsers do not focus it.
addEventListener("pointerdown", ({ target }) => {
	const one = /** @type {Element} */ (target).closest(`${TAKES}, label, dialog`)
	if (!one) places = []
	else if (one.matches(TAKES) && !one.matches(":disabled")) remember(one)
}, { capture: true })
for (const end of ["close", "toggle"]) addEventListener(end, ask, { capture: true })
new MutationObserver(ask).observe(document.body, {
	childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "disabled", "inert"],
})

// The frame around each page of a tenant.

/**
 * The file name of a page's module, relative to Public/pages and without its extension.
 * @type {(route: Route) => string}
 */
function fileOf({ page, params: { tab, id } }) {
	if (!/^(tenant|platform)$/.test(page)) return page
	const known = tabOf(tab).tab
	return /decisions|audit/.test(known) ? known : `tenant/${known === "users" && id === "import" ? id : known}`
}

/** @type {(page: Page, draw: (page: TenantPage) => unknown) => Promise<unknown>} */
async function tenant(page, draw) {
	const { slug, tab, id } = page.params
	// The platform's own keys and origins are shown by the same pages as those of a tenant.
	if (!slug) return draw({ ...page, path: "", base: "/console", id, again: redraw })
	const { tab: known, text: name } = tabOf(tab)
	const one = await tenantOf(slug).catch(error => {
		throw noTenant(slug, error)
	})
	const base = `/console/t/${slug}`
	const again = () => {
		forgetTenants()
		return redraw()
	}
	const crumbs = [
		!ownTenant() && { text: "Tenants", href: "/console/tenants" },
		{ text: userText(one.name), href: `${base}/users` },
		id && { text: name, href: `${base}/${known}` },
	].filter(Boolean)
	// A page below a tab's page, such as the page of one user, draws its own title.
	const title = pageHead(id ? null : name, { crumbs, acts: id ? null : [] })
	const heading = id ? null : title.querySelector("h1")
	if (heading) heading.dataset.title = String(t`${translate(name)} · ${one.name}`)
	const section = h("section", { "aria-label": name })
	const isWell = one.status === "active"
	append(page.body, [
		title, isWell ? null : (await import("./lib/seldom.js")).banner(one, again),
		// These links are shown only in a small window; in a larger window, the navigation has them. A page that the
		// operator may not read has no link here. If such a page is opened by its address, it says why.
		h("nav.tabs", { "aria-label": "Tenant" }, tabsHere().map(({ tab, text }) =>
			h("a", { href: `${base}/${tab}`, "aria-current": tab === known ? "page" : null }, text))),
		section,
	])
	const isGone = one.status === "deleted"
	await draw({
		...page, body: section, tenant: one, isGone, base, path: `/tenants/${one.id}`, id, again,
		acts: title.querySelector(".acts") ?? undefined,
	})
}

/**
 * If the error says that the tenant does not exist, forgets the tenant, since the palette and the keyboard shortcuts
 * would lead to its pages. Returns the error in any case.
 */
function noTenant(slug, error) {
	if (error.status !== 404) return error
	unknownSlugs.add(slug)
	if (preferences().tenant === slug) setPreference("tenant", null)
	drawFrame()
	return error
}

// The router. The server answers every path with the same HTML; the router finds the page of an address, draws it, and
// asks before a page with unsaved changes is left.

const ROUTES = [
	{ path: /^\/(invite|join|reset|email|not-me|console\/(setup|sign-in))$/, page: "outside" },
	{ path: /^\/console$/, page: "overview" },
	{ path: /^\/console\/(?<tab>keys|origins)(\/(?<id>[^/]+))?$/, page: "platform" },
	{ path: /^\/console\/t\/(?<slug>[^/]+)(\/(?<tab>[^/]+)(\/(?<id>[^/]+))?)?$/, page: "tenant" },
	{ path: /^\/console\/decisions(\/(?<id>[^/]+))?$/, page: "decisions" },
	// Each of these pages is named like its path.
	{ path: /^\/console\/(?<page>tenants|people|simulator|audit|operators|providers|me)$/ },
]

/** @type {(path: string) => Route | null} */
function match(path) {
	for (const { path: form, page } of ROUTES) {
		const found = form.exec(path.replace(/\/$/, ""))
		if (!found) continue
		const params = { ...found.groups }
		return params.slug && !isPlace(params.tab, params.id) ? null : { page: page ?? params.page, params }
	}
	return null
}

// Whether to leave the focus at the start of the document, before the skip link. True for the first page after a load.
// If a choice in the operator's menu caused the load, it is false: see `choose` in lib/palette.js.
let first = !sessionStorage.getItem("chosen")
sessionStorage.removeItem("chosen")

addEventListener("beforeunload", event => {
	if (!view.mayLeave && view.current?.isEdited?.()) event.preventDefault()
})

async function drawPage() {
	view.current?.stop.abort()
	const stop = new AbortController()
	/** @type {NonNullable<View["current"]>} */
	const mine = { stop, path: location.pathname, update: null, isEdited: null }
	view.current = mine
	view.mayLeave = false
	const route = match(location.pathname)
	sentRequests.length = 0
	// Close the dialogs of the previous page, except a dialog with a secret that would be lost.
	for (const open of document.querySelectorAll("dialog[open]:not([closedby=none])")) open.close()
	// The page's code and its tenant are loaded while the frame requests who is signed in.
	const code = route && import(`./pages/${fileOf(route)}.js`)
	if (!/outside|overview/.test(route?.page ?? "")) import("./lib/ui.js").catch(() => {})
	code?.catch(() => {})
	if (route?.params.slug) tenantOf(route.params.slug).catch(() => {})
	if (!(await frame(route)) || mine !== view.current) return
	const body = h("div")
	const slow = setTimeout(() => main.classList.add("busy"), 120)
	/** @type {Page} */
	const page = {
		params: route?.params ?? {}, signal: stop.signal, body,
		get: path => api(path, { signal: stop.signal }),
		onUpdate: update => (mine.update = update),
		onLeave: isEdited => (mine.isEdited = isEdited),
		alive: () => mine === view.current,
	}
	try {
		const draw = (await code)?.default
		if (route && draw) await (/^(tenant|platform)$/.test(route.page) ? tenant(page, draw) : draw(page))
		else showState(
			body, "missing",
			{
				title: "There is no such page", text: "The address may have been mistyped.",
				link: { href: "/console/", text: "Go to the overview" },
			},
		)
	} catch (error) {
		if (error.name === "AbortError") return
		// A module that cannot be loaded may belong to an older version of the console: the server may have been
		// updated since this page was opened.
		const isUnloaded = error instanceof TypeError && /import/i.test(error.message)
		const isThere = isUnloaded && await isServerThere()
		if (mine !== view.current) return
		const link = route && error.status === 404 && (await import("./lib/seldom.js")).wayBack(route, unknownSlugs)
		showState(body, "error", isThere
			? { title: "There is a new version of this page", again: () => location.reload() }
			: { error: isUnloaded ? notLoaded(error) : error, again: isUnloaded ? loadAnew : drawPage, link })
		// If a module failed to load, a browser never requests it again. So reload the whole page as soon as the server
		// answers.
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
		const title = heading.dataset.title ?? heading.textContent ?? ""
		document.title = `${title} · Gatehouse`
		if (route && route.page !== "outside") rememberPlace(title)
	}
	// An open menu that has the focus keeps it.
	const isHeld = first || document.querySelector(":popover-open:focus-within");
	(main.querySelector("[autofocus]") ?? (isHeld ? null : heading))?.focus({ preventScroll: true })
	first = false
	scrollTo(0, 0)
	main.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" })
}

const notLoaded = error => Object.assign(error, {
	status: 0, title: navigator.onLine ? "The server cannot be reached" : "You are offline",
	message: "This page could not be loaded. It loads once the connection is back.",
})

const loadAnew = async () => await isServerThere() && location.reload()

/** Milliseconds between two checks whether the server answers again. */
const PACE = 3000
/** Reloads the page once the server answers. */
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
		// A reload, for another language or a newer version, has to replace the whole page, so the router does not
		// intercept it.
		const isOther = event.hashChange || event.downloadRequest !== null || event.navigationType === "reload"
		if (view.isQuiet || !event.canIntercept || isOther || !ours) return
		const samePage = to.pathname === view.current?.path ? view.current.update : null
		if (!samePage && !view.mayLeave && view.current?.isEdited?.() && event.cancelable) {
			event.preventDefault()
			import("./lib/ui.js").then(one => one.askToLeave(() => leaveFor(event.destination.url)))
			return
		}
		event.intercept({ focusReset: "manual", handler: async () => void await (samePage || drawPage)() })
	})
} else {
	addEventListener("popstate", () => (view.current?.update ? view.current.update() : location.reload()))
}

if (language !== "en") await import(`./lang/${language}.js`).then(one => setCatalogue(one.default), () => {})
view.draw = drawPage
putFrame()
drawPage()
