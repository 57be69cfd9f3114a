import { add, button, deed, h, head, list, none, only, user, when, words } from "../lib/console.js"

const plain = value => value.join?.(", ") ?? (typeof value === "object" ? JSON.stringify(value) : value)

export const diff = changes => {
	const all = Object.entries(changes ?? {})
	return !all.length ? none() : h("div.diff.small", all.map(([field, [before, after]]) => h("div", h("span.muted", words(field)), " ",
		before != null && [user(plain(before), "del"), " → "], after == null ? h("ins", "none") : user(plain(after), "ins"))))
}

/** The audit log: of all tenants, or of the one that `path` is of. */
export default function audit({ path = "", ...page }) {
	if (!path) add(page.body, head("Audit", { lead: "Who did what, to whom. Nothing here can be edited." }))
	return list(page, page.body, {
		path: `${path}/audit-events`, noun: ["entry", "entries"],
		empty: { title: "Nothing has happened yet", text: "Every change is written here, with what stood before and after." },
		filters: [["action", "Action"], ["actor", "Actor"], ["target", "Target"]],
		create: () => button("Print", () => print(), { icon: "book" }),
		columns: [
			["Action", one => [h("span.main", only("action", one.action, deed(one.action))), h("span.sub", user(one.target?.name || one.target?.id))]],
			["Changes", one => diff(one.changes)],
			["Actor", one => [only("actor", one.actor?.name || one.actor?.id, user(one.actor?.name || "Gatehouse")), one.ip && h("span.sub", user(one.ip))]],
			when("When", "occurred_at"),
		],
	})
}
