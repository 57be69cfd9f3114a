// Drafts: what was typed and not sent stays in this tab, for a session that ends and a dialog that is closed by
// accident.
// They are the operator's own, never hold a secret, and end when it is sent, cancelled, or the operator signs out.
import { currentOperator } from "../core.js"

const SECRET = /(^|_)(password|token|key|secret|typed|payload)$/
const isKept = ({ field }) => field.type !== "password" && !SECRET.test(field.name)

/** The draft of a form named `name` on this page: `put()` fills it in and says whether there was one. */
export function draftOf(name, rows) {
	const key = `draft ${currentOperator().id} ${location.pathname} ${name}`
	const end = () => sessionStorage.removeItem(key)
	const keep = () => {
		const changed = rows.filter(one => isKept(one) && one.isChanged()).map(one => [one.field.name, one.raw()])
		if (changed.length) sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(changed)))
		else end()
	}
	const put = () => {
		const kept = JSON.parse(sessionStorage.getItem(key) ?? "{}")
		const found = rows.filter(one => one.field.name in kept)
		found.forEach(one => one.put(kept[one.field.name]))
		return found.length > 0
	}
	return { keep, put, end }
}
