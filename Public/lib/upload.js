// A file of users on its way: its beginning, and the whole to the server.
import { queryString, sendRequest } from "./core.js"

const isPacked = file => /\.gz$/i.test(file.name)

/** The beginning, unpacked. Of a packed file that has several members a browser unpacks the first alone. */
export async function headOf(file, size) {
	const bytes = isPacked(file) ? file.stream().pipeThrough(new DecompressionStream("gzip"))
		: file.slice(0, size).stream()
	const reader = bytes.pipeThrough(new TextDecoderStream()).getReader()
	let text = ""
	try {
		for (let part; text.length < size && !(part = await reader.read()).done;) text += part.value
	} catch (error) {
		if (!text) throw error
	}
	reader.cancel().catch(() => {})
	return text.replace(/^\ufeff/, "").slice(0, size)
}

/** `options` go in a part of their own. */
export async function sendFile(path, query, file, options) {
	const type = typeOf(file.name)
	const answer = await sendRequest(path + queryString(query), {
		method: "POST", file: options ? await formOf(file, type, options) : file.slice(0, file.size, type),
		headers: isPacked(file) ? { "content-encoding": "gzip" } : {},
	})
	return answer.json()
}

/**
 * A form around the file as it is: nothing of it is read here, since gzip may have several members (RFC 1952), so that
 * what stands around a packed file is packed by itself.
 */
async function formOf(file, type, options) {
	const mark = crypto.randomUUID()
	const begin = (name, of) =>
		`--${mark}\r\ncontent-disposition: form-data; name="${name}"\r\ncontent-type: ${of}\r\n\r\n`
	const around = isPacked(file) ? packed : text => text
	const head = `${begin("options", "application/json")}${JSON.stringify(options)}\r\n${begin("file", type)}`
	return new Blob([await around(head), file, await around(`\r\n--${mark}--\r\n`)], {
		type: `multipart/form-data; boundary=${mark}`,
	})
}

const packed = text => new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).blob()

function typeOf(name) {
	if (/\.csv(\.gz)?$/i.test(name)) return "text/csv"
	return /\.(ndjson|jsonl)(\.gz)?$/i.test(name) ? "application/x-ndjson" : "application/json"
}
