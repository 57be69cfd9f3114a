import {
	api, confirm, copyButton, createdColumn, formDialog, h, isAllowed, list, noValue, ownTenant, runAct, STATUS, t,
	tickField, timeNode, userText, words,
} from "../../lib/ui.js"
import { ROLES } from "./users.js"

/** @type {Choice[]} */
const MODES = [
	{ value: "", text: "As the policy says" },
	{ value: "join", text: "Join: its people are admitted" },
	{ value: "ask", text: "Ask: its people wait for approval" },
	{ value: "invite_only", text: "Invite only: nobody without an invite" },
]
/** @type {Field[]} */
const FIELDS = [
	{ name: "mode", label: "Whom it admits", options: MODES, hint: "A closed policy overrides it." },
	{
		name: "role", label: "Role of those it admits",
		options: [{ value: "", text: "The policy's default" }, ...ROLES.slice(0, 2)],
	},
]

/** @type {(page: TenantPage) => Promise<any>} */
export default async page => {
	const path = `${page.path}/domains`
	await list(page, /** @type {ListSpec<API.Domain>} */ ({
		path, noun: { one: "domain", many: "domains" }, search: "Search domains",
		create: { right: "writePolicy", text: "Add domain", run: reload => open(path, reload) },
		empty: {
			title: "No domain is claimed",
			text: "A verified domain admits its people, and belongs to one tenant only.",
		},
		filters: [{ name: "unproved", label: "Proof", options: [{ value: "true", text: t`Missing` }] }],
		columns: [
			{
				label: "Domain",
				cell: one => [
					userText(one.domain, "span.main"), " ",
					one.display !== one.domain && userText(one.display, "span.muted"),
					one.include_subdomains && h("span.sub", "with all names below it"),
				],
			},
			STATUS,
			{
				label: "Comes in",
				cell: one => [
					one.mode ? words(one.mode) : noValue("As the policy"),
					one.role && h("div.small.muted", words(one.role)),
				],
			},
			{
				label: "Proof",
				cell: one => [
					one.status === "verified" && !one.verification?.lost_at ? timeNode(one.verified_at) : proof(one),
					one.verification?.lost_at
						&& h("span.sub", "record gone since ", timeNode(one.verification.lost_at)),
				],
			},
			createdColumn("Added"),
		],
		actions: isAllowed("writePolicy") && ((one, reload) => [
			one.status !== "verified" && { text: "Check DNS", run: () => checkNow(path, one, reload) },
			one.status !== "verified" && givesWord()
				&& { text: "Verify without DNS", run: () => byWord(path, one, reload) },
			{ text: "Who is admitted", run: () => edit(`${path}/${one.id}`, one, reload) },
			{ text: "Remove", run: () => remove(path, one, reload) },
		]),
	}))
}

/** Whether the operator may verify a domain without a DNS record: only operators of the whole platform may. */
const givesWord = () => !ownTenant() && isAllowed("createTenant")

const checkNow = (path, one, reload) =>
	runAct(`${path}/${one.id}/verify`, { body: { method: "dns" } }, t`${one.domain} is verified`, reload)

/** @type {(one: API.Domain) => Child} */
const proof = ({ verification: record }) => h("div.proof", h("span.small.muted", "Publish as a TXT record:"),
	h("code", record?.record_name), copyButton(record?.record_name, "Copy name", ".ghost.tiny"),
	h("code", record?.record_value), copyButton(record?.record_value, "Copy value", ".ghost.tiny"))

const byWord = (path, one, reload) => confirm({
	title: t`Verify ${one.domain} without DNS?`, act: "Verify", keep: "Cancel",
	text: "Everyone with an address there can then join. The audit log records that you confirmed it.",
	path: `${path}/${one.id}/verify`, method: "POST", body: { method: "operator" }, said: t`${one.domain} is verified`,
	after: reload,
})

const remove = (path, one, reload) => confirm({
	title: t`Remove ${one.domain}?`, act: "Remove domain",
	text: "Its people are no longer admitted. Those who have joined stay.",
	path: `${path}/${one.id}`, said: t`${one.domain} is removed`, after: reload,
})

const edit = async (path, one, reload) => formDialog({
	title: t`Whom does ${one.domain} admit?`, submit: "Save", fields: FIELDS, edits: await api(path), path, draft: null,
	after: reload,
})

/**
 * Opens a form that adds a domain. It is proved later by a DNS record, or verified at once by an operator who may do
 * so.
 */
const open = (path, after) => formDialog({
	title: "Add domain", lead: "It counts once it is proved by a DNS record.",
	request: ({ vouched, ...body }) => ({ path, body }),
	send: async ({ vouched, ...body }) => {
		const made = await api(path, { body })
		return vouched ? api(`${path}/${made.id}/verify`, { body: { method: "operator" } }) : made
	},
	fields: [
		{
			name: "domain", label: "Domain", required: true, hint: "Such as example.com, without www.", unique: true,
			named: true,
		},
		tickField("include_subdomains", "Addresses at names below it count too"),
		givesWord() && tickField("vouched", "You confirm that it is theirs: verify it at once"),
		...FIELDS,
	],
	said: one =>
		(one.status === "verified" ? t`${one.domain} is verified` : t`${one.domain} is claimed; prove it next`),
	after,
})
