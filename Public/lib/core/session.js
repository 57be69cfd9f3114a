// Who is signed in, what they may do, and the tenants that they have asked for.
import { api, queryString } from "./api.js"

let operator = null
export const currentOperator = () => operator
/** The tenant that this operator is confined to, or null for the whole platform. */
export const ownTenant = () => operator?.scope?.tenant_id ?? null

/** The operator as it is now, once they changed something of their own. */
export const keepOperator = one => (operator = one)

let rights = []
/** Whether the server would let this operator; a tenant's own owner could not undo a suspension of it. */
export const isAllowed = right => rights.includes(right) && !(ownTenant() && right === "suspendTenant")
/** Whether they may do that to the keys or origins of a page: a tenant's, or the platform's own. */
export const mayHere = (page, right) =>
	isAllowed(page.tenant ? right : `writePlatform${/Origins$/.test(right) ? "Origins" : "Keys"}`)

// How many people ask to join a tenant: told with who is signed in, so that no page asks for it besides.
let waiting = {}
/** Who is signed in, and how many people wait in the tenant (a slug or an id). */
export async function loadMe(tenant) {
	if (operator) return
	const me = await api(`/me${queryString({ tenant })}`);
	({ operator, rights } = me)
	waiting = { tenant: tenant ?? ownTenant(), number: me.join_requests }
}
/** The number of those who wait; of another tenant than the last one it is asked for. */
export async function waitingIn(tenant) {
	if (waiting.tenant !== tenant) {
		const asked = (waiting = { tenant })
		asked.coming = api(`/me${queryString({ tenant })}`).then(me => (asked.number = me.join_requests), () => {})
	}
	const mine = waiting
	await mine.coming
	return mine.number
}
/** So many of those who wait were answered; fewer than none: wait again. */
export function answered(by = 1) {
	if (waiting.number != null) waiting.number -= by
	dispatchEvent(new CustomEvent("waiting-changed"))
}

export async function signOut() {
	await api("/session", { method: "DELETE" })
	sessionStorage.clear()
}

const tenants = new Map()
export const forgetTenants = () => tenants.clear()
/** Whoever signs in next is asked for, and so is what they may see. */
export function forgetOperator() {
	operator = null
	forgetTenants()
}
/** A tenant by slug or id, asked once until it is forgotten. */
export async function tenantOf(slug) {
	if (!tenants.has(slug)) {
		const asked = api(`/tenants/${slug}`)
		tenants.set(slug, asked)
		asked.catch(() => tenants.delete(slug))
	}
	return tenants.get(slug)
}
