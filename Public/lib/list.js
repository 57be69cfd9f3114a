import { api, search } from "./api.js"
import { add, button, fill, h, icon, state, tag, time, total } from "./html.js"
import { query, setQuery } from "./router.js"
import { chooser } from "./selection.js"

/**
 * A list whose whole state is in the URL, of one request. `spec`: `path` (below /v1), `noun` [one, many],
 * `columns` [label, cell(item), {sort, state}]; where wanted `search` (placeholder), `named(item)`,
 * `filters` [name, label, {options, type}], `actions(item, reload)` → [text, run, is dangerous],
 * `bulk` [{text, fits(item), run(item), danger, asks}], `create` (makes a button), `live` (can be
 * followed), `whole` (no pages), `empty` {title, text, action}. Answers `{reload}` once something can be shown.
 */
export async function list(page, node, spec) {
	const { noun } = spec
	const counted = h("span.end", { "aria-live": "polite" })
	const table = h("div.table")
	const pager = h("div.pager")
	const filters = (spec.filters ?? []).map(([name, label, more]) => ({ name, label, ...more }))
	const columns = spec.columns.map(([label, cell, more]) => ({ label, cell, ...more }))
	const named = spec.named ?? (item => item.name ?? item.email)
	const controls = bar(spec, filters, counted, (values, options) => change(values, options))
	const chosen = spec.bulk && chooser({ ...spec, named }, () => load())
	add(node, [controls.node, chosen?.node, table, pager])
	let running = null
	let seen = null
	let timer = 0

	const change = (values, options) => setQuery({ ...query(), cursor: "", ...values }, options)
	const url = wanted => {
		const names = ["q", "sort", "cursor", ...filters.map(one => one.name)]
		if (spec.whole) return spec.path
		return spec.path + search({ limit: 50, ...Object.fromEntries(names.map(name => [name, wanted[name]])) })
	}

	async function load({ quiet = false } = {}) {
		clearTimeout(timer)
		running?.abort()
		const mine = (running = new AbortController())
		page.signal.addEventListener("abort", () => mine.abort(), { once: true })
		const wanted = query()
		controls.read(wanted)
		const slow = quiet ? 0 : setTimeout(() => skeleton(table, columns), table.children.length ? 400 : 120)
		try {
			const data = await api(url(wanted), { signal: mine.signal })
			clearTimeout(slow)
			draw(data, wanted)
		} catch (error) {
			clearTimeout(slow)
			if (error.name === "AbortError") return
			fill(counted)
			fill(pager)
			state(table, "error", { error, again: () => load() })
		}
		if (wanted.live && page.alive()) timer = setTimeout(() => (document.hidden ? load.later() : load({ quiet: true })), 2500)
	}
	load.later = () => document.addEventListener("visibilitychange", () => load({ quiet: true }), { once: true })
	page.signal.addEventListener("abort", () => clearTimeout(timer))

	function draw(data, wanted) {
		fill(counted, total(data.total, ...noun))
		fill(pager)
		if (!data.items.length) return drawNothing(wanted)
		const every = chosen?.all(data.items)
		const rows = data.items.map(item => row(item, columns, spec.actions && (spec.actions(item, () => load()) || []), named, chosen))
		const fresh = wanted.live && seen && !wanted.cursor
		if (fresh) rows.forEach((one, at) => seen.has(data.items[at].id) || one.classList.add("fresh"))
		seen = new Set(data.items.map(item => item.id))
		fill(table, h("table.stack", h("caption.vh", noun[1]),
			h("thead", h("tr", every, columns.map(column => heading(column, wanted, change)),
				spec.actions && h("th.end", h("span.vh", "Actions")))),
			h("tbody", rows)))
		chosen?.clear()
		if (wanted.cursor) add(pager, [button("Back", () => history.back()), button("First page", () => change({}))])
		if (data.next_cursor) pager.append(button("Next page", () => {
			setQuery({ ...query(), cursor: data.next_cursor })
			scrollTo(0, 0)
		}))
	}

	function drawNothing(wanted) {
		chosen?.clear()
		const said = [wanted.q && `“${wanted.q}”`, ...filters.map(one => wanted[one.name] && `${one.label}: ${wanted[one.name]}`)].filter(Boolean)
		if (!said.length && !wanted.cursor) return state(table, "empty", { title: `No ${noun[1]} yet`, action: spec.create?.(), ...spec.empty })
		const clear = button("Clear all", () => change({ q: "", ...Object.fromEntries(filters.map(one => [one.name, ""])) }))
		return state(table, "none", { title: `No ${noun[1]} match`, text: said.join(", "), action: clear })
	}

	page.onUpdate(load)
	// What comes within a blink is drawn with the page, so that nothing moves.
	await Promise.race([load(), new Promise(done => setTimeout(done, 120))])
	if (query().new) {
		// `?new=1` of the palette: the dialog opens once, a reload does not open it again.
		setQuery({ ...query(), new: "" }, { replace: true })
		setTimeout(() => page.body.querySelector("[data-new]")?.click())
	}
	return { reload: () => load() }
}

