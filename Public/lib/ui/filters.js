// The bar above a list: search, filters, export and the button for a new thing.
import { button, h, icon, query } from "../core.js"

/** An API key, or more of one than lists show: it is never searched for. See lib/palette/key-text.js. */
const KEY = /gate_(live|test)_[0-9A-Za-z]{7}/

function control({ name, label, options, type = "text" }) {
	if (options) {
		return h("select", { "aria-label": label }, h(
			"option", { value: "" }, `Any ${label.toLowerCase()}`,
		),
			options.map(([code, text]) => h("option", { value: code }, text)))
	}
	return h("input", { placeholder: label, "aria-label": label, spellcheck: false, type, size: 14 })
}

function field(one, change) {
	const { name } = one
	const node = control(one)
	node.addEventListener("change", () => change({ [name]: node.value.trim() }))
	const put = (value = "") => {
		// A value that a link names and no choice has is a choice of its own.
		const isNew = value && node.matches("select") && ![...node.options].some(option => option.value === value)
		if (isNew) node.append(h("option", { value, "data-plain": "" }, value))
		node.value = value
	}
	return { name, node, put }
}

export function listBar(spec, filters, counted, change) {
	let timer
	const box = spec.search && h("input", {
		type: "search", placeholder: spec.search, "aria-label": spec.search, "data-search": "", spellcheck: false,
		oninput: () => {
			clearTimeout(timer)
			const text = box.value
			if (KEY.test(text)) {
				box.value = ""
				return import("../palette.js").then(palette => palette.open({ text }))
			}
			timer = setTimeout(() => change({ q: box.value.trim() }, { replace: true }), 150)
		},
	})
	const fields = filters.map(one => field(one, change))
	const take = spec.file && button("Export", spec.file, { icon: "save", "data-export": "" })
	const related = spec.related?.filter(Boolean).map(([href, text]) => h("a.btn", { href }, text))
	const live = spec.live && button("Follow", () => change({ live: query().live ? "" : "1" }), { icon: "pulse" })
	return {
		node: h("div.bar", { role: "search" }, box
			&& h("div.grow", icon("search"), box), fields.map(one => one.node), spec.time?.choice, live,
			counted),
		// What the list as a whole is for: beside the page's title.
		acts: [related, take, spec.create()],
		read(wanted) {
			if (box && document.activeElement !== box) box.value = wanted.q ?? ""
			live?.setAttribute("aria-pressed", String(Boolean(wanted.live)))
			for (const one of fields) one.put(wanted[one.name])
		},
	}
}

/** Saves a list, or those of it whose `ids` are asked for, as CSV. */
export const exportFile = async (path, noun) => (await import("../seldom.js")).saveList(path, noun)
