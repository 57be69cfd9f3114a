// The command palette, the keyboard shortcuts, and the operator's menu.
import {
	ago, button, factList, goTo, h, icon, isMac, leaveFor, preferences, queryString, redraw, replaceContent,
	setPreference, t, translate, userText, words
} from "./core.js"
import { api, currentOperator, isAllowed, places, recentPlaces, signOut, tabsHere, tenantHere } from "./server.js"
import { closeButton, dialog, undo } from "./dialogs.js"

// Recognises API keys in pasted text, since a key must never be sent as a search or be put into an address.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** The length of a whole key, and that of the checksum at its end. */
const WHOLE = 52
const CHECK = 6

/** CRC-32 in base 62, as the server writes it. */
function checksum(text) {
	let value = -1
	for (const sign of text) {
		value ^= sign.charCodeAt(0)
		for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xEDB88320 : value >>> 1
	}
	let rest = ~value >>> 0
	let digits = ""
	for (let at = 0; at < CHECK; at += 1) {
		digits = DIGITS[rest % 62] + digits
		rest = Math.floor(rest / 62)
	}
	return digits
}

/**
 * Finds an API key, or a part of one, in `text`; a part counts only if it is longer than what lists show of a key.
 * Returns null if there is none. `isWhole` says whether the key is complete and its checksum is right.
 * @type {(text: string) => { key: string, isWhole: boolean } | null}
 */
function keyIn(text) {
	const [key] = /gate_(live|test)_[0-9A-Za-z]{7,}/.exec(text) ?? []
	if (!key) return null
	return { key, isWhole: key.length === WHOLE && checksum(key.slice(0, -CHECK)) === key.slice(-CHECK) }
}

// How the console looks to the operator, and signing out.

/**
 * Stores a choice of how the console looks, and applies it.
 * @type {(name: string, value: string) => void}
 */
function choose(name, value) {
	setPreference(name, value)
	if (value) document.documentElement.dataset[name] = value
	else delete document.documentElement.dataset[name]
	if (name === "times") redraw()
	if (name !== "lang") return
	sessionStorage.setItem("chosen", name)
	location.reload()
}

/**
 * Signs out. Asks first if the operator could not sign in again.
 * @type {() => Promise<unknown>}
 */
async function leave() {
	const { remedies = [] } = await api("/session").catch(() => ({}))
	const isLast = remedies.length > 0 && !remedies.includes("sign_in_again")
	return isLast ? (await import("./form.js")).confirm({
		title: "Sign out for good?", keep: "Stay", act: "Sign out", run: goOut, said: null,
		text: "Your account has neither a password nor a passkey: without a new link you cannot sign in again. "
			+ "Set one up in your account first.",
	}) : goOut()
}

async function goOut() {
	await signOut().catch(() => {})
	leaveFor("/console/sign-in")
}

// The palette: pages, acts, and what the search finds.

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/**
 * An entry of the palette: a page at `href`, or an act. With `data`, its text is data and not translated.
 * @typedef {object} Entry
 * @property {string} kind
 * @property {string} look
 * @property {string} text
 * @property {string} [href]
 * @property {() => unknown} [run]
 * @property {Nothing | Sentence} [sub] a second text, such as the tenant's name
 * @property {boolean} [data]
 */

/**
 * Makes an entry that opens the page at `path`, below /console/.
 * @type {(one: Omit<Entry, "href"> & { path: string }) => Entry}
 */
const entry = ({ path, ...one }) => ({ ...one, href: `/console/${path}` })

const OWN_ACTIONS = [
	{ right: "manageInvites", text: "Invite people", path: "invites?new=1" },
	{ right: "editUsers", text: "Add user", path: "users?new=1" },
	{ right: "writeKeys", text: "Create API key", path: "keys/new" },
	{ right: "writeOrigins", text: "Add origin", path: "origins?new=1" },
	{ right: "writePolicy", text: "Add domain", path: "domains?new=1" },
]
const actions = tenant => [
	isAllowed("createTenant") && { text: "New tenant", path: "tenants?new=1" },
	isAllowed("readOperators") && { text: "Add operator", path: "operators?new=1" },
	tenant && isAllowed("createTenant") && isAllowed("readOperators")
		&& { text: "Add operator of this tenant", path: `operators?new=1&of=${tenant}` },
	...OWN_ACTIONS.map(({ right, text, path }) =>
		tenant && isAllowed(right) && { text, path: `t/${tenant}/${path}` }),
].filter(Boolean).map(one => entry({ ...one, kind: "Action", look: "plus" }))

