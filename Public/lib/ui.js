// Lists, and all else that a page is made of under one name; the first page asks for its parts alone.
import { query, setQuery } from "../app.js"
import {
	add, api, blink, button, choices, fill, h, head, icon, may, say, search, state, t, tag, time, total,
} from "./core.js"
import { focusOf } from "./dialog.js"

export * from "../app.js"
export * from "./core.js"
export * from "./dialog.js"

/**
 * A list whose whole state is in the URL, of one request. `spec`: `path` (below /v1), `noun` [one, many],
 * `columns` [label, cell(item), {sort, state}]; where wanted `title` and `lead` of a page of its own, `search`
 * (placeholder), `filters` [name, label, codes or {options, type}] (`type` date: a day of the reader's zone),
 * `actions(item, reload)` → [{text, run}], the usual one first, `bulk` as for `chooser`, `exports` (as a file), `create`
 * [right, text, run(reload)] or what makes a button, `live` (can be followed), `whole` (no pages), `empty`
 * {title, text, action}. Of a tenant that is deleted nothing is made, changed or exported.
 */
export async function list(page, spec) {
	const { noun } = spec
	const counted = h("span.end", { "aria-live": "polite" })
	const table = h("div.table", { tabIndex: -1 })
	const pager = h("div.pager")
	const filters = (spec.filters ?? []).map(([name, label, more]) =>
		({ name, label, ...(more?.split ? { options: choices(more) } : more) }))
	const columns = spec.columns.map(([label, cell, more]) => ({ label, cell, ...more }))
	const named = item => item.email ?? item.name ?? item.domain ?? item.origin ?? item.id
	const change = (values, options) => setQuery({ ...query(), cursor: "", ...values }, options)
	const again = () => load()
	const create = () => (page.isGone ? null : Array.isArray(spec.create) ? creator(spec.create, again) : spec.create?.())
	const asked = more => spec.path + search({ ...wantedOf(query()), ...more })
	const exports = spec.exports && !page.isGone && (() => file(asked({ cursor: "" }), noun))
	const controls = bar({ ...spec, create, file: exports }, filters, counted, change)
	const chosen = spec.bulk && !page.isGone ? choice({ ...spec, named, all: everyOne }, again) : null
	const focus = focusOf(table)
	add(page.body, [spec.title && head(spec.title, { lead: spec.lead }), controls.node, chosen?.node, table, pager])
	let running = null
	let seen = null
	let timer = 0
	page.signal.addEventListener("abort", () => {
		clearTimeout(timer)
		running?.abort()
	})

	/** What the list is asked for. */
	function wantedOf(wanted) {
		const names = ["q", "sort", "cursor", ...filters.map(one => one.name)]
		return Object.fromEntries(names.map(name => [name, wanted[name]]))
	}

	/** Every item that matches, at most so many, read page by page. */
	async function everyOne(most) {
		const items = []
		for (let cursor = ""; cursor != null && items.length < most;) {
			const data = await api(asked({ cursor, limit: 200 }))
			items.push(...data.items)
			cursor = data.next_cursor
		}
		return items.slice(0, most)
	}

	async function load({ quiet = false } = {}) {
		clearTimeout(timer)
		running?.abort()
		const mine = (running = new AbortController())
		const wanted = query()
		controls.read(wanted)
		const wait = table.children.length ? 400 : 120
		const slow = quiet ? 0 : setTimeout(() => (focus.keep(), skeleton(table, columns)), wait)
		try {
			draw(await api(spec.whole ? spec.path : asked({ limit: 50 }), { signal: mine.signal }), wanted)
		} catch (error) {
			if (error.name === "AbortError") return
			fill(counted)
			fill(pager)
			drawRefusal(error)
		} finally {
			clearTimeout(slow)
		}
		if (wanted.live && page.alive()) timer = setTimeout(follow, 2500)
	}

	function follow() {
		const next = () => load({ quiet: true })
		if (!document.hidden) return next()
		document.addEventListener("visibilitychange", next, { once: true, signal: page.signal })
	}

	function draw(data, wanted) {
		focus.keep()
		fill(counted, total(data.total, ...noun))
		fill(pager)
		const every = chosen?.all(data.total)
		if (!data.items.length) {
			drawNothing(wanted)
			return focus.give()
		}
		const actions = page.isGone ? null : spec.actions
		const rows = data.items.map(item => row(item, columns, actions && (actions(item, again) || []), named, chosen))
		if (wanted.live && seen && !wanted.cursor) {
			rows.forEach((one, at) => seen.has(data.items[at].id) || one.classList.add("fresh"))
		}
		seen = new Set(data.items.map(item => item.id))
		fill(table, h("table.stack", h("caption.vh", noun[1]),
			h("thead", h("tr", every, columns.map(column => heading(column, wanted, change)),
				actions && h("th.end", h("span.vh", "Actions")))),
			h("tbody", rows)))
		drawPager(data, wanted)
		focus.give()
	}

	function drawPager(data, wanted) {
		if (wanted.cursor) add(pager, [button("Back", () => history.back()), button("First page", () => turn({}))])
		if (data.next_cursor) add(pager, button("Next page", () => turn({ cursor: data.next_cursor })))
	}

	/** Another page has the focus at its beginning. */
	function turn(values) {
		table.focus({ preventScroll: true })
		change(values)
		scrollTo(0, 0)
	}

	const clear = () => button("Clear all", () =>
		change({ q: "", ...Object.fromEntries(filters.map(one => [one.name, ""])) }))

	function drawNothing(wanted) {
		const said = [wanted.q && t`“${wanted.q}”`,
			...filters.map(one => wanted[one.name] && t`${say(one.label)}: ${wanted[one.name]}`)].filter(Boolean)
		if (!said.length && !wanted.cursor) {
			return state(table, "empty", { title: t`No ${say(noun[1])} yet`, action: create(), ...spec.empty })
		}
		return state(table, "none", { title: t`No ${say(noun[1])} match`, text: t`${said.join(", ")}`, action: clear() })
	}

	/** What the server does not take for a filter is said by the filter's name. */
	function drawRefusal(error) {
		// An order that the list does not have is left out.
		if (error.errors?.some(one => one.pointer === "?sort")) return change({ sort: "" }, { replace: true })
		const wrong = (error.errors ?? []).flatMap(({ pointer, detail }) => {
			const name = pointer.replace(/^\?/, "")
			const label = filters.find(one => one.name === name)?.label ?? (name === "q" ? spec.search : null)
			return label && error.status === 422 ? [t`${say(label)}: ${say(detail)}.`] : []
		})
		if (!wrong.length) return state(table, "error", { error, again })
		return state(table, "none", { title: "This filter cannot be used", text: t`${wrong.join(" ")}`, action: clear() })
	}

	page.onUpdate(load)
	await blink(load())
	if (query().new) {
		// `?new=1` of the palette, or of a session that ended: the dialog opens once, a reload does not open it again.
		setQuery({ ...query(), new: "" }, { replace: true })
		setTimeout(() => {
			const one = page.body.querySelector("[data-new]")
			one?.focus()
			one?.click()
		})
	}
}

