// Lists, and a single place from which pages import most of what they need. The code of some parts is loaded later.
import {
	actionWords, append, button, countTotal, formatExact, h, icon, liveRegion, noValue, note, pageHead,
	preferences, query, queryString, replaceContent, setPreference, setQuery, showState, statusTag, t, timeNode,
	translate, userText, waitBriefly
} from "./core.js"
import { api, describeRequest, isAllowed, isServerThere } from "./server.js"
import { copyButton, dialog, saveFile, toast } from "./dialogs.js"
export * from "./core.js"
export * from "./server.js"
export * from "./dialogs.js"

// A secret that is shown once.

/**
 * Tests an API key by a request without the session, as a machine would send it.
 * @type {(key: string) => Promise<{ status: number, name?: string, detail?: string }>}
 */
async function probe(key) {
	const answer = await fetch("/v1/me", { headers: { authorization: `Bearer ${key}` }, credentials: "omit" })
	return { status: answer.status, ...(await answer.json()) }
}

/**
 * Shows a secret once, in a dialog that cannot be closed before "stored" is ticked. A file can be downloaded: `file`
 * {name, text, type, label}, or else a file that sets the environment variable `name` to the secret. `more` is another
 * button. `call` is the path of a request with which an API key can be tried.
 * @type {(secret: Secret) => HTMLDialogElement}
 */
export function revealSecret({ title, secret, name, file, call, text, more }) {
	const leave = event => event.preventDefault()
	const value = h("code.code.secret", { tabIndex: 0 }, secret)
	const stored = h("input", { type: "checkbox", id: "stored", onchange: () => (done.disabled = !stored.checked) })
	const done = button("Done", () => close(), { look: ".primary", disabled: true })
	const said = liveRegion()
	const tryNow = async () => {
		const { status, name: whose, detail } = await probe(secret).catch(
			error => ({ status: 0, name: "", detail: error.message }),
		)
		replaceContent(
			said,
			status === 200
				? note("ok", "check", t`It works: the server knows it as “${whose}”.`)
				: note("danger", "alert", detail),
		)
	}
	const close = () => {
		removeEventListener("beforeunload", leave)
		replaceContent(value)
		node.close()
		node.replaceChildren()
		secret = ""
	}
	// The file is not called `.env`: some browsers would change a name that begins with a dot.
	const given = file ?? { name: "gatehouse.env", text: `${name}=${secret}\n`, label: "Download .env" }
	const download = () => saveFile(given.name, [given.text], given.type ?? "application/octet-stream")
	const curl = h("code.code")
	const showCurl = async () =>
		call && replaceContent(curl, (await import("./seldom.js")).curlOf(describeRequest(call)))
	const node = dialog(title,
		h("div.lead", text ?? "This is the only time it is shown. Store it now: not even Gatehouse can show it again."),
		value,
		h("div.acts", copyButton(secret), button(given.label, download), more, call && button("Test it now", tryNow)),
		said,
		call && h("details", { ontoggle: showCurl }, h("summary", "Call the API with it"), curl),
		h("div.acts", h("label.check", stored, "I have stored it"), done))
	node.setAttribute("closedby", "none")
	// Ignore the Escape key itself: a second Escape would close the dialog even if its `cancel` event was prevented.
	node.addEventListener("keydown", event => event.key === "Escape" && event.preventDefault())
	node.addEventListener("cancel", event => event.preventDefault())
	addEventListener("beforeunload", leave)
	value.focus()
	return node
}

// Dialogs with a form. Their code is loaded when the first one is opened.

/** Returns a function that calls `name` of lib/form.js. If that file cannot be loaded, a message says so. */
const withForms = name => async options => {
	try {
		return (await import("./form.js"))[name](options)
	} catch (error) {
		// A TypeError is what browsers throw for a file that could not be loaded.
		if (!(error instanceof TypeError)) throw error
		toast(await isServerThere()
			? "There is a new version of this page: reload it."
			: navigator.onLine ? "The server cannot be reached: try again later." : "You are offline: try again later.",
			{ stay: true })
		return null
	}
}
/**
 * Opens a dialog with a form; see lib/form.js.
 * @type {(spec: DialogSpec) => Promise<HTMLDialogElement | null>}
 */
