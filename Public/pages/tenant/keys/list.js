import {
	ago, confirm, countWords, createdColumn, formDialog, h, icon, isAllowed, list, mayHere, revealSecret,
	statusTag, t, tickField, timeColumn, translate, userText,
} from "../../../lib/ui.js"

const GRACE = [
	["3600", "1 hour"], ["0", "None: cut at once"], ["900", "15 minutes"], ["86400", "24 hours"], ["604800", "7 days"],
]
/** The limits and descriptions of a key, in the forms. */
export const BOUNDS = [
	[
		"allowed_ips", "Only from these addresses",
		{ type: "lines", hint: "Addresses or CIDR ranges, one a line; empty is anywhere." },
	],
	["allowed_origins", "Only from these browser origins", { type: "lines", hint: "One a line; empty is every one." }],
	["rate_limit.per_minute", "Most calls a minute",
		{ type: "number", attrs: { min: 1 }, hint: "Empty is as the server is set." }],
	["note", "Note", { type: "textarea" }],
]
/** The secret before the last rotation, while it works. */
export const oldOf = one => one.status === "grace" && one.previous
export const isIdle = one =>
	one.status === "active" && Date.now() - Date.parse(one.last_used_at ?? one.created_at) > 90 * 86400000

export const showSecret = (page, made) => revealSecret({
	title: t`Key of ${made.name}`, secret: made.key, name: "GATEHOUSE_KEY",
	call: `/tenants${page.tenant ? `/${page.tenant.slug}/users` : ""}`,
})

export const keyList = async page => {
	const path = `${page.path}/api-keys`
	const create = () =>
		mayHere(page, "writeKeys")
			&& h("a.btn.primary", { href: `${page.base}/keys/new`, "data-new": "" }, icon("plus"), "Create key")
	await list(page, {
		...!page.tenant && {
			title: "Platform API keys", lead: "Keys that are no tenant's: what they may, they may in every tenant.",
		},
		path, noun: ["API key", "API keys"], search: "Search by name", create,
		empty: { title: "No API keys yet", text: "A key lets a machine call the API with just the rights you choose." },
		filters: [["status", "Status", "active grace revoked expired"],
			["environment", "Environment", "live test"],
			["ends_within", "End", { options: [["14", t`Within 14 days`], ["90", t`Within 90 days`]] }],
			["given_before", "Scopes", { options: [["true", t`Lead to an admin, from before`]] }]],
		columns: [
			[
				"Name",
				one =>
					[
						h("a.main", { href: `${page.base}/keys/${one.id}` }, userText(one.name)),
						h("code.sub", `${one.prefix}…${one.last4}`),
					],
				{ tight: true },
			],
			[
				"Status",
				one =>
					[
						statusTag(one.status),
						oldOf(one) && h("span.sub", t`old secret ends ${ago(one.previous.until)}`),
						isIdle(one) && h("span.sub", "unused for 90 days"),
					],
				{ state: true },
			],
			["Scopes", scopesOf],
			timeColumn("Last used", "last_used_at"),
			timeColumn("Expires", "expires_at"),
			createdColumn(),
		],
		actions: (one, reload) => keyActions(page, one, reload),
		bulk: page.tenant && isAllowed("revokeKeys") && [{
			text: "Revoke", fits: isAlive, asks: "Calls with them fail at once. This is final.",
			verb: "revoke", more: BECAUSE.body,
		}],
	})
}

const isAlive = one => one.status !== "revoked" && one.status !== "expired"
/** One by its name; of several the number: a look at the row shows them all. */
const scopesOf = ({ scopes }) => h("span.small", { title: t`${scopes.join(" ")}` },
	scopes.length === 1 ? h("code", scopes[0]) : countWords(scopes.length, "scope", "scopes"))

export function keyActions(page, one, reload) {
	const path = `${page.path}/api-keys/${one.id}`
	if (!isAlive(one)) return []
	return [
		mayHere(page, "writeKeys") && { text: "Rotate", run: () => rotate(page, path, one, reload) },
		one.given_before && mayHere(page, "writeKeys")
			&& { text: "Confirm scopes", run: () => confirmScopes(path, one, reload) },
		mayHere(page, "revokeKeys") && { text: "Revoke", run: () => revoke(path, one, reload) },
		one.previous && mayHere(page, "writeKeys") && { text: "End old secret", run: () => cut(path, one, reload) },
		one.previous && mayHere(page, "writeKeys") && { text: "Roll back", run: () => rollBack(path, one, reload) },
	]
}

/** When a secret was used last, as a sentence. */
const lastUse = at => (at ? t`It was last used ${ago(at)}.` : translate("It was never used."))

/** That a key stands in logs, as a sentence; nothing where that is not known. */
const leak = ({ leaked_at: at }) => (at ? t`It was recognised as leaked ${ago(at)}.` : "")

const cut = (path, one, reload) => confirm({
	title: t`End the old secret of ${one.name} now?`, act: "End old secret", path: `${path}/cut`, method: "POST",
	text: t`Calls with …${one.previous.last4} fail at once. ${lastUse(one.previous.last_used_at)} This is final.`,
	said: "The old secret has ended", after: reload,
})

const rollBack = (path, { name, last4, previous }, reload) => confirm({
	title: t`Roll ${name} back?`, act: "Roll back", keep: "Keep the new secret", path: `${path}/rollback`,
	method: "POST",
	text: t`Calls with the new secret …${last4} fail at once; the old one …${previous.last4} works on. This is final.`,
	said: "The old secret is the only one again", after: reload,
})

const confirmScopes = (path, one, reload) => confirm({
	title: t`Give ${one.name} its scopes anew?`, act: "Confirm scopes", path, method: "PATCH",
	body: { scopes: one.scopes },
	text: t`They lead to an admin: ${one.scopes.join(", ")}. The secret stays the same.`,
	said: "The scopes are confirmed", after: reload,
})

const BECAUSE = { body: { reason: "revoked in the console" } }
const revoke = (path, one, reload) => confirm({
	title: t`Revoke ${one.name}?`, act: "Revoke key",
	text: t`Calls with it fail at once. ${[lastUse(one.last_used_at), leak(one)].join(" ").trim()} This is final.`,
	fields: [tickField("made_by", "Also every key that it made, and those that they made")],
	path: `${path}/revoke`, method: "POST", ...BECAUSE, said: t`${one.name} is revoked`, after: reload,
})

const rotate = (page, path, one, reload) => formDialog({
	title: t`Rotate ${one.name}`, submit: "Rotate",
	lead: "A new secret now; the old one works on for the grace you choose.",
	fields: [["grace_seconds", "Grace of the old secret", { options: GRACE }]],
	request: values => [`${path}/rotate`, { body: { grace_seconds: Number(values.grace_seconds) } }],
	done: made => (reload(), showSecret(page, made)),
})
