// One job, followed while it runs: how far it is, what went wrong, and how it is taken back.
import {
	append, button, buttons, dataTable, factList, formatNumber, h, liveRegion, loadPart, note, noValue,
	queryString, replaceContent, statusTag, t, timeNode, toast, userText, waitBriefly, words,
} from "../../lib/ui.js"
import { jobActs, jobBar, jobWords } from "./jobs.js"

/** The report has all rows. */
const SHOWN = 50
/** Milliseconds between two looks. */
const PACE = 1000
const RUNS = /queued|running/

export default async page => {
	const path = `${page.path}/jobs/${page.id}`
	const head = h("div.head")
	const far = h("section.card")
	const wrong = h("section.card")
	let timer = 0
	page.signal.addEventListener("abort", () => clearTimeout(timer))

	const look = async () => {
		clearTimeout(timer)
		const one = await page.get(path)
		drawHead(page, head, one, look)
		drawProgress(far, one)
		if (RUNS.test(one.status)) timer = setTimeout(() => document.hidden ? later() : look().catch(tell), PACE)
		else await loadPart(wrong, () => drawRows(page, wrong, path, one))
		return one
	}
	const later = () =>
		document.addEventListener("visibilitychange", () => look().catch(tell), { once: true, signal: page.signal })
	const tell = error => page.alive() && error.name !== "AbortError" && toast(error.message, { stay: true })

	append(page.body, [head, h("div.stack-gap", far, wrong)])
	await waitBriefly(look())
}

function drawHead(page, node, one, look) {
	replaceContent(node, h("div",
		h("h1", jobWords(one), " ", statusTag(one.status)),
		h("p.lead", "Begun ", timeNode(one.created_at), " · by ", userText(one.created_by?.name || "Gatehouse"))),
	h("div.acts", button("Report as CSV", () => save(page, one), { icon: "save" }), buttons(jobActs(page, one, look))))
}

const PAUSED = {
	requested: "It is paused; resume it to go on.",
	tenant_suspended: "The tenant is suspended; it goes on when the tenant is resumed.",
	rights_lost: "Whoever made it may no longer do this. It goes on once somebody resumes it who may.",
}
function drawProgress(node, one) {
	const { done, failed, total, rate, eta } = one.progress
	const number = value => formatNumber(value ?? 0)
	replaceContent(node, h("h2", "Progress"),
		one.status === "paused" && note("warn", "alert", PAUSED[one.reason] ?? words(one.reason ?? "paused")),
		jobBar(one.progress),
		one.dry_run && h("p", "Nothing was written.",
			one.kind === "import" && " To import, choose the file again under Users, Import."),
		liveRegion(h("p",
			total == null ? t`${number(done)} rows done` : t`${number(done)} of ${number(total)} rows done`,
			failed > 0 && t`, ${number(failed)} not`, ".")),
		factList([
			RUNS.test(one.status) && rate > 0 && ["Rows a second", formatNumber(Math.round(rate))],
			RUNS.test(one.status) && eta && ["Ends", timeNode(eta, "–")],
			one.started_at && ["Started", timeNode(one.started_at)],
			one.finished_at && ["Ended", timeNode(one.finished_at)],
			one.undone > 0 && ["Taken back", t`${number(one.undone)} rows`],
			one.kept > 0 && ["Kept at the undo", t`${number(one.kept)} rows, which were changed since`],
			one.undo_until && !one.dry_run && ["Undo ends", timeNode(one.undo_until)],
			["Id", h("code", one.id)],
		]))
}

async function drawRows(page, node, path, one) {
	const asked = [one.progress.failed > 0 && "failed", one.kept > 0 && "kept"].filter(Boolean)
	const found = await Promise.all(asked.map(status =>
		page.get(`${path}/report${queryString({ status, limit: SHOWN })}`)))
	const rows = found.flatMap(({ items }) => items)
	const count = one.progress.failed + one.kept
	if (!rows.length) return replaceContent(node, h("h2", "Rows that were not done"), noValue("Nothing went wrong."))
	return replaceContent(node, h("h2", "Rows that were not done"),
		dataTable("Rows that were not done", ["Row", "Result", "Why"], rows.map(row => [
			formatNumber(row.row), [statusTag(row.status), row.code && h("code.sub", row.code)],
			userText(row.detail ?? ""),
		])),
		one.kind === "import" && one.progress.failed > 0 && h("p.small.muted",
			"Rows are counted without a header. Correct these in your file and import it again: who is here stays."),
		count > rows.length
			&& h("p.small.muted", t`The first ${rows.length} of ${formatNumber(count)}; the report has all.`))
}

const save = async (page, one) =>
	(await import("../../lib/file.js")).default(`${page.path}/jobs/${one.id}/report`, ["row", "rows"])