const theme = (text, value) =>
	({ kind: "Action", look: "sliders", text, run: () => choose("theme", value) })
/** The acts that the palette offers on every page. */
const OWN = [
	theme("Light theme", "light"), theme("Dark theme", "dark"), theme("Theme of the system", ""),
	{ kind: "Action", look: "door", text: "Sign out", run: leave },
]
/**
 * Entries for the buttons beside the page's title, each with the title added to its text. Only buttons whose own text
 * contains the first searched word are included.
 */
const acts = text => [...document.querySelectorAll("main .head .acts > button")].map(one => {
	const name = document.querySelector("main h1")?.textContent
	return { kind: "Action", look: "next", text: `${one.textContent}: ${name}`, data: true, run: () => one.click() }
}).filter(one => one.text.split(":")[0].toLowerCase().includes(text.toLowerCase().split(/\s+/)[0]))

/** @type {Record<string, { kind: string, look: string }>} */
const TYPES = {
	tenant: { kind: "Tenant", look: "building" },
	user: { kind: "User", look: "user" },
	api_key: { kind: "API key", look: "key" },
	invite: { kind: "Invite", look: "mail" },
	decision: { kind: "Decision", look: "branch" },
	domain: { kind: "Domain", look: "globe" },
	cors_origin: { kind: "CORS origin", look: "link" },
	join_link: { kind: "Join link", look: "link" },
	job: { kind: "Job", look: "pulse" },
	provider: { kind: "Provider", look: "door" },
	operator: { kind: "Operator", look: "badge" },
	failed_sign_in: { kind: "Failed sign-in", look: "door" },
}
/**
 * Makes an entry from a search result. The result belongs to the tenant that it names, or else to `tenant`, in which
 * the search was made. If the result is itself a tenant, the entry opens that tenant's page `tab`.
 */
function found({ type = "tenant", id, slug, name, email, tenant_id: of, tenant_name: other }, tenant, tab) {
	const own = other ? of : tenant ?? of
	// The page of a tenant's object is below the tenant's path; the page of a platform's object is directly below
	// /console/.
	const inside = own ? `t/${own}/` : ""
	const place = {
		tenant: `t/${slug}/${tab}`, user: `t/${own}/users/${id}`, api_key: `${inside}keys/${id}`,
		invite: `t/${own}/invites${queryString({ q: email })}`, decision: `decisions/${id}`,
		domain: `t/${own}/domains${queryString({ q: name })}`,
		cors_origin: `${inside}origins${queryString({ q: name })}`, join_link: `t/${own}/invites/join-links`,
		job: `t/${own}/jobs/${id}`, provider: "providers", operator: `operators${queryString({ q: email })}`,
		failed_sign_in: `${inside}decisions${queryString({ q: name })}`,
	}
	const sub = slug ?? other ?? (email && email !== name ? name : null)
	return entry({ ...TYPES[type], text: email ?? name, path: place[type], sub, data: true })
}

/** Whether each word of `text` occurs in the text of an entry. */
const hasAll = (one, text) => {
	const own = (one.data ? one.text : translate(one.text)).toLowerCase()
	return text.toLowerCase().split(/\s+/).every(word => own.includes(word))
}

/** The pages that were seen last, except this one. */
const recent = () => recentPlaces().filter(one => one.href !== location.pathname)
	.map(one => ({ ...one, kind: "Seen lately", look: "clock", data: true }))

/**
 * For words such as "acme policy": finds tenants by the first word, and returns those of their pages that the other
 * words name.
 */
async function pagesOf(text, signal) {
	const [first, ...rest] = text.split(/\s+/)
	const wanted = rest.length
		? tabsHere().filter(({ text: name }) => hasAll({ text: name }, rest.join(" "))) : []
	if (!wanted.length) return []
	const path = `/tenants${queryString({ q: first, limit: 5 })}`
	const { items } = await api(path, { signal }).catch(() => ({ items: [] }))
	return items.flatMap(({ slug, name: sub }) =>
		wanted.map(({ tab, text: name }) =>
			entry({ kind: "Page", look: "building", text: name, path: `t/${slug}/${tab}`, sub })))
}

/**
 * Asks the server which API key was pasted. Returns an entry that opens the key's page, which asks whether to revoke
 * the key. The key's secret is only in the body of this request.
 */
