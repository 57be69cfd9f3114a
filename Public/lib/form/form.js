// Forms made from descriptions of their fields.
import { api, button, describeRequest, h, note, replaceContent, t, translate } from "../core.js"
import { draftOf } from "./drafts.js"
import { row } from "./field.js"

/**
 * A form from descriptions: `[name, label, {type, options, hint, value, look, autocomplete, attrs, also, unique}]`.
 * `name*` is required; a dotted name is a nested member. `type`: text (default), any input type, textarea, lines (an
 * array, one a line), pairs (an object, `name = value` a line), json (an array), check, checks (an array of what is
 * ticked; options may have groups), tenant (an id, chosen by name), day (its end, as a time); options make a select.
 * `also`: further members whose errors belong to the field; `unique`: a 409 belongs to it; `named`: it holds names or
 * addresses, of which those that may be taken for others are told, as of an email; `when(values)`: false where the
 * field is not for these. Empty values are left out. `start` fills in; where it edits `values`, only what was changed
 * is sent, an emptied one as null. Sends by `send(values)`, or what `request(values)` → [path, options] says, which is
 * shown too; then `done(answer, values)`. `draft`: the name under which what is typed is kept. `refused(error, values)`
 * says whether it dealt with a refusal; `refresh()` reads the object anew after a 412, and what is typed may then be
 * sent on top of it. The node has `values()`, `isEdited()` and `forget()`, which ends the draft.
 */
export function form(fields, {
	submit, request, send = values => api(...request(values)), done, cancel, danger, start, values: edited = start,
	draft,
	refused, refresh,
} = {}) {
	const rows = fields.filter(Boolean).map(([name, label, more]) => {
		const path = name.replace("*", "")
		return row(
			{
				name: path, label, required: name !== path, keep: !start && edited, ...more,
				value: more?.value ?? path.split(".").reduce((at, part) => at?.[part], edited),
			},
		)
	})
	const last = button(submit, null, { look: danger ? ".danger" : ".primary", type: "submit" })
	const trouble = h("div", { role: "alert" })
	const about = h("div")
	const back = h("div")
	const giveUp = () => (forget(), cancel())
	const node = h("form", { noValidate: true, onsubmit, onkeydown }, back, rows.map(one => one.node), trouble, about,
		h("div.acts", cancel && button("Cancel", giveUp, { "data-cancel": "" }), last))
	const fit = () => {
		for (const { field, node } of rows) if (field.when) node.hidden = !field.when({ ...edited, ...collect() })
	}
	node.addEventListener("input", fit)
	const kept = draft && draftOf(draft, rows)
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

	/** From a field of several lines, Enter alone does not send. */
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

	/** The values, once each tenant that was chosen by its name has its id. */
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
		await refresh()
		node.requestSubmit()
	}

	fit()
	if (request) replaceContent(about, requestOf(node, () => request(collect())))
	node.values = collect
	node.isEdited = () => !isSent && rows.some(one => one.isChanged())
	node.forget = forget
	return node
}

/** What a refusal says, with what is to be done where its own words do not tell. */
function messageOf(error) {
	const { status, message, title, retryAfter } = error
	if (status === 0) return t`${translate(title)}. ${translate(message)}`
	if (status === 429 && retryAfter) return t`${translate(message)} Try again in ${retryAfter} s.`
	if (status === 412) return t`${translate(message)} Only what you changed is sent if you save it on top. `
	return message
}

/** "Show the request" of a form: what it would send now. Its code comes when it is opened. */
function requestOf(form, read) {
	const box = h("div.stack-gap")
	const panel = h("details.small", { ontoggle: draw }, h("summary", "Show the request"), box)
	async function draw() {
		if (panel.open) replaceContent(box, (await import("../seldom.js")).runnable(describeRequest(...read())))
	}
	form.addEventListener("input", draw)
	return panel
}
