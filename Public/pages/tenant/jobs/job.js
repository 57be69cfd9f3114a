// One job, followed while it runs: how far it is, what went wrong, and how it is taken back.
import {
	append, button, buttons, confirm, copyable, dataTable, exportFile, factList, formatNumber, h, isAllowed, liveRegion,
	loadPart, note, noValue, queryString, redraw, replaceContent, statusTag, t, timeNode, toast, userText, waitBriefly,
	words,
} from "../../../lib/ui.js"
import { jobActs, jobBar, jobWords } from "./list.js"
import { repair, sendAgain } from "./repair.js"
import { isCorrectable, keptFile } from "./upload.js"

/** So many rows are shown, and corrected, at once; the report has all. */
const SHOWN = 100
/** Milliseconds between two looks. */
const PACE = 1000
const RUNS = /queued|running/

export const jobPage = async page => {
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

const PAUSED = {
	requested: "It is paused; resume it to go on.",
	tenant_suspended: "The tenant is suspended; it goes on when the tenant is resumed.",
	rights_lost: "Whoever made it may no longer do this. It goes on once somebody resumes it who may.",
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
			exportFile(`${path}/report${queryString({ status: "failed" })}`, ["row", "rows"]),
		{ icon: "save", look: ".tiny" })),
		isMended ? await repair(page, kept, one, failed)
			: dataTable("Rows that were not done", ["Row", "Result", "Why"], rows.map(row => [
				formatNumber(row.row), [statusTag(row.status), row.code && h("code.sub", row.code)],
				userText(row.detail ?? ""),
			])),
		one.kind === "import" && failed.length > 0 && !isMended && h("p.small.muted",
			"Rows are counted without a header. Correct these in your file and import it again: who is here stays."),
		count > rows.length
			&& h("p.small.muted", t`The first ${rows.length} of ${formatNumber(count)}; the report has all.`))
}

const FAILED = ["refused", "bounced"]
/** Invites that are made may still not have reached anybody: what became of their mails. */
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
	(await import("../../../lib/seldom.js")).saveList(`${page.path}/jobs/${one.id}/report`, ["row", "rows"])
