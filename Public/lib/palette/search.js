// The palette: pages, actions, and what the search finds.
import {
	ago, api, goTo, h, icon, isAllowed, places, queryString, recentPlaces, replaceContent, t, tabsHere, tenantHere,
	translate, userText, words,
} from "../core.js"
import { dialog } from "../dialogs.js"
import { choose, leave } from "./choices.js"
import { keyIn } from "./key-text.js"

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const entry = (kind, look, text, href, more) => ({ kind, look, text, href: `/console/${href}`, ...more })

const OWN_ACTIONS = [
	{ right: "manageInvites", text: "Invite people", path: "invites?new=1" },
	{ right: "editUsers", text: "Add user", path: "users?new=1" },
	{ right: "writeKeys", text: "Create API key", path: "keys/new" },
	{ right: "writeOrigins", text: "Add origin", path: "origins?new=1" },
	{ right: "writePolicy", text: "Add domain", path: "domains?new=1" },
]
const actions = tenant => [
	isAllowed("createTenant") && entry("Action", "plus", "New tenant", "tenants?new=1"),
	isAllowed("readOperators") && entry("Action", "plus", "Add operator", "operators?new=1"),
	tenant && isAllowed("createTenant") && isAllowed("readOperators")
		&& entry("Action", "plus", "Add operator of this tenant", `operators?new=1&of=${tenant}`),
	...OWN_ACTIONS.map(({ right, text, path }) =>
		tenant && isAllowed(right) && entry("Action", "plus", text, `t/${tenant}/${path}`)),
].filter(Boolean)

const theme = (text, value) =>
	({ kind: "Action", look: "sliders", text, run: () => choose("theme", value) })
/** What can be done on any page. */
const OWN = [
	theme("Light theme", "light"), theme("Dark theme", "dark"), theme("Theme of the system", ""),
	{ kind: "Action", look: "door", text: "Sign out", run: leave },
]
/** What can be done to what is open: the buttons beside the page's title, with its name. */
const acts = text => [...document.querySelectorAll("main .head .acts > button")].map(one => {
	const name = document.querySelector("main h1")?.textContent
	return { kind: "Action", look: "next", text: `${one.textContent}: ${name}`, data: true, run: () => one.click() }
}).filter(one => one.text.split(":")[0].toLowerCase().includes(text.toLowerCase().split(/\s+/)[0]))

const TYPES = {
	tenant: ["Tenant", "building"], user: ["User", "user"], api_key: ["API key", "key"], invite: ["Invite", "mail"],
	decision: ["Decision", "branch"], domain: ["Domain", "globe"], cors_origin: ["CORS origin", "link"],
	join_link: ["Join link", "link"], job: ["Job", "pulse"], provider: ["Provider", "door"],
	operator: ["Operator", "badge"], failed_sign_in: ["Failed sign-in", "door"],
}
/** A thing that was found in `tenant`, or in the one that it names; another tenant is entered at `tab`. */
function found({ type = "tenant", id, slug, name, email, tenant_id: of, tenant_name: other }, tenant, tab) {
	const own = other ? of : tenant ?? of
	// Below a tenant, or of the platform.
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
	return entry(...TYPES[type], email ?? name, place[type], { sub, data: true })
}

/** Whether each word of `text` stands in the words of an entry. */
const hasAll = (one, text) => {
	const own = (one.data ? one.text : translate(one.text)).toLowerCase()
	return text.toLowerCase().split(/\s+/).every(word => own.includes(word))
}

/** The places that were seen last, but for this one. */
const recent = () => recentPlaces().filter(one => one.href !== location.pathname)
	.map(one => ({ ...one, kind: "Seen lately", look: "clock", data: true }))

/** Of two words, as "acme policy": the pages that the last names, of the tenants that the first finds. */
async function pagesOf(text, signal) {
	const [first, ...rest] = text.split(/\s+/)
	const wanted = rest.length
		? tabsHere().filter(([, name]) => hasAll({ text: name }, rest.join(" "))) : []
	if (!wanted.length) return []
	const path = `/tenants${queryString({ q: first, limit: 5 })}`
	const { items } = await api(path, { signal }).catch(() => ({ items: [] }))
	return items.flatMap(({ slug, name: sub }) =>
		wanted.map(([place, name]) => entry("Page", "building", name, `t/${slug}/${place}`, { sub })))
}

/** The key whose secret was pasted, with the way to its end; the secret is in the body of this request alone. */
async function identified(key, signal) {
	const one = await api("/api-keys/identify", { body: { key }, signal })
	const place = `${one.tenant_id ? `t/${one.tenant_id}/` : ""}keys/${one.id}?act=revoke`
	const sub = one.leaked_at ? t`leaked ${ago(one.leaked_at)}` : words(one.status)
	return entry("API key", "key", one.name, place, { sub, data: true })
}

/**
 * Pages and actions at once, then what the search finds; arrows choose, Enter opens. `tab`: of another tenant; `text`:
 * what is looked for at first.
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
	let entries, at, running, timer
	// Enter may come before the answer: the first thing found is then opened.
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
		// Offered once its act is looked for, not its name alone: nothing is done by a hasty Enter.
		const more = text ? [...acts(text), ...OWN] : []
		const known = tab ? [] : [...recent(), ...pages, ...actions(tenant), ...more].filter(one => hasAll(one, text))
			.filter((one, at, all) => !one.href || all.findIndex(other => other.href === one.href) === at)
		draw(known, { isLooking: Boolean(text || tab) })
		// What was pasted whole is asked for at once.
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
		// A tenant that is gone finds nothing; the others are still there.
		const none = () => ({ items: [] })
		const asking = tab ? get("/tenants", { limit: 20 }) : get("/search")
		// The tenant at hand is asked by itself: its hits come first, and it need not be there any more.
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
		// A search field would take the first Escape to clear itself.
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
