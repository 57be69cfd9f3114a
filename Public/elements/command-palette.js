import { places, tenantHere } from "../app.js"
import { api, may, scope, search } from "../lib/api.js"
import { fill, h, icon, user } from "../lib/html.js"
import { say, t } from "../lib/language.js"
import { go } from "../lib/router.js"

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function actions(tenant) {
	const one = (text, tab, look) => ({ text, look, href: `/console/t/${tenant}/${tab}`, kind: "Action" })
	return [
		may("createTenant") && { text: "New tenant", look: "plus", href: "/console/tenants?new=1", kind: "Action" },
		tenant && may("invites") && one("Invite people", "invites?new=1", "plus"),
		tenant && may("editUsers") && one("Add user", "users?new=1", "plus"),
		tenant && may("writeKeys") && one("Create API key", "keys/new", "plus"),
		tenant && may("writeOrigins") && one("Add origin", "origins?new=1", "plus"),
	].filter(Boolean)
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
		clearTimeout(this.timer)
		this.running?.abort()
		const text = this.input.value.trim()
		const tenant = tenantHere()
		const wanted = text.toLowerCase()
		const known = this.tab ? [] : [...places().filter(one => one.href).map(one => ({ ...one, kind: "Page" })), ...actions(tenant)]
			.filter(one => say(one.text).toLowerCase().includes(wanted))
		if (UUID.test(text)) known.push(...jumps(text, tenant))
		this.draw(known)
		if (text || this.tab) this.timer = setTimeout(() => this.find(text, known, tenant), 150)
	}

	async find(text, known, tenant) {
		const { signal } = (this.running = new AbortController())
		const ask = path => api(path, { signal }).then(found => found.items, () => [])
		const [found, people] = await Promise.all([
			this.tab ? ask(`/tenants${search({ q: text, limit: 20 })}`) : ask(`/search${search({ q: text })}`),
			this.tab || scope() || !tenant ? [] : ask(`/tenants/${tenant}/users${search({ q: text, limit: 6 })}`),
		])
		if (signal.aborted) return
		this.draw([...known, ...found.map(one => entry(one, this.tab)), ...people.map(one => entry({ ...one, type: "user" }))].filter(one => one.href))
	}

	draw(entries) {
		this.at = 0
		this.entries = entries
		fill(this.found, entries.map((one, at) => h("li", { role: "option", id: `found${at}`, onclick: () => this.open(one) },
			icon(one.look ?? "next"), h("span", one.data ? user(one.text) : one.text), one.sub && user(one.sub, "span.muted"), h("span.muted.kind", one.kind))),
			!entries.length && h("li.state.muted", { role: "option", "aria-selected": "false" }, this.tab && !this.input.value ? "Looking…" : "Nothing found"))
		this.mark()
	}

	mark() {
		[...this.found.children].forEach((node, at) => node.setAttribute("aria-selected", String(at === this.at && this.entries.length > 0)))
		this.found.children[this.at]?.scrollIntoView({ block: "nearest" })
		this.input.setAttribute("aria-activedescendant", this.entries.length ? `found${this.at}` : "")
	}

	key(event) {
		// A search field would take the first Escape to clear itself.
		if (event.key === "Escape") this.box.close()
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
		if (step && this.entries.length) {
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

const jumps = (id, tenant) => [
	{ text: "Decision", sub: id, href: `/console/decisions/${id}`, look: "branch", kind: "Jump" },
	{ text: "Tenant", sub: id, href: `/console/t/${id}/users`, look: "building", kind: "Jump" },
	tenant && { text: "User of this tenant", sub: id, href: `/console/t/${tenant}/users/${id}`, look: "user", kind: "Jump" },
	tenant && { text: "API key of this tenant", sub: id, href: `/console/t/${tenant}/keys/${id}`, look: "key", kind: "Jump" },
].filter(Boolean)

function entry(one, tab = "users") {
	return one.type === "user"
		? { text: one.email, sub: one.name === one.email ? null : one.name, data: true, href: `/console/t/${one.tenant_id}/users/${one.id}`, look: "user", kind: "User" }
		: { text: one.name, sub: one.slug, data: true, href: `/console/t/${one.slug}/${tab}`, look: "building", kind: "Tenant" }
}

/** Opens the palette; with `tab`, to choose a tenant and stay on that tab. */
export function open({ tab } = {}) {
	if (document.querySelector("command-palette")) return
	const node = new CommandPalette()
	node.tab = tab
	document.body.append(node)
}
