// What a file of users is, as far as its beginning tells.

export const FORMATS = [
	["csv", "CSV"], ["ndjson", "NDJSON: a user a line"], ["auth0", "Auth0"], ["cognito", "Amazon Cognito"],
	["supabase", "Supabase"], ["clerk", "Clerk"], ["keycloak", "Keycloak"], ["firebase", "Firebase"],
]
/** What a column of a CSV can be. */
export const TARGETS = [["", "Left out"], ["email", "Email"], ["email_verified", "Email is verified"], ["name", "Name"],
	["role", "Role"], ["status", "Status"], ["external_id", "External id"], ["password_hash", "Password hash"],
	["provider", "Provider"], ["issuer", "Issuer"], ["subject", "Subject"], ["created_at", "Created"]]

/** A mark of each format that the others do not have. */
const MARKS = [
	["cognito", /"?cognito:username"?/], ["supabase", /encrypted_password/], ["clerk", /password_digest/],
	["firebase", /"localId"|"passwordHash"\s*:.*"salt"/s],
	["keycloak", /"federatedIdentities"|"realmRoles"|"credentialData"/],
	["auth0", /"user_id"\s*:\s*"[a-z0-9-]+\||"_id"\s*:\s*\{\s*"\$oid"|"custom_password_hash"/],
]

export function formatOf(name, head) {
	const found = MARKS.find(([, mark]) => mark.test(head))
	if (found) return found[0]
	return /\.(json|ndjson|jsonl)(\.gz)?$/i.test(name) || /^\s*[[{]/.test(head) ? "ndjson" : "csv"
}

/** The beginning of a file as text; a packed one is unpacked. */
export async function headOf(file, size) {
	const isPacked = /\.gz$/i.test(file.name)
	const source = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.slice(0, size).stream()
	const reader = source.pipeThrough(new TextDecoderStream()).getReader()
	let text = ""
	for (let part; text.length < size && !(part = await reader.read()).done;) text += part.value
	reader.cancel().catch(() => {})
	return text.replace(/^\ufeff/, "").slice(0, size)
}

/** The rows of a CSV (RFC 4180); the last one of a beginning may be cut, so it is left out. */
export function rowsOf(text) {
	const rows = [[""]]
	let quoted = false
	for (let at = 0; at < text.length; at += 1) {
		const sign = text[at]
		const row = rows.at(-1)
		if (quoted && sign === '"' && text[at + 1] === '"') {
			row.push(row.pop() + sign)
			at += 1
		} else if (sign === '"') quoted = !quoted
		else if (sign === "," && !quoted) row.push("")
		else if (sign === "\n" && !quoted) rows.push([""])
		else if (sign !== "\r" || quoted) row.push(row.pop() + sign)
	}
	return rows.slice(0, -1)
}

/** The likely meaning of each column by its name. */
export function proposed(names) {
	const codes = new Set(TARGETS.map(([code]) => code))
	const guess = name => {
		const plain = name.trim().toLowerCase().replaceAll(/[ -]/g, "_")
		if (codes.has(plain)) return plain
		if (/e_?mail/.test(plain)) return "email"
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
