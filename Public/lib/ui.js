// Lists, and all else that a page is made of under one name; the first page asks for its parts alone.
import { query, setQuery } from "../app.js"
import { add, api, blink, button, buttons, choices, count, fill, h, head, icon, may, say, search, state, t, tag, time, total } from "./core.js"
import { confirm, toast } from "./dialog.js"

export * from "../app.js"
export * from "./core.js"
export * from "./dialog.js"

/**
 * A list whose whole state is in the URL, of one request. `spec`: `path` (below /v1), `noun` [one, many],
 * `columns` [label, cell(item), {sort, state}]; where wanted `title` and `lead` of a page of its own, `search` (placeholder),
 * `filters` [name, label, codes or {options, type}], `actions(item, reload)` → [text, run, is dangerous],
 * `bulk` [{text, fits(item), run(item) or all(items), danger, asks}], `exports` (as a file), `create` [right, text, run(reload)] or what makes
 * a button, `live` (can be followed), `whole` (no pages), `empty` {title, text, action}.
 */
export async function list(page, spec) {
	const { noun } = spec
	const counted = h("span.end", { "aria-live": "polite" })
	const table = h("div.table")
	const pager = h("div.pager")
	const filters = (spec.filters ?? []).map(([name, label, more]) => ({ name, label, ...(more?.split ? { options: choices(more) } : more) }))
	const columns = spec.columns.map(([label, cell, more]) => ({ label, cell, ...more }))
	const named = item => item.email ?? item.name ?? item.domain ?? item.origin ?? item.id
	const change = (values, options) => setQuery({ ...query(), cursor: "", ...values }, options)
	const again = () => load()
	const create = () => (Array.isArray(spec.create) ? may(spec.create[0]) && button(spec.create[1], () => spec.create[2](again), { look: ".primary", icon: "plus", "data-new": "" }) : spec.create?.())
	const controls = bar({ ...spec, create, file: spec.exports && (() => file(asked({ cursor: "" }), noun)) }, filters, counted, change)
	const chosen = spec.bulk && chooser({ ...spec, named }, again)
	const asked = more => spec.path + search({ ...Object.fromEntries(["q", "sort", "cursor", ...filters.map(one => one.name)].map(name => [name, query()[name]])), ...more })
	add(page.body, [spec.title && head(spec.title, { lead: spec.lead }), controls.node, chosen?.node, table, pager])
	let running = null
	let seen = null
	let timer = 0
	page.signal.addEventListener("abort", () => {
		clearTimeout(timer)
		running?.abort()
	})

	async function load({ quiet = false } = {}) {
		clearTimeout(timer)
		running?.abort()
		const mine = (running = new AbortController())
		const wanted = query()
		controls.read(wanted)
		const slow = quiet ? 0 : setTimeout(() => skeleton(table, columns), table.children.length ? 400 : 120)
		try {
			draw(await api(spec.whole ? spec.path : asked({ limit: 50 }), { signal: mine.signal }), wanted)
		} catch (error) {
			if (error.name === "AbortError") return
			fill(counted)
			fill(pager)
			state(table, "error", { error, again })
		} finally {
			clearTimeout(slow)
		}
		const next = () => load({ quiet: true })
		if (wanted.live && page.alive()) timer = setTimeout(() => (document.hidden ? document.addEventListener("visibilitychange", next, { once: true, signal: page.signal }) : next()), 2500)
	}

	function draw(data, wanted) {
		fill(counted, total(data.total, ...noun))
		fill(pager)
		const every = chosen?.all()
		if (!data.items.length) return drawNothing(wanted)
		const rows = data.items.map(item => row(item, columns, spec.actions && (spec.actions(item, again) || []), named, chosen))
		if (wanted.live && seen && !wanted.cursor) rows.forEach((one, at) => seen.has(data.items[at].id) || one.classList.add("fresh"))
		seen = new Set(data.items.map(item => item.id))
		fill(table, h("table.stack", h("caption.vh", noun[1]),
			h("thead", h("tr", every, columns.map(column => heading(column, wanted, change)), spec.actions && h("th.end", h("span.vh", "Actions")))),
			h("tbody", rows)))
		if (wanted.cursor) add(pager, [button("Back", () => history.back()), button("First page", () => change({}))])
		if (data.next_cursor) add(pager, button("Next page", () => {
			setQuery({ ...query(), cursor: data.next_cursor })
			scrollTo(0, 0)
		}))
	}

	function drawNothing(wanted) {
		const said = [wanted.q && t`“${wanted.q}”`, ...filters.map(one => wanted[one.name] && t`${say(one.label)}: ${wanted[one.name]}`)].filter(Boolean)
		if (!said.length && !wanted.cursor) return state(table, "empty", { title: t`No ${say(noun[1])} yet`, action: create(), ...spec.empty })
		const clear = button("Clear all", () => change({ q: "", ...Object.fromEntries(filters.map(one => [one.name, ""])) }))
		return state(table, "none", { title: t`No ${say(noun[1])} match`, text: t`${said.join(", ")}`, action: clear })
	}

	page.onUpdate(load)
	await blink(load())
	if (query().new) {
		// `?new=1` of the palette: the dialog opens once, a reload does not open it again.
		setQuery({ ...query(), new: "" }, { replace: true })
		setTimeout(() => page.body.querySelector("[data-new]")?.click())
	}
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
	const fields = filters.map(({ name, label, options, type = "text" }) => {
		const control = options
			? h("select", { "aria-label": label }, h("option", { value: "" }, t`Any ${say(label).toLowerCase()}`), options.map(([code, text]) => h("option", { value: code }, text)))
			: h("input", { placeholder: label, "aria-label": label, spellcheck: false, type, size: 14 })
		control.addEventListener("change", () => change({ [name]: control.value.trim() }))
		return [name, control]
	})
	const take = spec.file && button("Export", spec.file, { icon: "save", "data-export": "" })
	const live = spec.live && button("Follow", () => change({ live: query().live ? "" : "1" }), { icon: "pulse" })
	return {
		node: h("div.bar", { role: "search" }, box && h("div.grow", icon("search"), box), fields.map(([, control]) => control), live, counted, take, spec.create()),
		read(wanted) {
			if (box && document.activeElement !== box) box.value = wanted.q ?? ""
			live?.setAttribute("aria-pressed", String(Boolean(wanted.live)))
			for (const [name, control] of fields) control.value = wanted[name] ?? ""
		},
	}
}

