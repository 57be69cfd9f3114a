// What can be done to the rows of one person, with the dialogs that ask for it.
import {
	api, button, closeButton, confirm, countWords, dataTable, dialog, formDialog, h, note, saveFile, sendRequest, t,
	toast, userText, words,
} from "../../lib/ui.js"

/** @type {Field} */
const REASON = {
	name: "reason", label: "Reason", required: true,
	hint: "Stays in each tenant's audit log. Never the person's address.",
}
/** @type {Record<string, { title: string, act: string, text: string }>} */
const ACTS = {
	end_sessions: {
		title: "End all sessions?", act: "End sessions",
		text: "The person is signed out in each chosen tenant, at once.",
	},
	suspend: {
		title: "Suspend in each chosen tenant?", act: "Suspend",
		text: "Sign-ins, sessions and keys are refused at once. Resume the user in the tenant to undo it.",
	},
}

/** @type {(action: string, rows: API.FoundPerson[], reason: string) => object} */
const order = (action, rows, reason) =>
	({ action, reason, users: rows.map(one => ({ tenant: one.tenant.id, id: one.id })) })
/** @type {(rows: API.FoundPerson[], one: { tenant: string }) => string} */
const nameOf = (rows, { tenant }) => rows.find(one => one.tenant.id === tenant)?.tenant.name ?? tenant

/** Shows the failed rows, one by one; if no row failed, only a message. */
function tell(rows, results, ...more) {
	const failed = results.filter(one => one.result === "failed")
	const done = t`${countWords(results.length - failed.length, "row", "rows")} done`
	if (!failed.length && !more.length) return toast(done)
	return dialog(failed.length ? "Not all is done" : "Done", h("p.lead", done),
		failed.length > 0 && dataTable("What failed", ["Tenant", "Why"],
			failed.map(one => [userText(nameOf(rows, one)), one.detail])), more, closeButton())
}

/** @type {(action: string) => (rows: API.FoundPerson[], again: () => unknown) => unknown} */
export const askToAct = action => (rows, again) => formDialog({
	...ACTS[action], submit: ACTS[action].act, danger: true, draft: null, lead: ACTS[action].text, fields: [REASON],
	request: ({ reason }) => ({ path: "/people/actions", body: order(action, rows, reason) }),
	done: ({ results }) => (tell(rows, results), again()),
})

/** @type {(rows: API.FoundPerson[]) => unknown} */
export const askToExport = rows => formDialog({
	title: "Export all that is held?", submit: "Export", draft: null, fields: [REASON],
	lead: "One JSON file with every row about this person, in each chosen tenant. Look through it before you "
		+ "hand it over: reasons and notes may name others.",
	send: async ({ reason }) => {
		const answer = await sendRequest("/people/actions", { body: order("export", rows, reason) })
		const parts = [await answer.arrayBuffer()]
		const { results } = JSON.parse(new TextDecoder().decode(parts[0]))
		saveFile((await import("../../lib/seldom.js")).nameOf(answer), parts, "application/json")
		return results
	},
	done: results => tell(rows, results),
})

/** A table of what an erasure would remove, tenant by tenant, as the server counted it. */
const held = (rows, users) => dataTable("What is erased", ["Tenant", "Removed", "Without names", "Revoked"],
	users.map(one => [userText(nameOf(rows, one)), ...["removed", "redacted", "revoked"].map(fate =>
		Object.entries(one.held[fate] ?? {}).map(([table, count]) =>
			h("div.small", words(table), ": ", String(count))))]))

/**
 * Asks in two steps whether to erase a person: first the server says what it would remove; then the confirmation text
 * from that answer is sent back.
 * @type {(rows: API.FoundPerson[], again: () => unknown, email?: string) => unknown}
 */
export const askToErase = (rows, again, email) => formDialog({
	title: "Erase this person?", submit: "Show what is erased", danger: true, draft: null, fields: [REASON],
	lead: "First you see what would be removed in each chosen tenant. Nothing is removed yet.",
	send: async ({ reason }) => {
		const body = order("erase", rows, reason)
		try {
			await api("/people/actions", { body })
		} catch (error) {
			if (error.code === "confirm_required") return { body, confirmation: error.confirm, users: error.users }
			throw error
		}
	},
	done: asked => eraseNow(rows, again, email ?? rows[0].email, asked),
})

async function eraseNow(rows, again, email, { body, confirmation, users }) {
	const count = countWords(users.length, "row", "rows")
	const node = await confirm({
		title: "Erase for good?", act: "Erase for good", type: email,
		text: t`This cannot be undone. ${count} and everything that depends on them are removed.`,
		run: () => api(`/people/actions?confirm=${encodeURIComponent(confirmation)}`, { body }),
		done: ({ results, certificate }) => {
			tell(rows, results, certificate && certified(certificate))
			again()
		},
	})
	node?.querySelector("form")?.before(held(rows, users))
}

const certified = certificate => h("div.stack-gap",
	note("info", "shield", "The certificate says what was removed, signed with this server's published key. It is "
		+ "shown only now: keep it, together with the key set of /.well-known/jwks.json."),
	h("div.acts", button("Save the certificate", () =>
		saveFile(`erasure-${new Date().toISOString().slice(0, 10)}.jwt`, [certificate], "application/jwt"), {
		look: ".primary", icon: "save",
	})))
