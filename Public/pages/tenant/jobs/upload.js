// A file of users on its way: its beginning, and the whole to the server.
import { currentOperator, queryString, sendRequest } from "../../../lib/ui.js"

let kept = null
/**
 * Keeps what was chosen last, {base, file, format, on_conflict, options}, in this tab's memory alone: after a try it is
 * all still there. Its `jobs` say by a job's id which `rows` of the file it was given; null: all.
 */
export function keepFile(one, job, rows = null) {
	const jobs = one.jobs ?? new Map()
	if (job) jobs.set(job.id, rows)
	kept = { ...one, of: currentOperator()?.id, jobs }
}
/** What was chosen last in the tenant at `base`, by who is signed in now. */
export const keptFile = base => (kept?.base === base && kept.of === currentOperator().id ? kept : null)

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

/** The cells of one row of a CSV (RFC 4180). */
export const cellsOf = (text, separator) => recordsOf(`${text}\n`, separator)[0] ?? []

const SEPARATORS = [",", ";", "\t"]
const EXCELS_LINE = /^"?sep=(.?)"?$/i
/** What lies around names and cells that nobody sees. */
const plain = text => text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, "")

/** What separates the cells of a CSV, as the server finds it: by Excel's line, or by the names that are `known`. */
export function separatorOf(text, known) {
	const [, line] = /^(?:[ ,;\t]*\r?\n)*([^\r\n]*)/.exec(text)
	const [, said] = EXCELS_LINE.exec(line) ?? []
	if (said) return said
	const names = new Set(known)
	const found = SEPARATORS.map(one => {
		const cells = cellsOf(line, one).map(plain)
		return { one, named: cells.filter(cell => names.has(cell)).length, count: cells.length }
	})
	return found.reduce((best, next) =>
		(next.named - best.named || next.count - best.count) > 0 ? next : best).one
}

/** The rows of a CSV's text that have content; what stands behind the last line break is left out. */
export function recordsOf(text, separator = ",") {
	const rows = [[""]]
	let quoted = false
	for (let at = 0; at < text.length; at += 1) {
		const sign = text[at]
		const row = rows.at(-1)
		if (quoted && sign === '"' && text[at + 1] === '"') {
			row.push(row.pop() + sign)
			at += 1
		} else if (sign === '"') quoted = !quoted
		else if (sign === separator && !quoted) row.push("")
		else if (sign === "\n" && !quoted) rows.push([""])
		else if (sign !== "\r" || quoted) row.push(row.pop() + sign)
	}
	return rows.slice(0, -1)
}

/** The same without rows of spaces alone and without Excel's line: the header's names first. */
export function tableOf(text, known) {
	const separator = separatorOf(text, known)
	const [names = [], ...rows] = recordsOf(text, separator)
		.filter(row => row.some(plain) && !EXCELS_LINE.test(row.filter(Boolean).join("")))
	return { separator, names: names.map(plain), rows }
}

/** Rows are corrected in a plain CSV of at most so many bytes. */
const CORRECTED = 1 << 25
export const isCorrectable = ({ format, file }) => format === "csv" && !isPacked(file) && file.size <= CORRECTED

/**
 * The rows of a CSV that have those `numbers`, counted from 1 without the header and without empty rows, each as
 * {text, from, to} with its place in bytes; `names`: the header's cells. `known`: names that the header has.
 */
export async function rowsOfFile(file, numbers, known) {
	const bytes = new Uint8Array(await file.arrayBuffer())
	const textOf = (from, to) => new TextDecoder().decode(bytes.subarray(from, to))
	const separator = separatorOf(textOf(0, 1 << 16), known)
	const rows = new Map()
	let [from, number, state, content] = [0, 0, "start", false]
	for (let at = 0; at <= bytes.length; at += 1) {
		const sign = bytes[at] ?? 10
		const splits = sign === separator.charCodeAt(0)
		if (state === "quoted") state = sign === 34 ? "closing" : state
		else if (sign === 34 && state !== "plain") [state, content] = ["quoted", true]
		else if (sign === 10 || sign === 13) {
			if (content && !(number === 0 && EXCELS_LINE.test(textOf(from, at)))) {
				if (!number || numbers.includes(number)) rows.set(number, { text: textOf(from, at), from, to: at })
				number += 1
			}
			from = at + 1
			state = "start"
			content = false
		} else if (splits) state = "start"
		else if (sign !== 32 && sign !== 9) [state, content] = ["plain", true]
	}
	return { names: cellsOf(rows.get(0)?.text ?? "", separator).map(plain), rows, separator }
}

// A row without content would be none.
const lineOf = (cells, separator) => {
	const line = cells.map(one =>
		(/["\r\n]/.test(one) || one.includes(separator) ? `"${one.replaceAll('"', '""')}"` : one)).join(separator)
	return cells.some(plain) ? line : `""${line}`
}

/** The file with the rows `changed` {number: cells} in their places, and a file of these rows alone. */
export function withRows(file, { rows, separator }, changed) {
	let at = 0
	const pieces = [...changed].toSorted(([one], [other]) => one - other).flatMap(([number, cells]) => {
		const { from, to } = rows.get(number)
		const before = file.slice(at, from)
		at = to
		return [before, lineOf(cells, separator)]
	})
	const header = rows.get(0)
	const lines = [...changed.values()].map(cells => `\r\n${lineOf(cells, separator)}`)
	const named = parts => new File(parts, file.name, { type: "text/csv" })
	return { whole: named([...pieces, file.slice(at)]), part: named([file.slice(0, header.to), ...lines]) }
}
