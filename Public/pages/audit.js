import { deed, h, list, none, only, user, when, words } from "../lib/ui.js"

const isBlank = value => value == null || value.length === 0
const plain = value => value.join?.(", ") ?? (typeof value === "object" ? JSON.stringify(value) : String(value))

export const diff = changes => {
	const all = Object.entries(changes ?? {})
	return !all.length ? none() : h("div.diff.small", all.map(([field, [before, after]]) => h("div", h("span.muted", words(field)), " ",
		!isBlank(before) && [user(plain(before), "del"), " → "], isBlank(after) ? h("ins", "none") : user(plain(after), "ins"))))
}

/** The audit log: of all tenants, or of the one that `path` is of. */
export default ({ path = "", ...page }) => {
	return list(page, {
		title: !path && "Audit", lead: "Who did what, to whom. Nothing here can be edited.", path: `${path}/audit-events`, noun: ["entry", "entries"], exports: true,
		empty: { title: "Nothing has happened yet", text: "Every change is written here, with what stood before and after." },
		filters: [["action", "Action"], ["actor", "Actor"], ["target", "Target"]],
		columns: [
			["Action", one => [h("span.main", only("action", one.action, deed(one.action))), h("span.sub", user(one.target?.name || one.target?.id))]],
			["Changes", one => diff(one.changes)],
			["Actor", one => [only("actor", one.actor?.name || one.actor?.id, user(one.actor?.name || "Gatehouse")), one.ip && h("span.sub", user(one.ip))]],
			when("When", "occurred_at"),
		],
	})
}
