import { act, ago, api, confirm, created, formDialog, h, icon, list, may, reveal, say, t, tag, user, when } from "../../lib/ui.js"

const GRACE = [["3600", "1 hour"], ["0", "None: cut at once"], ["900", "15 minutes"], ["86400", "24 hours"], ["604800", "7 days"]]
/** What bounds a key and tells of it, in the forms. */
export const BOUNDS = [
	["allowed_ips", "Only from these addresses", { type: "lines", hint: "Addresses or CIDR ranges, one a line; empty is anywhere." }],
	["allowed_origins", "Only from these browser origins", { type: "lines", hint: "One a line; empty is every one." }],
	["note", "Note", { type: "textarea" }],
]
/** The secret before the last rotation, while it works. */
export const oldOf = one => one.status === "grace" && one.previous
export const isIdle = one => one.status === "active" && Date.now() - Date.parse(one.last_used_at ?? one.created_at) > 90 * 86400000

export const showSecret = (page, made) => reveal({
	title: t`Key of ${made.name}`, secret: made.key, name: "GATEHOUSE_KEY",
	call: `/tenants/${page.tenant.slug}/users`,
})

export default async page => {
	const path = `${page.path}/api-keys`
	const create = () => may("writeKeys") && h("a.btn.primary", { href: `${page.base}/keys/new`, "data-new": "" }, icon("plus"), "Create key")
	await list(page, {
		path, noun: ["API key", "API keys"], search: "Search by name", create,
		empty: { title: "No keys cut yet", text: "A key lets a machine call the API with just the rights you choose." },
		filters: [["status", "Status", "active grace revoked expired"],
			["environment", "Environment", "live test"]],
		columns: [
			["Name", one => [h("a.main", { href: `${page.base}/keys/${one.id}` }, user(one.name)), h("code.sub", `${one.prefix}…${one.last4}`)]],
			["Status", one => [tag(one.status), oldOf(one) && h("span.sub", t`old secret ends ${ago(one.previous.until)}`), isIdle(one) && h("span.sub", "unused for 90 days")], { state: true }],
			["Scopes", ({ scopes }) => h("span.small", h("code", { title: t`${scopes.join(" ")}` }, scopes.slice(0, 2).join(", ")), scopes.length > 2 && t` and ${scopes.length - 2} more`)],
			when("Last used", "last_used_at"),
			when("Expires", "expires_at"),
			created(),
		],
		actions: (one, reload) => keyActions(page, one, reload).filter(act => act?.[0] !== "Roll back"),
		bulk: may("revokeKeys") && [{
			text: "Revoke", danger: true, fits: one => one.status !== "revoked" && one.status !== "expired", asks: "Calls with them fail at once. This is final.",
			run: one => api(`${path}/${one.id}/revoke`, BECAUSE),
		}],
	})
}

export function keyActions(page, one, reload) {
	const path = `${page.path}/api-keys/${one.id}`
	if (one.status === "revoked" || one.status === "expired") return []
	return [
		one.previous && may("writeKeys") && ["Cut old", () => act(`${path}/cut`, {}, "The old secret is dead", reload)],
		one.previous && may("writeKeys") && ["Roll back", () => act(`${path}/rollback`, {}, "The old secret is the only one again", reload)],
		may("writeKeys") && ["Rotate", () => rotate(page, path, one, reload)],
		may("revokeKeys") && ["Revoke", () => revoke(path, one, reload), true],
	]
}

const BECAUSE = { body: { reason: "revoked in the console" } }
const revoke = (path, one, reload) => confirm({
	title: t`Revoke ${one.name}?`, act: "Revoke key",
	text: t`Calls with it fail at once. ${one.last_used_at ? t`It was last used ${ago(one.last_used_at)}.` : say("It was never used.")} This is final.`,
	path: `${path}/revoke`, method: "POST", ...BECAUSE, said: t`${one.name} is revoked`, after: reload,
})

const rotate = (page, path, one, reload) => formDialog({
	title: t`Rotate ${one.name}`, submit: "Rotate", lead: "A new secret now; the old one works on for the grace you choose.",
	fields: [["grace_seconds", "Grace of the old secret", { options: GRACE }]],
	request: values => [`${path}/rotate`, { body: { grace_seconds: Number(values.grace_seconds) } }],
	done: made => (reload(), showSecret(page, made)),
})
