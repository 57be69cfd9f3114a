import { api, search } from "../lib/api.js";
import { user, words } from "../lib/format.js";
import { places } from "../lib/frame.js";
import { fill, h, icon } from "../lib/html.js";
import { go } from "../lib/router.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LOOK = { tenant: "building", user: "user", api_key: "key", decision: "branch" };

/** `<command-palette>`: pages at once, then what the search finds; arrows choose, Enter opens. */
class CommandPalette extends HTMLElement {
    connectedCallback() {
        this.list = h("ul", { role: "listbox", id: "found", "aria-label": "Results" });
        this.input = h("input", {
            type: "search", role: "combobox", placeholder: "Search or jump to…", "aria-label": "Search or jump to", spellcheck: false,
            "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list",
            oninput: () => this.look(), onkeydown: (event) => this.key(event),
        });
        this.box = h("dialog.palette", { "aria-label": "Search or jump to", onclick: (event) => event.target === this.box && this.box.close(), onclose: () => this.remove() }, this.input, this.list);
        this.append(this.box);
        this.box.showModal();
        this.look();
    }

    disconnectedCallback() {
        this.running?.abort();
        clearTimeout(this.timer);
    }

    look() {
        clearTimeout(this.timer);
        this.running?.abort();
        const text = this.input.value.trim();
        const pages = places().filter((one) => one.href && one.text.toLowerCase().includes(text.toLowerCase()))
            .map((one) => ({ text: one.text, href: one.href, look: one.look, kind: "Page" }));
        if (UUID.test(text)) pages.push({ text: `Decision ${text}`, href: `/console/decisions/${text}`, look: "branch", kind: "Jump" });
        this.draw(pages);
        if (text) this.timer = setTimeout(() => this.find(text, pages), 150);
    }

    async find(text, pages) {
        const { signal } = (this.running = new AbortController());
        try {
            const found = await api(`/search${search({ q: text })}`, { signal }).catch((error) => {
                if (error.status !== 404) throw error;
                return api(`/tenants${search({ q: text, limit: 8 })}`, { signal });
            });
            this.draw([...pages, ...found.items.map(entry).filter((one) => one.href)]);
        } catch {
            // Pages can still be reached; a search that failed only adds nothing.
        }
    }

    draw(entries) {
        this.at = 0;
        this.entries = entries;
        fill(this.list, entries.map((one, at) => h("li", { role: "option", id: `found${at}`, onclick: () => this.open(one) },
            icon(one.look ?? "next"), user(one.text), h("span.muted", {}, one.kind))),
            !entries.length && h("li.muted.state", {}, "Nothing found"));
        this.mark();
    }

    mark() {
        [...this.list.children].forEach((node, at) => node.setAttribute("aria-selected", String(at === this.at)));
        this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
        this.input.setAttribute("aria-activedescendant", `found${this.at}`);
    }

    key(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && this.entries.length) {
            event.preventDefault();
            this.at = (this.at + step + this.entries.length) % this.entries.length;
            this.mark();
        } else if (event.key === "Enter" && this.entries[this.at]) {
            event.preventDefault();
            this.open(this.entries[this.at]);
        }
    }

    open(one) {
        this.box.close();
        go(one.href);
    }
}
customElements.define("command-palette", CommandPalette);

function entry(item) {
    const type = item.type ?? "tenant";
    const href = {
        tenant: `/console/t/${item.slug ?? item.id}/users`,
        user: `/console/t/${item.tenant_id}/users/${item.id}`,
        api_key: `/console/t/${item.tenant_id}/keys`,
        decision: `/console/decisions/${item.id}`,
    }[type];
    return { text: item.name ?? item.email ?? item.slug ?? item.id, href, look: LOOK[type], kind: words(type) };
}

export function open() {
    if (!document.querySelector("command-palette")) document.body.append(new CommandPalette());
}