async function identified(key, signal) {
	const one = await api("/api-keys/identify", { body: { key }, signal })
	const path = `${one.tenant_id ? `t/${one.tenant_id}/` : ""}keys/${one.id}?act=revoke`
	const sub = one.leaked_at ? t`leaked ${ago(one.leaked_at)}` : words(one.status)
	return entry({ ...TYPES.api_key, text: one.name, path, sub, data: true })
}

/**
 * Opens the palette, which shows pages and acts at once, then what the search finds. Arrow keys choose, Enter opens.
 * With `tab`, the palette lists tenants, and opens the page `tab` of the chosen tenant. `text` is the first text to
 * search for.
 * @type {(options?: { tab?: string, text?: string }) => void}
 */
export function open({ tab, text = "" } = {}) {
	if (document.querySelector(".palette")) return
	const label = tab ? "Switch to tenant" : "Search or jump to"
	const list = h("ul", { role: "listbox", id: "found", "aria-label": "Results" })
	const input = h("input", {
		value: text,
		type: "search", role: "combobox", placeholder: t`${translate(label)}…`, "aria-label": label, spellcheck: false,
		autocomplete: "off",
		"aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list", oninput: look, onkeydown: key,
	})
	const box = dialog(label, input, list)
	box.className = "palette"
	box.addEventListener("click", event => event.target === box && box.close())
	box.addEventListener("close", stop)
	/** @type {Entry[]} */
	let entries
	/** @type {AbortController} */
	let running
	let at, timer
	// Whether Enter was pressed before the search was answered. If so, the first result is opened as soon as it
	// arrives.
	let wantsFirst = false
	look()

	function stop() {
		running?.abort()
		clearTimeout(timer)
	}

	function look() {
		stop()
		const text = input.value.trim()
		wantsFirst = false
		const secret = keyIn(text)
		if (secret) {
			draw([], { isLooking: secret.isWhole, empty: "This is not a whole key" })
			if (secret.isWhole) ask(secret.key)
			return
		}
		const tenant = tenantHere()
		const pages = places().map(one => ({ ...one, kind: "Page" }))
		// Offer an act only for a search that names the act itself. If the name of its object were enough, a hasty
		// Enter could start the act.
		const more = text ? [...acts(text), ...OWN] : []
		/** @type {Entry[]} */
		const all = tab ? [] : [...recent(), ...pages, ...actions(tenant), ...more]
		const known = all.filter(one => hasAll(one, text))
			.filter((one, at, all) => !one.href || all.findIndex(other => other.href === one.href) === at)
		draw(known, { isLooking: Boolean(text || tab) })
		// An id that was pasted whole is searched for at once.
		if (text || tab) timer = setTimeout(() => find(text, known, tenant), UUID.test(text) ? 0 : 150)
	}

	async function ask(key) {
		const { signal } = (running = new AbortController())
		const one = await identified(key, signal).catch(() => null)
		if (signal.aborted) return
		draw([one].filter(Boolean), { empty: "No key that you may list has this secret" })
		if (wantsFirst && one) enter(one)
	}

	async function find(q, known, tenant) {
		const { signal } = (running = new AbortController())
		const get = (path, values) => api(path + queryString({ q, ...values }), { signal })
		// A search that fails, such as one in a deleted tenant, counts as empty; the other results are still shown.
		const none = () => ({ items: [] })
		const asking = tab ? get("/tenants", { limit: 20 }) : get("/search")
		// Search the current tenant by a request of its own: its results come first, and only this request fails if the
		// tenant no longer exists.
		const asked = tenant && !tab ? get("/search", { tenant }).catch(none) : none()
		const [here, all, pages] = await Promise.all([asked, asking.catch(none), tab ? [] : pagesOf(q, signal)])
		if (signal.aborted) return
		const rest = all.items.filter(({ type, id }) => !here.items.some(one => one.id === id && one.type === type))
		const more = [
			...pages, ...here.items.map(one => found(one, tenant, "users")),
			...rest.map(one => found(one, tab ? tenant : undefined, tab ?? "users")),
		].filter(one => !known.some(({ href }) => href === one.href))
		draw([...known, ...more])
		if (wantsFirst && entries.length) enter(entries[0])
	}

	function draw(all, { isLooking = false, empty = "Nothing found" } = {}) {
		entries = all
		replaceContent(list, all.map((one, at) => h("li", {
			role: "option", id: `found${at}`, onclick: () => enter(one),
		},
			icon(one.look), one.data ? userText(one.text) : h("span", one.text),
			one.sub && userText(one.sub, "span.muted"),
			h("span.muted.kind", one.kind))),
		!all.length
			&& h(
				"li.state.muted", { role: "option", "aria-selected": "false" },
				isLooking ? "Looking…" : empty,
			))
		mark(0)
	}

	function mark(now) {
		at = now
		entries.forEach((_, one) => list.children[one].setAttribute("aria-selected", String(one === at)))
		list.children[at]?.scrollIntoView({ block: "nearest" })
		input.setAttribute("aria-activedescendant", entries.length ? `found${at}` : "")
	}

	function key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1, Enter: 0 }[event.key]
		// Close the palette at the first Escape. Otherwise the browser would only clear the text of the search field.
		if (event.key === "Escape") box.close()
		if (step == null) return
		event.preventDefault()
		if (!entries.length) {
			wantsFirst = step === 0
			return
		}
		step ? mark((at + step + entries.length) % entries.length) : enter(entries[at])
	}

	function enter(one) {
		box.close()
		if (one.run) one.run()
		else goTo(one.href)
	}
}

