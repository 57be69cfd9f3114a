// Dialogs that hold a form.
import { api, etagOf, h, queryString, replaceContent, t } from "../core.js"
import { dialog, toast } from "../dialogs.js"
import { form } from "./form.js"

/**
 * A dialog with a form, whose button says `submit` or the title. What is sent, and shown, is
 * `request(values)` → [path, options], or `body(values)` to `path` by `method`. Then `done(answer, values)`,
 * or `said` as a message and `after()`. `edits`: the object that the form changes.
 */
export function formDialog({
	title, lead, fields = [], edits, submit = edits ? "Save" : title, danger, start, send, path, body = one => one,
	method = edits && "PATCH",
	etag = edits && etagOf(edits), said = edits && "Saved", after, draft = String(title), ...given
}) {
	const request = given.request ?? (path && (values => [path, { method, body: body(values), etag }]))
	const done = given.done ?? (made => (said && toast(said.call ? said(made) : said), after?.()))
	let isOver = false
	const close = () => {
		isOver = true
		node.close()
	}
	const built = form(fields, {
		submit, danger, start, request, send, draft, values: edits ?? start, cancel: close,
		done: (...answer) => (close(), done(...answer)),
		refresh: edits && path && (async () => (etag = etagOf(await api(path)))),
	})
	const node = dialog(title, lead && h("p.lead", lead), built)
	node.addEventListener("close", () => {
		if (!isOver && draft && built.isEdited()) toast("What you typed is kept: open this again to go on.")
	});
	(node.querySelector("input, select, textarea") ?? node).focus()
	return node
}

/** Asks before a page with changes is left; they stay in this tab as a draft. */
export const askToLeave = leave => confirm({
	title: "Leave this page?", keep: "Stay", act: "Leave", run: leave,
	text: "What you changed here is not saved. It stays in this tab as a draft until you sign out.",
})

/**
 * For what is final: says what breaks now, with focus on Keep. `type`: a word to be typed first; `fields`: ticks whose
 * members go with it. Runs `run`, or sends `body` to `path` by `method`, with `query`, then as a form's dialog. Where
 * the server wants it confirmed once more, it says why, and the next activation sends what it gave; what was typed is
 * confirmed enough.
 */
export function confirm({
	text, keep = "Keep", act, type, fields: ticks = [], run, path, query, method = "DELETE", body, etag, ...rest
}) {
	let confirmation = ""
	const node = formDialog({
		...rest, lead: text, submit: act, danger: true, draft: null,
		fields: [...ticks, type && ["typed*", t`Type ${type} to confirm`, { autocomplete: "off" }]],
		send: async ({ typed, ...values }) => {
			if (type && typed !== type) throw new Error(t`That is not ${type}.`)
			const more = Object.fromEntries(Object.entries(values).filter(([, value]) => value))
			if (run) return run(more)
			const ask = () => api(path + queryString({ ...query, confirm: confirmation }),
				{ method, body: body && { ...body, ...more }, etag })
			try {
				return await ask()
			} catch (error) {
				confirmation = error.confirm ?? ""
				if (type && confirmation) return ask()
				throw error
			}
		},
	})
	const cancel = node.querySelector("[data-cancel]")
	replaceContent(cancel, keep)
	if (!type) cancel.focus()
	return node
}