/** Saves a list, or those of it whose `ids` are asked for, as CSV. */
export const file = async (path, noun) => (await import("./file.js")).default(path, noun)

export const STATUS = ["Status", one => tag(one.status), { state: true }]
export const when = (label, name, more) => [label, one => time(one[name]), more]
export const created = (label = "Created") => when(label, "created_at", { sort: "created_at" })

/** A cell's value that filters the list by itself. */
export const only = (name, value, shown) =>
	value == null ? shown : h("a.only", { href: search({ ...query(), cursor: "", [name]: value }), title: "Show only these" }, shown)

function heading({ label, sort }, wanted, change) {
	const now = wanted.sort ?? "-created_at"
	const order = now === sort ? "ascending" : now === `-${sort}` ? "descending" : null
	// Times begin with the newest, names with the first.
	const next = order === "ascending" || (!order && sort === "created_at") ? `-${sort}` : sort
	return h("th", { scope: "col", "aria-sort": sort && order }, !sort ? label
		: h("button.btn.ghost.tiny", { type: "button", onclick: () => change({ sort: next }) }, label, order && icon(order === "ascending" ? "up" : "down")))
}

const row = (item, columns, acts, named, chosen) => h("tr", chosen?.box(item),
	columns.map(one => h(`td${one.state ? ".status" : ""}`, { "data-label": say(one.label) }, one.cell(item))),
	acts && h("td.end", buttons(acts, ".ghost.tiny", named(item))))

function skeleton(table, columns) {
	fill(table, h("table", { "aria-hidden": "true" }, h("tbody", Array.from({ length: 8 }, () => h("tr", columns.map(() => h("td", h("span.sk"))))))),
		h("span.vh", "Loading…"))
}

/**
 * Rows that are chosen together, and what can be done to them: a box in each row, Shift for a
 * range, one box for the page. Each item is its own request; what failed is named.
 */
function chooser(spec, reload) {
	const node = h("div.bar.bulk", { hidden: true, role: "group", "aria-label": "Selected rows" })
	let boxes = []
	let last = -1
	let every = null

	function show() {
		const items = boxes.filter(({ box }) => box.checked).map(({ item }) => item)
		node.hidden = !items.length
		if (every) {
			every.checked = items.length > 0 && items.length === boxes.length
			every.indeterminate = items.length > 0 && !every.checked
		}
		fill(node, h("strong", t`${items.length} selected`), spec.bulk.map(one => {
			const fit = items.filter(one.fits)
			return fit.length > 0 && button(fit.length === items.length ? one.text : t`${say(one.text)} ${fit.length}`, () => ask(one, fit), { look: one.danger ? ".tiny.warnish" : ".tiny" })
		}), button("Clear", clear, { look: ".ghost.tiny" }))
	}

	function mark(some, checked) {
		for (const { box } of some) box.checked = checked
		show()
	}
	const clear = () => mark(boxes, false)

	function ask(one, items) {
		const act = t`${say(one.text)} ${count(items.length, ...spec.noun)}`
		return one.asks ? confirm({ title: `${act}?`, text: one.asks, act, run: () => run(one, items) }) : run(one, items)
	}

	async function run(one, items) {
		if (one.all) return one.all(items)
		const failed = []
		for (const [at, item] of items.entries()) {
			fill(node, h("progress", { max: items.length, value: at }), t` ${at} of ${items.length}`)
			await one.run(item).catch(error => failed.push(`${spec.named(item)}: ${error.message}`))
		}
		toast(failed.length ? t`${items.length - failed.length} done, ${failed.length} not. ${failed.slice(0, 3).join(" ")}`
			: t`${say(one.text)}: ${count(items.length, ...spec.noun)} done`, { stay: failed.length > 0 })
		reload()
	}

	return {
		node,
		all() {
			boxes = []
			last = -1
			every = h("input", { type: "checkbox", "aria-label": "Select all of this page", onchange: () => mark(boxes, every.checked) })
			show()
			return h("th.pick", every)
		},
		box(item) {
			const at = boxes.length
			const box = h("input", { type: "checkbox", "aria-label": t`Select ${spec.named(item)}`, onclick: event => {
				const range = event.shiftKey && last >= 0 ? boxes.slice(Math.min(last, at), Math.max(last, at) + 1) : []
				last = at
				mark(range, box.checked)
			} })
			boxes.push({ box, item })
			return h("td.pick", box)
		},
	}
}