// The keyboard shortcuts of every page; app.js listens for the keys.

const SHEET = {
	"Ctrl K": "Search, jump, act", "/": "Search this list", "Shift N": "New", E: "Export", "J, K": "Next, previous row",
	X: "Select the row", Space: "Look at the row; arrows go on",
	Enter: "Open the row", Z: "Undo the last change", F6: "Messages", "?": "This sheet",
}
let going = 0

/** @type {(key: string) => void} */
export function press(key) {
	if (document.querySelector("dialog[open]")) return
	if (Date.now() - going < 2000) {
		going = 0
		const place = places().find(one => one.key === key.toLowerCase())
		if (place) goTo(place.href)
		return
	}
	const act = {
		g: () => (going = Date.now()), "/": () => open(),
		N: () => use("[data-new]"), e: () => use("[data-export]"), j: () => move(1), k: () => move(-1),
		x: () => document.activeElement?.closest("tr")?.querySelector("input[type=checkbox]")?.click(), z: undo,
		"?": sheet,
	}[key]
	act?.()
}

/**
 * Focuses and presses the button that a selector finds. The button may open a dialog; when the dialog is closed, the
 * focus returns to the button.
 */
function use(button) {
	const one = document.querySelector(button)
	one?.focus()
	one?.click()
}

function move(step) {
	const rows = [...document.querySelectorAll("main tbody tr")].filter(row => row.querySelector("a, button"))
	const at = rows.findIndex(row => row.contains(document.activeElement))
	const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
	next?.querySelector("a, td button")?.focus()
}

const sheet = () => dialog("Keyboard shortcuts", factList([
	...Object.entries(SHEET).map(([keys, text]) => [isMac ? keys.replace("Ctrl", "⌘") : keys, text]),
	...places().filter(({ key }, at, all) => key && all.findIndex(one => one.key === key) === at)
		.map(({ key, text }) => [`G ${key?.toUpperCase()}`, text]),
].map(([keys, text]) => [h("kbd", keys), text])), closeButton())

// The operator's menu: who is signed in, how the console looks, and signing out.

/** The choices in the menu. Each has the texts of its options, with the values that are stored for them. */
const CHOICES = {
	theme: { System: "", Light: "light", Dark: "dark" },
	density: { Comfortable: "", Compact: "compact" },
	times: { "Relative times": "", "Exact times": "exact" },
	keys: { "Letter keys": "", "No letter keys": "off" },
	lang: { "As the browser": "", English: "en", Deutsch: "de" },
}

/**
 * Fills the operator's menu.
 * @type {(menu: HTMLElement) => void}
 */
export function draw(menu) {
	const choice = ([name, values]) => h("div.segments", { role: "group", "aria-label": words(name) },
		Object.entries(values).map(([text, value]) => button(text, ({ target }) => {
			choose(name, value)
			for (const one of target.parentNode.children) one.setAttribute("aria-pressed", String(one === target))
		},
			{ look: ".tiny", "aria-pressed": String((preferences()[name] ?? "") === value) })))
	replaceContent(menu,
		h(
			"div.line", userText(currentOperator().name || currentOperator().email, "strong"),
			h("div.small.muted", userText(currentOperator().email), " · ", words(currentOperator().role)),
		),
		Object.entries(CHOICES).map(choice),
		h("a.btn.ghost", { href: "/console/me", onclick: () => menu.hidePopover() }, icon("user"), "Your account"),
		button("Keyboard shortcuts", () => press("?"), { look: ".ghost", icon: "list" }),
		button("Sign out", leave, { look: ".ghost", icon: "door" }))
}
