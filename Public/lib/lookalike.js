// Names whose letters may be mistaken for others: the server compares them by their ASCII form, people by their look.
import { icon, note, t, userText } from "./core.js"

const script = name => new RegExp(`\\p{Script=${name}}`, "u")
const LATIN = script("Latin")
// Scripts that one name may combine, also with Latin letters (UTS 39 section 5.2); any other script must stand alone.
const EAST = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u
const OTHERS = [
	"Greek", "Cyrillic", "Armenian", "Cherokee", "Georgian", "Hebrew", "Arabic", "Thai", "Devanagari",
].map(script)
/**
 * Cyrillic, Greek and Armenian letters that look like Latin ones, and characters that look the same in every script.
 */
const TWINS = /^[асԁеһіјӏорԛѕԝхуѵьгпҽαγικνορτυωχսոօգհյոց\d-]+$/u

const scriptOf = letter =>
	(LATIN.test(letter) ? "Latin" : EAST.test(letter) ? "East" : OTHERS.findIndex(one => one.test(letter)))
const isMixed = label => {
	const found = new Set(label.match(/\p{L}/gu)?.map(scriptOf))
	if (found.has("Latin")) found.delete("East")
	return found.size > 1
}
const isTwin = label => TWINS.test(label) && /\p{L}/u.test(label)
/** Below a top-level name of its own script, a label is not mistaken for a Latin one. */
const isLatin = label => /^[a-z]/.test(label)

/** The letters that an A-label stands for (RFC 3492 section 6.2); any other label is returned as it is. */
function lettersOf(label) {
	if (!label.startsWith("xn--")) return label
	const text = label.slice(4)
	const end = Math.max(text.lastIndexOf("-"), 0)
	const letters = [...text.slice(0, end)]
	let [code, place, bias] = [128, 0, 72]
	for (let at = end && end + 1; at < text.length;) {
		const before = place
		for (let weight = 1, step = 36; ; step += 36) {
			const digit = "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(text[at++] ?? "-")
			if (digit < 0) return label
			place += digit * weight
			const least = Math.min(Math.max(step - bias, 1), 26)
			if (digit < least) break
			weight *= 36 - least
		}
		const count = letters.length + 1
		bias = biasOf(Math.floor((place - before) / (before ? 2 : 700)), count)
		code += Math.floor(place / count)
		place %= count
		if (code > 0x10ffff) return label
		letters.splice(place++, 0, String.fromCodePoint(code))
	}
	return letters.join("")
}

/** RFC 3492 section 6.1. */
function biasOf(delta, count) {
	let [rest, bias] = [delta + Math.floor(delta / count), 0]
	for (; rest > 455; bias += 36) rest = Math.floor(rest / 35)
	return bias + Math.floor(36 * rest / (rest + 38))
}

function asciiOf(name) {
	try {
		return new URL(`http://${name}`).hostname
	} catch {
		return name
	}
}

/** For an address, a name or an origin: {label, ascii, isMixed} if its name may be mistaken for another, else null. */
function lookalike(text) {
	const name = text.trim().replace(/\/+$/, "").replace(
		/^.*[@/]/su, "",
	).replace(/:\d*$/, "").normalize("NFKC").toLowerCase()
	const labels = name.split(/[.。]/u).map(lettersOf)
	const label = labels.find(one => isMixed(one) || (isTwin(one) && isLatin(labels.at(-1))))
	return label ? { label, ascii: asciiOf(name), isMixed: isMixed(label) } : null
}

/** The most warnings of one field. */
const MOST = 3

/**
 * Fills the place below a field with warnings about its content; the same warnings are not read out again.
 * @type {(node: HTMLElement, text: string) => void}
 */
export function warn(node, text) {
	const found = text.split(/[\s,]+/).map(lookalike).filter(Boolean).slice(0, MOST)
	const said = JSON.stringify(found)
	if (node.dataset.said === said) return
	node.dataset.said = said
	node.replaceChildren(...found.map(one => note("warn", "alert", one.isMixed
		? t`“${one.label}” has letters of several scripts, some of which may look alike.`
		: t`“${one.label}” is spelled with letters that look like Latin ones.`, " ", "Its ASCII form: ", userText(
			one.ascii, "code",
		))))
}

/**
 * The note beside an address in a list; nothing if it cannot be mistaken for another.
 * @type {(text: string) => Child}
 */
export function mark(text) {
	const found = lookalike(text)
	return found && [icon("alert"), " ", "Look-alike letters: ", userText(found.ascii, "code")]
}
