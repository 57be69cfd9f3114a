// What a view or a form asks of the API, as a program would: its curl.
import { h, replaceContent, sentRequests } from "../core.js"
import { closeButton, copyButton, dialog } from "../dialogs.js"

const quote = text => `'${text.replaceAll("'", `'\\''`)}'`

/** The curl of a request {method, path, body, etag, accept}, with an API key instead of the session. */
export function curlOf({ method, path, body, etag, accept }) {
	const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quote(location.origin + path)}`,
		`  -H "Authorization: Bearer $GATEHOUSE_KEY"`]
	if (accept) lines.push(`  -H ${quote(`Accept: ${accept}`)}`)
	if (etag) lines.push(`  -H ${quote(`If-Match: ${etag}`)}`)
	if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quote(body)}`)
	return lines.join(" \\\n")
}

/** The curl of a request, and buttons that copy it. */
export const runnable = request => [h("code.code", { tabIndex: 0 }, curlOf(request)),
	h("div.acts", copyButton(curlOf(request), "Copy curl"), request.body && copyButton(request.body, "Copy JSON"))]

/** The dialog of all that this view has asked. */
export const showRequests = () => dialog("Requests of this view",
	h("p.lead", "Exactly what this page sent, for an API key instead of your session. Secrets are masked."),
	sentRequests.toReversed().map(entry => replaceContent(h("div.stack-gap"), runnable(entry))),
	!sentRequests.length && h("p.muted", "This view has asked for nothing."), closeButton())
