import { form } from "../../lib/form.js"
import {
	api, append, button, card, confirm, copyable, countTotal, countWords, etagOf, factList, forgetTenants, goTo, h,
	isAllowed, note, t, timeNode, toast, undoable,
} from "../../lib/ui.js"
import { suspend } from "../tenants.js"
import { appearance } from "./appearance.js"

/** @type {(page: TenantPage) => Promise<any>} */
export default async page => {
	const { path } = page
	// Request the tenant anew: the form must send the version (`etag`) of the values that it shows.
	const one = await page.get(path)
	let etag = etagOf(one)
	const rename = form([{ name: "name", label: "Name", required: true }], {
		submit: "Save", values: one, request: body => ({ path, method: "PATCH", body, etag }),
		done: () => (toast("Saved"), page.again()), draft: "rename",
		refresh: async () => (etag = etagOf(await api(path))),
	})
	const worn = isAllowed("editTenant") && !page.isGone && appearance(page, one, () => etag)
	page.onLeave(() => rename.isEdited() || (worn && worn.isEdited()))
	append(page.body, h("div.two",
		h("div.stack-gap", isAllowed("editTenant") && !page.isGone && card("Name", rename),
			card(
				"Facts",
				factList(
					[["Slug", h("code", one.slug)], ["Id", copyable(one.id)], ["Created", timeNode(one.created_at)]],
				),
			)),
		h("div.stack-gap", worn && worn.node, isAllowed("suspendTenant") && !page.isGone && card("Close the gate", h(
			"p.muted.under", "Suspending is undone by resuming; deleting can be undone for 30 days.",
		),
			h("div.acts", one.status === "active" && button("Suspend tenant", () => suspend(one, page.again)),
				one.status !== "deleted" && button("Delete tenant", () => remove(page, one), { look: ".danger" }))),
		isAllowed("revokeKeys") && !page.isGone && card("API keys", h("p.muted.under",
			"If keys have leaked and nobody knows which, end all of them at once."),
			h("div.acts", button("Revoke every key", () => revokeKeys(page, one)))),
		page.isGone && isAllowed("purgeTenant") && card("Erase for good", h("p.muted.under",
			"What is known about this tenant and its people is removed now, except the audit log."),
			h("div.acts", button("Erase tenant", () => purge(one), { look: ".danger" })))),
		!isAllowed("editTenant")
			&& note("info", "lock", "Your role may read these settings; owners and admins may change them.")))
}

const revokeKeys = (page, { name, slug }) => confirm({
	title: t`Revoke every key of ${name}?`, act: "Revoke every key", type: slug, method: "POST",
	path: `${page.path}/api-keys/revoke`, body: { reason: "revoked in the console" },
	text: "Calls with them fail at once. This is final.",
	said: ({ revoked }) => t`${countWords(revoked, "API key", "API keys")} revoked`,
})

const purge = ({ id, name, slug }) => confirm({
	title: t`Erase ${name} for good?`, act: "Erase for good", type: slug, path: `/tenants/${id}`,
	query: { purge: true }, text: "All of its users, invites, keys and rules are removed now. This is final.",
	said: t`${name} is erased`, after: () => (forgetTenants(), goTo("/console/tenants")),
})

async function remove(page, one) {
	const [users, keys] = await Promise.all(["users", "api-keys"].map(what =>
		api(`${page.path}/${what}?limit=1`).then(found => found.total, () => null)))
	const [allUsers, allKeys] = [countTotal(users, "user", "users"), countTotal(keys, "API key", "API keys")]
	confirm({
		title: t`Delete ${one.name}?`, act: "Delete tenant", type: one.slug,
		text: t`${allUsers}, ${allKeys} and all invites stop working now. It can be restored for 30 days.`,
		path: page.path, etag: etagOf(one),
		done: () => {
			forgetTenants()
			undoable(
				t`${one.name} is deleted`,
				() => api(`${page.path}/restore`, { method: "POST" }).then(() => goTo(`${page.base}/settings`)),
			)
			goTo("/console/tenants")
		},
	})
}
