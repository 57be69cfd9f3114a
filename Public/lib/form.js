// Forms.
import { button, dayOf, h, icon, note, queryString, replaceContent, t, translate } from "./core.js"
import { api, currentOperator, describeRequest, etagOf } from "./server.js"
import { dialog, toast } from "./dialogs.js"

// Drafts: what was typed and not sent is kept in this tab, in case the session ends or a dialog is closed by
// accident. A draft belongs to one operator and never contains a secret. It is removed when the form is sent or
// cancelled, or the operator signs out.

const SECRET = /(^|_)(password|token|key|secret|typed|payload)$/
const isKept = ({ field }) => field.type !== "password" && !SECRET.test(field.name)

/**
 * The draft of the form `name` on this page. `keep()` stores what was changed; `put()` fills it in again and returns
 * whether there was a draft; `end()` removes it.
 * @type {(name: string, rows: any[]) => { keep: () => void, put: () => boolean, end: () => void }}
 */
function draftOf(name, rows) {
	const key = `draft ${currentOperator().id} ${location.pathname} ${name}`
	const end = () => sessionStorage.removeItem(key)
	const keep = () => {
		const changed = rows.filter(one => isKept(one) && one.isChanged()).map(one => [one.field.name, one.raw()])
		if (changed.length) sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(changed)))
		else end()
	}
	const put = () => {
		const kept = JSON.parse(sessionStorage.getItem(key) ?? "{}")
		const found = rows.filter(one => one.field.name in kept)
		found.forEach(one => one.put(kept[one.field.name]))
		return found.length > 0
	}
	return { keep, put, end }
}

// The controls of a form's fields, and their values.

/**
 * Returns the `control` of a field, its `heading` if that is not just the label, and what is shown `below` the
 * control.
 */
function controlOf(type, { field: { label, options, value }, id, common, hint }) {
	if (type === "select") {
		const chosen = value ?? options[0].value
		const option = one => h("option", { value: one.value, selected: one.value === chosen }, one.text)
		return { control: h("select", common, options.map(option)) }
	}
	if (type === "pairs") {
		const lines = Object.entries(value ?? {}).map(([name, one]) => `${name} = ${one}`)
		return { control: h("textarea", { ...common, value: lines.join("\n") }) }
	}
	if (type === "json") {
		return { control: h("textarea", { ...common, value: value?.length ? JSON.stringify(value, null, 1) : "" }) }
	}
	if (type === "textarea" || type === "lines") {
		return { control: h("textarea", { ...common, value: [value ?? []].flat().join("\n") }) }
	}
	if (type === "checks") {
		const box = one => (one.group ? h("strong.small", one.group)
			: h("label.check", h("input", { type: "checkbox", value: one.value, checked: value?.includes(one.value) }),
				h("span", one.text, one.hint && h("code.hint", one.hint))))
		const control = h("div.checks", { id, role: "group", "aria-label": label }, options.map(box))
		return { control, heading: h("strong", label) }
	}
	if (type === "check") {
		const box = h("input", { ...common, type: "checkbox", checked: Boolean(value), required: false })
		return { control: box, heading: h("label.check", box, h("span", label, hint)) }
	}
	if (type === "tenant") return tenantControl(id, { ...common, value: value ?? "" })
	if (type === "day") return { control: h("input", { ...common, type: "date", value: value ? dayOf(value) : "" }) }
	return { control: h("input", { ...common, type, value: value ?? "", spellcheck: false }) }
}

/** A field that finds tenants by name. A slug is typed or chosen, and the tenant's id is sent. */
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
			// Ignore this answer if the text has changed since its request: a newer request finds the tenants for the
			// new text.
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
	return { control, below: found }
}

/**
 * Finds the id of the tenant whose slug or id was typed, and stores the id at the control. If there is no such tenant,
 * the text stays, and an error for this field is thrown.
 * @type {(control: HTMLInputElement) => Promise<void>}
 */
async function settleTenant(control) {
	const text = control.value.trim()
	const id = text && await api(`/tenants/${encodeURIComponent(text)}`).then(one => one.id, error => {
		throw error.status === 404 ? Object.assign(new Error(), {
			errors: [{ pointer: `/${control.name.replaceAll(".", "/")}`, detail: t`There is no tenant “${text}”.` }],
		}) : error
	})
	if (control.value.trim() === text) control.dataset.id = id
}

