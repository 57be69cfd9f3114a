import { confirm } from "./dialog.js"
import { button, count, fill, h } from "./html.js"
import { toast } from "../elements/toast-stack.js"

/**
 * Rows that are chosen together, and what can be done to them: a box in each row, Shift for a
 * range, one box for the page. Each item is its own request; what failed stays chosen and is named.
 */
export function chooser(spec, reload) {
	const node = h("div.bar.bulk", { hidden: true, role: "group", "aria-label": "Selected rows" })
	let boxes = []
	let last = -1
	let every = null
	const chosen = () => boxes.filter(({ box }) => box.checked).map(({ item }) => item)

	function show() {
		const items = chosen()
		node.hidden = !items.length
		if (every) {
			every.checked = items.length > 0 && items.length === boxes.length
			every.indeterminate = items.length > 0 && items.length < boxes.length
		}
		for (const { box } of boxes) box.closest("tr")?.classList.toggle("chosen", box.checked)
		fill(node, h("strong", `${items.length} selected`), spec.bulk.map(one => {
			const fit = items.filter(one.fits)
			return fit.length > 0 && button(fit.length === items.length ? one.text : `${one.text} ${fit.length}`, () => ask(one, fit), { look: one.danger ? ".tiny.warnish" : ".tiny" })
		}), button("Clear", clear, { look: ".ghost.tiny" }))
	}

	function clear() {
		for (const { box } of boxes) box.checked = false
		show()
	}

	function ask(one, items) {
		const people = count(items.length, ...spec.noun)
		if (!one.asks) return run(one, items)
		return confirm({ title: `${one.text} ${people}?`, text: one.asks, act: `${one.text} ${people}`, run: () => run(one, items) })
	}

	async function run(one, items) {
		const failed = []
		for (const [at, item] of items.entries()) {
			fill(node, h("progress", { max: items.length, value: at }), ` ${at} of ${items.length}`)
			await one.run(item).catch(error => failed.push(`${spec.named(item)}: ${error.message}`))
		}
		toast(failed.length ? `${items.length - failed.length} done, ${failed.length} not. ${failed.slice(0, 3).join(" ")}` : `${one.text}: ${count(items.length, ...spec.noun)} done`, { stay: failed.length > 0 })
		reload()
	}

	return {
		node, clear,
		all(items) {
			boxes = []
			last = -1
			every = h("input", { type: "checkbox", "aria-label": "Select all of this page", onchange: () => {
				for (const { box } of boxes) box.checked = every.checked
				show()
			} })
			return items.length > 0 && h("th.pick", every)
		},
		box(item) {
			const at = boxes.length
			const box = h("input", { type: "checkbox", "aria-label": `Select ${spec.named(item)}`, onclick: event => {
				const [from, to] = [Math.min(last, at), Math.max(last, at)]
				if (event.shiftKey && last >= 0) boxes.slice(from, to + 1).forEach(one => (one.box.checked = box.checked))
				last = at
				show()
			} })
			boxes.push({ box, item })
			return h("td.pick", box)
		},
	}
}
