import { api } from "./api.js"
import { fill, h, icon, note, t } from "./html.js"

let serial = 0

/**
 * A form from descriptions: `[name, label, {type, options, hint, value, attrs}]`. `name*` is required;
 * a dotted name is a nested member. `type`: text (default), any input type, textarea, lines (an array,
 * one a line), check, checks (an array of what is ticked; options may have groups); options make a select.
 * Empty values are left out. `start` fills in; where it edits `values`, only what was changed is sent, an emptied one as null.
 * Sends by `send(values)`, or what `request(values)` → [path, options] says, which is shown too; then `done(answer, values)`.
 */
export function form(fields, { submit, request, send = values => api(...request(values)), done, cancel, danger, start, values: edited = start } = {}) {
	const rows = fields.filter(Boolean).map(([name, label, more]) => {
		const path = name.replace("*", "")
		return row({ name: path, label, required: name !== path, value: edited?.[path], keep: !start && edited, ...more })
	})
	const button = h(`button.btn.${danger ? "danger" : "primary"}`, { type: "submit" }, submit)
	const trouble = h("div", { role: "alert" })
	const about = h("div")
	const node = h("form", { noValidate: true, onsubmit }, rows.map(one => one.node), trouble, about,
		h("div.acts", cancel && h("button.btn", { type: "button", onclick: cancel, "data-cancel": "" }, "Cancel"), button))

	async function onsubmit(event) {
		event.preventDefault()
		if (button.disabled) return
		rows.forEach(one => one.say(null))
		fill(trouble)
		const missing = rows.filter(one => one.field.required && !one.read()?.toString())
		missing.forEach(one => one.say("Please fill this in."))
		if (missing.length) return missing[0].focus()
		button.disabled = true
		node.setAttribute("aria-busy", "true")
		try {
			const values = collect()
			const answer = await send(values)
			await done?.(answer, values)
		} catch (error) {
			show(error)
		} finally {
			button.disabled = false
			node.removeAttribute("aria-busy")
		}
	}

	function collect() {
		const values = {}
		for (const { field, read, before } of rows) {
			const value = read()
			if (value === undefined || (field.keep && String(value ?? "") === before)) continue
			const path = field.name.split(".")
			const last = path.pop()
			path.reduce((at, part) => (at[part] ??= {}), values)[last] = value
		}
		return values
	}

	function show(error) {
		const rest = []
		let first = null
		for (const { pointer = "", detail } of error.errors ?? []) {
			const name = pointer.replace(/^[#/]*/, "").replaceAll("/", ".")
			const hit = rows.find(({ field }) => name === field.name || name.startsWith(`${field.name}.`))
			hit ? hit.say(detail) : rest.push(detail)
			first ??= hit
		}
		if (!first || rest.length) fill(trouble, note("danger", "alert", rest.join(" ") || error.message,
			error.status === 429 && error.retryAfter && [" ", t`Try again in ${error.retryAfter} s.`],
			error.id && h("div.small", "Request ", h("code", error.id))))
		first?.focus()
	}

	// The panel's code comes only when it is wanted.
	if (request) import("./dialog.js").then(({ requestOf }) => fill(about, requestOf(node, () => request(collect()))))
	node.values = collect
	return node
}

function row(field) {
	const id = `f${(serial += 1)}`
	const { options, value, label, attrs, required } = field
	const { type = options ? "select" : "text", hint: help = type === "lines" && "One a line." } = field
	const common = { id, name: field.name, "aria-describedby": `${id}h ${id}e`, required, ...attrs }
	const hint = help && h("div.hint", { id: `${id}h` }, help)
	const error = h("div.wrong", { id: `${id}e`, hidden: true })
	const [control, ...named] = {
		select: () => [h("select", common, options.map(([code, text]) => h("option", { value: code, selected: code === (value ?? options[0][0]) }, text)))],
		textarea: () => [h("textarea", { ...common, value: [value ?? []].flat().join("\n") })],
		checks: () => [h("div.checks", { id, role: "group", "aria-label": label }, options.map(([code, text, why]) => (text
			? h("label.check", h("input", { type: "checkbox", value: code, checked: value?.includes(code) }), h("span", text, why && h("code.hint", why)))
			: h("strong.small", code)))), h("strong", label)],
		check: () => {
			const box = h("input", { ...common, type: "checkbox", checked: Boolean(value), required: false })
			return [box, h("label.check", box, h("span", label, hint))]
		},
	}[type === "lines" ? "textarea" : type]?.() ?? [h("input", { ...common, type, value: value ?? "", spellcheck: false })]
	const heading = named[0] ?? h("label", { htmlFor: id }, label)
	return {
		field, before: String(read(type, control, field) ?? ""), read: () => read(type, control, field),
		node: h("div.field", heading, type !== "check" && [control, hint], error),
		focus: () => (control.querySelector("input") ?? control).focus(),
		say(text) {
			if (text) control.setAttribute("aria-invalid", "true")
			else control.removeAttribute("aria-invalid")
			error.hidden = !text
			fill(error, text && icon("alert"), text)
		},
	}
}

function read(type, control, { keep }) {
	if (type === "check") return control.checked
	const many = type === "checks" ? [...control.querySelectorAll("input:checked")].map(one => one.value)
		: type === "lines" && control.value.split(/[\n,]/).map(line => line.trim()).filter(Boolean)
	if (many) return many.length || keep ? many : undefined
	const text = type === "password" ? control.value : control.value.trim()
	if (text === "") return keep ? null : undefined
	return type === "number" ? Number(text) : text
}
