// The list of jobs, and the page of one job, where failed rows of an import can be corrected.
import {
	append, button, buttons, choices, confirm, copyable, createdColumn, currentOperator, dataTable, exportFile,
	factList, formatNumber, goTo, h, isAllowed, list, liveRegion, loadPart, noValue, note, queryString, redraw,
	replaceContent, runAct, sendRequest, statusTag, t, timeNode, toast, userText, waitBriefly, words
} from "../../lib/ui.js"

// The file of an import: its beginning is read here, and the whole file is sent to the server.

let kept = null
/**
 * Keeps the last chosen file and its options, {base, file, format, on_conflict, options}, in the memory of this tab
 * only, so that they are still there after a dry run. `jobs` has an entry for each job that was made from this file, by
 * the job's id: the numbers of the rows that the job got, or null for the whole file.
 * @type {(one: any, job?: API.Job | null, rows?: number[] | null) => void}
 */
export function keepFile(one, job = null, rows = null) {
	const jobs = one.jobs ?? new Map()
	if (job) jobs.set(job.id, rows)
	kept = { ...one, of: currentOperator()?.id, jobs }
}
/**
 * The file and options that the current operator chose last in the tenant at `base`; null if there are none.
 * @type {(base: string) => any}
 */
export const keptFile = base => (kept?.base === base && kept.of === currentOperator().id ? kept : null)

const isPacked = file => /\.gz$/i.test(file.name)

/**
 * The beginning of a file, unpacked: at most `size` characters. If a gzip file has several members, a browser unpacks
 * only the first member.
 * @type {(file: File, size: number) => Promise<string>}
 */
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

/**
 * Sends the file to `path`. If there are `options`, the request is a multipart form with the options and the file.
 * @type {(path: string, query: Record<string, unknown>, file: File, options?: object | null) => Promise<API.Job>}
 */
export async function sendFile(path, query, file, options) {
	const type = typeOf(file.name)
	const answer = await sendRequest(path + queryString(query), {
		method: "POST", file: options ? await formOf(file, type, options) : file.slice(0, file.size, type),
		headers: isPacked(file) ? { "content-encoding": "gzip" } : {},
	})
	return answer.json()
}

/**
 * A multipart form with the options and the file, which is not read here. If the file is packed by gzip, the form's
 * text before and after it is packed, too: a gzip file may consist of several members (RFC 1952).
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

/**
 * The cells in one line of a CSV (RFC 4180).
 * @type {(text: string, separator?: string) => string[]}
 */
const cellsOf = (text, separator) => recordsOf(`${text}\n`, separator)[0] ?? []

const SEPARATORS = [",", ";", "\t"]
const EXCELS_LINE = /^"?sep=(.?)"?$/i
/** Removes spaces and invisible characters around names and cells. */
const plain = text => text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, "")

/**
 * The separator of a CSV's cells. As on the server, it is the separator in Excel's `sep=` line, or else the separator
 * by which the header has the most names in `known`.
 * @type {(text: string, known: string[]) => string}
 */
