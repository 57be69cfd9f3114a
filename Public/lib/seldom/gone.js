// What is said of a tenant that is suspended or deleted, and where one goes on from a page that is not there.
import { button, isAllowed, note, ownTenant, restorableUntil, t, tabOf, translate } from "../core.js"
import { runAct } from "../dialogs.js"

/** What stands on each page of a tenant that does not work now; `again()` draws the page anew. */
export function banner(one, again) {
	const change = (text, verb, said) =>
		isAllowed("suspendTenant")
			&& button(text, () => runAct(`/tenants/${one.id}/${verb}`, {}, said, again), { look: ".tiny" })
	if (one.status === "suspended") {
		return note("warn", "alert", "This tenant is suspended: its sign-ins, sessions and keys are refused. ",
			change("Resume", "resume", "Resumed"))
	}
	return note("danger", "alert", t`This tenant is deleted; it can be restored until ${restorableUntil(one)}. `,
		change("Restore", "restore", "Restored"))
}

/** The list that a page would stand in, as {href, text}; `unknown`: tenants that are not there. */
export function wayBack({ page, params: { slug, tab, id } }, unknown) {
	if (slug && !unknown.has(slug)) {
		const [name, text] = tabOf(tab)
		return { href: `/console/t/${slug}/${name}`, text: t`All: ${translate(text)}` }
	}
	if (slug && !ownTenant()) return { href: "/console/tenants", text: "All tenants" }
	if (id && page === "decisions") return { href: "/console/decisions", text: "All decisions" }
	return { href: "/console/", text: "Go to the overview" }
}
