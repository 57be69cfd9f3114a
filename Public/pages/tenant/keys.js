// The list of API keys, the page of one key, and the page that makes a new one.
import {
	ago, append, button, buttons, card, choices, confirm, copyable, countWords, createdColumn, factList, formDialog,
	formatDay, formatNumber, h, isAllowed, leaveFor, list, liveRegion, loadPart, mayHere, noValue, note, query,
	redraw, replaceContent, revealSecret, showState, statusTag, t, tickField, timeColumn, timeNode, translate,
	userText, waitBriefly
} from "../../lib/ui.js"

/** @type {Choice[]} */
const GRACE = [
	{ value: "3600", text: "1 hour" },
	{ value: "0", text: "None: cut at once" },
	{ value: "900", text: "15 minutes" },
	{ value: "86400", text: "24 hours" },
	{ value: "604800", text: "7 days" },
]
/**
 * The form fields for a key's limits and its note.
 * @type {Field[]}
 */
const BOUNDS = [
	{
		name: "allowed_ips", label: "Only from these addresses", type: "lines",
		hint: "Addresses or CIDR ranges, one on each line; empty means anywhere.",
	},
	{
		name: "allowed_origins", label: "Only from these browser origins", type: "lines",
		hint: "One a line; empty is every one.",
	},
	{
		name: "rate_limit.per_minute", label: "Most calls a minute", type: "number", attrs: { min: 1 },
		hint: "Empty is as the server is set.",
	},
	{ name: "note", label: "Note", type: "textarea" },
]
/**
 * The secret from before the last rotation, as long as it still works; otherwise false.
 * @type {(one: API.APIKey) => API.APIKey["previous"] | false}
 */
const oldOf = one => one.status === "grace" && one.previous
/** @type {(one: API.APIKey) => boolean} */
const isIdle = one =>
	one.status === "active" && Date.now() - Date.parse(one.last_used_at ?? one.created_at) > 90 * 86400000

/** @type {(page: TenantPage, made: API.APIKeyWithSecret) => HTMLElement} */
const showSecret = (page, made) => revealSecret({
	title: t`Key of ${made.name}`, secret: made.key, name: "GATEHOUSE_KEY",
	call: `/tenants${page.tenant ? `/${page.tenant.slug}/users` : ""}`,
})

/** @type {(page: TenantPage) => Promise<any>} */
const keyList = async page => {
	const path = `${page.path}/api-keys`
	await list(page, /** @type {ListSpec<API.APIKey>} */ ({
		...!page.tenant && {
			title: "Platform API keys", lead: "Keys that belong to no tenant: their rights apply in every tenant.",
		},
		path, noun: { one: "API key", many: "API keys" }, search: "Search by name",
		create: {
			right: page.tenant ? "writeKeys" : "writePlatformKeys", text: "Create key", href: `${page.base}/keys/new`,
		},
		empty: { title: "No API keys yet", text: "A key lets a machine call the API with just the rights you choose." },
		filters: [
			{ name: "status", label: "Status", options: choices("active grace revoked expired") },
			{ name: "environment", label: "Environment", options: choices("live test") },
			{
				name: "ends_within", label: "End",
				options: [
					{ value: "14", text: t`Within 14 days` },
					{ value: "90", text: t`Within 90 days` },
				],
			},
			{
				name: "given_before", label: "Scopes",
				options: [{ value: "true", text: t`Lead to an admin, from before` }],
			},
		],
		columns: [
			{
				label: "Name",
				cell: one => [
					h("a.main", { href: `${page.base}/keys/${one.id}` }, userText(one.name)),
					h("code.sub", `${one.prefix}…${one.last4}`),
				],
				tight: true,
			},
			{
				label: "Status",
				cell: one => [
					statusTag(one.status),
					oldSecret(one),
					isIdle(one) && h("span.sub", "unused for 90 days"),
				],
				state: true,
			},
			{ label: "Scopes", cell: scopesOf },
			timeColumn("Last used", "last_used_at"),
			timeColumn("Expires", "expires_at"),
			createdColumn(),
		],
		actions: (one, reload) => keyActions(page, one, reload),
		bulk: page.tenant && isAllowed("revokeKeys") && [{
			text: "Revoke", fits: isAlive, asks: "Calls with them fail at once. This is final.",
			verb: "revoke", more: BECAUSE.body,
		}],
	}))
}

