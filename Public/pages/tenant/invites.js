// Invites, and join links.
import {
	STATUS, ago, api, append, button, choices, closeButton, confirm, createdColumn, dataTable, dialog, etagOf,
	formDialog, formatNumber, goTo, h, isAllowed, list, lookalikeNote, noValue, note, query, queryString,
	replaceContent, revealSecret, statusTag, t, timeNode, toast, userText, words
} from "../../lib/ui.js"
import { ROLE } from "./users.js"

// Inviting one or many people: the form, a preview of what it would do, and the result for each person.

/**
 * Shows the link of a new invite. If the invite was mailed instead, there is no link here, and nothing is shown.
 * @type {(invite: API.InviteWithToken) => unknown}
 */
export const showLink = invite => invite.accept_url && revealSecret({
	title: "Invite link", secret: invite.accept_url, name: "INVITE_URL",
	text: t`Send it to ${invite.email}. It works once and is shown only now.`,
})

/** @type {Choice[]} */
export const ENDS = [
	{ value: "", text: "As it is" },
	{ value: "1", text: "In 1 day" },
	{ value: "7", text: "In 7 days" },
	{ value: "30", text: "In 30 days" },
	{ value: "90", text: "In 90 days" },
]

/**
 * The time that is `days` after the form was opened, minus one minute, since the server accepts at most 90 days from
 * its own time. The days are not counted from the press of the button: a request that is repeated after a lost answer
 * would then differ from the first request, and would count as another act.
 * @type {(opened: number, days: number | string) => string}
 */
const daysAfter = (opened, days) => new Date(opened + Number(days) * 86_400_000 - 60_000).toISOString()

/** The highest number of addresses in one request. */
const MOST = 1000
const tooMany = count => Object.assign(new Error(), {
	errors: [{ pointer: "/emails", detail: t`${count} addresses are more than 1,000: invite them in parts.` }],
})

const GIVEN = /^(?:.*<(.+)>|(\S+))(?:\s+(member|manager|admin))?$/i
/**
 * Parses a line with an address, also in the form that mail programs copy (`Name <address>`). A role may follow;
 * without it, the role of `rest` applies.
 */
function inviteOf(line, rest) {
	const [, inside, plain, role] = GIVEN.exec(line) ?? []
	return { ...rest, email: inside ?? plain ?? line, role: role?.toLowerCase() ?? rest.role }
}

/** The addresses in these lines; a line may have several, separated by semicolons. */
const splitLines = (emails = []) => emails.flatMap(line => line.split(";")).map(line => line.trim()).filter(Boolean)

/** @type {(path: string, values: any, opened: number, isTry?: boolean) => FormRequest} */
function requestOf(path, { emails, days, ...rest }, opened, isTry = false) {
	const each = splitLines(emails)
		.map(line => inviteOf(line, days ? { ...rest, expires_at: daysAfter(opened, days) } : rest))
	const body = each.length === 1 && !isTry ? each[0] : { invites: each }
	return { path: path + queryString({ dry_run: isTry || null }), body }
}

/** @type {(path: string, reload?: (() => unknown) | null, email?: string) => Promise<void>} */
export async function invite(path, reload, email = "") {
	const opened = Date.now()
	const node = await inviting(path, reload, email, opened)
	if (!node) return
	const built = /** @type {Form} */ (node.querySelector("form"))
	const look = async () => {
		try {
			const values = built.values()
			if (splitLines(values.emails).length > MOST) throw tooMany(splitLines(values.emails).length)
			const { path: tried, body } = requestOf(path, values, opened, true)
			const found = await api(tried, { body })
			if (found.kind) follow(path, found)
			else results(found.results, true)
		} catch (error) {
			toast(error.errors?.[0].detail ?? error.message, { stay: true })
		}
	}
	built.querySelector("[type=submit]")?.before(button("Preview", look))
}

