import { api, etagOf, probe, sent, shown } from "./api.js"
import { form } from "./form.js"
import { add, button, fill, h, note, t } from "./html.js"
import { toast } from "../elements/toast-stack.js"

let serial = 0

/** Opens a modal dialog; it leaves the DOM when it closes, and focus returns to where it was. */
export function dialog(title, ...kids) {
	const id = `d${(serial += 1)}`
	const before = document.activeElement
	const node = h("dialog", { "aria-labelledby": id }, h("h2", { id }, title), kids)
	document.body.append(node)
	node.addEventListener("close", () => {
		node.remove();
		(before?.isConnected ? before : document.querySelector("main h1"))?.focus()
	})
	node.showModal()
	return node
}

/**
 * A dialog with a form, whose button says `submit` or the title. What is sent, and shown, is
 * `request(values)` → [path, options], or the values to `path` by `method`. Then `done(answer, values)`,
 * or `said` as a message and `after()`. `edits`: the object that the form changes.
 */
export function formDialog({ title, lead, fields = [], edits, submit = edits ? "Save" : title, danger, send, path, method = edits && "PATCH", etag = edits && etagOf(edits), said = edits && "Saved", after, ...given }) {
	const request = given.request ?? (path && (values => [path, { method, body: values, etag }]))
	const done = given.done ?? (made => (said && toast(said.call ? said(made) : said), after?.()))
	const built = form(fields, {
		submit, danger, request, send, values: edits, cancel: () => node.close(),
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
		...rest, lead: text, submit: act, danger: true, fields: [type && ["typed*", t`Type ${type} to confirm`, { attrs: { autocomplete: "off" } }]],
		send: values => {
			if (type && values.typed !== type) throw new Error(t`That is not ${type}.`)
			return run ? run() : api(path, { method, body, etag })
		},
	})
	const cancel = node.querySelector("[data-cancel]")
	fill(cancel, keep)
	if (!type) cancel.focus()
}

/** A button that copies a text. */
export const copies = (text, label = "Copy", look = "") => button(label, () => navigator.clipboard.writeText(text)
	.then(() => toast("Copied"), () => toast("The browser did not allow copying.", { stay: true })), { look, icon: "copy" })

/** Shows a secret once; nothing closes it before "stored" is ticked. `call`: what an API key can be tried on. */
export function reveal({ title, secret, name, call, text }) {
	const leave = event => event.preventDefault()
	const value = h("code.code.secret", { tabIndex: 0 }, secret)
	const stored = h("input", { type: "checkbox", id: "stored", onchange: () => (done.disabled = !stored.checked) })
	const done = button("Done", () => close(), { look: ".primary", disabled: true })
	const file = () => {
		const url = URL.createObjectURL(new Blob([`${name}=${secret}\n`], { type: "text/plain" }))
		h("a", { href: url, download: ".env" }).click()
		URL.revokeObjectURL(url)
	}
	const said = h("div", { "aria-live": "polite" })
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
	const node = dialog(title, h("p.lead", text ?? "This is the only time it is shown. Store it now: nobody, not even Gatehouse, can show it again."),
		value, h("div.acts", copies(secret), button("Download .env", file), call && button("Test it now", tryNow)), said,
		call && h("details", h("summary", "Call the API with it"), h("code.code", curlOf(shown(call)))),
		h("div.acts", h("label.check", stored, "I have stored it"), done))
	node.setAttribute("closedby", "none")
	// A second Escape closes a dialog whose `cancel` was refused without the key press being refused as well.
	node.addEventListener("keydown", event => event.key === "Escape" && event.preventDefault())
	node.addEventListener("cancel", event => event.preventDefault())
	addEventListener("beforeunload", leave)
	value.focus()
}

const quote = text => `'${text.replaceAll("'", `'\\''`)}'`
function curlOf({ method, path, body, etag }) {
	const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quote(location.origin + path)}`,
		`  -H "Authorization: Bearer $GATEHOUSE_KEY"`]
	if (etag) lines.push(`  -H ${quote(`If-Match: ${etag}`)}`)
	if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quote(body)}`)
	return lines.join(" \\\n")
}

const runnable = (text, more) => [h("code.code", { tabIndex: 0 }, text), h("div.acts", copies(text, "Copy curl"), more)]

/** "Show me the curl" of a form: what it would send now. */
export function requestOf(form, read) {
	const box = h("div.stack-gap")
	const panel = h("details.small", { ontoggle: draw }, h("summary", "Show the request"), box)
	function draw() {
		try {
			if (panel.open) fill(box, runnable(curlOf(shown(...read()))))
		} catch {
			// What is being typed is not JSON yet.
		}
	}
	form.addEventListener("input", draw)
	return panel
}

export function showRequests() {
	const node = dialog("Requests of this view", h("p.lead", "Exactly what this page sent, for an API key instead of your session. Secrets are masked."))
	for (const entry of sent.toReversed()) {
		add(node, h("div.stack-gap", runnable(curlOf(entry), entry.body && copies(entry.body, "Copy JSON"))))
	}
	add(node, [!sent.length && h("p.muted", "This view has asked for nothing."), h("div.acts", button("Close", () => node.close()))])
}

let lastUndo = null
export function undo() {
	const run = lastUndo
	lastUndo = null
	return run ? run() : toast("There is nothing to undo here.")
}
/** Says what happened and how to take it back: in the message, and by `Z`. */
export function undoable(said, run) {
	lastUndo = run
	toast(said, { action: "Undo", run: undo })
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
