// The controls of a form's fields, and what they hold.
import { api, dayOf, h, queryString, replaceContent, t } from "../core.js"

/** A field's [control, what heads it, what stands below it]. */
export function controlOf(type, { field: { label, options, value }, id, common, hint }) {
	if (type === "select") {
		const chosen = value ?? options[0][0]
		return [
			h(
				"select", common,
				options.map(([code, text]) => h("option", { value: code, selected: code === chosen }, text)),
			),
		]
	}
	if (type === "pairs") {
		const lines = Object.entries(value ?? {}).map(([name, one]) => `${name} = ${one}`)
		return [h("textarea", { ...common, value: lines.join("\n") })]
	}
	if (type === "json") {
		return [h("textarea", { ...common, value: value?.length ? JSON.stringify(value, null, 1) : "" })]
	}
	if (type === "textarea" || type === "lines") {
		return [h("textarea", { ...common, value: [value ?? []].flat().join("\n") })]
	}
	if (type === "checks") {
		return [h("div.checks", { id, role: "group", "aria-label": label }, options.map(([code, text, why]) => (text
			? h("label.check", h("input", { type: "checkbox", value: code, checked: value?.includes(code) }),
				h("span", text, why && h("code.hint", why)))
			: h("strong.small", code)))), h("strong", label)]
	}
	if (type === "check") {
		const box = h("input", { ...common, type: "checkbox", checked: Boolean(value), required: false })
		return [box, h("label.check", box, h("span", label, hint))]
	}
	if (type === "tenant") return tenantControl(id, { ...common, value: value ?? "" })
	if (type === "day") return [h("input", { ...common, type: "date", value: value ? dayOf(value) : "" })]
	return [h("input", { ...common, type, value: value ?? "", spellcheck: false })]
}

/** A text in which a tenant is found by its name; its slug is what is typed, its id what is sent. */
function tenantControl(id, common) {
	const found = h("datalist", { id: `${id}l` })
	let timer
	let running
	const look = () => {
		clearTimeout(timer)
		running?.abort()
		const { signal } = (running = new AbortController())
		timer = setTimeout(async () => {
			const { items } = await api(
				`/tenants${queryString({ q: control.value.trim(), limit: 20 })}`, { signal },
			).catch(() => ({ items: [] }))
			// What was typed since has an answer of its own.
			if (signal.aborted) return
			replaceContent(found, items.map(one => h("option", { value: one.slug, label: one.name, "data-plain": "" })))
		}, 150)
	}
	const oninput = () => {
		delete control.dataset.id
		look()
	}
	const control = h("input", { ...common, autocomplete: "off", spellcheck: false, oninput, onfocus: look })
	control.setAttribute("list", found.id)
	return [control, undefined, found]
}

/** Finds the id of the tenant that was named by slug or id; a name that no tenant has stays, and the server says so. */
export async function settleTenant(control) {
	const text = control.value.trim()
	const id = text && await api(`/tenants/${encodeURIComponent(text)}`).then(one => one.id, error => {
		throw error.status === 404 ? Object.assign(new Error(), {
			errors: [{ pointer: `/${control.name.replaceAll(".", "/")}`, detail: t`There is no tenant “${text}”.` }],
		}) : error
	})
	if (control.value.trim() === text) control.dataset.id = id
}

/** `name = value`, one a line. */
function pairsOf(text, keep) {
	const lines = text.split("\n").map(line => line.split("=").map(part => part.trim())).filter(([name]) => name)
	return lines.length || keep ? Object.fromEntries(lines.map(([name, ...rest]) => [name, rest.join("=")])) : undefined
}

/** A text that is no JSON goes as it is: the server says what it should be. */
function jsonOf({ value }) {
	try {
		return JSON.parse(value.trim() || "[]")
	} catch {
		return value
	}
}

/** What a control holds, as a draft keeps it. */
export function rawOf(type, control) {
	if (type === "check") return control.checked
	if (type !== "checks") return control.value
	return [...control.querySelectorAll("input:checked")].map(one => one.value)
}

export function putRaw(type, control, value) {
	if (type === "check") control.checked = value
	else if (type === "checks") {
		for (const box of control.querySelectorAll("input")) box.checked = value.includes(box.value)
	} else control.value = value
}

export function read(type, control, { keep }) {
	if (type === "check") return control.checked
	if (type === "tenant") return (control.value.trim() && (control.dataset.id || control.value.trim())) || undefined
	const many = type === "checks" ? [...control.querySelectorAll("input:checked")].map(one => one.value)
		: type === "lines" && control.value.split(/[\n,]/).map(line => line.trim()).filter(Boolean)
	if (many) return many.length || keep ? many : undefined
	if (type === "pairs") return pairsOf(control.value, keep)
	if (type === "json") return jsonOf(control)
	const text = type === "password" ? control.value : control.value.trim()
	if (text === "") return keep ? null : undefined
	// The end of that day, where the reader is.
	if (type === "day") return new Date(`${text}T23:59:59`).toISOString()
	return type === "number" ? Number(text) : text
}