/**
 * Parses `name = value` pairs, one on each line. If there are none, returns undefined, or an empty object if `keep` is
 * set.
 */
function pairsOf(text, keep) {
	const lines = text.split("\n").map(line => line.split("=").map(part => part.trim())).filter(([name]) => name)
	return lines.length || keep ? Object.fromEntries(lines.map(([name, ...rest]) => [name, rest.join("=")])) : undefined
}

/**
 * The value of a JSON field. A text that is not JSON is sent unchanged: the server's refusal says what it should be.
 */
function jsonOf({ value }) {
	try {
		return JSON.parse(value.trim() || "[]")
	} catch {
		return value
	}
}

/** The value of a control, in the form in which a draft stores it. */
function rawOf(type, control) {
	if (type === "check") return control.checked
	if (type !== "checks") return control.value
	return [...control.querySelectorAll("input:checked")].map(one => one.value)
}

function putRaw(type, control, value) {
	if (type === "check") control.checked = value
	else if (type === "checks") {
		for (const box of control.querySelectorAll("input")) box.checked = value.includes(box.value)
	} else control.value = value
}

function read(type, control, { keep }) {
	if (type === "check") return control.checked
	if (type === "tenant") return (control.value.trim() && (control.dataset.id || control.value.trim())) || undefined
	const many = type === "checks" ? [...control.querySelectorAll("input:checked")].map(one => one.value)
		: type === "lines" && control.value.split(/[\n,]/).map(line => line.trim()).filter(Boolean)
	if (many) return many.length || keep ? many : undefined
	if (type === "pairs") return pairsOf(control.value, keep)
	if (type === "json") return jsonOf(control)
	const text = type === "password" ? control.value : control.value.trim()
	if (text === "") return keep ? null : undefined
	// The end of the typed day, in the reader's zone.
	if (type === "day") return new Date(`${text}T23:59:59`).toISOString()
	return type === "number" ? Number(text) : text
}

// One field of a form: its label, its control, its hint and its error.

let serial = 0

function row(field) {
	const id = `f${(serial += 1)}`
	const { options, label, autocomplete, attrs, required } = field
	const { look = "", type = options ? "select" : "text", hint: help = type === "lines" && "One a line." } = field
	const common = {
		id, name: field.name, "aria-describedby": `${id}h ${id}w ${id}e`, required, autocomplete, ...attrs,
	}
	const hint = help && h("div.hint", { id: `${id}h` }, help)
	const error = h("div.wrong", { id: `${id}e`, hidden: true })
	const made = controlOf(type, { field, id, common, hint })
	const { control, heading = h("label", { htmlFor: id }, label), below } = made
	const raw = () => rawOf(type, control)
	const before = raw()
	const put = value => putRaw(type, control, value)
	// Warn of a name that looks like another. A name in ASCII form (xn--…) is checked, too, since some browsers return
	// the domain of an email address in that form.
	const odd = (type === "email" || field.named) && h("div", { id: `${id}w`, "aria-live": "polite" })
	const judge = async () =>
		(odd.dataset.said || /[^\0-\x7f]|xn--/i.test(raw())) && (await import("./lookalike.js")).warn(odd, raw())
	if (odd) control.addEventListener("input", judge)
	if (odd && before) judge()
	const names = [field.name, ...(field.also ?? [])]
	const has = name => names.some(own => name === own || name.startsWith(`${own}.`))
	return {
		field, raw, put, has, before: JSON.stringify(read(type, control, field)),
		read: () => read(type, control, field),
		isChanged: () => String(raw()) !== String(before), reset: () => put(before),
		settle: type === "tenant" ? () => settleTenant(/** @type {HTMLInputElement} */ (control)) : null,
		// The error of a group of check boxes is shown above them: below many boxes it would be out of sight.
		node: h(`div.field${look}`, heading, type === "checks" && error,
			type !== "check" && [control, below, hint], odd, type !== "checks" && error),
		focus: () => (control.querySelector("input") ?? control).focus(),
		/** If the error is about one of the field's lines, puts the text of that line before the error. */
		explain(name, detail) {
			const at = Number(/\.(\d+)(\.|$)/.exec(name)?.[1] ?? 0)
			const lines = type === "lines" && read(type, control, field)
			return lines?.[at] ? t`“${lines[at]}” ${translate(detail)}` : detail
		},
		say(text) {
			if (text) control.setAttribute("aria-invalid", "true")
			else control.removeAttribute("aria-invalid")
			error.hidden = !text
			replaceContent(error, text && icon("alert"), text)
		},
	}
}