const inviting = (path, reload, email, opened) => formDialog({
	title: "Invite people", submit: "Invite",
	fields: [
		{
			name: "emails", label: "Email addresses", required: true, type: "lines", value: email, named: true,
			also: ["email", "invites"],
			hint: "One on each line; up to 1,000. A role may follow: ann@acme.example manager.",
		},
		ROLE,
		{
			name: "delivery", label: "Delivery",
			options: [
				{ value: "", text: "By mail if it is set up, otherwise a link" },
				{ value: "mail", text: "By mail" },
				{ value: "link", text: "Give me the link" },
			],
		},
		{
			name: "days", label: "Ends",
			options: [{ value: "", text: "In 7 days" }, ...ENDS.filter(({ value }) => value && value !== "7")],
		},
		{ name: "message", label: "Message", type: "textarea" },
	],
	request: values => requestOf(path, values, opened),
	send: async values => {
		const count = splitLines(values.emails).length
		if (count > MOST) throw tooMany(count)
		return api(path, { body: requestOf(path, values, opened).body })
	},
	done: made => {
		reload?.()
		if (made.kind) return follow(path, made)
		if (made.results) return results(made.results)
		toast(t`${made.email} is invited`)
		return showLink(made)
	},
})

/** Opens the page of the job by which very many people are invited. */
const follow = (path, job) => goTo(`/console/t/${path.match(/tenants\/([^/]+)/)[1]}/jobs/${job.id}`)

/**
 * Puts an apostrophe before each cell that a spreadsheet would read as a formula, as the server does in its own
 * files.
 */
const SIGNS = "=+\\-@\\uff1d\\uff0b\\uff0d\\uff20\\t\\r"
const UNGUARDED = new RegExp(`(^|[;\\t\\r\\n])(?=[${SIGNS}]|'['${SIGNS}])`, "g")
const guarded = text => text.replace(UNGUARDED, "$1'")

/**
 * Shows the result for each invite. `isTry`: it was only a preview, and the form is still open.
 * @type {(all: API.InviteListResult[], isTry?: boolean) => unknown}
 */
function results(all, isTry = false) {
	const linked = all.filter(one => one.invite?.accept_url)
	const number = all.filter(one => one.result !== "refused").length
	const title = isTry ? t`${number} of ${all.length} would be invited` : t`${number} of ${all.length} invited`
	// Failures come first, because they have to be dealt with next.
	const table = dataTable("Results", ["Email", "Result"], all.toSorted((one, other) => rank(one) - rank(other))
		.map(
			one =>
				[
					[userText(one.email), lookalikeNote(one.email)],
					[statusTag(one.result), one.detail && userText(one.detail, "span.sub")],
				],
		))
	if (!linked.length) return dialog(title, table, closeButton())
	const line = (...cells) => `${cells.map(one => `"${guarded(one).replaceAll('"', '""')}"`).join(",")}\r\n`
	return revealSecret({
		title, secret: linked.map(one => `${one.email} ${one.invite?.accept_url}`).join("\n"),
		file: {
			name: "invites.csv", type: "text/csv", label: "Download CSV",
			text: line("email", "link") + linked.map(one => line(one.email, one.invite?.accept_url ?? "")).join(""),
		},
		text: [table, h("p.gap", "One line each: address and link. The links are shown only now.")],
	})
}
const rank = one => (one.result === "refused" ? 0 : 1)

// Invites: who was invited, and what became of it.

