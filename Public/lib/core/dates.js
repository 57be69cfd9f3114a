// Points in time as text, in the reader's language and zone.
import { language, translate, Translated } from "./i18n.js"

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" })
export const full = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" })
const exactly = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" })
/** The reader's time zone, as an IANA name. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]]

export const formatDay = (iso, style) => new Translated(new Date(iso).toLocaleString(language, style))

export function ago(iso) {
	const seconds = (Date.parse(iso) - Date.now()) / 1000
	if (Math.abs(seconds) < 45) return translate("just now")
	const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
	return new Translated(relative.format(Math.round(seconds / size), unit))
}

/** The exact time in the reader's zone, to the second. */
export const formatExact = iso => new Translated(exactly.format(new Date(iso)))

/** The day on which what was deleted is purged; a deleted thing changes no more. */
export const restorableUntil = one => formatDay(Date.parse(one.updated_at) + 30 * 86400000, { dateStyle: "long" })
