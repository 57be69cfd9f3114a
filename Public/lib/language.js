// Every word that is shown goes through here. The English text is the key of the catalogue, with {} for each value.

/** A text that is not to be looked up again: it was, or it is data. */
class Said extends String {}

let catalogue = null
export const speak = to => (catalogue = to)
export const say = text => (text instanceof Said || text == null ? text : new Said(catalogue ? catalogue(String(text)) : text))
/** A sentence that holds values: t`${name} is suspended`. */
export const t = (parts, ...values) => new Said(say(parts.join("{}")).replace(/\{\}/g, () => values.shift() ?? ""))

const language = document.documentElement.lang
const numbers = new Intl.NumberFormat(language)
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
const plurals = new Intl.PluralRules(language)
const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]

export const number = value => (value == null ? "–" : new Said(numbers.format(value)))
export const count = (value, one, many) => new Said(`${number(value)} ${say(plurals.select(value) === "one" ? one : many)}`)
/** A list's `total`, which may be a floor. */
export const total = (value, ...noun) => value && (value.exact ? count(value.value, ...noun) : t`over ${count(value.value, ...noun)}`)
export const exact = iso => new Said(full.format(new Date(iso)))
export const day = (iso, style) => new Said(new Date(iso).toLocaleString(language, style))

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return say("just now")
	const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
	return new Said(relative.format(Math.round(seconds / size), unit))
}

/** `invite_only` → "Invite only" */
export function words(code) {
	const text = String(code ?? "–").replaceAll("_", " ")
	return say(text.charAt(0).toUpperCase() + text.slice(1))
}
/** `api_key.created` → "API key created" */
export const deed = action => words(action.replace(/^api_key/, "API key").replace(/^cors_/, "").replaceAll(".", " "))
/** Choices of a select by their codes: "active suspended" → [["active", "Active"], …] */
export const choices = codes => codes.split(" ").map(code => [code, words(code)])
