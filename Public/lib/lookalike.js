// Warns of names whose letters look like those of other names. The server compares names in ASCII, but people compare
// them by their look.
import { icon, note, t, userText } from "./core.js"

const script = name => new RegExp(`\\p{Script=${name}}`, "u")
const LATIN = script("Latin")
// Matches letters of scripts that may occur together in one name, also with Latin letters (UTS 39 section 5.2). A
// letter of any other script may only occur with letters of its own script.
const EAST = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u
const OTHERS = [
	"Greek", "Cyrillic", "Armenian", "Cherokee", "Georgian", "Hebrew", "Arabic", "Thai", "Devanagari",
].map(script)
/**
 * Matches a label made only of characters that look like Latin ones: Cyrillic, Greek and Armenian letters, digits and
 * hyphens.
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
/**
 * Whether a top-level domain is Latin. Below a top-level domain in another script (such as `.рф`), letters that look
 * Latin are ordinary, so there is no warning.
 */
const isLatin = label => /^[a-z]/.test(label)

/** Decodes an A-label, `xn--…` (RFC 3492 section 6.2); any other label is returned as it is. */
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

/** The next bias of the decoder (RFC 3492 section 6.1). */
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

/**
 * Returns {label, ascii, isMixed} if the domain in an address, a name or an origin looks like another domain; otherwise
 * null.
 */
function lookalike(text) {
	const name = text.trim().replace(/\/+$/, "").replace(
		/^.*[@/]/su, "",
	).replace(/:\d*$/, "").normalize("NFKC").toLowerCase()
	const labels = name.split(/[.。]/u).map(lettersOf)
	const label = labels.find(one => isMixed(one) || (isTwin(one) && isLatin(labels.at(-1))))
	return label ? { label, ascii: asciiOf(name), isMixed: isMixed(label) } : null
}

/** The highest number of warnings below one field. */
const MOST = 3

/**
 * Shows warnings about a field's content in `node`. Warnings that are shown already are not drawn again, so a screen
 * reader does not repeat them.
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
 * The note beside an address in a list, if the address has letters that look like others; nothing for any other
 * address.
 * @type {(text: string) => Child}
 */
export function mark(text) {
	const found = lookalike(text)
	return found && [icon("alert"), " ", "Look-alike letters: ", userText(found.ascii, "code")]
}
