// Code that pages rarely need. It is loaded only when it is needed.
import { button, countWords, formatNumber, h, note, replaceContent, restorableUntil, t, translate } from "./core.js"
import { isAllowed, isProving, ownTenant, sendRequest, sentRequests, tabOf } from "./server.js"
import { closeButton, copyButton, dialog, runAct, saveFile, toast } from "./dialogs.js"

// The banner of a suspended or deleted tenant, and the link on a page that does not exist.

/**
 * The banner on each page of a suspended or deleted tenant; `again()` draws the page anew.
 * @type {(one: API.Tenant, again: () => unknown) => HTMLElement}
 */
export function banner(one, again) {
	const change = (text, verb, said) =>
		isAllowed("suspendTenant")
			&& button(text, () => runAct(`/tenants/${one.id}/${verb}`, {}, said, again), { look: ".tiny" })
	if (one.status === "suspended") {
		return note("warn", "alert", "This tenant is suspended: its sign-ins, sessions and keys are refused. ",
			change("Resume", "resume", "Resumed"))
	}
	return note("danger", "alert", t`This tenant is deleted; it can be restored until ${restorableUntil(one)}. `,
		change("Restore", "restore", "Restored"))
}

/**
 * For a page that does not exist: the link {href, text} to the list in which it would be. `unknown` are the slugs of
 * tenants that do not exist.
 * @type {(route: Route, unknown: Set<string>) => { href: string, text: Child }}
 */
export function wayBack({ page, params: { slug, tab, id } }, unknown) {
	if (slug && !unknown.has(slug)) {
		const known = tabOf(tab)
		return { href: `/console/t/${slug}/${known.tab}`, text: t`All: ${translate(known.text)}` }
	}
	if (slug && !ownTenant()) return { href: "/console/tenants", text: "All tenants" }
	if (id && page === "decisions") return { href: "/console/decisions", text: "All decisions" }
	return { href: "/console/", text: "Go to the overview" }
}

// The API requests of a view or a form, as curl commands that a program could run.

const quote = text => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The curl command of a request {method, path, body, etag, accept}, with an API key instead of the session.
 * @type {(request: SentRequest) => string}
 */
export function curlOf({ method, path, body, etag, accept }) {
	const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quote(location.origin + path)}`,
		`  -H "Authorization: Bearer $GATEHOUSE_KEY"`]
	if (accept) lines.push(`  -H ${quote(`Accept: ${accept}`)}`)
	if (etag) lines.push(`  -H ${quote(`If-Match: ${etag}`)}`)
	if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quote(body)}`)
	return lines.join(" \\\n")
}

/**
 * The curl command of a request, and buttons that copy it.
 * @type {(request: SentRequest) => HTMLElement[]}
 */
export const runnable = request => [h("code.code", { tabIndex: 0 }, curlOf(request)),
	h("div.acts", copyButton(curlOf(request), "Copy curl"), request.body && copyButton(request.body, "Copy JSON"))]

/**
 * The dialog with all requests of this view.
 * @type {() => HTMLDialogElement}
 */
export const showRequests = () => dialog("Requests of this view",
	h("p.lead", "Exactly what this page sent, for an API key instead of your session. Secrets are masked."),
	sentRequests.toReversed().map(entry => replaceContent(h("div.stack-gap"), runnable(entry))),
	!sentRequests.length && h("p.muted", "This view has asked for nothing."), closeButton())

// A list as a file of comma-separated values.

/**
 * The file name that the server's answer gives.
 * @type {(answer: Response) => string}
 */
export const nameOf = answer => /"(.*)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "export"

/**
 * Downloads the list at `path` and saves it as a file. A dialog counts what has arrived, and can stop the download.
 * @type {(path: string, noun: Noun) => Promise<void>}
 */
export async function saveList(path, noun) {
	const stop = new AbortController()
	const said = h("p.lead", "…")
	/** @type {HTMLDialogElement | undefined} */
	let node
	let slow
	// Show the dialog only if the download takes a while, and not while the operator is asked for a proof of presence:
	// the dialog would cover the question.
	const openLater = () => (slow = setTimeout(() => {
		if (isProving()) return openLater()
		const shown = dialog(t`Export ${noun.many}`, said, h("div.acts", button("Cancel", () => shown.close())))
		node = shown
		node.addEventListener("close", () => stop.abort())
	}, 250))
	openLater()
	const parts = []
	let [rows, bytes, quoted] = [-1, 0, false]
	try {
		const answer = await sendRequest(path, { accept: "text/csv", signal: stop.signal })
		const reader = /** @type {ReadableStream} */ (answer.body).getReader()
		for (let part; !(part = await reader.read()).done;) {
			parts.push(part.value)
			bytes += part.value.length
			for (const byte of part.value) {
				if (byte === 34) quoted = !quoted
				else if (byte === 10 && !quoted) rows += 1
			}
			const size = formatNumber(Math.round(bytes / 1e5) / 10)
			replaceContent(said, countWords(rows, noun.one, noun.many), ", ", t`${size} MB`)
		}
		saveFile(nameOf(answer), parts, "text/csv")
		toast(t`${countWords(rows, noun.one, noun.many)} exported`)
	} catch (error) {
		// A download that breaks off ends with a network error. The part that has arrived is not saved, since it would
		// be taken for the whole list.
		if (error.name !== "AbortError") toast(
			error instanceof TypeError ? "The export stopped early; nothing was saved." : error.message, { stay: true },
		)
	} finally {
		clearTimeout(slow)
		node?.close()
	}
}
