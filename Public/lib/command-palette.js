import { go, places, tenantHere } from "../app.js"
import { api, fill, h, icon, may, say, scope, search, t, user } from "./core.js"

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const entry = (kind, look, text, href, more) => ({ kind, look, text, href: `/console/${href}`, ...more })

const actions = tenant => [
	may("createTenant") && entry("Action", "plus", "New tenant", "tenants?new=1"),
	...[["invites", "Invite people", "invites?new=1"], ["editUsers", "Add user", "users?new=1"], ["writeKeys", "Create API key", "keys/new"], ["writeOrigins", "Add origin", "origins?new=1"]]
		.map(([right, text, path]) => tenant && may(right) && entry("Action", "plus", text, `t/${tenant}/${path}`)),
].filter(Boolean)

const jumps = (sub, tenant) => [["Decision", "branch", "decisions"], ["Tenant", "building", "t"],
	...(tenant ? [["User of this tenant", "user", `t/${tenant}/users`], ["API key of this tenant", "key", `t/${tenant}/keys`]] : []),
].map(([text, look, path]) => entry("Jump", look, text, `${path}/${sub}`, { sub }))

const found = (one, tab) => (one.type === "tenant" || one.slug ? entry("Tenant", "building", one.name, `t/${one.slug}/${tab}`, { sub: one.slug, data: true })
	: entry("User", "user", one.email, `t/${one.tenant_id}/users/${one.id}`, { sub: one.name === one.email ? null : one.name, data: true }))

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
		if (UUID.test(text)) known.push(...jumps(text, tenant))
		this.draw(known)
		if (text || this.tab) this.timer = setTimeout(() => this.find(text, known, tenant), 150)
	}

	async find(q, known, tenant) {
		const { signal } = (this.running = new AbortController())
		const ask = (path, limit) => api(path + search({ q, limit }), { signal }).then(answer => answer.items, () => [])
		const all = await Promise.all(this.tab ? [ask("/tenants", 20)] : [ask("/search"), scope() || !tenant ? [] : ask(`/tenants/${tenant}/users`, 6)])
		if (!signal.aborted) this.draw([...known, ...all.flat().map(one => found(one, this.tab ?? "users"))])
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
