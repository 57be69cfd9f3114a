// Lists.
import {
	actionWords, api, append, button, choices, countTotal, formatExact, h, isAllowed, pageHead, query, queryString,
	replaceContent, setQuery, showState, t, translate, waitBriefly,
} from "../core.js"
import { exportFile, listBar } from "./filters.js"
import { columnFit } from "./fit.js"
import { focusOf } from "./focus.js"
import { columnChoice, lookOf } from "./look.js"
import { columnHead, row, skeleton } from "./rows.js"
import { rowSelection } from "./selection.js"

/**
 * A list whose whole state is in the URL, of one request. `spec`: `path` (below /v1), `noun` [one, many], `columns`
 * [label, cell(item), {sort, state, tight}]; where wanted `title` and `lead` of a page of its own, `search`
 * (placeholder), `filters` [name, label, codes or {options, type}], `time` (`overTime`), `actions(item, reload)` →
 * [{text, run}], the usual one first, `bulk` as for `chooser`, `exports` (as a file), `related` [address, text] of
 * pages beside it, `create` [right, text, run(reload)] or what makes a button, `live` (can be followed), `seen(data)`
 * (is told each page), `whole` (no pages), `empty` {title, text, action}, `fixed` (always asked for). Of a tenant that
 * is deleted nothing is made, changed or exported.
 */
export async function list(page, spec) {
	const { noun } = spec
	const counted = h("span.end", { "aria-live": "polite" })
	const look = lookOf(id => items.find(one => String(one.id ?? one.name) === id), one => named(one), page.signal)
	const table = h("div.table", { tabIndex: -1, onkeydown: look, onclick: look })
	const pager = h("div.pager")
	const filters = (spec.filters ?? []).map(([name, label, more]) =>
		({ name, label, ...(more?.split ? { options: choices(more) } : more) }))
	const columnsOf = spec.columns.map(([label, cell, more]) => ({ label, cell, ...more }))
	const choice = columnChoice(columnsOf, noun[1], () => load())
	const named = item => item.email ?? item.name ?? item.domain ?? item.origin
		?? (item.action ? actionWords(item.action) : item.id)
	const change = (values, options) => setQuery({ ...query(), cursor: "", ...values }, options)
	const again = () => load()
	const create = () =>
		(page.isGone ? null : Array.isArray(spec.create) ? creator(spec.create, again) : spec.create?.())
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
	let running = null
	let seen = null
	let items = []
	let timer = 0
	page.signal.addEventListener("abort", () => {
		clearTimeout(timer)
		running?.abort()
	})

	/** What the list is asked for. */
	function wantedOf(wanted) {
		const names = ["q", "sort", "cursor", ...wantable.filter(one => !one.asks).map(one => one.name)]
		const asked = filters.map(one => one.asks && wanted[one.name] && one.asks(wanted[one.name]))
		return Object.assign(Object.fromEntries(names.map(name => [name, wanted[name]])), ...asked)
	}

	/** Every item that matches, at most so many, read page by page. */
	async function everyOne(most) {
		const [items, wanted] = [[], query()]
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
		replaceContent(counted, countTotal(data.total, ...noun))
		replaceContent(pager)
		const every = chosen?.all(data.total)
		if (!data.items.length) {
			drawNothing(wanted)
			return focus.give()
		}
		const columns = choice.shown()
		const actions = page.isGone ? null : spec.actions
		const rows = data.items.map(item => row(item, columns, actions && (actions(item, again) || []), named, chosen))
		if (wanted.live && seen && !wanted.cursor) {
			rows.forEach((one, at) => seen.has(data.items[at].id) || one.classList.add("fresh"))
		}
		seen = new Set(data.items.map(item => item.id))
		replaceContent(table, h("table.stack", h("caption.vh", noun[1]),
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

	/** Another page has the focus at its beginning. */
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
				table, "empty", { title: t`No ${translate(noun[1])} yet`, action: create(), ...spec.empty },
			)
		}
		return showState(
			table, "none", { title: t`No ${translate(noun[1])} match`, text: t`${said.join(", ")}`, action: clear() },
		)
	}

	/** What the server does not take for a filter is said by the filter's name. */
	function drawRefusal(error) {
		// A time zone that the server does not know is UTC there.
		if (time?.asked.time_zone && error.errors?.some(one => one.pointer === "?time_zone")) {
			time.asked.time_zone = ""
			return load()
		}
		// An order that the list does not have is left out.
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
		// `?new=1` of the palette, or of a session that ended: the dialog opens once, a reload does not open it again.
		setQuery({ ...query(), new: "" }, { replace: true })
		setTimeout(() => {
			const one = (page.acts ?? page.body).querySelector("[data-new]")
			one?.focus()
			one?.click()
		})
	}
}

const saidOf = (name, value) => (/^(since|until)$/.test(name) ? formatExact(value) : value)

const creator = ([right, text, run], again) =>
	isAllowed(right) && button(text, () => run(again), { look: ".primary", icon: "plus", "data-new": "" })