const creator = ([right, text, run], again) =>
	may(right) && button(text, () => run(again), { look: ".primary", icon: "plus", "data-new": "" })

// A day of the reader's zone in a filter, and its ends as the server is asked for them.

const dayOf = iso => {
	const one = new Date(iso)
	const two = number => String(number).padStart(2, "0")
	return `${one.getFullYear()}-${two(one.getMonth() + 1)}-${two(one.getDate())}`
}
const DATES = {
	since: { shown: dayOf, asked: text => new Date(`${text}T00:00`).toISOString() },
	// The last day is a whole one.
	until: {
		shown: iso => dayOf(Date.parse(iso) - 1),
		asked: text => {
			const next = new Date(`${text}T00:00`)
			next.setDate(next.getDate() + 1)
			return next.toISOString()
		},
	},
}

function control({ name, label, options, type = "text" }) {
	if (options) {
		return h("select", { "aria-label": label }, h("option", { value: "" }, t`Any ${say(label).toLowerCase()}`),
			options.map(([code, text]) => h("option", { value: code }, text)))
	}
	if (type === "date") {
		return h("label.date", h("span", label), h("input", { type, "aria-label": label, max: dayOf(Date.now()), name }))
	}
	return h("input", { placeholder: label, "aria-label": label, spellcheck: false, type, size: 14 })
}

function field(one, change) {
	const { name, type } = one
	const node = control(one)
	const input = node.matches("label") ? node.querySelector("input") : node
	const { shown, asked } = (type === "date" && DATES[name]) || { shown: text => text, asked: text => text }
	input.addEventListener("change", () => {
		const text = input.value.trim()
		change({ [name]: text && asked(text) })
	})
	const put = text => {
		const value = text ? shown(text) : ""
		// A value that a link names and no choice has is a choice of its own.
		const isNew = value && input.matches("select") && ![...input.options].some(option => option.value === value)
		if (isNew) input.append(h("option", { value, "data-plain": "" }, value))
		input.value = value
	}
	return { name, node, put }
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
	const fields = filters.map(one => field(one, change))
	const take = spec.file && button("Export", spec.file, { icon: "save", "data-export": "" })
	const live = spec.live && button("Follow", () => change({ live: query().live ? "" : "1" }), { icon: "pulse" })
	return {
		node: h("div.bar", { role: "search" }, box && h("div.grow", icon("search"), box), fields.map(one => one.node), live,
			counted, take, spec.create()),
		read(wanted) {
			if (box && document.activeElement !== box) box.value = wanted.q ?? ""
			live?.setAttribute("aria-pressed", String(Boolean(wanted.live)))
			for (const one of fields) one.put(wanted[one.name])
		},
	}
}

