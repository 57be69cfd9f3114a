// Users who may be one person, side by side.
import {
	append, button, countWords, h, isAllowed, noValue, personCell, queryString, redraw, replaceContent, t,
	timeNode, userText, words,
} from "../../../lib/ui.js"
import { askToMerge } from "./merge.js"

/** Looks on by itself until so many pairs are shown. */
const ENOUGH = 20

const SAID = {
	verified_address: value => t`Providers vouched for ${value} at both.`,
	subject: value => t`Both sign in as ${value}, at two issuers of one kind.`,
	spelling: value => t`Maybe: one address is another spelling of ${value}.`,
	external_id: value => t`A file gave the external id ${value} to both.`,
}

export const duplicates = async page => {
	const found = h("div.stack-gap")
	const below = h("div.pager", { "aria-live": "polite" })
	append(page.body, [
		h("div.head",
			h("div", h("h1", "Duplicates"), h(
				"p.lead",
				"Two records of one person, if the evidence is right. Nothing changes until you make one of two.",
			)),
			h("div.acts", h("a.btn", { href: `${page.base}/users` }, "All users"))), found, below,
	])
	let cursor = ""
	let looked = 0
	const more = async () => {
		for (let shown = 0; cursor != null && shown < ENOUGH && page.alive();) {
			const data = await page.get(`${page.path}/users/duplicates${queryString({ cursor, limit: 50 })}`)
			found.append(...data.items.map(one => pair(page, one)))
			shown += data.items.length
			looked = data.next_cursor ? looked + 500 : data.total.value
			cursor = data.next_cursor
			const max = Math.max(data.total.value, looked, 1)
			const bar = h("progress", { max, value: looked, "aria-label": "Looked through" })
			replaceContent(below, bar, h("span.muted", t`${countWords(looked, "user", "users")} looked through`))
		}
		if (cursor != null) below.append(button("Look on", more, { look: ".tiny" }))
		else if (!found.children.length) found.append(noValue("No two users look like one person."))
	}
	await more()
}

const pair = (page, { users, evidence }) => h("section.card", h("div.head",
	h("div", evidence.map(one => h("div", SAID[one.kind](one.value)))),
	isAllowed("linkIdentities") && !page.isGone
		&& h("div.acts", button("Merge", () => askToMerge(page, users, redraw), { look: ".tiny" }))),
h("div.two", users.map(one => h("div.stack-gap", personCell(one, `${page.base}/users/${one.id}`),
	h("div.small.muted", words(one.role), " · ", words(one.status), " · made ", timeNode(one.created_at),
		" · last sign-in ", timeNode(one.last_sign_in_at, "never")),
	one.identities.map(id => h("div.small", words(id.provider), " ", userText(id.email ?? id.subject)))))))
