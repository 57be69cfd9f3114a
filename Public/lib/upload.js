// Sends a file, with options beside it where there are any.
import { queryString, sendRequest } from "./core.js"

/** The answer of a POST of `file` to `path`. `options` go in a part of their own. */
export async function sendFile(path, query, file, options) {
	const type = typeOf(file.name)
	let body = file.slice(0, file.size, type)
	if (options) {
		body = new FormData()
		body.set("options", new Blob([JSON.stringify(options)], { type: "application/json" }))
		body.set("file", file.slice(0, file.size, type), file.name)
	}
	const isPacked = /\.gz$/i.test(file.name) && !options
	const answer = await sendRequest(path + queryString(query), {
		method: "POST", file: body, headers: isPacked ? { "content-encoding": "gzip" } : {},
	})
	return answer.json()
}

function typeOf(name) {
	if (/\.csv(\.gz)?$/i.test(name)) return "text/csv"
	return /\.(ndjson|jsonl)(\.gz)?$/i.test(name) ? "application/x-ndjson" : "application/json"
}