// Forms made from descriptions of their fields.

/**
 * A field of a form. A value that stays empty is left out of the request.
 *
 * Besides the types of HTML inputs, there are these: `lines` (an array, one item a line), `pairs` (an object, one
 * `name = value` a line), `json` (an array), `check` (one box), `checks` (an array of the ticked options), `tenant`
 * (an id, chosen by name) and `day` (a time, the end of the chosen day).
 * @typedef {object} Field
 * @property {string} name `a.b` is the member `b` of the object `a`
 * @property {Sentence} label
 * @property {boolean} [required]
 * @property {string} [type] text by default, or a select if there are options
 * @property {(Choice | ChoiceGroup)[]} [options]
 * @property {Child} [hint]
 * @property {any} [value] the first value; by default that of the edited object
 * @property {string} [look] further CSS classes, such as `.third`
 * @property {string} [autocomplete]
 * @property {Properties} [attrs] further properties of the control
 * @property {string[]} [also] further members whose errors belong to the field
 * @property {boolean} [unique] the error of an answer 409 is shown at this field
 * @property {boolean} [named] holds names or addresses, and warns of those that may be mistaken for others
 * @property {(values: any) => boolean} [when] whether the field applies, given the values of all fields
 */

/**
 * What a form does when it is submitted. It calls `send(values)` or, without `send`, sends the request that
 * `request(values)` returns; then it calls `done`. With `request`, it can also show the request.
 * @typedef {object} FormSpec
 * @property {Child} submit the text of its button
 * @property {(values: any) => FormRequest} [request]
 * @property {(values: any) => unknown} [send]
 * @property {(answer: any, values: any) => unknown} [done]
 * @property {() => unknown} [cancel]
 * @property {boolean} [danger]
 * @property {any} [start] what the fields hold at first
 * @property {any} [values] the object that is edited: only what was changed is sent, an emptied value as null
 * @property {string | null} [draft] the name under which typed values are kept
 * @property {(error: Refusal, values: any) => boolean} [refused] returns whether it dealt with a refusal
 * @property {null | (() => Promise<unknown>)} [refresh] requests the object after a 412; what was typed can then be
 *   sent on top of it
 */

/**
 * A form. `values()` returns the present values of its fields, `isEdited()` whether something was typed and not sent;
 * `forget()` removes the draft.
 * @typedef {HTMLFormElement & { values: () => any, isEdited: () => boolean, forget: () => void }} Form
 */

