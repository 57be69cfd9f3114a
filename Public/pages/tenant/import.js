// The import of people from another system: a file is chosen and recognised, tried without writing, then imported.
import {
	append, button, card, dataTable, goTo, h, isAllowed, liveRegion, note, replaceContent, showState, t, toast,
	userText,
} from "../../lib/ui.js"
import { form } from "../../lib/form.js"
import { headOf, keepFile, keptFile, sendFile, tableOf } from "./jobs.js"

/** How many bytes of the file are read to recognise it, and how many of its rows are shown. */
const LOOKED_AT = 1 << 16
const SHOWN = 20

/** @type {Choice[]} */
const CONFLICTS = [
	{ value: "skip", text: "Leave it as it is" },
	{ value: "update", text: "Take what the file says" },
	{ value: "fail", text: "Count the row as failed" },
]

/** @type {(page: TenantPage) => Promise<any>} */
export default async page => {
	if (!isAllowed("createUsers")) {
		return showState(page.body, "forbidden", {
			title: "You may not import users", text: "Your role lacks the right createUsers.",
			link: { href: `${page.base}/users`, text: "All users" },
		})
	}
	const rest = h("div.gap")
	const said = liveRegion()
	const tell = error => replaceContent(said, note("danger", "alert", error.message))
	const kept = keptFile(page.base)
	const chosen = h("input", {
		type: "file", id: "file", accept: ".csv,.json,.ndjson,.jsonl,.gz,text/csv,application/json",
		onchange: () => chosen.files?.[0] && drawFile(page, rest, chosen.files[0]).catch(tell),
	})
	append(page.body, [
		h("div.head",
			h("div", h("h1", "Import users"), h("p.lead",
				"People keep their passwords where the file has their hashes. Try it first: that writes nothing.")),
			h("div.acts", h("a.btn", { href: `${page.base}/users` }, "All users"))),
		card("The file", h(
			"div.field", h("label", { htmlFor: "file" }, "CSV, JSON or NDJSON, also as .gz, up to 1 GB"), chosen,
			kept && h("p.hint", t`${kept.file.name} is still here, as you left it. Choose another to begin anew.`),
		), said),
		rest,
	])
	if (kept) await drawFile(page, rest, kept.file, kept).catch(tell)
}

/**
 * Shows the chosen file, its recognised format, and the options of its import. `kept` are the options with which the
 * same file was used before.
 */
async function drawFile(page, node, file, kept) {
	const head = await headOf(file, LOOKED_AT)
	const found = kept?.format ?? formatOf(file.name, head)
	const more = h("div.stack-gap")
	let isSent = false
	const follow = job => {
		isSent = true
		goTo(`${page.base}/jobs/${job.id}`)
	}
	const options = form([
		{
			name: "format", label: "Format", options: FORMATS, value: found,
			hint: "Guessed; choose another if it is wrong.",
		},
		{ name: "on_conflict", label: "If a person is here already", options: CONFLICTS, value: kept?.on_conflict },
	], { submit: "Try it", send: values => send(page, file, values, more, true), done: follow })
	// If the operator leaves before the import is sent, keep the file and its options until the operator comes back.
	page.signal.addEventListener("abort", () =>
		isSent || keepFile({ ...kept, base: page.base, file, ...options.values(), options: optionsOf(more) }))
	const format = /** @type {HTMLSelectElement} */ (options.querySelector("select"))
	const draw = () => drawOptions(more, format.value, head, format.value === kept?.format ? kept.options ?? {} : {})
	format.addEventListener("change", draw)
	options.querySelector("[role=alert]")?.before(more)
	const go = button("Import", () => run(page, file, options, more, follow), {})
	options.querySelector(".acts")?.append(go)
	replaceContent(node, card("How it is read", options))
	draw()
}

/**
 * Shows the further options of a format: the columns of a CSV, the former system's issuer, the parameters of
 * Firebase's hashes.
 */
function drawOptions(node, format, head, { mapping, issuer: from, hash }) {
	const hint = ISSUERS[format]
	if (format !== "csv") {
		return replaceContent(node, hint && issuer(hint, from), format === "firebase" && firebase(hash))
	}
	const { names, rows } = tableOf(head, mapping ? Object.values(mapping) : TARGETS.map(one => one.value))
	const before = mapping && Object.fromEntries(Object.entries(mapping).map(([code, name]) => [name, code]))
	const mapped = before ?? proposed(names)
	const choose = name => h("select", { "aria-label": t`What ${name} is`, "data-column": name },
		targetsOf(name).map(({ value, text }) => h("option", { value, selected: value === mapped[name] }, text)))
	return replaceContent(node, h("strong", "What each column is"),
		dataTable("The first rows", names.map(name => h("div.stack-gap", userText(name), name && choose(name))),
			rows.slice(0, SHOWN).map(row => row.slice(0, names.length))
				.map(row => row.map(cell => userText(cell.slice(0, 60))))))
}

const HASH = [
	{ name: "signer_key", label: "Signer key (base64)" },
	{ name: "salt_separator", label: "Salt separator (base64)" },
	{ name: "rounds", label: "Rounds" },
	{ name: "mem_cost", label: "Memory cost" },
]
const firebase = hash => h("fieldset", h("legend", "Parameters of the password hashes, from the project's console"),
	HASH.map(({ name, label }) => h("div.field", h("label", { htmlFor: name }, label),
		h("input", {
			id: name, name, value: hash?.[name] ?? "", "data-hash": "", autocomplete: "off", spellcheck: false,
		}))))

