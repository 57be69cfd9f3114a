// What stands around every page: top bar, navigation, operator menu.
import { palette } from "./shortcuts.js"
import {
	api, button, forgetOperator, h, icon, isMac, knownSlug, leaveFor, loadMe, ownTenant, placesHere, query, queryString,
	replaceContent, setPreference, showState, slugOf, t, tenantHere, tenantOf, unknownSlugs, userText, waitingIn,
} from "../lib/core.js"

// Made once the language is known.
let top
let nav
export const main = document.querySelector("main")

/** Puts the frame, still empty, around the page. */
export function putFrame() {
	top = h("header.top", { hidden: true })
	nav = h("nav.nav", { "aria-label": "Main", hidden: true })
	main.before(h("a.skip", { href: "#main" }, "Skip to content"), top, nav)
	drawOffline()
}

function isHere(href) {
	const [here, mine] = [location.pathname, href].map(path => path.replace(/\?.*/, "").replace(/\/$/, ""))
	return here === mine || (mine !== "/console" && here.startsWith(`${mine}/`))
}

export function drawFrame() {
	document.body.classList.remove("bare")
	if (!top.children.length) drawTop()
	top.hidden = nav.hidden = false
	const slug = slugOf(location.pathname)
	replaceContent(nav, h("ul", placesHere().map((place, at, all) => (place.group
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

/** How many ask to join, beside the entry of their page. */
async function drawWaiting() {
	const link = nav?.querySelector("a[href$='/requests']")
	if (!link) return
	const number = await waitingIn(tenantHere())
	link.querySelector(".tag")?.remove()
	if (number) link.append(h("span.tag", { title: t`${number} waiting` }, number))
}
addEventListener("waiting-changed", drawWaiting)

let drawn = 0
// The tenant that the page is about; another can be chosen and the page stays.
async function drawSwitch(node, slug) {
	const mine = ++drawn
	node.hidden = !slug
	if (!slug) return
	const tab = location.pathname.split("/")[4] ?? "users"
	const one = await tenantOf(slug).catch(() => null)
	if (mine !== drawn) return
	// Kept only once it is known to exist: the navigation of every page leads into it.
	if (one && slugOf(location.pathname) === slug) setPreference("tenant", one.slug)
	replaceContent(node, icon("building"), userText(one?.name ?? slug), !ownTenant() && icon("down"))
	node.disabled = Boolean(ownTenant())
	node.onclick = () => palette({ tab })
}

let drawMenu
function drawTop() {
	// What stands in it comes when it is first opened; later it is drawn before it is shown, so that no press is lost
	// on what is replaced.
	const menu = h("div.menu", { popover: "auto", onbeforetoggle: async ({ newState }) => {
		if (newState !== "open") return
		drawMenu ??= (await import("../lib/palette.js")).draw
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
			null, async () => (await import("../lib/seldom.js")).showRequests(),
			{ look: ".ghost", icon: "code", title: "Show the requests of this view" },
		),
		button(
			icon("down"), null,
			{ look: ".ghost", icon: "user", popoverTargetElement: menu, "aria-label": "Operator menu" },
		),
		menu)
}

let leaving = false
// Signs in again and comes back; what was refused is not replayed.
addEventListener("session-over", () => {
	if (leaving || !/^\/console(?!\/sign-in)/.test(location.pathname)) return
	leaving = true
	// A form for a new thing is opened again, with what was typed; see the drafts of lib/form.js.
	const again = document.querySelector("dialog[data-new]") && !query().new ? { ...query(), new: 1 } : query()
	leaveFor(`/console/sign-in${queryString({ next: location.pathname + queryString(again) })}`)
})

// Acts that were refused at the same time wait for one proof.
let proof = null
/** What is hard to take back needs a recent proof that its operator is there; then it is done after all. */
addEventListener("step-up", event => {
	const { resolve, ...problem } = event.detail
	event.preventDefault()
	proof ??= import("../lib/step-up.js").then(({ stepUp }) => stepUp(problem)).finally(() => (proof = null))
	proof.then(resolve, () => resolve(false))
})

// Who needs a second factor and has none gets no further than to where it is set up.
addEventListener("second-factor", () => location.pathname !== "/console/me" && leaveFor("/console/me"))

export function drawOffline() {
	document.querySelector(".offline")?.remove()
	if (!navigator.onLine) document.body.prepend(h("div.offline", { role: "status" }, icon("alert"),
		"You are offline. What is shown may be old; nothing can be changed until the connection is back."))
}
for (const change of ["online", "offline"]) addEventListener(change, drawOffline)

/** Prepares what stands around the page; false: no one is signed in. */
export async function frame(route) {
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
