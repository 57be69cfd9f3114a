import { form } from "../../lib/form.js"
import {
	api, append, button, card, confirm, countTotal, etagOf, h, isAllowed, liveRegion, loadPart, note, redraw,
	replaceContent, t, tickField, timeNode, toast, translate, userText,
} from "../../lib/ui.js"
import { diff } from "../audit.js"
import { ROLES } from "./users.js"

/** @type {Choice[]} */
const MODES = [
	{ value: "invite_only", text: "Invite only: nobody without an invite" },
	{ value: "domain", text: "Domain: addresses of verified domains" },
	{ value: "approval", text: "Approval: any confirmed address, after an operator has approved the person" },
	{ value: "open", text: "Open: any address that is vouched for" },
	{ value: "closed", text: "Closed: nobody new" },
]
/**
 * Whom each mode of the policy admits, and what the mode requires of a sign-in. The tenant needs domains and providers
 * that make such sign-ins possible.
 * @type {Record<string, string>}
 */
const NEEDS = {
	domain: "People with an address of a verified domain are admitted, if the provider is the authority of that "
		+ "domain or the mailbox is proved. All others are refused.",
	approval: "People who ask for this tenant by name, and whose provider says that the address is verified, wait "
		+ "for approval; so do people of a verified domain. You answer them under Join requests.",
	open: "People who ask for this tenant by name, and whose provider says that the address is verified, are admitted.",
}

/** @type {(name: string, label: string, min: number, max: number, hint?: string) => Field} */
const number = (name, label, min, max, hint) => ({ name, label, type: "number", hint, attrs: { min, max } })
/** @type {(step: string, label: string, hint?: string) => Field} */
const days = (step, label, hint) => number(`inactivity.${step}_days`, label, 30, 3650, hint)
/** @type {Field[]} */
const FIELDS = [
	{ name: "sign_up", label: "Who may sign up", options: MODES },
	{ name: "default_role", label: "Role of a newcomer", options: ROLES.slice(0, 2) },
	{
		name: "allowed_domains", label: "Allowed domains", type: "lines",
		hint: "A filter, one on each line; empty admits every domain that the rules admit.",
	},
	tickField("external_invites", "Invites may go to other domains"),
	tickField("invite_email_must_match", "An invite is only for its own address"),
	{
		name: "auto_link", label: "Link to an account of the same address",
		options: [
			{ value: "off", text: "Off: always ask" },
			{ value: "authoritative", text: "Only if the provider is the authority" },
		],
	},
	number("password_min", "Shortest password", 8, 128),
	tickField("password_blocklist", "Refuse well-known passwords"),
	tickField("block_disposable", "Keep out disposable mail domains"),
	{
		name: "blocked_domains", label: "Blocked domains", type: "lines",
		hint: "One on each line, including all subdomains. Invited people and users whom you add are admitted all the "
			+ "same.",
	},
	{
		name: "blocked_emails", label: "Blocked addresses", type: "lines",
		hint: "One on each line. A purge of the person removes it.",
	},
	number("invites_pending_max", "Invites pending at once", 1, 100_000),
	number("invites_per_inviter_hour", "Invites of one inviter in an hour", 1, 100_000),
	number("invites_per_recipient_day", "Mails with an invite to one address in a day", 1, 1000),
	days("warn", "Warn after days without use", "By mail. Empty, here and in the next two fields, means never."),
	days("suspend", "Suspend after days without use"),
	days("delete", "Delete after days without use", "Only who was suspended by that rule."),
	{ name: "scope_catalogue", label: "Own scopes for API keys", type: "lines" },
	tickField("dev_origins", "Allow localhost origins"),
	tickField("private_network", "Allow private network access"),
]
/** @type {Record<string, Sentence>} */
const LABELS = Object.fromEntries(FIELDS.map(({ name, label }) => [name, label]))

const inForce = ({ version }) => t`Version ${version} is in force`
/** A copy of a policy in which the members of `inactivity` have the names of the form's fields. */
const flat = ({ version: _, inactivity, ...rest }) => ({ ...rest, ...Object.fromEntries(
	Object.entries(inactivity ?? {}).map(([name, value]) => [`inactivity.${name}`, value]),
) })
const changesOf = (old, wanted) => {
	const [before, after] = [flat(old), flat(wanted)]
	return Object.fromEntries(Object.keys(after)
		.filter(name => String(before[name] ?? "") !== String(after[name] ?? ""))
		.map(name => [name, [before[name], after[name]]]))
}
const merged = (base, values) => ({ ...base, ...values, inactivity: { ...base.inactivity, ...values.inactivity } })
const isEmpty = changes => Object.keys(changes).length === 0

