import { go, places, tenantHere } from "../app.js"
import { api, facts, fill, h, icon, may, say, search, t, user } from "./core.js"
import { dialog, undo } from "./dialog.js"

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const entry = (kind, look, text, href, more) => ({ kind, look, text, href: `/console/${href}`, ...more })

const actions = tenant => [
	may("createTenant") && entry("Action", "plus", "New tenant", "tenants?new=1"),
	...[["invites", "Invite people", "invites?new=1"], ["editUsers", "Add user", "users?new=1"], ["writeKeys", "Create API key", "keys/new"], ["writeOrigins", "Add origin", "origins?new=1"]]
		.map(([right, text, path]) => tenant && may(right) && entry("Action", "plus", text, `t/${tenant}/${path}`)),
].filter(Boolean)

const TYPES = { tenant: ["Tenant", "building"], user: ["User", "user"], api_key: ["API key", "key"], invite: ["Invite", "mail"], decision: ["Decision", "branch"] }
/** A thing that was found in `tenant`; another tenant is entered at `tab`. */
function found({ type = "tenant", id, slug, name, email }, tenant, tab) {
	const place = { tenant: `t/${slug}/${tab}`, user: `t/${tenant}/users/${id}`, api_key: `t/${tenant}/keys/${id}`, invite: `t/${tenant}/invites${search({ q: email })}`, decision: `decisions/${id}` }
	return entry(...TYPES[type], email ?? name, place[type], { sub: slug ?? (email && email !== name ? name : null), data: true })
}

/** `<command-palette>`: pages and actions at once, then what the search finds; arrows choose, Enter opens. */
class CommandPalette extends HTMLElement {
	connectedCallback() {
		const before = document.activeElement
		const label = this.tab ? "Switch to tenant" : "Search or jump to"
		this.found = h("ul", { role: "listbox", id: "found", "aria-label": "Results" })
		this.input = h("input", {
			type: "search", role: "combobox", placeholder: t`${say(label)}…`, "aria-label": label, spellcheck: false, autocomplete: "off",
			"aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list",
			oninput: () => this.look(), onkeydown: event => this.key(event),
		})
		this.box = h("dialog.palette", {
			"aria-label": label, onclick: event => event.target === this.box && this.box.close(),
			onclose: () => (this.remove(), before?.focus()),
		}, this.input, this.found)
		this.append(this.box)
		this.box.showModal()
		this.look()
	}

	disconnectedCallback() {
		this.running?.abort()
		clearTimeout(this.timer)
	}

	look() {
		this.disconnectedCallback()
		const text = this.input.value.trim()
		const tenant = tenantHere()
		const known = this.tab ? [] : [...places().filter(one => one.href).map(one => ({ ...one, kind: "Page" })), ...actions(tenant)]
			.filter(one => say(one.text).toLowerCase().includes(text.toLowerCase()))
		if (UUID.test(text)) known.push(entry("Decision", "branch", text, `decisions/${text}`, { data: true }))
		this.draw(known)
		if (text || this.tab) this.timer = setTimeout(() => this.find(text, known, tenant), 150)
	}

	async find(q, known, tenant) {
		const { signal } = (this.running = new AbortController())
		const ask = (path, values) => api(path + search({ q, ...values }), { signal })
		// A tenant that is gone finds nothing; the others are still there.
		const all = await (this.tab ? ask("/tenants", { limit: 20 }) : ask("/search", { tenant }).catch(() => ask("/search"))).catch(() => null)
		if (all && !signal.aborted) this.draw([...known, ...all.items.map(one => found(one, tenant, this.tab ?? "users")).filter(one => !known.some(({ href }) => href === one.href))])
	}

	draw(entries) {
		this.at = 0
		this.entries = entries
		fill(this.found, entries.map((one, at) => h("li", { role: "option", id: `found${at}`, onclick: () => this.open(one) },
			icon(one.look), one.data ? user(one.text) : h("span", one.text), one.sub && user(one.sub, "span.muted"), h("span.muted.kind", one.kind))),
		!entries.length && h("li.state.muted", { role: "option", "aria-selected": "false" }, this.tab && !this.input.value ? "Looking…" : "Nothing found"))
		this.mark()
	}

	mark() {
		this.entries.forEach((_, at) => this.found.children[at].setAttribute("aria-selected", String(at === this.at)))
		this.found.children[this.at]?.scrollIntoView({ block: "nearest" })
		this.input.setAttribute("aria-activedescendant", this.entries.length ? `found${this.at}` : "")
	}

	key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
		// A search field would take the first Escape to clear itself.
		if (event.key === "Escape") this.box.close()
		else if (step && this.entries.length) {
			event.preventDefault()
			this.at = (this.at + step + this.entries.length) % this.entries.length
			this.mark()
		} else if (event.key === "Enter" && this.entries[this.at]) {
			event.preventDefault()
			this.open(this.entries[this.at])
		}
	}

	open(one) {
		this.box.close()
		go(one.href)
	}
}
customElements.define("command-palette", CommandPalette)

export function open({ tab } = {}) {
	if (document.querySelector("command-palette")) return
	document.body.append(Object.assign(new CommandPalette(), { tab }))
}

// Keys that work on every page, never while something is being typed; app.js listens.

const SHEET = {
	"Ctrl K": "Search, jump, act", "/": "Search this list", "Shift N": "New", "J, K": "Next, previous row", X: "Select the row",
	Enter: "Open the row", Z: "Undo the last change", F6: "Messages", "?": "This sheet",
}
let going = 0

export function press(key) {
	if (document.querySelector("dialog[open]")) return
	if (Date.now() - going < 2000) {
		going = 0
		const place = places().find(one => one.key === key.toLowerCase())
		if (place) go(place.href)
		return
	}
	const act = {
		g: () => (going = Date.now()), "/": () => open(),
		N: () => document.querySelector("[data-new]")?.click(), j: () => move(1), k: () => move(-1),
		x: () => document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click(), z: undo, "?": sheet,
	}[key]
	act?.()
}

function move(step) {
	const rows = [...document.querySelectorAll("main tbody tr")].filter(row => row.querySelector("a, button"))
	const at = rows.findIndex(row => row.contains(document.activeElement))
	const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]
	next?.querySelector("a, td button").focus()
}

const sheet = () => dialog("Keys", facts([...Object.entries(SHEET), ...places().filter(one => one.key).map(one => [`G ${one.key.toUpperCase()}`, one.text])]
	.map(([keys, text]) => [h("kbd", keys), text])))
