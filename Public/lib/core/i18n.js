// Words, numbers and plurals in the reader's language. No catalogue ships yet: the English text is a catalogue's key, with {} for each value.
/** A text that is not to be looked up again: it was, or it is data. */
export class Said extends String {}

let catalogue = null
export const speak = to => (catalogue = to)
export const say = text => (text instanceof Said || text == null ? text : new Said(catalogue ? catalogue(String(text)) : text))
/** A sentence that holds values: t`${name} is suspended`. */
export const t = (parts, ...values) => new Said(say(parts.join("{}")).replace(/\{\}/g, () => values.shift() ?? ""))

export const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const plurals = new Intl.PluralRules(language)
export const number = value => (value == null ? "–" : new Said(numbers.format(value)))
export const count = (value, one, many) => new Said(`${number(value)} ${say(plurals.select(value) === "one" ? one : many)}`)
/** A list's `total`; one that is not exact is a floor. */
export const total = (value, ...noun) =>
	value && (value.exact ? count(value.value, ...noun) : t`at least ${count(value.value, ...noun)}`)

/** The kinds of provider by their codes, and names that are not spelled as their codes. */
export const PROVIDERS = {
	oidc: "OpenID Connect", google: "Google", github: "GitHub", cognito: "Amazon Cognito", password: "Password",
}
const NAMES = { ...PROVIDERS, api_key: "API key", cors_origin: "CORS origin", id: "Id", ip: "IP" }

/** `invite_only` → "Invite only", `github` → "GitHub" */
export function words(code) {
	const text = NAMES[code] ?? String(code ?? "–").replaceAll("_", " ")
	return say(text.charAt(0).toUpperCase() + text.slice(1))
}
/** `api_key.created` → "API key created" */
export const deed = action => words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/** Choices of a select by their codes: "active suspended" → [["active", "Active"], …] */
export const choices = codes => codes.split(" ").map(code => [code, words(code)])
