// Messages, dialogs, and where the focus stays.
import { api, button, fill, h, news, note, shown, t } from "./core.js"

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

/** Opens a modal dialog; it leaves the DOM when it closes, and focus returns to where it was. */
export function dialog(title, ...kids) {
	const id = `d${(serial += 1)}`
	const before = document.activeElement
	const isNew = before?.matches("[data-new]") ? "" : null
	const node = h("dialog", { "aria-labelledby": id, "data-new": isNew, onclose: () => {
		node.remove();
		(before !== document.body && before?.isConnected ? before : document.querySelector("main h1"))?.focus({ preventScroll: true })
	} }, h("h2", { id }, title), kids)
	document.body.append(node)
	node.showModal()
	return node
}

/** Calls what needs the code of forms, which comes with the first one; that it cannot come is said. */
const withForms = name => async options => {
	try {
		return (await import("./form.js"))[name](options)
	} catch (error) {
		// A browser's words for a file that did not come.
		if (!(error instanceof TypeError)) throw error
		toast(navigator.onLine ? "There is a new version of this page: load it anew." : "You are offline: try again later.",
			{ stay: true })
		return null
	}
}
/** See lib/form.js. */
export const formDialog = withForms("formDialog")
export const confirm = withForms("confirm")
export const askToLeave = withForms("askToLeave")

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

/** Asks with an API key alone, as a machine would: does it work? */
async function probe(key) {
	const answer = await fetch("/v1/me", { headers: { authorization: `Bearer ${key}` }, credentials: "omit" })
	return { status: answer.status, ...(await answer.json()) }
}

/**
 * Shows a secret once; nothing closes it before "stored" is ticked. `name`: of its variable in a file of settings, where
 * it is one; or `file` {name, text, type, label} to download instead. `call`: what an API key can be tried on.
 */
export function reveal({ title, secret, name, file, call, text }) {
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
	// A name that begins with a dot would be taken from the file by some browsers.
	const given = file ?? { name: "gatehouse.env", text: `${name}=${secret}\n`, label: "Download .env" }
	const download = () => save(given.name, [given.text], given.type ?? "application/octet-stream")
	const curl = h("code.code")
	const showCurl = async () => fill(curl, (await import("./requests.js")).curlOf(shown(call)))
	const node = dialog(title,
		h("div.lead", text ?? "This is the only time it is shown. Store it now: not even Gatehouse can show it again."), value,
		h("div.acts", copies(secret), button(given.label, download), call && button("Test it now", tryNow)), said,
		call && h("details", { ontoggle: showCurl }, h("summary", "Call the API with it"), curl),
		h("div.acts", h("label.check", stored, "I have stored it"), done))
	node.setAttribute("closedby", "none")
	// A second Escape closes a dialog even where its `cancel` was refused.
	node.addEventListener("keydown", event => event.key === "Escape" && event.preventDefault())
	node.addEventListener("cancel", event => event.preventDefault())
	addEventListener("beforeunload", leave)
	value.focus()
}

/** The requests of this view, to be copied. */
export const showRequests = async () => (await import("./requests.js")).open()

let lastUndo = null
/** Runs the last change's undo: the `Z` key, and the message's button. */
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

// A table is drawn anew as a whole: the row that has the focus keeps it, by its id.

/** Keeps the focus of a table over its being drawn anew: `keep()` before, `give()` after. */
export function focusOf(table) {
	let held = null
	return {
		/** Remembers where the focus is, if it is in the table. */
		keep() {
			const one = document.activeElement
			if (!table.contains(one)) return
			const row = one.closest("tr[data-id]")
			held = row ? { id: row.dataset.id, at: row.rowIndex - 1, isLink: one.matches("a"), isBox: one.matches("input") } : {}
		},
		/** Gives it back: to the same row, else to the one in its place, else to the table. */
		give() {
			const isLost = document.activeElement === document.body || table.contains(document.activeElement)
			const place = held
			held = null
			if (!place || !isLost) return
			const rows = [...table.querySelectorAll("tbody tr")]
			const row = rows.find(one => one.dataset.id === place.id) ?? (place.id && rows[Math.min(place.at, rows.length - 1)])
			const wanted = place.isBox ? "input" : place.isLink ? "a, td button" : "td.end button";
			(row?.querySelector(wanted) ?? row?.querySelector("a, button") ?? table).focus({ preventScroll: Boolean(place.id) })
		},
	}
}
