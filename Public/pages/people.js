// The search for one person in all tenants. The email address is only in the body of the request, so that it is in no
// URL, no history and no draft.
import { form } from "../lib/form.js"
import {
	api, append, button, choices, countWords, dataTable, h, isAllowed, liveRegion, noValue, pageHead, personCell,
	replaceContent, statusTag, t, timeNode, userText, words,
} from "../lib/ui.js"
import { askToAct, askToErase, askToExport } from "./people/acts.js"

const PROVIDER = { name: "provider", label: "Provider", options: choices("google github oidc cognito password") }

/** @type {(page: Page) => any} */
export default page => {
	const result = liveRegion(h("p.muted", "Search to see the person's rows in every tenant."))
	/** @type {{ email?: string } | undefined} */
	let asked
	let wanted
	const search = async body => {
		wanted = body
		const found = await api("/people/search", { body, signal: page.signal })
		// Ignore this answer if another search was begun meanwhile.
		if (wanted !== body) return
		asked = body
		draw(found)
	}
	const again = () => search(asked)
	const draw = ({ items, more }) => {
		if (!items.length) return replaceContent(result, noValue("No tenant has a row of this person."))
		const rows = items.map(one => ({ one, box: h("input", {
			type: "checkbox", checked: true, "aria-label": t`Choose the row in ${one.tenant.name}`, onchange: count,
		}) }))
		const counted = h("span.muted")
		const chosen = () => rows.filter(({ box }) => box.checked).map(({ one }) => one)
		function count() {
			replaceContent(counted, t`${countWords(chosen().length, "row", "rows")} chosen`)
		}
		const act = (right, text, ask, look = "") => isAllowed(right) && button(text, () => {
			const some = chosen()
			if (some.length) ask(some, again, asked?.email)
		}, { look })
		count()
		replaceContent(result, h("div.stack-gap",
			more && h("p.muted", "There are more rows than are shown here."),
			dataTable("Rows of this person", [
				"Tenant", "Person", "Status", "Role", "Last sign-in", "Found by", "Chosen",
			],
				rows.map(({ one, box }) => [
					h("a.main", { href: `/console/t/${one.tenant.slug}/users` }, userText(one.tenant.name)),
					personCell(one, `/console/t/${one.tenant.slug}/users/${one.id}`), statusTag(one.status),
					words(one.role), timeNode(one.last_sign_in_at, "never"), one.found_by.map(words).join(", "),
					h("label.target", box),
				])),
			h("div.acts", counted, act("endSessions", "End sessions", askToAct("end_sessions")),
				act("suspendUsers", "Suspend", askToAct("suspend")), act("exportPeople", "Export", askToExport),
				act("erasePeople", "Erase", askToErase, ".danger"))))
	}
	append(page.body, [
		pageHead("People", {
			lead: "One person in all tenants. No page address, log or history keeps what you search for.",
		}),
		form([{ name: "email", label: "Email", required: true, type: "email", autocomplete: "off" }], {
			submit: "Search", send: search,
		}),
		h("details.gap", h("summary", "Search by a sign-in instead"), form([
			PROVIDER,
			{
				name: "issuer", label: "Issuer", required: true,
				hint: "https://accounts.google.com, or the id of a pool.",
			},
			{ name: "subject", label: "Subject", required: true, autocomplete: "off" },
		], { submit: "Search by sign-in", send: identity => search({ identity }) })), result,
	])
}