/** The hint about the issuer, for each format whose user ids can become sign-ins here. */
const OPTIONAL = "Makes each user's id there a sign-in here, too; may be empty."
/** @type {Record<string, string>} */
const ISSUERS = {
	auth0: OPTIONAL, clerk: OPTIONAL, keycloak: OPTIONAL, firebase: OPTIONAL,
	cognito: "The id of the pool; may be empty if only one pool is a provider here.",
}
const issuer = (hint, value = "") => h("div.field", h("label", { htmlFor: "issuer" }, "Issuer"),
	h("input", { id: "issuer", value, autocomplete: "off", spellcheck: false, "aria-describedby": "issuer-hint" }),
	h("p.hint", { id: "issuer-hint" }, hint))

/** The options that are sent with the file; null if none are needed. */
function optionsOf(node) {
	const columns = [...node.querySelectorAll("[data-column]")].filter(one => one.value)
	if (columns.length) return { mapping: Object.fromEntries(columns.map(one => [one.value, one.dataset.column])) }
	const from = node.querySelector("#issuer")?.value.trim()
	const hash = [...node.querySelectorAll("[data-hash]")].filter(one => one.value.trim())
	const number = ({ name, value }) => (/rounds|mem_cost/.test(name) ? Number(value) : value.trim())
	const options = from ? { issuer: from } : {}
	if (hash.length) options.hash = Object.fromEntries(hash.map(one => [one.name, number(one)]))
	return Object.keys(options).length ? options : null
}

async function send(page, file, { format, on_conflict }, more, isTry) {
	const options = optionsOf(more)
	const job = await sendFile(`${page.path}/imports`, { format, on_conflict, dry_run: isTry || null }, file, options)
	keepFile({ base: page.base, file, format, on_conflict, options }, job)
	return job
}

async function run(page, file, options, more, follow) {
	try {
		follow(await send(page, file, options.values(), more, false))
	} catch (error) {
		const faults = error.errors?.map(one => `${one.pointer.slice(1)} ${one.detail}`)
		toast(faults?.join(" ") || error.message, { stay: true })
	}
}

/** @type {Choice[]} */
const FORMATS = [
	{ value: "csv", text: "CSV" },
	{ value: "ndjson", text: "NDJSON: a user a line" },
	{ value: "auth0", text: "Auth0" },
	{ value: "cognito", text: "Amazon Cognito" },
	{ value: "supabase", text: "Supabase" },
	{ value: "clerk", text: "Clerk" },
	{ value: "keycloak", text: "Keycloak" },
	{ value: "firebase", text: "Firebase" },
]
/** @type {Choice[]} */
const TARGETS = [
	{ value: "", text: "Left out" },
	{ value: "id", text: "Id" },
	{ value: "email", text: "Email" },
	{ value: "email_verified", text: "Email is verified" },
	{ value: "name", text: "Name" },
	{ value: "role", text: "Role" },
	{ value: "status", text: "Status" },
	{ value: "external_id", text: "External id" },
	{ value: "keep", text: "Kept although unused" },
	{ value: "password_hash", text: "Password hash" },
	{ value: "provider", text: "Provider" },
	{ value: "issuer", text: "Issuer" },
	{ value: "subject", text: "Subject" },
	{ value: "created_at", text: "Created" },
	{ value: "identities", text: "Sign-ins as JSON" },
	{ value: "public_attributes", text: "Public attributes as JSON" },
	{ value: "private_attributes", text: "Private attributes as JSON" },
]

/**
 * The targets to which a column can be mapped: those of every column, and attributes with the column's name.
 * @type {(name: string) => Choice[]}
 */
function targetsOf(name) {
	const own = name.trim().replace(/^(public|private)_attributes\./, "").replaceAll(/[^\w.-]/g, "_").slice(0, 64)
	return own ? [
		...TARGETS,
		{ value: `public_attributes.${own}`, text: t`Public attribute ${own}` },
		{ value: `private_attributes.${own}`, text: t`Private attribute ${own}` },
	] : TARGETS
}

/** For each format, a pattern of something that only its files contain. */
const MARKS = [
	{ format: "cognito", mark: /"?cognito:username"?/ },
	{ format: "supabase", mark: /encrypted_password/ },
	{ format: "clerk", mark: /password_digest/ },
	{ format: "firebase", mark: /"localId"|"passwordHash"\s*:.*"salt"/s },
	{ format: "keycloak", mark: /"federatedIdentities"|"realmRoles"|"credentialData"/ },
	{
		format: "auth0",
		mark: /"user_id"\s*:\s*"[a-z0-9-]+\||"_id"\s*:\s*\{\s*"\$oid"|"custom_password_hash"/,
	},
]

function formatOf(name, head) {
	const found = MARKS.find(({ mark }) => mark.test(head))
	if (found) return found.format
	return /\.(json|ndjson|jsonl)(\.gz)?$/i.test(name) || /^\s*[[{]/.test(head) ? "ndjson" : "csv"
}

/** Proposes a target for each column, by the column's name. */
function proposed(names) {
	const codes = new Set(TARGETS.map(one => one.value))
	const guess = name => {
		if (/^(public|private)_attributes\.[\w.-]{1,64}$/.test(name)) return name
		const plain = name.trim().toLowerCase().replaceAll(/[ -]/g, "_")
		if (codes.has(plain)) return plain
		if (/mail/.test(plain)) return "email"
		return /name$/.test(plain) ? "name" : /hash/.test(plain) ? "password_hash" : ""
	}
	const used = new Set()
	return Object.fromEntries(names.map(name => {
		const code = guess(name)
		if (used.has(code)) return [name, ""]
		used.add(code)
		return [name, code]
	}))
}