export const formDialog = withForms("formDialog")
/** @type {(spec: ConfirmSpec) => Promise<HTMLDialogElement | null>} */
export const confirm = withForms("confirm")
/** @type {(leave: () => unknown) => Promise<HTMLDialogElement | null>} */
export const askToLeave = withForms("askToLeave")

/**
 * A check box as a field of a form.
 * @type {(name: string, label: string, value?: boolean) => Field}
 */
export const tickField = (name, label, value) => ({ name, label, type: "check", value })

// A table is always redrawn as a whole. The focused row, known by its id, then gets the focus again.
/**
 * Keeps the focus in a table while it is redrawn: call `keep()` before and `give()` after.
 * @type {(table: HTMLElement) => { keep: () => void, give: () => void }}
 */
function focusOf(table) {
	/** @type {{ id?: string, at: number, isLink: boolean, isBox: boolean } | null} */
	let held = null
	return {
		/** Remembers which row has the focus; app.js deals with a focus elsewhere. */
		keep() {
			const one = document.activeElement
			const row = one?.closest("tr[data-id]")
			if (!one || !row || !table.contains(row)) return
			held = { id: row.dataset.id, at: row.rowIndex - 1, isLink: one.matches("a"), isBox: one.matches("input") }
		},
		/** Restores the focus: to the same row, or to the one that is now in its position, or else to the table. */
		give() {
			const isLost = document.activeElement === document.body || table.contains(document.activeElement)
			const place = held
			held = null
			if (!place || !isLost) return
			const rows = [...table.querySelectorAll("tbody tr")]
			const row = rows.find(one => one.dataset.id === place.id) ?? rows[Math.min(place.at, rows.length - 1)]
			const wanted = place.isBox ? "input" : place.isLink ? "a, td button" : "td.end button";
			(row?.querySelector(wanted) ?? row?.querySelector("a, button")
				?? table).focus({ preventScroll: true })
		},
	}
}

// Columns and filters that several lists have, and the contents of their cells.

/** @type {Column<{ status: string }>} */
export const STATUS = { label: "Status", cell: one => statusTag(one.status), state: true }
/**
 * The column with a row's tenant, in a list of all tenants. For a tenant that no longer exists, it shows the id.
 * @type {Column<{ tenant_id?: string | null, tenant_name?: string }>}
 */
export const TENANT = {
	label: "Tenant",
	cell: ({ tenant_id: id, tenant_name: name }) => (name
		? h("a", { href: `/console/t/${id}/users` }, userText(name)) : id ? userText(id, "code") : noValue()),
}
/** @type {(label: string, name: string, more?: { sort?: string }) => Column<any>} */
export const timeColumn = (label, name, more) => ({ label, cell: one => timeNode(one[name]), ...more })
/** @type {(label?: string) => Column<any>} */
export const createdColumn = (label = "Created") => timeColumn(label, "created_at", { sort: "created_at" })
/**
 * A note beside an address with letters that look like others, even if the address is in its ASCII form. The code for
 * the note is loaded with the first address that is not plain ASCII.
 * @type {(text: string | null | undefined) => HTMLElement | null}
 */
export function lookalikeNote(text) {
	if (!text || !/[^\0-\x7f]|xn--/i.test(text)) return null
	const slot = h("span.sub")
	import("./lookalike.js").then(({ mark }) => replaceContent(slot, mark(text)))
	return slot
}

/**
 * A cell's value as a link that filters the list by it.
 * @type {(name: string, value: string | null | undefined, shown: Child) => Child}
 */
export const filterLink = (name, value, shown) => (value == null ? shown
	: h("a.only", { href: queryString({ ...query(), cursor: "", [name]: value }), title: "Show only these" }, shown))

// The bar above a list: search, filters, export and the button for a new thing.

/**
 * Matches an API key or a part of one, if it is longer than what lists show of a key. Such a text is never searched
 * for; see palette.js.
 */
const KEY = /gate_(live|test)_[0-9A-Za-z]{7}/