/** @type {(fields: (Field | Nothing)[], spec: FormSpec) => Form} */
export function form(fields, {
	submit, request, send = values => request && ask(request(values)), done, cancel, danger, start,
	values: edited = start, draft, refused, refresh,
}) {
	const rows = fields.filter(Boolean).map(one => row({
		...one, required: Boolean(one.required), keep: !start && edited,
		value: one.value ?? one.name.split(".").reduce((at, part) => at?.[part], edited),
	}))
	const last = button(submit, null, { look: danger ? ".danger" : ".primary", type: "submit" })
	const trouble = h("div", { role: "alert" })
	const about = h("div")
	const back = h("div")
	const giveUp = () => (forget(), cancel?.())
	const node = h("form", { noValidate: true, onsubmit, onkeydown }, back, rows.map(one => one.node), trouble, about,
		h("div.acts", cancel && button("Cancel", giveUp, { "data-cancel": "" }), last))
	const fit = () => {
		for (const { field, node } of rows) if (field.when) node.hidden = !field.when({ ...edited, ...collect() })
	}
	node.addEventListener("input", fit)
	const kept = draft ? draftOf(draft, rows) : null
	let isSent = false
	if (kept) node.addEventListener("input", kept.keep)
	if (kept?.put()) {
		replaceContent(back, note("info", "save", "What you typed before is back. ",
			button("Start over", () => {
				rows.forEach(one => one.reset())
				forget()
				node.dispatchEvent(new Event("input"))
			}, { look: ".tiny" })))
	}

	function forget() {
		kept?.end()
		replaceContent(back)
	}

	/**
	 * Submits the form on Ctrl or Cmd with Enter. In a field of several lines, Enter alone only begins a new line.
	 */
	function onkeydown(event) {
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit()
	}

	async function onsubmit(event) {
		event.preventDefault()
		if (last.disabled) return
		rows.forEach(one => one.say(null))
		replaceContent(trouble)
		const missing = rows.filter(one => !one.node.hidden && one.field.required && !one.read()?.toString())
		missing.forEach(one => one.say("Please fill this in."))
		if (missing.length) {
			const { field, focus } = missing[0]
			if (field.type === "checks") {
				replaceContent(trouble, note("danger", "alert", t`Nothing is ticked: ${translate(field.label)}.`))
			}
			return focus()
		}
		last.disabled = true
		node.setAttribute("aria-busy", "true")
		try {
			const values = await collected()
			const answer = await send(values)
			isSent = true
			forget()
			await done?.(answer, values)
		} catch (error) {
			if (!refused?.(error, collect())) show(error)
		} finally {
			last.disabled = false
			node.removeAttribute("aria-busy")
		}
	}

	function collect() {
		const values = {}
		for (const { field, node, read, before } of rows) {
			const value = read()
			if (node.hidden || value === undefined || (field.keep && JSON.stringify(value) === before)) continue
			const path = field.name.split(".")
			const last = path.pop()
			path.reduce((at, part) => (at[part] ??= {}), values)[last] = value
		}
		return values
	}

	/** Finds the id of each tenant that was typed in, and then returns the values. */
	async function collected() {
		for (const one of rows) await one.settle?.()
		return collect()
	}

	function show(error) {
		const rest = []
		let first = null
		for (const { pointer = "", detail } of error.errors ?? []) {
			const name = pointer.replace(/^[#/]*/, "").replaceAll("/", ".")
			const hit = rows.find(one => one.has(name))
			hit ? hit.say(hit.explain(name, detail)) : rest.push(t`${name.replaceAll(".", " ")}: ${detail}`)
			first ??= hit
		}
		if (error.status === 409 && !error.errors) {
			first = rows.find(({ field }) => field.unique)
			first?.say(error.message)
		}
		if (!first || rest.length) replaceContent(trouble, note("danger", "alert", rest.length
			? rest.join(" ")
			: messageOf(error),
			error.status === 412 && refresh && button("Save mine on top", onTop, { look: ".tiny" }),
			error.id && h("div.small", "Request ", h("code", error.id))))
		first?.focus()
	}

	async function onTop() {
		await refresh?.()
		node.requestSubmit()
	}

	fit()
	if (request) replaceContent(about, requestOf(node, () => request(collect())))
	return Object.assign(node, {
		values: collect, forget, isEdited: () => !isSent && rows.some(one => one.isChanged()),
	})
}

/** Sends what a form's `request` returned. */
const ask = ({ path, ...options }) => api(path, options)

/** The message of a refusal. For some statuses, advice is added that the server's own words do not give. */
function messageOf(error) {
	const { status, message, title, retryAfter } = error
	if (status === 0) return t`${translate(title)}. ${translate(message)}`
	if (status === 429 && retryAfter) return t`${translate(message)} Try again in ${retryAfter} s.`
	if (status === 412) return t`${translate(message)} Only what you changed is sent if you save it on top. `
	return message
}

/**
 * The section "Show the request" of a form, with the request that it would send now. Its code is loaded when the
 * section is opened.
 */
function requestOf(form, read) {
	const box = h("div.stack-gap")
	const panel = h("details.small", { ontoggle: draw }, h("summary", "Show the request"), box)
	async function draw() {
		if (!panel.open) return
		const { path, ...options } = read()
		replaceContent(box, (await import("./seldom.js")).runnable(describeRequest(path, options)))
	}
	form.addEventListener("input", draw)
	return panel
}

// Dialogs that hold a form.

/**
 * A dialog with a form, which sends its values to `path` unless there is a `request` or `send`.
 * @typedef {object} DialogParts
 * @property {Sentence} title
 * @property {Child} [lead]
 * @property {(Field | Nothing)[]} [fields]
 * @property {any} [edits] the object that the form changes
 * @property {Child} [submit] the title by default
 * @property {string} [path]
 * @property {(values: any) => unknown} [body]
 * @property {string} [method]
 * @property {string | null} [etag]
 * @property {null | Sentence | ((made: any) => Sentence)} [said] the message when it is done
 * @property {() => unknown} [after] called when it is done, unless there is a `done`
 * @typedef {DialogParts & Omit<FormSpec, "submit" | "values" | "cancel" | "refused" | "refresh">} DialogSpec
 */

/** @type {(spec: DialogSpec) => HTMLDialogElement} */
export function formDialog({
	title, lead, fields = [], edits, submit = edits ? "Save" : title, danger, start, send, path, body = one => one,
	method = edits && "PATCH",
	etag = edits && etagOf(edits), said = edits && "Saved", after, draft = String(title), ...given
}) {
	const request = given.request ?? (path ? values => ({ path, method, body: body(values), etag }) : undefined)
	const done = given.done ?? (made => (said && toast(typeof said === "function" ? said(made) : said), after?.()))
	let isOver = false
	const close = () => {
		isOver = true
		node.close()
	}
	const built = form(fields, {
		submit, danger, start, request, send, draft, values: edits ?? start, cancel: close,
		done: (...answer) => (close(), done(...answer)),
		refresh: edits && path ? async () => (etag = etagOf(await api(path))) : null,
	})
	const node = dialog(title, lead && h("p.lead", lead), built)
	node.addEventListener("close", () => {
		if (!isOver && draft && built.isEdited()) toast("What you typed is kept: open this again to continue.")
	});
	(node.querySelector("input, select, textarea") ?? node).focus()
	return node
}

/**
 * Asks before the operator leaves a page with changes; the changes stay in this tab as a draft.
 * @type {(leave: () => unknown) => HTMLDialogElement}
 */
export const askToLeave = leave => confirm({
	title: "Leave this page?", keep: "Stay", act: "Leave", run: leave,
	text: "What you changed here is not saved. It stays in this tab as a draft until you sign out.",
})

/**
 * A dialog that asks before an act, such as one that cannot be undone.
 * @typedef {object} ConfirmParts
 * @property {Child} text says what stops working
 * @property {Sentence} act the text of its button
 * @property {string} [keep] the text of the button that cancels, which has the focus
 * @property {Nothing | string} [type] a word that must be typed first
 * @property {(Field | Nothing)[]} [fields] check boxes whose members are sent too
 * @property {(more: any) => unknown} [run] is called instead of sending a request
 * @property {Record<string, unknown>} [query] the query of the request
 * @property {any} [body] the body of the request
 * @typedef {ConfirmParts & Omit<DialogSpec, "body" | "lead" | "submit" | "send" | "request">} ConfirmSpec
 */

/**
 * Opens a dialog that asks before an act. If the server answers that the act must be confirmed, the dialog shows why,
 * and the next press sends the confirmation text from the server's answer. If the operator had to type a word, they
 * have confirmed already, so the confirmation text is sent without another press.
 * @type {(spec: ConfirmSpec) => HTMLDialogElement}
 */
export function confirm({
	text, keep = "Keep", act, type, fields: ticks = [], run, path, query, method = "DELETE", body, etag, ...rest
}) {
	let confirmation = ""
	/** @type {Field | Nothing} */
	const word = type && { name: "typed", label: t`Type ${type} to confirm`, required: true, autocomplete: "off" }
	const node = formDialog({
		...rest, lead: text, submit: act, danger: true, draft: null,
		fields: [...ticks, word],
		send: async ({ typed, ...values }) => {
			if (type && typed !== type) throw new Error(t`That is not ${type}.`)
			const more = Object.fromEntries(Object.entries(values).filter(([, value]) => value))
			if (run) return run(more)
			const ask = () => api(path + queryString({ ...query, confirm: confirmation }),
				{ method, body: body && { ...body, ...more }, etag })
			try {
				return await ask()
			} catch (error) {
				confirmation = error.confirm ?? ""
				if (type && confirmation) return ask()
				throw error
			}
		},
	})
	const cancel = /** @type {HTMLElement} */ (node.querySelector("[data-cancel]"))
	replaceContent(cancel, keep)
	if (!type) cancel.focus()
	return node
}
