import { confirm } from "./dialog.js"
import { button, count, fill, h, say, t } from "./html.js"
import { toast } from "../elements/toast-stack.js"

/**
 * Rows that are chosen together, and what can be done to them: a box in each row, Shift for a
 * range, one box for the page. Each item is its own request; what failed is named.
 */
export function chooser(spec, reload) {
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
		for (const { box } of boxes) box.closest("tr")?.classList.toggle("chosen", box.checked)
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
		node, clear,
		all(items) {
			boxes = []
			last = -1
			every = h("input", { type: "checkbox", "aria-label": "Select all of this page", onchange: () => mark(boxes, every.checked) })
			return items.length > 0 && h("th.pick", every)
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
