import { add, button, card, check, confirm, etagOf, fill, form, h, may, news, note, part, redraw, t, time, toast } from "../../lib/ui.js"
import { diff } from "../audit.js"
import { ROLES } from "./users.js"

const MODES = [
	["invite_only", "Invite only: nobody without an invite"], ["domain", "Domain: addresses of verified domains"],
	["approval", "Approval: everyone waits for a yes"], ["open", "Open: everyone with a verified address"], ["closed", "Closed: nobody new"],
]

const inForce = ({ version }) => t`Version ${version} is in force`

export default async page => {
	const path = `${page.path}/policy`
	const one = await page.get(path)
	const changed = news()
	const built = form(FIELDS, {
		submit: "Publish", values: one, request: values => [path, { method: "PUT", body: { ...one, ...values }, etag: etagOf(one) }],
		done: made => {
			toast(made.version === one.version ? "Nothing was changed" : inForce(made))
			redraw()
		},
	})
	const draw = () => {
		const changes = changesOf(one, { ...one, ...built.values() })
		fill(changed, Object.keys(changes).length > 0 && note("info", "alert", h("strong", "What publishing changes"), diff(changes)))
	}
	built.addEventListener("input", draw)
	built.querySelector("[role=alert]").before(changed)
	if (!may("writePolicy")) for (const control of built.querySelectorAll("input, select, textarea, [type=submit]")) control.disabled = true
	const versions = h("div.stack-gap")
	add(page.body, h("div.two", card("Sign-up policy", h("p.muted.under", t`Version ${one.version} is in force.`), built), card("Versions", versions)))
	await part(versions, () => drawVersions(page, versions, one))
}

const FIELDS = [
	["sign_up", "Who may sign up", { options: MODES }],
	["default_role", "Role of a newcomer", { options: ROLES.slice(0, 2) }],
	["allowed_domains", "Allowed domains", { type: "lines", hint: "A filter, one a line; empty lets every domain in that the rules let in." }],
	check("external_invites", "Invites may go to other domains"),
	check("invite_email_must_match", "An invite is only for its own address"),
	["auto_link", "Link to an account of the same address", { options: [["off", "Off: always ask"], ["authoritative", "Only where the provider is the authority"]] }],
	["password_min", "Shortest password", { type: "number", attrs: { min: 8, max: 128 } }],
	check("password_blocklist", "Refuse well-known passwords"),
	["scope_catalogue", "Own scopes for API keys", { type: "lines" }],
	check("dev_origins", "Allow localhost origins"),
	check("private_network", "Allow private network access"),
]

const changesOf = (before, after) => Object.fromEntries(Object.keys(after).filter(name => name !== "version" && String(before[name]) !== String(after[name]))
	.map(name => [name, [before[name], after[name]]]))

async function drawVersions(page, node, current) {
	const { items } = await page.get(`${page.path}/policy/versions?limit=20`)
	fill(node, items.map((one, at) => h("div.line",
		h("div", h("strong", t`Version ${one.version}`), h("span.muted.small", " · ", time(one.created_at)),
			items[at + 1] && diff(changesOf(items[at + 1].policy, one.policy))),
		one.version !== current.version && may("writePolicy") && button("Roll back", () => rollBack(page, current, one), { look: ".tiny", name: t`to version ${one.version}` }))))
}

const rollBack = (page, current, { version, policy: { version: _, ...body } }) => confirm({
	title: t`Roll back to version ${version}?`, act: "Roll back", text: h("span", "It is published again as the next version. This changes: ", diff(changesOf(current, body))),
	path: `${page.path}/policy`, method: "PUT", body, etag: etagOf(current), said: inForce, after: redraw,
})
