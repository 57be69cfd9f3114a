// The toolbar with the acts on the selected rows.
import { button, countWords, goTo, h, replaceContent, slugOf, t, translate } from "./core.js"
import { api } from "./server.js"
import { toast, undoable } from "./dialogs.js"
import { confirm } from "./form.js"

/** The highest number of rows in one selection. */
const MOST = 10_000
/** Before more rows than this are changed, the operator must type their number. */
const WIDE = 100

/**
 * An act on selected rows. It has one of three members: with `verb`, one request with the members `more` is sent for
 * all rows; `run` is called for each row; `all` is called once with all rows.
 * @template Item
 * @typedef {object} BulkAct
 * @property {string} text
 * @property {(item: Item) => unknown} fits whether the act can be done to this row
 * @property {string} [verb]
 * @property {Record<string, unknown>} [more]
 * @property {(item: Item) => Promise<unknown>} [run]
 * @property {(items: Item[], reload: () => Promise<unknown>) => unknown} [all]
 * @property {Nothing | ((item: Item) => Promise<unknown>)} [back] undoes the act for one row
 * @property {string} [asks] the question that is asked before the act
 * @property {number} [number] exactly so many rows must be selected
 */

/**
 * The list whose rows are selected.
 * @typedef {object} Selection
 * @property {string} path
 * @property {Noun} noun
 * @property {(item: any) => string} named
 * @property {BulkAct<any>[]} bulk
 * @property {boolean} isMore whether more rows match than are selected
 * @property {(most: number) => Promise<any[]>} all returns the rows that match, at most `most`
 * @property {() => unknown} clear
 * @property {() => unknown} again draws the selection anew
 * @property {() => Promise<unknown>} reload requests the list anew
 */

/**
 * Fills the toolbar `node` with the text `said`, followed by buttons for the acts that fit the selected `items`.
 * @param {HTMLElement} node
 * @param {any[]} items
 * @param {Selection} spec
 */
export function offer(node, items, spec, said = t`${items.length} selected`) {
	const { bulk, isMore, clear } = spec
	const acts = bulk.map(one => {
		const fit = items.filter(one.fits)
		const text = fit.length === items.length ? one.text : t`${translate(one.text)} ${fit.length}`
		const isRight = one.number ? fit.length === one.number && items.length === one.number : fit.length > 0
		return isRight && button(text, () => ask(node, one, fit, spec), { look: ".tiny" })
	})
	const whole = isMore && button("Select all that match", () => takeAll(node, spec), { look: ".tiny" })
	replaceContent(node, h("strong", said), acts, whole, button("Clear", clear, { look: ".ghost.tiny" }))
}

async function takeAll(node, spec) {
	if (node.ariaBusy) return
	const wait = h("span", "Reading all that match…")
	replaceContent(node, wait)
	try {
		const items = await spec.all(MOST)
		// If other rows were selected meanwhile, the toolbar is now for those rows, and is left as it is.
		if (wait.isConnected) offer(
			node, items, { ...spec, isMore: false },
			t`All ${countWords(items.length, spec.noun.one, spec.noun.many)} that match are selected`,
		)
	} catch (error) {
		toast(error.message, { stay: true })
		if (wait.isConnected) spec.again()
	}
}

/** The promise of the last work that was begun in each toolbar. */
const begun = new WeakMap()

/**
 * Runs `work`. Until it has ended, the toolbar is marked as busy, so the operator cannot begin another act in the
 * toolbar, and an undo waits.
 */
async function atWork(node, work) {
	const mine = (begun.get(node) ?? Promise.resolve()).then(work, work)
	begun.set(node, mine)
	node.ariaBusy = "true"
	try {
		return await mine
	} finally {
		if (begun.get(node) === mine) node.ariaBusy = null
	}
}

function ask(node, one, items, spec) {
	if (node.ariaBusy) return
	const act = t`${translate(one.text)} ${countWords(items.length, spec.noun.one, spec.noun.many)}`
	const go = () => run(node, one, items, spec)
	if (!one.asks) return go()
	// The dialog does not wait for the act: it closes at once, and the toolbar shows the progress.
	const later = async () => void go()
	return confirm({
		title: t`${act}?`, text: one.asks, act, type: items.length > WIDE ? String(items.length) : null, run: later,
	})
}

async function run(node, one, items, spec) {
	if (one.all) return one.all(items, spec.reload)
	const work = () => (one.verb ? together(one, items, spec) : forEach(node, items, one.run, spec))
	const { done, failed, job } = await atWork(node, work)
	if (job) return goTo(`/console/t/${slugOf(location.pathname)}/jobs/${job.id}`)
	const said = failed.length ? t`${done.length} done, ${failed.length} not. ${failed.slice(0, 3).join(" ")}`
		: t`${translate(one.text)}: ${countWords(done.length, spec.noun.one, spec.noun.many)} done`
	if (one.back && done.length) undoable(said, () => takeBack(node, one, done, spec))
	else toast(said, { stay: failed.length > 0 })
	return spec.reload()
}

/** Sends one request for all rows. For more than a hundred, the server creates a job, which has a page of its own. */
async function together({ verb: action, more }, items, { path, named }) {
	try {
		const answer = await api(`${path}/actions`, { body: { action, ids: items.map(one => one.id), ...more } })
		if (answer.kind) return { job: answer }
		const wrong = new Map(answer.items.filter(one => one.status === "failed").map(one => [one.id, one.detail]))
		return {
			done: items.filter(one => !wrong.has(one.id)),
			failed: items.filter(one => wrong.has(one.id)).map(one => `${named(one)}: ${wrong.get(one.id)}`),
		}
	} catch (error) {
		return { done: [], failed: [error.message] }
	}
}

async function takeBack(node, one, items, spec) {
	const { done, failed } = await atWork(node, () => forEach(node, items, one.back, spec))
	toast(failed.length ? t`${done.length} taken back, ${failed.length} not. ${failed.slice(0, 3).join(" ")}`
		: t`Taken back: ${countWords(done.length, spec.noun.one, spec.noun.many)}`, { stay: failed.length > 0 })
	return spec.reload()
}

/** How many calls of `run` are under way at the same time. */
const AT_ONCE = 4

/**
 * Calls `run` for each row, a few at a time, and shows the progress. After a press on Stop, no further call begins.
 */
async function forEach(node, items, run, { named }) {
	/** @type {{ done: any[], failed: string[] }} */
	const result = { done: [], failed: [] }
	let isStopped = false
	const bar = h("progress", { max: items.length, value: 0, "aria-label": "Progress" })
	const said = h("span")
	node.hidden = false
	replaceContent(node, bar, said, button("Stop", () => (isStopped = true), { look: ".tiny" }))
	const rest = items.values()
	const work = async () => {
		for (const item of rest) {
			if (isStopped) break
			await run(item).then(
				() => result.done.push(item), error => result.failed.push(`${named(item)}: ${error.message}`),
			)
			bar.value = result.done.length + result.failed.length
			replaceContent(said, t`${bar.value} of ${items.length}`)
		}
	}
	await Promise.all(Array.from({ length: AT_ONCE }, work))
	return result
}
