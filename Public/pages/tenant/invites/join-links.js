// Links by which many people join a tenant as members.
import {
	append, confirm, createdColumn, formatNumber, formDialog, h, isAllowed, list, note, replaceContent, revealSecret,
	STATUS, t, timeNode, userText,
} from "../../../lib/ui.js"
import { daysAfter } from "./inviting.js"

export const joinLinks = async page => {
	const path = `${page.path}/join-links`
	const warning = h("div")
	append(page.body, [h("div.head",
		h("div", h("h1", "Join links"), h("p.lead", "Whoever has one of these links can join as a member.")),
		h("div.acts", h("a.btn", { href: `${page.base}/invites` }, "All invites"))), warning])
	await list(page, {
		path, noun: ["join link", "join links"],
		seen: ({ items }) => replaceContent(warning, items.some(isUseless) && useless()),
		create: ["manageInvites", "Make a link", reload => makeLink(path, reload)],
		empty: {
			title: "No join links yet",
			text: "A join link lets many people in as members, until it ends or is used up.",
		},
		columns: [
			["For", one => h("span.main", one.domains.length ? userText(one.domains.join(", ")) : "Every address")],
			["Used", one => t`${formatNumber(one.uses)} of ${formatNumber(one.max_uses)}`],
			STATUS,
			["Ends", one => timeNode(one.expires_at)],
			["Made by", one => userText(one.created_by.name || "–")],
			createdColumn("Made"),
		],
		actions: isAllowed("manageInvites") && ((one, reload) => [
			one.status === "active" && { text: "Revoke", run: () => end(path, one, reload) },
		]),
	})
}

/** Who joins signs in at a provider: without one a link leads nowhere. */
const isUseless = one => one.status === "active" && one.providers === 0
const useless = () => note("warn", "alert", "Nobody can use a join link yet: there is no provider to sign in with. ",
	h("a", { href: "/console/providers" }, "Add a provider"), " first.")

const end = (path, one, reload) => confirm({
	title: "Revoke this join link?", act: "Revoke link", path: `${path}/${one.id}/revoke`, method: "POST",
	text: t`It stops working now. This is final; the ${formatNumber(one.uses)} who joined by it stay.`,
	said: "The join link is revoked", after: reload,
})

const DAYS = [["7", "In 7 days"], ["1", "In 1 day"], ["30", "In 30 days"], ["90", "In 90 days"]]

const makeLink = (path, reload, opened = Date.now()) => formDialog({
	title: "Make a join link", submit: "Make the link",
	fields: [
		["days", "Ends", { options: DAYS }],
		["max_uses", "How many may join", { type: "number", value: 100, attrs: { min: 1, max: 10_000 } }],
		["domains", "Only addresses of", { type: "lines", hint: "Domains, one a line; empty is every address." }],
		["return_to", "Leads back to", { hint: "One of the addresses under Clients; empty is nowhere." }],
	],
	request: ({ days, ...values }) => [path, { body: { ...values, expires_at: daysAfter(opened, days) } }],
	done: made => {
		reload()
		return revealSecret({
			title: "Join link", secret: made.url, name: "JOIN_URL",
			text: ["Send it to the people who are to join. It is shown only now.", isUseless(made) && useless()],
		})
	},
})
