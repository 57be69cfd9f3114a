// Words, numbers and plurals in the reader's language. The English text is the key of a language's catalogue, with {}
// for each value; see Public/lang.
/** A text that is not to be looked up again: it was, or it is data. */
export class Translated extends String {}

let catalogue = {}
export const setCatalogue = to => (catalogue = to)
export const translate = text => (text instanceof Translated || text == null ? text
	: new Translated(catalogue[text] ?? text))
/** A sentence that holds values: t`${name} is suspended`. A translation may take them in another order: {2} … {1}. */
export const t = (parts, ...values) => {
	let next = 0
	return new Translated(translate(parts.join("{}")).replace(
		/\{(\d?)\}/g, (_, number) => values[number ? number - 1 : next++] ?? "",
	))
}
/** What the server says in English: known by the sentence itself, else by its code; `kind`: "code" or "field". */
export const translateAnswer = (text, kind, code) => catalogue[text] ?? catalogue[`${kind} ${code}`] ?? text

export const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const plurals = new Intl.PluralRules(language)
export const formatNumber = value => (value == null ? "–" : new Translated(numbers.format(value)))
/** A number and its noun, in the form that the language has for that number. */
export const countWords = (value, one, many) => {
	const category = plurals.select(value)
	const forms = catalogue[`${one}|${many}`] ?? { one: translate(one), other: translate(many) }
	return new Translated(`${formatNumber(value)} ${forms[category] ?? forms.other}`)
}
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
