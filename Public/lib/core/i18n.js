// Words, numbers and plurals in the reader's language. No catalogue ships yet: the English text is a catalogue's key,
// with {} for each value.
/** A text that is not to be looked up again: it was, or it is data. */
export class Translated extends String {}

let catalogue = null
export const setCatalogue = to => (catalogue = to)
export const translate = text =>
	(text instanceof Translated || text == null ? text : new Translated(catalogue ? catalogue(String(text)) : text))
/** A sentence that holds values: t`${name} is suspended`. */
export const t = (parts, ...values) =>
	new Translated(translate(parts.join("{}")).replace(/\{\}/g, () => values.shift() ?? ""))

export const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const plurals = new Intl.PluralRules(language)
export const formatNumber = value => (value == null ? "–" : new Translated(numbers.format(value)))
export const countWords = (value, one, many) =>
	new Translated(`${formatNumber(value)} ${translate(plurals.select(value) === "one" ? one : many)}`)
/** A list's `total`; one that is not exact is a floor. */
export const countTotal = (value, ...noun) =>
	value && (value.exact ? countWords(value.value, ...noun) : t`at least ${countWords(value.value, ...noun)}`)

/** The kinds of provider by their codes, and names that are not spelled as their codes. */
export const PROVIDERS = {
	oidc: "OpenID Connect", google: "Google", github: "GitHub", cognito: "Amazon Cognito", password: "Password",
}
const NAMES = { ...PROVIDERS, api_key: "API key", cors_origin: "CORS origin", id: "Id", ip: "IP" }

/** `invite_only` → "Invite only", `github` → "GitHub" */
export function words(code) {
	const text = NAMES[code] ?? String(code ?? "–").replaceAll("_", " ")
	return translate(text.charAt(0).toUpperCase() + text.slice(1))
}
/** `api_key.created` → "API key created" */
export const actionWords = action =>
	words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/** Choices of a select by their codes: "active suspended" → [["active", "Active"], …] */
export const choices = codes => codes.split(" ").map(code => [code, words(code)])
