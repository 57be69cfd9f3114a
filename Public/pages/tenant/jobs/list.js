// What a tenant has done in bulk: acts on many rows, imports, many invites, and what the rules do by themselves.
import {
	confirm, createdColumn, formatNumber, h, list, noValue, runAct, statusTag, t, userText, words,
} from "../../../lib/ui.js"

/** A job's name, by its kind. */
export const jobWords = one => (one.dry_run ? t`${words(one.kind)}, tried only` : words(one.kind))

export const jobBar = ({ done, failed, total }) => (total
	? h("progress", { max: total, value: done + failed, "aria-label": "Progress" })
	: noValue())

export const jobList = page => list(page, {
	path: `${page.path}/jobs`, noun: ["job", "jobs"],
	empty: {
		title: "No jobs yet",
		text: "What is done to many at once runs here: imports, acts on all that match, many invites. It can be "
			+ "watched, paused, and undone for 30 days.",
	},
	filters: [["status", "Status", "queued running paused cancelled done failed undone"]],
	columns: [
		["Job", one => h("a.main", { href: `${page.base}/jobs/${one.id}` }, jobWords(one))],
		["Status", one => statusTag(one.status), { state: true }],
		["Progress", one => [jobBar(one.progress), h("span.sub", countOf(one.progress))]],
		["By", one => userText(one.created_by?.name || "Gatehouse")],
		createdColumn("Begun"),
	],
	actions: (one, reload) => jobActs(page, one, reload),
})

const countOf = ({ done, failed, total }) => [
	total == null ? t`${formatNumber(done)} rows` : t`${formatNumber(done)} of ${formatNumber(total)} rows`,
	failed > 0 && t`, ${formatNumber(failed)} not`,
]

const ASKED = {
	Cancel: "What is done stays done, and can be undone for 30 days. The rest is left out.",
	Undo: "What this job did is taken back, row by row. Rows that were changed since stay as they are and are listed.",
}

/** What can be done to a job in its state: {text, run}; what ends it is asked first. */
export const jobActs = (page, one, after) => {
	const path = verb => `${page.path}/jobs/${one.id}/${verb}`
	const act = (verb, text) => ({ text, run: () => runAct(path(verb), {}, null, after) })
	const ask = (verb, text) => ({
		text,
		run: () => confirm({
			title: t`${text} this job?`, text: ASKED[text], act: t`${text} the job`, keep: "Leave it", method: "POST",
			path: path(verb), after,
		}),
	})
	const isUndoable = !one.dry_run && Date.parse(one.undo_until) > Date.now()
	return [
		/queued|running/.test(one.status) && act("pause", "Pause"),
		one.status === "paused" && act("resume", "Resume"),
		/queued|running|paused/.test(one.status) && !one.undoing && ask("cancel", "Cancel"),
		/done|cancelled|failed/.test(one.status) && isUndoable && ask("undo", "Undo"),
	].filter(Boolean)
}