/** @type {(filter: Filter) => HTMLInputElement | HTMLSelectElement} */
function control({ label, options, type = "text" }) {
	if (options) {
		return h("select", { "aria-label": label }, h(
			"option", { value: "" }, `Any ${label.toLowerCase()}`,
		),
			options.map(({ value, text }) => h("option", { value }, text)))
	}
	return h("input", { placeholder: label, "aria-label": label, spellcheck: false, type, size: 14 })
}

function field(one, change) {
	const { name } = one
	const node = control(one)
	node.addEventListener("change", () => change({ [name]: node.value.trim() }))
	const put = (value = "") => {
		// If a link names a value that is not among the options, the value becomes an option of its own.
		const isNew = value && "options" in node && ![...node.options].some(option => option.value === value)
		if (isNew) node.append(h("option", { value, "data-plain": "" }, value))
		node.value = value
	}
	return { name, node, put }
}

function listBar(spec, filters, counted, change) {
	let timer
	const box = spec.search && h("input", {
		type: "search", placeholder: spec.search, "aria-label": spec.search, "data-search": "", spellcheck: false,
		oninput: () => {
			clearTimeout(timer)
			const text = box.value
			if (KEY.test(text)) {
				box.value = ""
				return import("./palette.js").then(palette => palette.open({ text }))
			}
			timer = setTimeout(() => change({ q: box.value.trim() }, { replace: true }), 150)
		},
	})
	const fields = filters.map(one => field(one, change))
	const take = spec.file && button("Export", spec.file, { icon: "save", "data-export": "" })
	const related = spec.related?.filter(Boolean).map(({ href, text }) => h("a.btn", { href }, text))
	const live = spec.live && button("Follow", () => change({ live: query().live ? "" : "1" }), { icon: "pulse" })
	return {
		node: h("div.bar", { role: "search" }, box
			&& h("div.grow", icon("search"), box), fields.map(one => one.node), spec.time?.choice, live,
			counted),
		// Acts that concern the whole list are placed beside the page's title.
		acts: [related, take, spec.create()],
		read(wanted) {
			if (box && document.activeElement !== box) box.value = wanted.q ?? ""
			live?.setAttribute("aria-pressed", String(Boolean(wanted.live)))
			for (const one of fields) one.put(wanted[one.name])
		},
	}
}

/**
 * Saves the list at `path` as CSV; with `ids` in its query, only those rows.
 * @type {(path: string, noun: Noun) => Promise<void>}
 */
export const exportFile = async (path, noun) => (await import("./seldom.js")).saveList(path, noun)

// A list shows as many of its columns as fit. The panel of a row shows its whole record.

/** Matches narrow windows, in which rows are drawn as cards, which have room for every column. */
const CARDS = matchMedia("(max-width: 720px)")

/**
 * The columns in the order in which they are left out. The creation time is the first to go, and columns with a status
 * are the last; the others go from the last column to the second. The first column is never left out.
 */
const orderOf = columns => columns.map((one, at) => ({ ...one, at })).slice(1).toSorted((one, other) =>
	Number(other.sort === "created_at") - Number(one.sort === "created_at")
	|| Number(Boolean(one.state)) - Number(Boolean(other.state)) || other.at - one.at)

/**
 * Hides the columns of the table in `place` that do not fit, whenever the width changes or the returned function is
 * called.
 */
function columnFit(place, columns, isChosen, signal) {
	let width = 0
	const fit = () => {
		// If the table is not in the document yet, measure it in the next animation frame: it is in the document then,
		// but not painted yet.
		if (!place.isConnected) return void requestAnimationFrame(() => place.isConnected && fit())
		const rows = [...place.querySelectorAll("table.stack tr")]
		const fits = () => place.scrollWidth <= place.clientWidth
		for (const row of rows) for (const cell of row.cells) cell.hidden = false
		place.classList.remove("snug")
		if (CARDS.matches) return
		for (const { at } of orderOf(columns())) {
			if (fits()) return
			for (const row of rows) row.cells[at + (isChosen ? 1 : 0)].hidden = true
		}
		// If even the first column does not fit beside the buttons, because it has long words, make it narrower.
		place.classList.toggle("snug", !fits())
	}
	const watch = new ResizeObserver(([{ contentRect }]) => {
		if (contentRect.width === width) return
		width = contentRect.width
		fit()
	})
	watch.observe(place)
	signal.addEventListener("abort", () => watch.disconnect())
	return fit
}

