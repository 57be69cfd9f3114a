// Recognises API keys in what is pasted: a key is never sent as a search, nor put into an address.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** The length of a key, and of its last part, the checksum of the rest. */
const WHOLE = 52
const CHECK = 6

/** CRC-32 in base 62, as the server writes it. */
function checksum(text) {
	let value = -1
	for (const sign of text) {
		value ^= sign.charCodeAt(0)
		for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xEDB88320 : value >>> 1
	}
	let rest = ~value >>> 0
	let digits = ""
	for (let at = 0; at < CHECK; at += 1) {
		digits = DIGITS[rest % 62] + digits
		rest = Math.floor(rest / 62)
	}
	return digits
}

/** The key in `text`, or the piece of one that is longer than what lists show; `isWhole`: without a typo. */
export function keyIn(text) {
	const [key] = /gate_(live|test)_[0-9A-Za-z]{7,}/.exec(text) ?? []
	if (!key) return null
	return { key, isWhole: key.length === WHOLE && checksum(key.slice(0, -CHECK)) === key.slice(-CHECK) }
}