function bar(spec, filters, counted, change) {
	let timer
	const box = spec.search && h("input", {
		type: "search", placeholder: spec.search, "aria-label": spec.search, "data-search": "", spellcheck: false,
		oninput: () => {
			clearTimeout(timer)
			timer = setTimeout(() => change({ q: box.value.trim() }, { replace: true }), 150)
		},
	})
	const fields = filters.map(one => {
		const control = one.options
			? h("select", { "aria-label": one.label }, h("option", { value: "" }, one.all ?? `Any ${one.label.toLowerCase()}`), one.options.map(([code, text]) => h("option", { value: code }, text)))
			: h("input", { placeholder: one.label, "aria-label": one.label, spellcheck: false, type: one.type ?? "text", size: 14 })
		control.addEventListener("change", () => change({ [one.name]: control.value.trim() }))
		return [one.name, control]
	})
	const live = spec.live && button("Follow", () => change({ live: live.getAttribute("aria-pressed") === "true" ? "" : "1" }), { icon: "pulse" })
	const node = h("div.bar", { role: "search" }, box && h("div.grow", icon("search"), box), fields.map(([, control]) => control), live, counted, spec.create?.())
	return {
		node,
		read(wanted) {
			if (box && document.activeElement !== box) box.value = wanted.q ?? ""
			live?.setAttribute("aria-pressed", String(Boolean(wanted.live)))
			for (const [name, control] of fields) control.value = wanted[name] ?? ""
		},
	}
}

/** What adds to a list; `N` and `?new=1` press it. */
export const adder = (text, run) => button(text, run, { look: ".primary", icon: "plus", "data-new": "" })

/** Columns that many lists have. */
export const STATUS = ["Status", one => tag(one.status), { state: true }]
export const created = (label = "Created") => [label, one => time(one.created_at), { sort: "created_at" }]

/** A cell's value that filters the list by itself. */
export const only = (name, value, shown) =>
	value == null ? shown : h("a.only", { href: search({ ...query(), cursor: "", [name]: value }), title: "Show only these" }, shown)

function heading(column, wanted, change) {
	if (!column.sort) return h("th", { scope: "col" }, column.label)
	const standard = wanted.sort ?? "-created_at"
	const order = standard === column.sort ? "ascending" : standard === `-${column.sort}` ? "descending" : null
	const next = order === "descending" ? column.sort : order || column.sort !== "created_at" ? (order ? `-${column.sort}` : column.sort) : "-created_at"
	return h("th", { scope: "col", "aria-sort": order },
		h("button.btn.ghost.tiny", { type: "button", onclick: () => change({ sort: next }) }, column.label, order && icon(order === "ascending" ? "up" : "down")))
}

const row = (item, columns, acts, named, chosen) => h("tr", chosen?.box(item),
	columns.map(one => h(`td${one.state ? ".status" : ""}`, { "data-label": one.label }, one.cell(item))),
	acts && h("td.end", acts.filter(Boolean).map(([text, run, danger]) => button(text, run, { look: `.ghost.tiny${danger ? ".warnish" : ""}`, name: named(item) }))))

function skeleton(table, columns) {
	const cells = () => columns.map(() => h("td", h("span.sk")))
	fill(table, h("table", { "aria-hidden": "true" }, h("tbody", Array.from({ length: 8 }, () => h("tr", cells())))),
		h("span.vh", "Loading…"))
}
