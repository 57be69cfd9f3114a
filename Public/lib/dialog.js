// Messages, forms and dialogs.
import { api, button, etagOf, fill, h, icon, news, note, probe, say, sent, shown, t } from "./core.js"

const stack = document.querySelector("toast-stack")
addEventListener("keydown", event => {
	if (event.key !== "F6" || !stack.children.length) return
	event.preventDefault()
	stack.lastElementChild.querySelector("button").focus()
})

/** Polite news. Six seconds; what has an action or is an error stays. F6 reaches it. Returns what closes it. */
export function toast(text, { action, run, stay = Boolean(action) } = {}) {
	let timer
	const close = () => node.remove()
	const hold = () => clearTimeout(timer)
	const wait = time => !stay && (timer = setTimeout(close, time))
	const node = h("div.toast", { onpointerenter: hold, onfocusin: hold, onpointerleave: () => wait(3000) }, h("span", { dir: "auto" }, text),
		action && h("button", { type: "button", onclick: () => (close(), run()) }, action, h("kbd", "Z")),
		h("button", { type: "button", "aria-label": "Dismiss", onclick: close }, "×"))
	while (stack.children.length > 3) stack.firstElementChild.remove()
	stack.append(node)
	wait(6000)
	return close
}

let serial = 0

/**
 * A form from descriptions: `[name, label, {type, options, hint, value, look, autocomplete, attrs}]`. `name*` is required;
 * a dotted name is a nested member. `type`: text (default), any input type, textarea, lines (an array,
 * one a line), check, checks (an array of what is ticked; options may have groups); options make a select.
 * Empty values are left out. `start` fills in; where it edits `values`, only what was changed is sent, an emptied one as null.
 * Sends by `send(values)`, or what `request(values)` → [path, options] says, which is shown too; then `done(answer, values)`.
 */
