// A secret that is shown once.
import { button, describeRequest, h, liveRegion, note, replaceContent, t } from "../core.js"
import { copyButton, dialog, saveFile } from "../dialogs.js"

/** Asks with an API key alone, as a machine would: does it work? */
async function probe(key) {
	const answer = await fetch("/v1/me", { headers: { authorization: `Bearer ${key}` }, credentials: "omit" })
	return { status: answer.status, ...(await answer.json()) }
}

/**
 * Shows a secret once; nothing closes it before "stored" is ticked. `name`: of its variable in a file of settings,
 * where it is one; or `file` {name, text, type, label} to download instead; `more`: another button. `call`: what an
 * API key can be tried on.
 */
export function revealSecret({ title, secret, name, file, call, text, more }) {
	const leave = event => event.preventDefault()
	const value = h("code.code.secret", { tabIndex: 0 }, secret)
	const stored = h("input", { type: "checkbox", id: "stored", onchange: () => (done.disabled = !stored.checked) })
	const done = button("Done", () => close(), { look: ".primary", disabled: true })
	const said = liveRegion()
	const tryNow = async () => {
		const { status, name: whose, detail } = await probe(secret).catch(
			error => ({ status: 0, detail: error.message }),
		)
		replaceContent(
			said,
			status === 200
				? note("ok", "check", t`It works: the server knows it as “${whose}”.`)
				: note("danger", "alert", detail),
		)
	}
	const close = () => {
		removeEventListener("beforeunload", leave)
		replaceContent(value)
		node.close()
		node.replaceChildren()
		secret = null
	}
	// A name that begins with a dot would be taken from the file by some browsers.
	const given = file ?? { name: "gatehouse.env", text: `${name}=${secret}\n`, label: "Download .env" }
	const download = () => saveFile(given.name, [given.text], given.type ?? "application/octet-stream")
	const curl = h("code.code")
	const showCurl = async () => replaceContent(curl, (await import("../seldom.js")).curlOf(describeRequest(call)))
	const node = dialog(title,
		h("div.lead", text ?? "This is the only time it is shown. Store it now: not even Gatehouse can show it again."),
		value,
		h("div.acts", copyButton(secret), button(given.label, download), more, call && button("Test it now", tryNow)),
		said,
		call && h("details", { ontoggle: showCurl }, h("summary", "Call the API with it"), curl),
		h("div.acts", h("label.check", stored, "I have stored it"), done))
	node.setAttribute("closedby", "none")
	// A second Escape closes a dialog even where its `cancel` was refused.
	node.addEventListener("keydown", event => event.key === "Escape" && event.preventDefault())
	node.addEventListener("cancel", event => event.preventDefault())
	addEventListener("beforeunload", leave)
	value.focus()
	return node
}