// The rows of a list, and the heads of its columns.

function columnHead({ label, sort }, wanted, change) {
	const now = wanted.sort ?? "-created_at"
	const order = now === sort ? "ascending" : now === `-${sort}` ? "descending" : null
	// The first press on the creation time sorts the newest first; on any other column, it sorts in ascending order.
	const next = order === "ascending" || (!order && sort === "created_at") ? `-${sort}` : sort
	const turn = () => h("button.btn.ghost.tiny", { type: "button", onclick: () => change({ sort: next }) }, label,
		order && icon(order === "ascending" ? "up" : "down"))
	return h("th", { scope: "col", "aria-sort": sort && order }, sort ? turn() : label)
}

/** The buttons for a row's acts {text, run}: one for the first act, and ⋯ for a menu of the others. */
function rowActions([first, ...rest], name) {
	if (!first) return null
	const usual = button(first.text, first.run, { look: ".ghost.tiny", name })
	if (!rest.length) return usual
	const open = async () => (await import("./rows.js")).openMenu(more, rest, name)
	const more = button(null, open, {
		look: ".ghost.tiny", icon: "dots", "aria-label": t`More for ${name}`, "aria-haspopup": "menu",
		"aria-expanded": "false",
	})
	return h("div.row-acts", usual, more)
}

const row = (
	item, columns, acts, named, chosen,
) => h("tr", { "data-id": item.id ?? item.name }, chosen?.box(item),
	columns.map(({ label, cell, state, tight }) =>
		h(`td${state ? ".status" : ""}${tight ? ".tight" : ""}`, { "data-label": translate(label) }, cell(item))),
	acts && h("td.end", rowActions(acts.filter(Boolean), named(item))))

function skeleton(table, columns) {
	const cells = () => columns.map(() => h("td", h("span.sk")))
	replaceContent(table, h(
		"table", { "aria-hidden": "true" }, h("tbody", Array.from({ length: 8 }, () => h("tr", cells()))),
	),
		h("span.vh", "Loading…"))
}

// Rows that are selected together.

/**
 * The check boxes that select rows: one for each row (with Shift, a range) and one for the page. Acting on the
 * selected rows, and selecting all that match, is in lib/chooser.js, which is loaded with the first selection.
 */