/** @type {(one: API.APIKey) => Child} */
function oldSecret(one) {
	const previous = oldOf(one)
	return previous && h("span.sub", t`old secret ends ${ago(previous.until)}`)
}

/** @type {(one: API.APIKey) => boolean} */
const isAlive = one => one.status !== "revoked" && one.status !== "expired"
/**
 * A key's scopes: a single one by its name, several by their number. The tooltip names them all.
 * @type {(one: API.APIKey) => Child}
 */
const scopesOf = ({ scopes = [] }) => h("span.small", { title: t`${scopes.join(" ")}` },
	scopes.length === 1 ? h("code", scopes[0]) : countWords(scopes.length, "scope", "scopes"))

/** @type {(page: TenantPage, one: API.APIKey, reload: () => unknown) => Acts} */
function keyActions(page, one, reload) {
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

/** A sentence that says when a secret was last used. */
const lastUse = at => (at ? t`It was last used ${ago(at)}.` : translate("It was never used."))

/**
 * A sentence that says when a key was recognised as leaked; empty if it never was.
 * @type {(one: { leaked_at?: string | null }) => Sentence}
 */
const leak = ({ leaked_at: at }) => (at ? t`It was recognised as leaked ${ago(at)}.` : "")

const cut = (path, one, reload) => confirm({
	title: t`End the old secret of ${one.name} now?`, act: "End old secret", path: `${path}/cut`, method: "POST",
	text: t`Calls with …${one.previous.last4} fail at once. ${lastUse(one.previous.last_used_at)} This is final.`,
	said: "The old secret has ended", after: reload,
})

/** @type {(path: string, one: API.APIKey, reload: () => unknown) => unknown} */
const rollBack = (path, { name, last4, previous }, reload) => confirm({
	title: t`Roll ${name} back?`, act: "Roll back", keep: "Keep the new secret", path: `${path}/rollback`,
	method: "POST",
	text: t`Calls with the new secret …${last4} fail at once; the old one …${previous?.last4} works on. This is final.`,
	said: "The old secret is the only one again", after: reload,
})

const confirmScopes = (path, one, reload) => confirm({
	title: t`Give ${one.name} its scopes again?`, act: "Confirm scopes", path, method: "PATCH",
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
	lead: "A new secret now; the old one keeps working for the time that you choose.",
	fields: [{ name: "grace_seconds", label: "Grace of the old secret", options: GRACE }],
	request: values => ({ path: `${path}/rotate`, body: { grace_seconds: Number(values.grace_seconds) } }),
	done: made => (reload(), showSecret(page, made)),
})

/** @type {(page: TenantPage) => Promise<any>} */
const keyPage = async page => {
	const path = `${page.path}/api-keys/${page.id}`
	const uses = h("div")
	const [found, leakedAt] = await Promise.all([page.get(path), leakOf(page)])
	const one = Object.assign(found, { leaked_at: leakedAt })
	const lives = (one.status === "active" || one.status === "grace") && !page.isGone
	const previous = oldOf(one)
	const left = h("strong", previous && ago(previous.until))
	if (previous) {
		const timer = setInterval(() => replaceContent(left, ago(previous.until)), 1000)
		page.signal.addEventListener("abort", () => clearInterval(timer))
	}
	const codes = (items, otherwise) =>
		(items?.length ? h("ul", items.map(item => h("li", userText(item, "code")))) : noValue(otherwise))
	const acts = page.isGone ? [] : keyActions(page, one, redraw).filter(Boolean)
	// If a key was pasted into the palette, the palette opens this page: ask at once whether to revoke the key.
	if (query().act === "revoke") requestAnimationFrame(() => acts.find(act => act.text === "Revoke")?.run())
	append(page.body, [
		h("div.head", h(
			"div", h("h1", userText(one.name), " ", statusTag(one.status)),
			h("code.muted", `${one.prefix}…${one.last4}`),
		),
			h(
				"div.acts", lives && mayHere(page, "writeKeys") && button("Edit", () => edit(page, one)),
				buttons(acts),
			)),
		previous && note("warn", "alert", "The old secret ", h(
			"code", `…${previous.last4}`,
		), " still works and ends ", left,
			t`. Since the rotation it was used ${formatNumber(previous.uses)} times`,
			previous.last_used_at && [", last ", timeNode(previous.last_used_at)], "."),
		leakedAt && note("danger", "alert", "The text of this key was recognised as leaked ", timeNode(leakedAt),
			": it was part of a URL, so access logs contain it. ", lives && "Rotate or revoke the key."),
		one.given_before && lives && note("warn", "alert",
			"The scopes of this key lead to an admin, and are older than the rule about who may give them. ",
			"Confirm the scopes, rotate the key, or revoke it."),
		isIdle(one) && note("warn", "alert", "This key has not been used for 90 days. If nothing needs it, revoke it."),
		h("div.two",
			card("Facts", factList([[
				"Environment", statusTag(one.environment),
			], ["Last used", timeNode(one.last_used_at)], one.last_used_ip
				&& ["From", h("code", one.last_used_ip)],
				["Expires", timeNode(one.expires_at)], ["Created", timeNode(one.created_at)],
				["Owner", one.owner?.type === "user" ? owner(page, one.owner.id)
					: page.tenant ? "The tenant" : "The platform"],
				one.revoked_at && ["Revoked", timeNode(one.revoked_at)],
				one.revocation_reason && ["Because", userText(one.revocation_reason)],
				one.note && ["Note", userText(one.note)], ["Id", copyable(one.id)],
				isAllowed("readAudit")
					&& ["History", h("a", { href: `${page.base}/audit?target=${one.id}` }, "In the audit log")]])),
			h("div.stack-gap", card("What it may do", factList([["Scopes", codes(one.scopes)], [
				"Addresses", codes(one.allowed_ips, "anywhere"),
			], [
				"Origins", codes(one.allowed_origins, "any origin"),
			],
				[
					"Rate",
					one.rate_limit
						? t`${formatNumber(one.rate_limit.per_minute)} a minute`
						: noValue("as the server is set"),
				]])), card("Uses by day", uses))),
	])
	const { bars } = await import("../../lib/chart.js")
	await waitBriefly(loadPart(uses, async () => replaceContent(uses, bars("Uses", (await page.get(
		`${path}/uses`,
	)).items, [{ look: "in", member: "uses", label: "Uses" }],
		{ month: "short", day: "numeric", timeZone: "UTC" }, ([all], most) =>
			t`${all} in 30 days; at most ${most} in a day. Days begin at midnight UTC.`))))
}

/**
 * When the key was last recognised as leaked, according to the audit log; false if the operator may not read that log.
 */
const leakOf = page => isAllowed("readAudit") && page.get(
	`${page.path}/audit-events?action=api_key.leaked&limit=1&target=${page.id}`,
).then(({ items }) => items[0]?.occurred_at, () => null)

/** A link to the user to whom a key belongs; it shows the user's email address or name when the server has sent it. */
function owner(page, id) {
	const link = h("a", { href: `${page.base}/users/${id}` }, "A user")
	page.get(`${page.path}/users/${id}`).then(one => replaceContent(link, userText(one.email ?? one.name)), () => {})
	return link
}

const edit = async (page, one) => formDialog({
	title: t`Edit ${one.name}`, lead: "The secret stays the same. Take away what it does not need.", edits: one,
	fields: [
		{ name: "name", label: "Name", required: true },
		{
			name: "scopes", label: "Scopes", required: true, type: "checks",
			options: await scopeOptions(page, one.scopes),
		},
		{ name: "expires_at", label: "Expires", type: "day", hint: "At the end of that day; empty means never." },
		...BOUNDS,
	],
	path: `${page.path}/api-keys/${one.id}`, after: redraw,
	// If the number of calls is empty, `rate_limit` is null: the key then has no limit of its own.
	body: ({ rate_limit: rate, ...values }) =>
		(rate ? { ...values, rate_limit: rate.per_minute ? rate : null } : values),
})

/** @type {Record<string, string>} */
const NOUNS = {
	"users:write": "users", users: "users and decisions", policy: "policy and domains", "api-keys": "API keys",
	cors: "origins", audit: "the audit log", hooks: "about a sign-up, as a hook", keys: "API keys",
	mail: "mail that came back",
}
/** @type {Record<string, string>} */
const VERBS = { read: "Read", write: "Change", signup: "Ask", verify: "Verify", bounces: "Report" }
/** The scopes that only a key of the platform can have; they apply in every tenant. */
const PLATFORM = { Platform: "tenants:read tenants:write providers:read providers:write operators:read operators:write "
	+ "mail:bounces" }
const GROUPS = { People: "users:read users:write invites:read invites:write", "Sign-up": "hooks:signup "
	+ "policy:read policy:write",
	"Keys and origins": "keys:verify api-keys:read api-keys:write cors:read cors:write",
	Other: "clients:read clients:write audit:read" }
const isManaging = code => Object.values({ ...GROUPS, ...PLATFORM }).some(codes => codes.split(" ").includes(code))
/** Scopes that decide who is trusted: a key with one of them can gain the rights of an admin. */
const LIKE_ADMIN = "providers:write clients:write policy:write operators:write hooks:signup".split(" ")
/** The name of a scope, in words; a scope that the tenant defined is shown as it is. */
const nameOf = code => {
	const [noun, verb] = code.split(":")
	if (!isManaging(code)) return code
	return t`${translate(VERBS[verb])} ${translate(NOUNS[code] ?? NOUNS[noun] ?? noun)}`
}
/** @type {(code: string) => Choice} */
const option = code => {
	const name = nameOf(code)
	const text = LIKE_ADMIN.includes(code) ? t`${name} (leads to the rights of an admin)` : name
	return { value: code, text, hint: code }
}
const PRESETS = {
	"Sign-up hook": "hooks:signup", "Verify keys": "keys:verify",
	"Read only": "users:read invites:read api-keys:read cors:read audit:read",
}
const DAYS = [
	{ value: "90", text: "90 days" },
	{ value: "30", text: "30 days" },
	{ value: "365", text: "1 year" },
	{ value: "day", text: "At the end of a day" },
	{ value: "", text: "Never" },
]

/**
 * The scopes that can be ticked: those on offer, and those that the key has already, even if the tenant's catalogue
 * no longer has them.
 * @type {(page: TenantPage, had?: string[]) => Promise<(Choice | ChoiceGroup)[]>}
 */
async function scopeOptions(page, had = []) {
	const policy = page.tenant && await page.get(`${page.path}/policy`).catch(() => null)
	const groups = Object.entries({ ...GROUPS, ...!page.tenant && PLATFORM })
		.map(([group, codes]) => ({ group, options: codes.split(" ").map(option) }))
	const catalogue = policy?.scope_catalogue ?? []
	const known = new Set([...catalogue, ...groups.flatMap(({ options }) => options.map(one => one.value))])
	const own = [...catalogue, ...had.filter(scope => !known.has(scope))]
		.map(scope => ({ value: scope, text: userText(scope) }))
	return [
		...(own.length ? [{ group: "This tenant's own" }, ...own] : []),
		...groups.flatMap(({ group, options }) => [{ group }, ...options]),
	]
}

/** @type {(page: TenantPage) => Promise<any>} */
const newKey = async page => {
	if (!mayHere(page, "writeKeys")) {
		return showState(page.body, "forbidden", {
			title: "You may not create API keys",
			text: "Your role lacks the right writeKeys; owners, admins and developers have it.",
			link: { href: `${page.base}/keys`, text: "All API keys" },
		})
	}
	// Only this page loads the code of forms; the list of keys does not need it.
	const { form } = await import("../../lib/form.js")
	const asked = query()
	const isFilled = Boolean(asked.name || asked.scopes)
	const owner = asked.owner && await page.get(`${page.path}/users/${asked.owner}`)
	const wanted = asked.scopes?.split(/[ ,]+/) ?? []
	const opened = Math.ceil(Date.now() / 60000) * 60000
	const built = form([
		{ name: "name", label: "Name", required: true, hint: "What will hold it, such as “Production backend”." },
		{ name: "environment", label: "Environment", options: choices("live test") },
		{
			name: "scopes", label: "Scopes", required: true, type: "checks", value: wanted,
			options: await scopeOptions(page),
		},
		{ name: "days", label: "Expires after", options: DAYS },
		{ name: "expires_at", label: "Last day", required: true, type: "day", when: ({ days }) => days === "day" },
		...BOUNDS,
	], {
		submit: "Create key", start: asked, cancel: () => leaveFor(`${page.base}/keys`),
		draft: isFilled ? null : "new key",
		request: values => ({
			path: `${page.path}/api-keys`,
			body: { ...body(values, opened), ...owner && { owner: { type: "user", id: owner.id } } },
		}),
		done: made => {
			leaveFor(`${page.base}/keys/${made.id}`)
			showSecret(page, made)
		},
	})
	built.querySelector(".checks")?.before(h("div.acts", Object.entries(PRESETS).map((
		[text, scopes],
	) => button(text, () => {
		for (const box of built.querySelectorAll(".checks input")) box.checked = scopes.split(" ").includes(box.value)
		built.dispatchEvent(new Event("input"))
	}, { look: ".tiny" }))))
	const will = liveRegion()
	const tell = () => replaceContent(will, h("ul", effects(built.values(), opened).map(one => h("li", one))))
	built.addEventListener("input", tell)
	tell()
	append(page.body, [
		isFilled
			&& note("warn", "alert", "A link filled in this form. Read what it asks for before you create the key."),
		h("div.head", h("div", h("h1", "Create API key"),
			owner && h("p.lead", "It belongs to this user and ends with the account: ", userText(owner.email)))),
		h("div.two", h("section.card", built), card("What it will do", will)),
	])
	page.onLeave(built.isEdited)
	built.querySelector("input")?.setAttribute("autofocus", "")
}

/** What a key with these values could do, as a list of sentences. */
function effects({ name, environment, scopes = [], allowed_ips: ips, allowed_origins: origins, ...rest }, opened) {
	const { expires_at: end } = body(rest, opened)
	const rate = rest.rate_limit?.per_minute
	return [
		scopes.length ? t`${name ?? translate("The key")} may: ${scopes.map(nameOf).join("; ")}.`
			: "It can do nothing until you choose a scope.",
		environment === "test" && "Its text says that it is a test key; its rights are as real as a live key's.",
		end ? t`It ends on ${formatDay(end, { dateStyle: "long" })}.` : "It never ends by itself.",
		ips || origins ? t`It is refused from anywhere but ${[ips, origins].flat().filter(Boolean).join(", ")}.`
			: "Whoever has it can use it, from anywhere.",
		rate && t`More than ${formatNumber(rate)} calls a minute are refused.`,
	].filter(Boolean)
}

// The values in the form in which the API expects them. The key's end is counted from the full minute after the form
// was opened, and not from the time of the request. So the end that is sent is the end that was shown, and a request
// that is repeated after a lost answer is the same as the first request.
/** @type {(values: any, opened: number) => any} */
function body({ days, ...values }, opened) {
	const end = Number(days) && opened + days * 86400000
	return end ? { ...values, expires_at: new Date(end).toISOString() } : values
}

/** @type {(page: TenantPage) => Promise<any>} */
export default page => (page.id === "new" ? newKey : page.id ? keyPage : keyList)(page)