function separatorOf(text, known) {
	const [, line] = /^(?:[ ,;\t]*\r?\n)*([^\r\n]*)/.exec(text) ?? []
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

/**
 * The rows of a CSV's text, each with its cells. Text after the last line break is left out.
 * @type {(text: string, separator?: string) => string[][]}
 */
function recordsOf(text, separator = ",") {
	const rows = [[""]]
	let quoted = false
	for (let at = 0; at < text.length; at += 1) {
		const sign = text[at]
		const row = rows[rows.length - 1]
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

/**
 * The names in a CSV's header, and its other rows. Rows of only spaces, and Excel's `sep=` line, are left out.
 * @type {(text: string, known: string[]) => { separator: string, names: string[], rows: string[][] }}
 */
export function tableOf(text, known) {
	const separator = separatorOf(text, known)
	const [names = [], ...rows] = recordsOf(text, separator)
		.filter(row => row.some(plain) && !EXCELS_LINE.test(row.filter(Boolean).join("")))
	return { separator, names: names.map(plain), rows }
}

/** The size in bytes of the largest CSV whose rows can be corrected. A packed CSV cannot be corrected. */
const CORRECTED = 1 << 25
/** @type {(kept: { format: string, file: File }) => boolean} */
const isCorrectable = ({ format, file }) => format === "csv" && !isPacked(file) && file.size <= CORRECTED

/**
 * Reads some rows of a CSV, those with the given `numbers`, and the header as row 0. Rows are counted from 1, without
 * the header and without empty rows. Each row is {text, from, to}: its text, and where it begins and ends in the file,
 * in bytes. `names` are the header's cells. `known` are names that may occur in the header.
 */
async function rowsOfFile(file, numbers, known) {
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

// A line of a CSV. If all cells are empty, the first cell is quoted, since a row without any content would not be
// counted.
const lineOf = (cells, separator) => {
	const line = cells.map(one =>
		(/["\r\n]/.test(one) || one.includes(separator) ? `"${one.replaceAll('"', '""')}"` : one)).join(separator)
	return cells.some(plain) ? line : `""${line}`
}

/** Returns the file with the rows in `changed` {number: cells} replaced, and a file with only these rows. */
function withRows(file, { rows, separator }, changed) {
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

// Work on many rows of a tenant: bulk acts, imports, many invites, and what the rules do by themselves.

/**
 * A job's name, by its kind.
 * @type {(one: API.Job) => Sentence}
 */
const jobWords = one => (one.dry_run ? t`${words(one.kind)}, tried only` : words(one.kind))

/** @type {(progress: API.JobProgress) => HTMLElement} */
const jobBar = ({ done, failed, total }) => (total
	? h("progress", { max: total, value: done + failed, "aria-label": "Progress" })
	: noValue())

/** @type {(page: TenantPage) => Promise<any>} */
const jobList = page => list(page, /** @type {ListSpec<API.Job>} */ ({
	path: `${page.path}/jobs`, noun: { one: "job", many: "jobs" },
	empty: {
		title: "No jobs yet",
		text: "Work on many rows runs here: imports, bulk actions, many invites. You can watch, pause, and for 30 "
			+ "days undo it.",
	},
	filters: [{
		name: "status", label: "Status", options: choices("queued running paused cancelled done failed undone"),
	}],
	columns: [
		{ label: "Job", cell: one => h("a.main", { href: `${page.base}/jobs/${one.id}` }, jobWords(one)) },
		{ label: "Status", cell: one => statusTag(one.status), state: true },
		{ label: "Progress", cell: one => [jobBar(one.progress), h("span.sub", countOf(one.progress))] },
		{ label: "By", cell: one => userText(one.created_by?.name || "Gatehouse") },
		createdColumn("Begun"),
	],
	actions: (one, reload) => jobActs(page, one, reload),
}))

/** @type {(progress: API.JobProgress) => Child} */
const countOf = ({ done, failed, total }) => [
	total == null ? t`${formatNumber(done)} rows` : t`${formatNumber(done)} of ${formatNumber(total)} rows`,
	failed > 0 && t`, ${formatNumber(failed)} not`,
]

/** @type {Record<string, string>} */
const ASKED = {
	Cancel: "What is done stays, and can be undone for 30 days. The rest is not done.",
	Undo: "What this job did is undone, row by row. Rows that have changed since stay as they are and are listed.",
}

/**
 * The acts {text, run} that a job allows in its present state. Before it is cancelled or undone, the operator is asked.
 * @type {(page: TenantPage, one: API.Job, after: () => unknown) => Act[]}
 */
const jobActs = (page, one, after) => {
	const path = verb => `${page.path}/jobs/${one.id}/${verb}`
	const act = (verb, text) => ({ text, run: () => runAct(path(verb), {}, null, after) })
	const ask = (verb, text) => ({
		text,
		run: () => confirm({
			title: t`${text} this job?`, text: ASKED[text], act: t`${text} the job`, keep: "Leave it", method: "POST",
			path: path(verb), after,
		}),
	})
	const isUndoable = !one.dry_run && Date.parse(one.undo_until ?? "") > Date.now()
	return [
		/queued|running/.test(one.status) && act("pause", "Pause"),
		one.status === "paused" && act("resume", "Resume"),
		/queued|running|paused/.test(one.status) && !one.undoing && ask("cancel", "Cancel"),
		/done|cancelled|failed/.test(one.status) && isUndoable && ask("undo", "Undo"),
	].filter(Boolean)
}

// Failed rows of a CSV: they are corrected here, replaced in the file that this tab still has, and sent again.

/**
 * Sends `file` as another import, and then opens the page of the new job. If `file` has only some rows of the kept
 * file, `rows` are the numbers of these rows there.
 * @param {TenantPage} page
 * @param {any} kept
 * @param {{ isTry?: boolean, rows?: number[] | null, file?: File }} what
 */
async function sendAgain(page, kept, { isTry = false, rows = null, file = kept.file }) {
	const { format, on_conflict, options } = kept
	const asked = { format, on_conflict, dry_run: isTry || null }
	try {
		const job = await sendFile(`${page.path}/imports`, asked, file, options)
		keepFile(kept, job, rows)
		return goTo(`${page.base}/jobs/${job.id}`)
	} catch (error) {
		return toast(error.message, { stay: true })
	}
}

/**
 * A table in which the rows that `job` reports as `failed` can be corrected, and the button that sends them again.
 * @type {(page: TenantPage, kept: any, job: API.Job, failed: API.JobResult[]) => Promise<Child>}
 */
async function repair(page, kept, job, failed) {
	const given = kept.jobs.get(job.id)
	const numberOf = ({ row }) => given?.[row - 1] ?? row
	const mapping = kept.options?.mapping
	const found = await rowsOfFile(kept.file, failed.map(numberOf), Object.values(mapping ?? {}))
	const columns = found.names.map((name, at) => ({ name, at })).filter(({ name }) =>
		!mapping || Object.values(mapping).includes(name))
	const inputs = []
	const lines = failed.map(one => {
		const number = numberOf(one)
		const cells = cellsOf(found.rows.get(number)?.text ?? "", found.separator)
		return [formatNumber(number), userText(one.detail ?? one.code), ...columns.map(({ name, at }) => {
			const value = cells[at] ?? ""
			const input = h("input", { value, "aria-label": t`${name} of row ${number}`, spellcheck: false })
			inputs.push({ input, number, at, value, cells })
			return input
		})]
	})
	const isEdited = () => inputs.some(({ input, value }) => input.value !== value)
	page.onLeave(isEdited)
	const again = () => {
		const changed = new Map()
		for (const { input, number, at, cells } of inputs) {
			const row = changed.get(number) ?? Array.from(found.names, (_, place) => cells[place] ?? "")
			row[at] = input.value
			changed.set(number, row)
		}
		page.onLeave(null)
		const { whole, part } = withRows(kept.file, found, changed)
		return sendAgain(page, { ...kept, file: whole }, { isTry: job.dry_run, rows: [...changed.keys()], file: part })
	}
	return [
		dataTable("Rows that were not done", ["Row", "Why", ...columns.map(({ name }) => userText(name))], lines),
		h("div.acts.gap", button(job.dry_run ? "Try these again" : "Import these again", again, { look: ".primary" })),
	]
}

// The page of one job, updated while it runs: its progress, what went wrong, and how to undo it.

/** How many failed rows are shown, and can be corrected, at once. The report has all of them. */
const SHOWN = 100
const ROWS = { one: "row", many: "rows" }
/** Milliseconds between two requests for the job's progress. */
const PACE = 1000
const RUNS = /queued|running/

/** @type {(page: TenantPage) => Promise<any>} */
const jobPage = async page => {
	const path = `${page.path}/jobs/${page.id}`
	const head = h("div.head")
	const far = h("section.card")
	const wrong = h("section.card")
	const mails = h("div")
	let timer = 0
	page.signal.addEventListener("abort", () => clearTimeout(timer))

	const look = async () => {
		clearTimeout(timer)
		const one = await page.get(path)
		drawHead(page, head, one, look)
		const kept = one.kind === "import" && keptFile(page.base)
		const mine = kept?.jobs?.has(one.id) ? kept : null
		drawProgress(page, far, one, mine)
		if (RUNS.test(one.status)) timer = setTimeout(() => document.hidden ? later() : look().catch(tell), PACE)
		else {
			await loadPart(wrong, () => drawRows(page, wrong, path, one, mine))
			if (one.kind === "invites" && !one.dry_run) await loadPart(mails, () => drawMails(page, mails, one))
		}
		return one
	}
	const later = () =>
		document.addEventListener("visibilitychange", () => look().catch(tell), { once: true, signal: page.signal })
	const tell = error => page.alive() && error.name !== "AbortError" && toast(error.message, { stay: true })

	append(page.body, [head, h("div.stack-gap", far, mails, wrong)])
	await waitBriefly(look())
}

function drawHead(page, node, one, look) {
	replaceContent(node, h("div",
		h("h1", jobWords(one), " ", statusTag(one.status)),
		h("p.lead", "Begun ", timeNode(one.created_at), " · by ", userText(one.created_by?.name || "Gatehouse"))),
	h("div.acts", button("Report as CSV", () => save(page, one), { icon: "save" }), buttons(jobActs(page, one, look))))
}

/** @type {Record<string, string>} */
const PAUSED = {
	requested: "It is paused; resume it to go on.",
	tenant_suspended: "The tenant is suspended; the job continues when the tenant is resumed.",
	rights_lost: "The person who made it may no longer do this. It continues when somebody with the right resumes it.",
}
function drawProgress(page, node, one, kept) {
	const { done, failed, total, rate, eta } = one.progress
	const number = value => formatNumber(value ?? 0)
	replaceContent(node, h("h2", "Progress"), h("div.stack-gap",
		one.status === "paused" && note("warn", "alert", PAUSED[one.reason] ?? words(one.reason ?? "paused")),
		jobBar(one.progress),
		liveRegion(h("p",
			total == null ? t`${number(done)} rows done` : t`${number(done)} of ${number(total)} rows done`,
			failed > 0 && t`, ${number(failed)} not`, ".")),
		one.dry_run && h("p", "Nothing was written.",
			one.kind === "import" && !kept && " To import, choose the file again under Users, Import."),
		one.dry_run && kept && !RUNS.test(one.status) && h("div.acts",
			button(t`Import ${kept.file.name}`, () => sendAgain(page, kept, {}),
				{ look: ".primary" }),
			h("a.btn", { href: `${page.base}/users/import` }, "Change how it is read")),
		factList([
			RUNS.test(one.status) && rate > 0 && ["Rows a second", formatNumber(Math.round(rate))],
			RUNS.test(one.status) && eta && ["Ends", timeNode(eta, "–")],
			one.started_at && ["Started", timeNode(one.started_at)],
			one.finished_at && ["Ended", timeNode(one.finished_at)],
			one.undone > 0 && ["Taken back", t`${number(one.undone)} rows`],
			one.kept > 0 && ["Kept at the undo", t`${number(one.kept)} rows, which were changed since`],
			one.undo_until && !one.dry_run && ["Undo ends", timeNode(one.undo_until)],
			["Id", copyable(one.id)],
		])))
}

async function drawRows(page, node, path, one, kept) {
	const asked = [one.progress.failed > 0 && "failed", one.kept > 0 && "kept"].filter(Boolean)
	const found = await Promise.all(asked.map(status =>
		page.get(`${path}/report${queryString({ status, limit: SHOWN })}`)))
	const rows = found.flatMap(({ items }) => items)
	const failed = rows.filter(row => row.status === "failed")
	const count = one.progress.failed + one.kept
	const heading = h("h2", "Rows that were not done")
	if (!rows.length) return replaceContent(node, heading, noValue("Every row was done."))
	const isMended = kept && failed.length && isCorrectable(kept)
	return replaceContent(node,
		h("div.head", heading, button("These as CSV", () =>
			exportFile(`${path}/report${queryString({ status: "failed" })}`, ROWS),
		{ icon: "save", look: ".tiny" })),
		isMended ? await repair(page, kept, one, failed)
			: dataTable("Rows that were not done", ["Row", "Result", "Why"], rows.map(row => [
				formatNumber(row.row), [statusTag(row.status), row.code && h("code.sub", row.code)],
				userText(row.detail ?? ""),
			])),
		one.kind === "import" && failed.length > 0 && !isMended && h("p.small.muted",
			"Rows are counted without a header. Correct these in your file and import it again: existing users stay as "
				+ "they are."),
		count > rows.length
			&& h("p.small.muted", t`The first ${rows.length} of ${formatNumber(count)}; the report lists all.`))
}

const FAILED = ["refused", "bounced"]
/**
 * Shows what became of the mails of a job's invites: an invite that was made may still not have reached the person.
 */
async function drawMails(page, node, one) {
	const path = `${page.path}/invites`
	const count = async status =>
		(await page.get(path + queryString({ job_id: one.id, delivery_status: status, limit: 1 }))).total.value
	const [sent, queued, failed] = await Promise.all(["sent", "queued", FAILED].map(count))
	const [went, waits, lost] = [sent, queued, failed].map(formatNumber)
	const counted = t`Mails: ${went} sent, ${waits} on their way, ${lost} refused or bounced.`
	const again = () => confirm({
		title: "Send these mails again?", act: "Resend", method: "POST", path: `${path}/actions`,
		text: "Each gets a new link by mail; the one that was sent before stops working.",
		body: { action: "resend", filter: { job_id: one.id, delivery_status: FAILED }, expected: failed },
		said: "They are sent again", after: redraw,
	})
	const list = `${page.base}/invites${queryString({ job_id: one.id, delivery_status: failed ? FAILED : "" })}`
	replaceContent(node, note(failed ? "warn" : "info", failed ? "alert" : "mail", counted, h("div.acts",
		failed > 0 && isAllowed("manageInvites") && button("Resend these", again, { look: ".tiny" }),
		h("a.btn.tiny", { href: list }, failed ? "See these" : "See the invites"))))
}

const save = async (page, one) =>
	(await import("../../lib/seldom.js")).saveList(`${page.path}/jobs/${one.id}/report`, ROWS)

/** @type {(page: TenantPage) => Promise<any>} */
export default page => (page.id ? jobPage : jobList)(page)
