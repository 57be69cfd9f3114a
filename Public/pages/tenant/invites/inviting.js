// Invites of one or many: the form, a look at what it would do, and what became of each.
import {
	api, button, closeButton, dataTable, dialog, formDialog, goTo, lookalikeNote, queryString, revealSecret, statusTag,
	t,
	toast, userText, h,
} from "../../../lib/ui.js"
import { ROLE } from "../users.js"

/** Shows the link of an invite that was made, where it goes by link. */
export const showLink = invite => invite.accept_url && revealSecret({
	title: "Invite link", secret: invite.accept_url, name: "INVITE_URL",
	text: t`Send it to ${invite.email}. It works once and is shown only now.`,
})

export const ENDS = [
	["", "As it is"], ["1", "In 1 day"], ["7", "In 7 days"], ["30", "In 30 days"], ["90", "In 90 days"],
]

/**
 * So many days after a form was opened, a minute early: the longest that is taken is 90 days from the server's now.
 * Counted from the press, what is sent again after its answer was lost would be another act.
 */
export const daysAfter = (opened, days) => new Date(opened + Number(days) * 86_400_000 - 60_000).toISOString()

/** So many addresses are taken at once. */
const MOST = 1000
const tooMany = count => Object.assign(new Error(), {
	errors: [{ pointer: "/emails", detail: t`${count} addresses are more than 1,000: invite them in parts.` }],
})

const GIVEN = /^(?:.*<(.+)>|(\S+))(?:\s+(member|manager|admin))?$/i
/** A line: an address, also as a mail program copies it, and a role where it is not everybody's. */
function inviteOf(line, rest) {
	const [, inside, plain, role] = GIVEN.exec(line) ?? []
	return { ...rest, email: inside ?? plain ?? line, role: role?.toLowerCase() ?? rest.role }
}

/** Each address of the lines: several may stand in one, with semicolons between them. */
const splitLines = (emails = []) => emails.flatMap(line => line.split(";")).map(line => line.trim()).filter(Boolean)

function requestOf(path, { emails, days, ...rest }, opened, isTry) {
	const each = splitLines(emails)
		.map(line => inviteOf(line, days ? { ...rest, expires_at: daysAfter(opened, days) } : rest))
	return [path + queryString({ dry_run: isTry }), { body: each.length === 1 && !isTry ? each[0] : { invites: each } }]
}

export async function invite(path, reload, email) {
	const opened = Date.now()
	const node = await inviting(path, reload, email, opened)
	const built = node.querySelector("form")
	const look = async () => {
		try {
			const values = built.values()
			if (splitLines(values.emails).length > MOST) throw tooMany(splitLines(values.emails).length)
			const found = await api(...requestOf(path, values, opened, true))
			if (found.kind) follow(path, found)
			else results(found.results, true)
		} catch (error) {
			toast(error.errors?.[0].detail ?? error.message, { stay: true })
		}
	}
	built.querySelector("[type=submit]").before(button("Preview", look))
}

const inviting = (path, reload, email, opened) => formDialog({
	title: "Invite people", submit: "Invite",
	fields: [
		[
			"emails*", "Email addresses",
			{
				type: "lines", value: email, named: true, also: ["email", "invites"],
				hint: "One a line; up to 1,000. A role may follow: ann@acme.example manager.",
			},
		],
		ROLE,
		[
			"delivery", "Delivery",
			{
				options: [
					["", "By mail where it is set up, else a link"], ["mail", "By mail"], ["link", "Give me the link"],
				],
			},
		],
		["days", "Ends", { options: [["", "In 7 days"], ...ENDS.filter(([days]) => days && days !== "7")] }],
		["message", "Message", { type: "textarea" }],
	],
	request: values => requestOf(path, values, opened),
	send: async values => {
		const count = splitLines(values.emails).length
		if (count > MOST) throw tooMany(count)
		return api(...requestOf(path, values, opened))
	},
	done: made => {
		reload?.()
		if (made.kind) return follow(path, made)
		if (made.results) return results(made.results)
		toast(t`${made.email} is invited`)
		return showLink(made)
	},
})

/** Very many are invited by a job, whose page says how far it is. */
const follow = (path, job) => goTo(`/console/t/${path.match(/tenants\/([^/]+)/)[1]}/jobs/${job.id}`)

/** As the server's own files: what a spreadsheet would calculate has an apostrophe before it. */
const SIGNS = "=+\\-@\\uff1d\\uff0b\\uff0d\\uff20\\t\\r"
const UNGUARDED = new RegExp(`(^|[;\\t\\r\\n])(?=[${SIGNS}]|'['${SIGNS}])`, "g")
const guarded = text => text.replace(UNGUARDED, "$1'")

/** `isTry`: nothing was sent, and the form is still there. */
function results(all, isTry) {
	const linked = all.filter(one => one.invite?.accept_url)
	const number = all.filter(one => one.result !== "refused").length
	const title = isTry ? t`${number} of ${all.length} would be invited` : t`${number} of ${all.length} invited`
	// What failed comes first: it is what is to be done next.
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
		title, secret: linked.map(one => `${one.email} ${one.invite.accept_url}`).join("\n"),
		file: {
			name: "invites.csv", type: "text/csv", label: "Download CSV",
			text: line("email", "link") + linked.map(one => line(one.email, one.invite.accept_url)).join(""),
		},
		text: [table, h("p.gap", "One line each: address and link. The links are shown only now.")],
	})
}
const rank = one => (one.result === "refused" ? 0 : 1)
