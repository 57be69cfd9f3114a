// A list as a file of comma-separated values.
import { button, countWords, formatNumber, h, isProving, replaceContent, sendRequest, t } from "../core.js"
import { dialog, saveFile, toast } from "../dialogs.js"

/** Saves what the list at `path` has; rows and bytes are counted as they come, and it can be stopped. */
export async function saveList(path, noun) {
	const stop = new AbortController()
	const said = h("p.lead", "…")
	let node
	let slow
	// What comes at once needs no dialog, and none covers the question whether it is still the operator.
	const openLater = () => (slow = setTimeout(() => {
		if (isProving()) return openLater()
		node = dialog(t`Export ${noun[1]}`, said, h("div.acts", button("Cancel", () => node.close())))
		node.addEventListener("close", () => stop.abort())
	}, 250))
	openLater()
	const parts = []
	let [rows, bytes, quoted] = [-1, 0, false]
	try {
		const answer = await sendRequest(path, { accept: "text/csv", signal: stop.signal })
		const reader = answer.body.getReader()
		for (let part; !(part = await reader.read()).done;) {
			parts.push(part.value)
			bytes += part.value.length
			for (const byte of part.value) {
				if (byte === 34) quoted = !quoted
				else if (byte === 10 && !quoted) rows += 1
			}
			replaceContent(said, countWords(rows, ...noun), ", ", t`${formatNumber(Math.round(bytes / 1e5) / 10)} MB`)
		}
		saveFile(answer.headers.get("content-disposition").match(/"(.*)"/)[1], parts, "text/csv")
		toast(t`${countWords(rows, ...noun)} exported`)
	} catch (error) {
		// A file that breaks off is a network's error: half of it would pass for the whole.
		if (error.name !== "AbortError") toast(
			error instanceof TypeError ? "The export broke off; nothing is saved." : error.message, { stay: true },
		)
	} finally {
		clearTimeout(slow)
		node?.close()
	}
}