export function form(fields, { submit, request, send = values => api(...request(values)), done, cancel, danger, start, values: edited = start } = {}) {
	const rows = fields.filter(Boolean).map(([name, label, more]) => {
		const path = name.replace("*", "")
		return row({ name: path, label, required: name !== path, keep: !start && edited, ...more, value: more?.value ?? path.split(".").reduce((at, part) => at?.[part], edited) })
	})
	const last = button(submit, null, { look: danger ? ".danger" : ".primary", type: "submit" })
	const trouble = h("div", { role: "alert" })
	const about = h("div")
	const node = h("form", { noValidate: true, onsubmit }, rows.map(one => one.node), trouble, about,
		h("div.acts", cancel && button("Cancel", cancel, { "data-cancel": "" }), last))

	async function onsubmit(event) {
		event.preventDefault()
		if (last.disabled) return
		rows.forEach(one => one.say(null))
		fill(trouble)
		const missing = rows.filter(one => one.field.required && !one.read()?.toString())
		missing.forEach(one => one.say("Please fill this in."))
		if (missing.length) return missing[0].focus()
		last.disabled = true
		node.setAttribute("aria-busy", "true")
		try {
			const values = collect()
			const answer = await send(values)
			await done?.(answer, values)
		} catch (error) {
			show(error)
		} finally {
			last.disabled = false
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

	if (request) fill(about, requestOf(node, () => request(collect())))
	node.values = collect
	return node
}

/** A field that is ticked or not. */
export const check = (name, label, value) => [name, label, { type: "check", value }]

function row(field) {
	const id = `f${(serial += 1)}`
	const { options, value, label, autocomplete, attrs, required } = field
	const { look = "", type = options ? "select" : "text", hint: help = type === "lines" && "One a line." } = field
	const common = { id, name: field.name, "aria-describedby": `${id}h ${id}e`, required, autocomplete, ...attrs }
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
		node: h(`div.field${look}`, heading, type !== "check" && [control, hint], error),
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

/** Opens a modal dialog; it leaves the DOM when it closes, and focus returns to where it was. */
export function dialog(title, ...kids) {
	const id = `d${(serial += 1)}`
	const before = document.activeElement
	const node = h("dialog", { "aria-labelledby": id, onclose: () => {
		node.remove();
		(before !== document.body && before?.isConnected ? before : document.querySelector("main h1"))?.focus({ preventScroll: true })
	} }, h("h2", { id }, title), kids)
	document.body.append(node)
	node.showModal()
	return node
}

/**
 * A dialog with a form, whose button says `submit` or the title. What is sent, and shown, is
 * `request(values)` → [path, options], or the values to `path` by `method`. Then `done(answer, values)`,
 * or `said` as a message and `after()`. `edits`: the object that the form changes.
 */
export function formDialog({ title, lead, fields = [], edits, submit = edits ? "Save" : title, danger, start, send, path, method = edits && "PATCH", etag = edits && etagOf(edits), said = edits && "Saved", after, ...given }) {
	const request = given.request ?? (path && (values => [path, { method, body: values, etag }]))
	const done = given.done ?? (made => (said && toast(said.call ? said(made) : said), after?.()))
	const built = form(fields, {
		submit, danger, start, request, send, values: edits ?? start, cancel: () => node.close(),
		done: (...answer) => (node.close(), done(...answer)),
	})
	const node = dialog(title, lead && h("p.lead", lead), built);
	(node.querySelector("input, select, textarea") ?? node).focus()
	return node
}

/**
 * For what is final: says what breaks now, with focus on Keep. `type`: a word to be typed first.
 * Runs `run`, or sends `body` to `path` by `method`, then as a form's dialog.
 */
export function confirm({ text, keep = "Keep", act, type, run, path, method = "DELETE", body, etag, ...rest }) {
	const node = formDialog({
		...rest, lead: text, submit: act, danger: true, fields: [type && ["typed*", t`Type ${type} to confirm`, { autocomplete: "off" }]],
		send: values => {
			if (type && values.typed !== type) throw new Error(t`That is not ${type}.`)
			return run ? run() : api(path, { method, body, etag })
		},
	})
	const cancel = node.querySelector("[data-cancel]")
	fill(cancel, keep)
	if (!type) cancel.focus()
}

/** The last line of a dialog that only tells. */
export const closer = () => h("div.acts", button("Close", event => event.target.closest("dialog").close()))

/** A button that copies a text. */
export const copies = (text, label = "Copy", look = "") => button(label, () => navigator.clipboard.writeText(text)
	.then(() => toast("Copied"), () => toast("The browser did not allow copying.", { stay: true })), { look, icon: "copy" })

/** Gives the browser a file to keep. */
export function save(name, parts, type) {
	const href = URL.createObjectURL(new Blob(parts, { type }))
	h("a", { href, download: name }).click()
	URL.revokeObjectURL(href)
}

/** Shows a secret once; nothing closes it before "stored" is ticked. `call`: what an API key can be tried on. */
export function reveal({ title, secret, name, call, text }) {
	const leave = event => event.preventDefault()
	const value = h("code.code.secret", { tabIndex: 0 }, secret)
	const stored = h("input", { type: "checkbox", id: "stored", onchange: () => (done.disabled = !stored.checked) })
	const done = button("Done", () => close(), { look: ".primary", disabled: true })
	const said = news()
	const tryNow = async () => {
		const { status, name: whose, detail } = await probe(secret).catch(error => ({ status: 0, detail: error.message }))
		fill(said, status === 200 ? note("ok", "check", t`It works: the server knows it as “${whose}”.`) : note("danger", "alert", detail))
	}
	const close = () => {
		removeEventListener("beforeunload", leave)
		fill(value)
		node.close()
		node.replaceChildren()
		secret = null
	}
	const node = dialog(title, h("div.lead", text ?? "This is the only time it is shown. Store it now: nobody, not even Gatehouse, can show it again."),
		value, h("div.acts", copies(secret), button("Download .env", () => save(".env", [`${name}=${secret}\n`], "text/plain")), call && button("Test it now", tryNow)), said,
		call && h("details", h("summary", "Call the API with it"), h("code.code", curlOf(shown(call)))),
		h("div.acts", h("label.check", stored, "I have stored it"), done))
	node.setAttribute("closedby", "none")
	// A second Escape closes a dialog even where its `cancel` was refused.
	node.addEventListener("keydown", event => event.key === "Escape" && event.preventDefault())
	node.addEventListener("cancel", event => event.preventDefault())
	addEventListener("beforeunload", leave)
	value.focus()
}

const quote = text => `'${text.replaceAll("'", `'\\''`)}'`
function curlOf({ method, path, body, etag, accept }) {
	const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quote(location.origin + path)}`,
		`  -H "Authorization: Bearer $GATEHOUSE_KEY"`]
	if (accept) lines.push(`  -H ${quote(`Accept: ${accept}`)}`)
	if (etag) lines.push(`  -H ${quote(`If-Match: ${etag}`)}`)
	if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quote(body)}`)
	return lines.join(" \\\n")
}

const runnable = (text, more) => [h("code.code", { tabIndex: 0 }, text), h("div.acts", copies(text, "Copy curl"), more)]

/** "Show me the curl" of a form: what it would send now. */
function requestOf(form, read) {
	const box = h("div.stack-gap")
	const panel = h("details.small", { ontoggle: draw }, h("summary", "Show the request"), box)
	function draw() {
		if (panel.open) fill(box, runnable(curlOf(shown(...read()))))
	}
	form.addEventListener("input", draw)
	return panel
}

export function showRequests() {
	dialog("Requests of this view", h("p.lead", "Exactly what this page sent, for an API key instead of your session. Secrets are masked."),
		sent.toReversed().map(entry => h("div.stack-gap", runnable(curlOf(entry), entry.body && copies(entry.body, "Copy JSON")))),
		!sent.length && h("p.muted", "This view has asked for nothing."), closer())
}

let lastUndo = null
export function undo() {
	const run = lastUndo
	lastUndo = null
	return run ? run() : toast("There is nothing to undo here.")
}
/** Says what happened and how to take it back: in the message, and by `Z`. */
export function undoable(said, run) {
	const close = toast(said, { action: "Undo", run: undo })
	lastUndo = () => (close(), run())
}

/** Runs one call and says how it went; for actions that need no form. `back`: what undoes it. */
export async function act(path, { back, ...options }, said, after) {
	try {
		const answer = await api(path, { method: "POST", ...options })
		if (back) undoable(said, back)
		else if (said) toast(said)
		await after?.(answer)
	} catch (error) {
		toast(error.message, { stay: true })
	}
}