/** Saves a list, or those of it whose `ids` are asked for, as CSV. */
export const file = async (path, noun) => (await import("./file.js")).default(path, noun)

export const STATUS = ["Status", one => tag(one.status), { state: true }]
export const when = (label, name, more) => [label, one => time(one[name]), more]
export const created = (label = "Created") => when(label, "created_at", { sort: "created_at" })
/** The filters of a list by its records' time. */
export const PERIOD = [["since", "From", { type: "date" }], ["until", "To", { type: "date" }]]

/** What stands beside an address with letters that may be taken for others; its code comes with the first that is not ASCII. */
export function alike(text) {
	if (!/[^\0-\x7f]/.test(text ?? "")) return null
	const slot = h("span.sub")
	import("./lookalike.js").then(({ mark }) => fill(slot, mark(text)))
	return slot
}

/** A cell's value that filters the list by itself. */
export const only = (name, value, shown) => (value == null ? shown
	: h("a.only", { href: search({ ...query(), cursor: "", [name]: value }), title: "Show only these" }, shown))

function heading({ label, sort }, wanted, change) {
	const now = wanted.sort ?? "-created_at"
	const order = now === sort ? "ascending" : now === `-${sort}` ? "descending" : null
	// Times begin with the newest, names with the first.
	const next = order === "ascending" || (!order && sort === "created_at") ? `-${sort}` : sort
	const turn = () => h("button.btn.ghost.tiny", { type: "button", onclick: () => change({ sort: next }) }, label,
		order && icon(order === "ascending" ? "up" : "down"))
	return h("th", { scope: "col", "aria-sort": sort && order }, sort ? turn() : label)
}

/** Of acts {text, run}, the usual one first: a button, and ⋯ with the others where there are more. */
function rowActions([first, ...rest], name) {
	if (!first) return null
	const usual = button(first.text, first.run, { look: ".ghost.tiny", name })
	if (!rest.length) return usual
	const open = async () => (await import("./menu.js")).open(more, rest, name)
	const more = button(null, open, {
		look: ".ghost.tiny", icon: "dots", "aria-label": t`More for ${name}`, "aria-haspopup": "menu", "aria-expanded": "false",
	})
	return h("div.row-acts", usual, more)
}

const row = (item, columns, acts, named, chosen) => h("tr", { "data-id": item.id ?? item.name }, chosen?.box(item),
	columns.map(one => h(`td${one.state ? ".status" : ""}`, { "data-label": say(one.label) }, one.cell(item))),
	acts && h("td.end", rowActions(acts.filter(Boolean), named(item))))

/**
 * Rows that are chosen together: a box in each row, Shift for a range, one box for the page. What can be done to them, and
 * that all that match can be chosen, is lib/chooser.js's, which comes with the first choice.
 */
function choice(spec, reload) {
	const node = h("div.bar.bulk", { hidden: true, role: "group", "aria-label": "Selected rows" })
	let boxes = []
	let last = -1
	let every = null
	let whole = null

	async function show() {
		const items = boxes.filter(({ box }) => box.checked).map(({ item }) => item)
		if (every) {
			every.checked = items.length > 0 && items.length === boxes.length
			every.indeterminate = items.length > 0 && !every.checked
		}
		node.hidden = !items.length
		if (!items.length) return
		const isMore = every.checked && whole && (!whole.exact || whole.value > items.length)
		const { offer } = await import("./chooser.js")
		offer(node, items, { ...spec, isMore, clear: () => mark(boxes, false), again: show, reload })
	}

	function mark(some, checked) {
		for (const { box } of some) box.checked = checked
		return show()
	}

	return {
		node,
		/** Begins a page of a list with that `total`; the box of its head. */
		all(total) {
			boxes = []
			last = -1
			whole = total
			every = h("input", {
				type: "checkbox", "aria-label": "Select all of this page", onchange: () => mark(boxes, every.checked),
			})
			show()
			return h("th.pick", h("label.target", every))
		},
		box(item) {
			const at = boxes.length
			const box = h("input", { type: "checkbox", "aria-label": t`Select ${spec.named(item)}`, onclick: event => {
				const range = event.shiftKey && last >= 0 ? boxes.slice(Math.min(last, at), Math.max(last, at) + 1) : []
				last = at
				mark(range, box.checked)
			} })
			boxes.push({ box, item })
			return h("td.pick", h("label.target", box))
		},
	}
}

function skeleton(table, columns) {
	const cells = () => columns.map(() => h("td", h("span.sk")))
	fill(table, h("table", { "aria-hidden": "true" }, h("tbody", Array.from({ length: 8 }, () => h("tr", cells())))),
		h("span.vh", "Loading…"))
}
