import {
	append, button, card, choices, formatDay, formatNumber, h, leaveFor, liveRegion, mayHere, note, query,
	replaceContent, showState, t, translate, userText,
} from "../../../lib/ui.js"
import { BOUNDS, showSecret } from "./list.js"

const NOUNS = {
	"users:write": "users", users: "users and decisions", policy: "policy and domains", "api-keys": "API keys",
	cors: "origins", audit: "the audit log", hooks: "about a sign-up, as a hook", keys: "API keys",
	mail: "mail that came back",
}
const VERBS = { read: "Read", write: "Change", signup: "Ask", verify: "Verify", bounces: "Report" }
/** What only a key of the platform can do everywhere. */
const PLATFORM = { Platform: "tenants:read tenants:write providers:read providers:write operators:read operators:write "
	+ "mail:bounces" }
const GROUPS = { People: "users:read users:write invites:read invites:write", "Sign-up": "hooks:signup "
	+ "policy:read policy:write",
	"Keys and origins": "keys:verify api-keys:read api-keys:write cors:read cors:write",
	Other: "clients:read clients:write audit:read" }
const isManaging = code => Object.values({ ...GROUPS, ...PLATFORM }).some(codes => codes.split(" ").includes(code))
/** Scopes that move trust: whoever has one can come to the rights of an admin. */
const LIKE_ADMIN = "providers:write clients:write policy:write operators:write hooks:signup".split(" ")
/** A scope in words; a tenant's own is what it is. */
const nameOf = code => {
	const [noun, verb] = code.split(":")
	if (!isManaging(code)) return code
	return t`${translate(VERBS[verb])} ${translate(NOUNS[code] ?? NOUNS[noun] ?? noun)}`
}
const option = code => {
	const name = nameOf(code)
	return [code, LIKE_ADMIN.includes(code) ? t`${name} (leads to the rights of an admin)` : name, code]
}
const PRESETS = {
	"Sign-up hook": "hooks:signup", "Verify keys": "keys:verify",
	"Read only": "users:read invites:read api-keys:read cors:read audit:read",
}
const DAYS = [
	["90", "90 days"], ["30", "30 days"], ["365", "1 year"], ["day", "At the end of a day"], ["", "Never"],
]

/** What may be ticked, with what a key has beyond that: a scope can have left the tenant's catalogue. */
export async function scopeOptions(page, had = []) {
	const policy = page.tenant && await page.get(`${page.path}/policy`).catch(() => null)
	const groups = Object.entries({ ...GROUPS, ...!page.tenant && PLATFORM })
		.map(([title, codes]) => [title, codes.split(" ").map(option)])
	const catalogue = policy?.scope_catalogue ?? []
	const known = new Set([...catalogue, ...groups.flatMap(([, options]) => options.map(([code]) => code))])
	const own = [...catalogue, ...had.filter(scope => !known.has(scope))].map(scope => [scope, userText(scope)])
	return [
		...(own.length ? [["This tenant's own"], ...own] : []),
		...groups.flatMap(([title, options]) => [[title], ...options]),
	]
}

export const newKey = async page => {
	if (!mayHere(page, "writeKeys")) {
		return showState(page.body, "forbidden", {
			title: "You may not create API keys",
			text: "Your role lacks the right writeKeys; owners, admins and developers have it.",
			link: { href: `${page.base}/keys`, text: "All API keys" },
		})
	}
	// The list of keys needs no form.
	const { form } = await import("../../../lib/form.js")
	const asked = query()
	const isFilled = Boolean(asked.name || asked.scopes)
	const owner = asked.owner && await page.get(`${page.path}/users/${asked.owner}`)
	const wanted = asked.scopes?.split(/[ ,]+/) ?? []
	const opened = Math.ceil(Date.now() / 60000) * 60000
	const built = form([
		["name*", "Name", { hint: "What will hold it, such as “Production backend”." }],
		["environment", "Environment", { options: choices("live test") }],
		[
			"scopes*", "Scopes",
			{
				type: "checks", value: wanted, options: await scopeOptions(page),
			},
		],
		["days", "Expires after", { options: DAYS }],
		["expires_at*", "Last day", { type: "day", when: ({ days }) => days === "day" }],
		...BOUNDS,
	], {
		submit: "Create key", start: asked, cancel: () => leaveFor(`${page.base}/keys`),
		draft: isFilled ? null : "new key",
		request: values => [`${page.path}/api-keys`, {
			body: { ...body(values, opened), ...owner && { owner: { type: "user", id: owner.id } } },
		}],
		done: made => {
			leaveFor(`${page.base}/keys/${made.id}`)
			showSecret(page, made)
		},
	})
	built.querySelector(".checks").before(h("div.acts", Object.entries(PRESETS).map((
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
	built.querySelector("input").setAttribute("autofocus", "")
}

/** What a key with these values could do, each as a sentence. */
function effects({ name, environment, scopes = [], allowed_ips: ips, allowed_origins: origins, ...rest }, opened) {
	const { expires_at: end } = body(rest, opened)
	const rate = rest.rate_limit?.per_minute
	return [
		scopes.length ? t`${name ?? translate("The key")} may: ${scopes.map(nameOf).join("; ")}.`
			: "It may do nothing until you choose a scope.",
		environment === "test" && "Its text says that it is a test key; its rights are as real as a live key's.",
		end ? t`It ends on ${formatDay(end, { dateStyle: "long" })}.` : "It never ends by itself.",
		ips || origins ? t`It is refused from anywhere but ${[ips, origins].flat().filter(Boolean).join(", ")}.`
			: "Whoever has it can use it, from anywhere.",
		rate && t`More than ${formatNumber(rate)} calls a minute are refused.`,
	].filter(Boolean)
}

// From the minute in which the form was opened: what is shown is what is sent, and what is sent again after an
// answer was lost is the same.
function body({ days, ...values }, opened) {
	const end = Number(days) && opened + days * 86400000
	return end ? { ...values, expires_at: new Date(end).toISOString() } : values
}
