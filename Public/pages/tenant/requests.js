// People who asked to join the tenant and wait for an answer.
import {
	answered, api, createdColumn, formDialog, isAllowed, list, lookalikeNote, personCell, runAct, t, toast,
	undoable, userText, words,
} from "../../lib/ui.js"

/** @type {(page: TenantPage) => Promise<any>} */
export default async page => {
	const path = one => `${page.path}/users/${one.id}`
	const mayAnswer = isAllowed("editUsers") && !page.isGone
	await list(page, /** @type {ListSpec<API.User>} */ ({
		path: `${page.path}/users`, fixed: { awaiting_approval: true }, noun: { one: "request", many: "requests" },
		search: "Search by email or name",
		empty: {
			title: "Nobody waits",
			text: "People who ask to join are listed here, if the policy or a domain's mode requires approval.",
		},
		columns: [
			{
				label: "Person",
				cell: one => [personCell(one, `${page.base}/users/${one.id}`), lookalikeNote(one.email)], sort: "email",
			},
			{ label: "Asked by", cell: one => (one.identities ?? []).map(id => userText(`${words(id.provider)} `)) },
			createdColumn("Asked"),
		],
		actions: mayAnswer && ((one, reload) => answers(path(one), one, reload)),
		bulk: mayAnswer && [
			{
				text: "Approve", fits: () => true,
				run: one => api(`${path(one)}/approve`, { method: "POST" }).then(told),
			},
			{
				text: "Decline", fits: () => true,
				asks: "Each of them gets one mail. They may ask again after 30 days; until then it can be undone.",
				run: one => api(`${path(one)}/decline`, { method: "POST" }).then(told),
				back: one => api(`${path(one)}/restore`, { method: "POST" }).then(() => answered(-1)),
			},
		],
	}))
}

const told = answer => (answered(), answer)

/** @type {Field[]} */
const WORD = [{
	name: "reason", label: "Message to them", type: "textarea", attrs: { maxLength: 500 },
	hint: "Plain text; may stay empty.",
}]

/**
 * The acts by which an operator answers a person who waits.
 * @type {(path: string, one: API.User, reload: () => unknown) => Act[]}
 */
export const answers = (path, one, reload) => [
	{
		text: "Approve",
		run: async () => {
			await api(`${path}/approve`, { method: "POST" }).then(told)
			toast(t`${one.email} may come in`)
			reload()
		},
	},
	{
		text: "Approve with a message",
		run: () => formDialog({
			title: t`Approve ${one.email}?`, submit: "Approve", draft: null, fields: WORD,
			lead: "They are admitted, and get a mail with your message.",
			path: `${path}/approve`, said: t`${one.email} may come in`, after: () => (answered(), reload()),
		}),
	},
	{
		text: "Decline",
		run: () => formDialog({
			title: t`Decline ${one.email}?`, submit: "Decline", danger: true, draft: null, fields: WORD,
			lead: "They get one mail with your message. They may ask again after 30 days; until then you can "
				+ "restore them from the deleted users, or invite them.",
			path: `${path}/decline`,
			done: () => {
				answered()
				undoable(t`${one.email} was declined`, () =>
					runAct(`${path}/restore`, {}, t`${one.email} waits again`, () => (answered(-1), reload())))
				reload()
			},
		}),
	},
]
