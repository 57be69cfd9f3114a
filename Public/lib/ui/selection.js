// Rows that are chosen together.
import { h, t } from "../core.js"

/**
 * Rows that are chosen together: a box in each row, Shift for a range, one box for the page. What can be done to
 * them, and that all that match can be chosen, is lib/chooser.js's, which comes with the first choice.
 */
export function rowSelection(spec, reload) {
	const node = h("div.bar.bulk", { hidden: true, role: "group", "aria-label": "Selected rows" })
	let boxes = []
	let last = -1
	let every = null
	let whole = null
	let offer = null

	// Only the first choice waits for the module, with an empty bar; later ones are drawn at once. What is being done
	// to an earlier choice is not covered up.
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
			offer = (await import("../chooser.js")).offer
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
		/** The rows are gone, and the choice with them. */
		none,
		/** Begins a page of a list with that `total`; the box of its head. */
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