/** @type {(page: TenantPage) => Promise<any>} */
const inviteList = async page => {
	const path = `${page.path}/invites`
	const sentAt = one => ago(one.updated_at ?? one.created_at)
	/**
	 * Asks whether to send an invite again, and then sends it. The former link stops working, and a new one takes its
	 * place.
	 * @param {API.Invite} one
	 * @param {{ title: Sentence, act: string, body?: object }} how
	 * @param {() => unknown} reload
	 */
	const resend = (one, { title, act: text, body }, reload) => confirm({
		title, act: text, keep: "Keep the old link", path: `${path}/${one.id}/resend`, method: "POST", body,
		text: t`The link that ${one.email} was sent ${sentAt(one)} stops working now; a new one takes its place.`,
		done: made => {
			reload()
			if (made.accept_url) showLink(made)
			else toast("Sent again")
		},
	})
	const said = one => one.delivery_detail && {
		text: "Mail server's words",
		run: () => dialog("The mail server's words", userText(one.delivery_detail, "p"), closeButton()),
	}
	const actions = (one, reload) => (one.status !== "pending" && one.status !== "expired" ? [said(one)] : [
		{
			text: "Resend",
			run: () => resend(one, { title: t`Resend the invite of ${one.email}?`, act: "Resend" }, reload),
		},
		one.delivery === "mail" && {
			text: "New link",
			run: () =>
				resend(
					one,
					{ title: t`Make a new link for ${one.email}?`, act: "Make a link", body: { delivery: "link" } },
					reload,
				),
		},
		one.status === "pending" && { text: "Edit", run: () => edit(path, one, reload) },
		one.status === "pending" && { text: "Revoke", run: () => revoke(path, one, reload) },
		said(one),
	])
	await list(page, /** @type {ListSpec<API.Invite>} */ ({
		path, noun: { one: "invite", many: "invites" }, search: "Search by email",
		related: [{ href: `${page.base}/invites/join-links`, text: "Join links" }],
		create: { right: "manageInvites", text: "Invite", run: reload => invite(path, reload) },
		empty: {
			title: "No invites yet", text: "An invite opens the gate for one address, in one role, until it ends.",
		},
		filters: [
			{ name: "status", label: "Status", options: choices("pending accepted revoked expired") },
			{ name: "delivery_status", label: "Mail", options: [...choices("queued sent refused bounced"), FAILED] },
			query().job_id && { name: "job_id", label: "Job" },
		].filter(Boolean),
		columns: [
			{
				label: "Email",
				cell: one => [
					one.accepted_user_id
						? h("a.main", { href: `${page.base}/users/${one.accepted_user_id}` }, userText(one.email))
						: userText(one.email, "span.main"),
					lookalikeNote(one.email),
					h(
						"span.sub", one.delivery === "link" ? "by link" : "by mail",
						one.sent_count > 1 && t`, sent ${one.sent_count} times`,
					),
				],
				sort: "email",
			},
			STATUS,
			{ label: "Mail", cell: mailOf },
			{ label: "Role", cell: one => words(one.role) },
			{
				label: "Ends",
				cell: one => (/pending|expired/.test(one.status) ? timeNode(one.expires_at) : noValue()),
			},
			{ label: "Sent by", cell: one => userText(one.invited_by?.name ?? "–") },
			createdColumn("Sent"),
		],
		actions: isAllowed("manageInvites") && actions,
		bulk: isAllowed("manageInvites") && [
			{
				text: "Resend",
				fits: one => one.delivery === "mail" && (one.status === "pending" || one.status === "expired"),
				verb: "resend", asks: "Each gets a new link by mail; the one that was sent before stops working.",
			},
			{
				text: "Revoke", fits: one => one.status === "pending", verb: "revoke",
				asks: "The links stop working now. This is final; people can be invited again.",
			},
		],
	}))
}

/**
 * The filter's choice for invites whose mail failed. These should be sent again.
 * @type {Choice}
 */
const FAILED = { value: "refused,bounced", text: t`Refused or bounced` }

/**
 * What became of an invite's mail, with the text of the mail server if there is any.
 * @type {(one: API.Invite) => Child}
 */
const mailOf = ({ delivery_status: state, delivery_detail: detail }) =>
	(state ? [statusTag(state), detail && userText(detail, "span.sub")] : noValue())

const revoke = (path, one, reload) => confirm({
	title: t`Revoke the invite of ${one.email}?`, act: "Revoke invite", path: `${path}/${one.id}/revoke`,
	method: "POST",
	text: "Its link stops working now. This is final; the address can be invited again.",
	said: t`The invite of ${one.email} is revoked`, after: reload,
})