function rowSelection(spec, reload) {
	const node = h("div.bar.bulk", { hidden: true, role: "group", "aria-label": "Selected rows" })
	let boxes = []
	let last = -1
	let every = null
	let whole = null
	let offer = null

	// Shows the toolbar. At the first selection it stays empty until the module is loaded; at later selections it is
	// drawn at once. While it shows the progress of work on an earlier selection, it is left as it is.
	async function show() {
		const items = boxes.filter(({ box }) => box.checked).map(({ item }) => item)
		if (every) {
			every.checked = items.length > 0 && items.length === boxes.length
			every.indeterminate = items.length > 0 && !every.checked
		}
		if (node.ariaBusy) return
		node.hidden = !items.length
		if (!items.length) return
		if (!offer) {
			offer = (await import("./chooser.js")).offer
			return show()
		}
		const isMore = every.checked && whole && (!whole.exact || whole.value > items.length)
		offer(node, items, { ...spec, isMore, clear: () => mark(boxes, false), again: show, reload })
	}

	function mark(some, checked) {
		for (const { box } of some) box.checked = checked
		return show()
	}

	function none() {
		boxes = []
		last = -1
		show()
	}

	return {
		node,
		/** Ends the selection; called when its rows are gone. */
		none,
		/**
		 * Begins a page of a list with the given `total`. Returns the check box for the table's head, which selects the
		 * page.
		 */
		all(total) {
			none()
			whole = total
			every = h("input", {
				type: "checkbox", "aria-label": "Select all of this page", onchange: () => mark(boxes, every.checked),
			})
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

// What the reader chooses to see: the columns of a list, and the whole record of a row.

/**
 * This browser's stored choice of the columns of the list `name`, and the button that changes the choice. The first
 * column is always shown. `change()` is called after each choice.
 */
function columnChoice(all, name, change) {
	const key = `hide ${name}`
	const isHidden = one => Boolean(preferences()[key]?.includes(one.label))
	const turn = one => {
		setPreference(key, all.filter(each => isHidden(each) !== (each === one)).map(each => each.label))
		change()
	}
	const open = async () => (await import("./rows.js")).openMenu(node, all.slice(1).map(one => ({
		text: isHidden(one) ? t`Show: ${translate(one.label)}` : t`Hide: ${translate(one.label)}`, run: () => turn(one),
	})), name)
	const node = button(null, open, {
		look: ".ghost.tiny", icon: "sliders", title: "Columns", "aria-haspopup": "menu", "aria-expanded": "false",
	})
	return { node, shown: () => all.filter((one, at) => !at || !isHidden(one)) }
}

/**
 * Opens the panel of a row when Space is pressed on the row's link, or when the row is clicked beside its content.
 * Arrow keys then go to other rows, and Escape closes the panel. `find(id)` returns the row's item, `named(item)` its
 * title.
 */
const lookOf = (find, named, signal) => async event => {
	const { key, type, target } = event
	const row = target.closest("tr[data-id]")
	const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[key]
	const isSpace = key === " " && target.matches("a")
	const isClick = type === "click" && !target.closest("a, button, input, label") && getSelection()?.isCollapsed
	if (!row || !(isSpace || isClick || step || key === "Escape")) return
	if (isSpace || (step && document.querySelector(".peek"))) event.preventDefault()
	const { close, isOpen, show } = await import("./rows.js")
	if (isOpen() && (isSpace || key === "Escape")) return close()
	if (!isSpace && !isClick && !(step && isOpen())) return
	const other = (step && row[step]) || row
	const item = find(other.dataset.id)
	other.querySelector("a, button")?.focus()
	show(item, named(item), other.querySelector("a.main, .who a")?.href, signal)
}

// Lists.

/**
 * A column of a list.
 * @template Item
 * @typedef {object} Column
 * @property {string} label
 * @property {(item: Item) => Child} cell
 * @property {string} [sort] the server's name of the order by this column
 * @property {boolean} [state] whether it is a status, which is among the last columns to be left out
 * @property {boolean} [tight] whether it is only as wide as its content
 */

/**
 * A filter of a list: a select if it has options, else a field.
 * @typedef {object} Filter
 * @property {string} name its name in the address and in the request
 * @property {string} label
 * @property {Choice[]} [options]
 * @property {string} [type] the type of the field
 * @property {(value: string) => Record<string, unknown>} [asks] what is requested instead of the value
 */

/**
 * What a list shows, and what can be done with it. In a deleted tenant, nothing is created, changed or exported.
 * @template Item
 * @typedef {object} ListSpec
 * @property {string} path the path of the request, below /v1
 * @property {Noun} noun
 * @property {Column<Item>[]} columns
 * @property {string | false} [title] the page's title, if the list is a page of its own
 * @property {string} [lead]
 * @property {string} [search] what the search is for
 * @property {(Filter | Nothing)[]} [filters]
 * @property {typeof import("./chart.js").overTime} [time] makes the control for a period and the bars; see lib/chart.js
 * @property {Nothing | ((item: Item, reload: () => Promise<unknown>) => Acts)} [actions] the acts on a row, the usual
 *   act first
 * @property {Nothing | BulkAct<Item>[]} [bulk] what can be done to several rows at once
 * @property {boolean} [exports] whether it can be saved as a file
 * @property {({ href: string, text: string } | Nothing)[]} [related] links to related pages
 * @property {Creation} [create] the button for a new thing, or the link to the page that makes it
 * @property {boolean} [live] whether it can be updated continuously
 * @property {(data: { items: Item[] }) => unknown} [seen] called with each page of the list
 * @property {boolean} [whole] whether one answer has all items, so that there are no pages
 * @property {State} [empty] shown if there is nothing yet
 * @property {Record<string, unknown>} [fixed] always part of the request
 */

/**
 * The button or link by which a new thing is made; it needs `right`.
 * @typedef {{ right: string, text: string, href?: string, run?: (reload: () => Promise<unknown>) => unknown }} Creation
 */

/**
 * Draws a list from one request. Its whole state, such as filters and order, is in the URL.
 * @template Item
 * @param {Page & Partial<TenantPage>} page
 * @param {ListSpec<Item>} spec
 */
export async function list(page, spec) {
	const { noun } = spec
	const counted = h("span.end", { "aria-live": "polite" })
	const look = lookOf(id => items.find(one => String(one.id ?? one.name) === id), one => named(one), page.signal)
	const table = h("div.table", { tabIndex: -1, onkeydown: look, onclick: look })
	const pager = h("div.pager")
	const filters = (spec.filters ?? []).filter(Boolean)
	const choice = columnChoice(spec.columns, noun.many, () => load())
	const named = item => item.email ?? item.name ?? item.domain ?? item.origin
		?? (item.action ? actionWords(item.action) : item.id)
	const change = (values, options) => setQuery({ ...query(), cursor: "", ...values }, options)
	const again = () => load()
	const create = () => (spec.create && !page.isGone ? creator(spec.create, again) : null)
	const time = spec.time?.(change)
	const wantable = time ? [...filters, { name: "since", label: "From" }, { name: "until", label: "To" }] : filters
	const asked = (more, wanted = query()) =>
		spec.path + queryString({ ...spec.fixed, ...time?.asked, ...wantedOf(wanted), ...more })
	const exports = spec.exports && !page.isGone
		&& (() => exportFile(asked({ cursor: "", histogram: "", time_zone: "" }), noun))
	const controls = listBar({ ...spec, create, time, file: exports }, filters, counted, change)
	const chosen = spec.bulk && !page.isGone ? rowSelection({ ...spec, named, all: everyOne }, again) : null
	const focus = focusOf(table)
	const fit = columnFit(table, () => choice.shown(), Boolean(chosen), page.signal)
	counted.after(choice.node)
	if (page.acts) append(page.acts, controls.acts)
	else if (!spec.title) controls.node.append(h("div.acts", controls.acts))
	append(page.body, [
		spec.title && pageHead(spec.title, { lead: spec.lead, acts: controls.acts }),
		controls.node, time?.bars, chosen?.node, table, pager,
	])
	/** @type {AbortController | null} */
	let running = null
	/** @type {Set<string> | null} */
	let seen = null
	/** @type {any[]} */
	let items = []
	let timer = 0
	page.signal.addEventListener("abort", () => {
		clearTimeout(timer)
		running?.abort()
	})

	/** The query parameters of the list's request, for the `wanted` values in the address. */
	function wantedOf(wanted) {
		const names = ["q", "sort", "cursor", ...wantable.filter(one => !one.asks).map(one => one.name)]
		const asked = filters.map(one => one.asks && wanted[one.name] && one.asks(wanted[one.name]))
		return Object.assign(Object.fromEntries(names.map(name => [name, wanted[name]])), ...asked)
	}

	/** Requests all items that match, page by page, up to the number `most`. */
	async function everyOne(most) {
		/** @type {any[]} */
		const items = []
		const wanted = query()
		for (let cursor = ""; cursor != null && items.length < most;) {
			const data = await api(asked({ cursor, limit: 200 }, wanted))
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
		time?.read(wanted)
		const wait = table.children.length ? 400 : 120
		const slow = quiet ? 0 : setTimeout(() => (focus.keep(), chosen?.none(), skeleton(table, choice.shown())), wait)
		try {
			draw(await api(spec.whole ? spec.path : asked({ limit: 50 }), { signal: mine.signal }), wanted)
		} catch (error) {
			if (error.name === "AbortError") return
			chosen?.none()
			for (const one of [counted, pager]) replaceContent(one)
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
		spec.seen?.(data)
		items = data.items
		time?.draw(data.histogram)
		replaceContent(counted, countTotal(data.total, noun.one, noun.many))
		replaceContent(pager)
		const every = chosen?.all(data.total)
		if (!data.items.length) {
			drawNothing(wanted)
			return focus.give()
		}
		const columns = choice.shown()
		const actions = page.isGone ? null : spec.actions
		const rows = data.items.map(item => row(item, columns, actions && (actions(item, again) || []), named, chosen))
		const before = wanted.live && !wanted.cursor ? seen : null
		if (before) rows.forEach((one, at) => before.has(data.items[at].id) || one.classList.add("fresh"))
		seen = new Set(data.items.map(item => item.id))
		replaceContent(table, h("table.stack", h("caption.vh", noun.many),
			h("thead", h("tr", every, columns.map(column => columnHead(column, wanted, change)),
				actions && h("th.end", h("span.vh", "Actions")))),
			h("tbody", rows)))
		fit()
		drawPager(data, wanted)
		focus.give()
	}

	function drawPager(data, wanted) {
		if (wanted.cursor) append(pager, [button("Back", () => history.back()), button("First page", () => turn({}))])
		if (data.next_cursor) append(pager, button("Next page", () => turn({ cursor: data.next_cursor })))
	}

	/** Shows another page of the list, and focuses the table. */
	function turn(values) {
		table.focus({ preventScroll: true })
		change(values)
		scrollTo(0, 0)
	}

	const clear = () => button("Clear all", () =>
		change({ q: "", ...Object.fromEntries(wantable.map(one => [one.name, ""])) }))

	function drawNothing(wanted) {
		const said = [wanted.q && t`“${wanted.q}”`,
			...wantable.map(({ name, label }) => wanted[name] && t`${translate(label)}: ${saidOf(name, wanted[name])}`),
		].filter(Boolean)
		if (!said.length && !wanted.cursor) {
			return showState(
				table, "empty", { title: t`No ${translate(noun.many)} yet`, action: create(), ...spec.empty },
			)
		}
		return showState(
			table, "none", { title: t`No ${translate(noun.many)} match`, text: t`${said.join(", ")}`, action: clear() },
		)
	}

	/** Shows a refusal of the list's request. If it is about the value of a filter, the message names the filter. */
	function drawRefusal(error) {
		// If the server does not know the reader's time zone, use UTC instead.
		if (time?.asked.time_zone && error.errors?.some(one => one.pointer === "?time_zone")) {
			time.asked.time_zone = ""
			return load()
		}
		// If the list does not have this sort order, use the default.
		if (error.errors?.some(one => one.pointer === "?sort")) return change({ sort: "" }, { replace: true })
		const wrong = (error.errors ?? []).flatMap(({ pointer, detail }) => {
			const name = pointer.replace(/^\?/, "")
			const label = filters.find(one => one.name === name)?.label ?? (name === "q" ? spec.search : null)
			return label && error.status === 422 ? [t`${translate(label)}: ${translate(detail)}.`] : []
		})
		if (!wrong.length) return showState(table, "error", { error, again })
		return showState(
			table, "none", { title: "This filter cannot be used", text: t`${wrong.join(" ")}`, action: clear() },
		)
	}

	page.onUpdate(load)
	await waitBriefly(load())
	if (query().new) {
		// The palette, or a sign-in after a session that ended, opens the list with `?new=1`: press the button for a
		// new object. First remove `new` from the address, so that a reload does not press the button again.
		setQuery({ ...query(), new: "" }, { replace: true })
		setTimeout(() => {
			const one = (page.acts ?? page.body).querySelector("[data-new]")
			one?.focus()
			one?.click()
		})
	}
}

const saidOf = (name, value) => (/^(since|until)$/.test(name) ? formatExact(value) : value)

/**
 * The button for a new thing, or a link to the page that makes it.
 * @type {(creation: Creation, again: () => Promise<unknown>) => HTMLElement | null}
 */
function creator({ right, text, run, href }, again) {
	if (!isAllowed(right)) return null
	return href ? h("a.btn.primary", { href, "data-new": "" }, icon("plus"), text)
		: button(text, () => run?.(again), { look: ".primary", icon: "plus", "data-new": "" })
}
