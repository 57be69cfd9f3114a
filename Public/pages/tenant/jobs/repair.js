// Rows of a CSV that were not done: corrected here, put back into the file that the tab still has, and sent again.
import { button, dataTable, formatNumber, goTo, h, t, toast, userText } from "../../../lib/ui.js"
import { cellsOf, keepFile, rowsOfFile, sendFile, withRows } from "./upload.js"

/** Sends the file, or with `rows` [number, …] those of it alone; then the page of the job. */
export async function sendAgain(page, kept, { isTry, rows = null, file = kept.file }) {
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

/** The table of the rows `failed`, as the job `job` reports them, and the button that sends them again. */
export async function repair(page, kept, job, failed) {
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