/** Changes the role, end or message of an invite that is not accepted yet; its link stays the same. */
async function edit(path, { id, email }, reload) {
	const one = await api(`${path}/${id}`)
	const opened = Date.now()
	return formDialog({
		title: t`Edit the invite of ${email}`, lead: "The link that was sent stays the same.", edits: one,
		fields: [
			ROLE,
			{ name: "days", label: "Ends", options: ENDS },
			{ name: "message", label: "Message", type: "textarea" },
		],
		request: ({ days, ...values }) => ({
			path: `${path}/${id}`, method: "PATCH", etag: etagOf(one),
			body: days ? { ...values, expires_at: daysAfter(opened, days) } : values,
		}),
		done: () => (toast("Saved"), reload()),
	})
}

// Links by which many people join a tenant as members.

/** @type {(page: TenantPage) => Promise<any>} */
const joinLinks = async page => {
	const path = `${page.path}/join-links`
	const warning = h("div")
	append(page.body, [h("div.head",
		h("div", h("h1", "Join links"), h("p.lead", "Whoever has one of these links can join as a member.")),
		h("div.acts", h("a.btn", { href: `${page.base}/invites` }, "All invites"))), warning])
	await list(page, /** @type {ListSpec<API.JoinLink>} */ ({
		path, noun: { one: "join link", many: "join links" },
		seen: ({ items }) => replaceContent(warning, items.some(isUseless) && useless()),
		create: { right: "manageInvites", text: "Make a link", run: reload => makeLink(path, reload) },
		empty: {
			title: "No join links yet",
			text: "A join link lets many people in as members, until it ends or is used up.",
		},
		columns: [
			{
				label: "For",
				cell: one => h("span.main", one.domains?.length ? userText(one.domains.join(", ")) : "Every address"),
			},
			{ label: "Used", cell: one => t`${formatNumber(one.uses)} of ${formatNumber(one.max_uses)}` },
			STATUS,
			{ label: "Ends", cell: one => timeNode(one.expires_at) },
			{ label: "Made by", cell: one => userText(one.created_by.name || "–") },
			createdColumn("Made"),
		],
		actions: isAllowed("manageInvites") && ((one, reload) => [
			one.status === "active" && { text: "Revoke", run: () => end(path, one, reload) },
		]),
	}))
}

/**
 * Whether a join link is active but nobody can use it: people join by a sign-in at a provider, and there is no
 * provider.
 * @type {(one: API.JoinLink) => boolean}
 */
const isUseless = one => one.status === "active" && one.providers === 0
const useless = () => note("warn", "alert", "Nobody can use a join link yet: there is no provider to sign in with. ",
	h("a", { href: "/console/providers" }, "Add a provider"), " first.")

const end = (path, one, reload) => confirm({
	title: "Revoke this join link?", act: "Revoke link", path: `${path}/${one.id}/revoke`, method: "POST",
	text: t`It stops working now. This is final; the ${formatNumber(one.uses)} who joined by it stay.`,
	said: "The join link is revoked", after: reload,
})

/** @type {Choice[]} */
const DAYS = [
	{ value: "7", text: "In 7 days" },
	{ value: "1", text: "In 1 day" },
	{ value: "30", text: "In 30 days" },
	{ value: "90", text: "In 90 days" },
]

const makeLink = (path, reload, opened = Date.now()) => formDialog({
	title: "Make a join link", submit: "Make the link",
	fields: [
		{ name: "days", label: "Ends", options: DAYS },
		{ name: "max_uses", label: "How many may join", type: "number", value: 100, attrs: { min: 1, max: 10_000 } },
		{
			name: "domains", label: "Only addresses of", type: "lines",
			hint: "Domains, one on each line; empty allows every address.",
		},
		{ name: "return_to", label: "Leads back to", hint: "One of the addresses under Clients; empty means none." },
	],
	request: ({ days, ...values }) => ({ path, body: { ...values, expires_at: daysAfter(opened, days) } }),
	done: made => {
		reload()
		return revealSecret({
			title: "Join link", secret: made.url, name: "JOIN_URL",
			text: ["Send it to the people who are to join. It is shown only now.", isUseless(made) && useless()],
		})
	},
})

/** @type {(page: TenantPage) => Promise<any>} */
export default page => (page.id ? joinLinks : inviteList)(page)