/** @type {(page: TenantPage) => Promise<any>} */
export default async page => {
	const path = `${page.path}/policy`
	const one = await page.get(path)
	// The card that shows what publishing would change. It is beside the form on a wide page, and before the form on a
	// narrow page.
	const effect = h("section.card.near", { hidden: true, "aria-live": "polite" })
	const needs = liveRegion()
	const clash = h("div", { role: "alert" })
	const publish = (base, values) => send(path, base, merged(base, values))
	const done = made => {
		toast(made.version === one.version ? "Nothing was changed" : inForce(made))
		return redraw()
	}
	const built = form(FIELDS, {
		submit: "Publish", values: one, draft: "policy", done, send: values => publish(one, values),
		request: values => ({ path, method: "PUT", body: merged(one, values), etag: etagOf(one) }),
		refused: (error, values) => {
			if (error.status !== 412) return false
			loadPart(
				clash,
				() =>
					drawClash(
						page, clash, { seen: one, values, publish, done: (...made) => (built.forget(), done(...made)) },
					),
			)
			return true
		},
	})
	const mode = /** @type {HTMLSelectElement} */ (built.querySelector("select"))
	const draw = () => {
		const changes = changesOf(one, merged(one, built.values()))
		effect.hidden = isEmpty(changes)
		replaceContent(effect, !effect.hidden && [h("h2", "What publishing changes"), diff(changes, LABELS)])
		drawNeeds(page, needs, mode.value)
	}
	built.addEventListener("input", draw)
	mode.closest(".field")?.append(needs)
	built.querySelector("[role=alert]")?.before(clash)
	if (!isAllowed("writePolicy")) {
		const controls = built.querySelectorAll("input, select, textarea, button[type=submit]")
		for (const control of controls) control.disabled = true
	}
	page.onLeave(built.isEdited)
	draw()
	const versions = h("div.stack-gap")
	append(page.body, h("div.two",
		h("section.card.tall", h("h2", "Rules"), h("p.muted.under", t`Version ${one.version} is in force.`), built),
		effect, card("Versions", versions)))
	await loadPart(versions, () => drawVersions(page, versions, one))
}

/**
 * Shows what the chosen mode requires. If the mode admits nobody because the tenant has no verified domain, shows a
 * warning.
 */
async function drawNeeds(page, node, mode) {
	const text = NEEDS[mode]
	if (node.dataset.mode === mode) return
	node.dataset.mode = mode
	replaceContent(node, text && h("p.hint", text))
	if (mode !== "domain") return
	const { items } = await page.get(`${page.path}/domains?status=verified&limit=1`).catch(() => ({ items: [{}] }))
	if (items.length || node.dataset.mode !== mode) return
	append(node, [note("warn", "alert", "This tenant has no verified domain, so nobody can join this way. ",
		h("a", { href: `${page.base}/domains` }, "Add a domain"), " first.")])
}

/**
 * Called when another operator has published a version since this page was loaded. Shows who published it, when, and
 * what changed, and offers to publish this page's changes on top. `seen` is the policy that this page loaded; `values`
 * are the members that were changed in the form.
 */
async function drawClash(page, node, { seen, values, publish, done }) {
	const current = await page.get(`${page.path}/policy`)
	const { items: [newest] } = await page.get(`${page.path}/policy/versions?limit=1`)
	const theirs = changesOf(seen, current)
	const mine = changesOf(current, merged(current, values))
	const act = run => async () => {
		try {
			await done(await run())
		} catch (error) {
			// If yet another version was published meanwhile, show the same for the newest version.
			if (error.status === 412) return loadPart(
				node, () => drawClash(page, node, { seen, values, publish, done }),
			)
			toast(error.message, { stay: true })
		}
	}
	replaceContent(node, note("warn", "alert",
		h("strong", t`Version ${current.version} was published by ${newest.created_by} `,
			timeNode(newest.created_at), "."),
		h("details", h("summary", "See what changed"),
			isEmpty(theirs) ? translate("It says the same as the one you read.") : diff(theirs, LABELS)),
		isEmpty(mine) ? h("p", "What you changed is in force already.")
			: [h("p", "Yours on top of it changes:"), diff(mine, LABELS)],
		h("div.acts", !isEmpty(mine)
			&& button("Put mine on top", act(() => publish(current, values)), { look: ".tiny" }),
			button("Take the newest, drop mine", act(async () => seen), { look: ".tiny" }))))
}

async function drawVersions(page, node, current) {
	const { items } = await page.get(`${page.path}/policy/versions?limit=20`)
	replaceContent(node, items.map((one, at) => h("div.line",
		h("div", h("strong", t`Version ${one.version}`),
			h("span.muted.small", " · ", timeNode(one.created_at), one.created_by && [" · ", userText(one.created_by)]),
			items[at + 1] && diff(changesOf(items[at + 1].policy, one.policy), LABELS)),
		one.version !== current.version && isAllowed("writePolicy")
			&& button("Roll back", () => rollBack(page, current, one),
				{ look: ".tiny", name: t`to version ${one.version}` }))))
}

const rollBack = (page, current, { version, policy: { version: _, ...body } }) => confirm({
	title: t`Roll back to version ${version}?`, act: "Roll back",
	text: h("span", "It is published again as the next version. These things change: ",
		diff(changesOf(current, body), LABELS)),
	run: () => send(`${page.path}/policy`, current, body), said: inForce, after: redraw,
})

/**
 * Publishes the policy. If the rule for inactive users changes, it first shows how many users the new rule concerns,
 * and asks whether to publish it.
 */
async function send(path, base, body) {
	const options = { method: "PUT", body, etag: etagOf(base) }
	const isSame = String(Object.values(base.inactivity)) === String(Object.values(body.inactivity))
	const seen = isSame ? null : (await api(`${path}?dry_run=true`, options)).inactivity_preview
	if (seen && !await agreed(seen)) throw new Error(t`Nothing was published.`)
	return api(path, options)
}

/** @type {(seen: API.InactivityPreview) => Promise<boolean>} */
const agreed = seen => new Promise(resolve => {
	const [warn, suspend, remove] = ["warn", "suspend", "delete"].map(step => countTotal(seen[step], "user", "users"))
	confirm({
		title: "Publish this rule?", act: "Publish the rule", keep: "Go back", run: () => resolve(true),
		text: t`By their last use it would warn ${warn}, suspend ${suspend}, delete ${remove}. Its days begin today.`,
	}).then(node => node?.addEventListener("close", () => resolve(false)))
})
