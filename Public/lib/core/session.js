// Who is signed in, what they may do, and the tenants that they have asked for.
import { api } from "./api.js"

let operator = null
export const currentOperator = () => operator
/** The tenant that this operator is confined to, or null for the whole platform. */
export const ownTenant = () => operator?.scope?.tenant_id ?? null

let rights = []
/** Whether the server would let this operator; a tenant's own owner could not undo a suspension of it. */
export const isAllowed = right => rights.includes(right) && !(ownTenant() && right === "suspendTenant")

export async function loadMe() {
	if (!operator) ({ operator, rights } = await api("/me"))
}

export async function signOut() {
	await api("/session", { method: "DELETE" })
	operator = null
	sessionStorage.clear()
}

const tenants = new Map()
export const forgetTenants = () => tenants.clear()
/** A tenant by slug or id, asked once until it is forgotten. */
export async function tenantOf(slug) {
	if (!tenants.has(slug)) {
		const asked = api(`/tenants/${slug}`)
		tenants.set(slug, asked)
		asked.catch(() => tenants.delete(slug))
	}
	return tenants.get(slug)
}
