import { fill, h, icon, note } from "./html.js"

let serial = 0

/**
 * A form from descriptions: `[name, label, {type, options, hint, value, required, attrs}]`.
 * A dotted name is a nested member. `type`: text (default), any input type, select, textarea,
 * lines (an array, one a line), check, checks (an array of what is ticked; options may have groups).
 * Empty values that are not required are left out. `request(values)` gives "show the request".
 */
export function form(fields, { submit, send, cancel, danger, request } = {}) {
	const rows = fields.filter(Boolean).map(([name, label, more]) => row({ name, label, ...more }))
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
		const missing = rows.filter(one => one.field.required && one.read() === undefined)
		if (missing.length) {
			missing.forEach(one => one.say("Please fill this in."))
			focusOn(missing[0].control)
			return
		}
		button.disabled = true
		node.setAttribute("aria-busy", "true")
		try {
			await send(collect())
		} catch (error) {
			show(error)
		} finally {
			button.disabled = false
			node.removeAttribute("aria-busy")
		}
	}

	function collect() {
		const values = {}
		for (const { field, read } of rows) {
			const value = read()
			if (value === undefined) continue
			const path = field.name.split(".")
			const last = path.pop()
			const target = path.reduce((at, part) => (at[part] ??= {}), values)
			target[last] = value
		}
		return values
	}

	function show(error) {
		const rest = []
		let first = null
		for (const { pointer = "", detail } of error.errors ?? []) {
			const name = pointer.replace(/^[#/]*/, "").replaceAll("/", ".")
			const hit = rows.find(one => name === one.field.name || name.startsWith(`${one.field.name}.`))
			hit ? hit.say(detail) : rest.push(detail)
			first ??= hit
		}
		if (!first || rest.length) {
			const wait = error.status === 429 && error.retryAfter ? ` Try again in ${error.retryAfter} s.` : ""
			fill(trouble, note("danger", "alert", rest.join(" ") || error.message + wait,
				error.id && h("div.small", "Request ", h("code", error.id))))
		}
		if (first) focusOn(first.control)
	}

	// The panel's code comes only when it is wanted.
	if (request) import("./dialog.js").then(({ requestOf }) => {
		const panel = requestOf(() => request(collect()))
		fill(about, panel.node)
		node.addEventListener("input", panel.draw)
	})
	node.values = collect
	return node
}

const focusOn = control => (control.matches("div") ? control.querySelector("input") : control).focus()

function row(field) {
	const id = `f${(serial += 1)}`
	const { type = "text", options, value, attrs = {} } = field
	const common = { id, name: field.name, "aria-describedby": field.hint ? `${id}h ${id}e` : `${id}e`, required: field.required ?? false, ...attrs }
	let control
	if (type === "select") {
		control = h("select", common, options.map(([code, text]) => h("option", { value: code, selected: code === (value ?? options[0][0]) }, text)))
	} else if (type === "textarea" || type === "lines" || type === "json") {
		control = h("textarea", { ...common, value: Array.isArray(value) ? value.join("\n") : value ?? "" })
	} else if (type === "checks") {
		control = h("div.checks", { id, role: "group", "aria-label": field.label }, options.map(([code, text, why]) => text
			? h("label.check", h("input", { type: "checkbox", value: code, checked: (value ?? []).includes(code) }), h("span", text, why && h("code.hint", why)))
			: h("strong.small", code)))
	} else if (type === "check") {
		control = h("input", { ...common, type: "checkbox", checked: Boolean(value), required: false })
	} else {
		control = h("input", { ...common, type, value: value ?? "", spellcheck: false })
	}
	const error = h("div.wrong", { id: `${id}e`, hidden: true })
	const hint = field.hint && h("div.hint", { id: `${id}h` }, field.hint)
	const node = type === "check"
		? h("div.field", h("label.check", { htmlFor: id }, control, h("span", field.label, hint)), error)
		: h("div.field", type === "checks" ? h("strong", field.label) : h("label", { htmlFor: id }, field.label), control, hint, error)
	return {
		field, node, control,
		read: () => read(type, control, field),
		say(text) {
			control.toggleAttribute("aria-invalid", Boolean(text))
			if (text) control.setAttribute("aria-invalid", "true")
			error.hidden = !text
			fill(error, text && icon("alert"), text)
		},
	}
}

function read(type, control, field) {
	if (type === "check") return control.checked
	if (type === "checks") {
		const ticked = [...control.querySelectorAll("input:checked")].map(one => one.value)
		return ticked.length || field.keep ? ticked : undefined
	}
	if (type === "lines") {
		const lines = control.value.split(/[\n,]/).map(line => line.trim()).filter(Boolean)
		return lines.length || field.keep ? lines : undefined
	}
	const text = type === "password" ? control.value : control.value.trim()
	if (text === "") return field.keep ? null : undefined
	return type === "number" ? Number(text) : text
}

/** The field of a password that is chosen now. */
export const newPassword = label => ["password", label, { type: "password", required: true, hint: "At least 15 characters; a sentence is fine.", attrs: { autocomplete: "new-password" } }]

/** The secret that a link carries behind its `#`, where no server sees it. */
export const linkToken = () => new URLSearchParams(location.hash.slice(1)).get("token")

/** The frame of pages outside the gate: the gatehouse on one side, a form on the other. */
export const door = (title, lead, ...kids) => h("div.door",
	h("div.wall", h("span.brand", icon("mark"), h("span", "Gatehouse")),
		h("p", "Who may come in, and why."), icon("mark", "big")),
	h("div.sheet", h("div", h("h1", title), h("p.lead", lead), kids)))

/** Draws such a page anew, its heading focused. */
export function showDoor(...page) {
	const built = door(...page)
	fill(document.querySelector("main"), built)
	const heading = built.querySelector("h1")
	heading.tabIndex = -1
	heading.focus()
}
