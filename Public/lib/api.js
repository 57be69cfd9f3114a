// The only fetch of the console, and who is asking.
import { t } from "./html.js"

/** An answer that is not 2xx, as RFC 9457 problem details. */
export class Problem extends Error {
	constructor(status, body = {}, retryAfter = null) {
		super(body.detail || body.title || t`The server answered ${status}.`)
		Object.assign(this, { status, retryAfter, title: body.title || "The request failed", id: body.request_id, errors: body.errors })
	}
}

/** What this view has sent, newest last: the material of "show me the curl". Secrets are masked. */
export const sent = []

const etags = new WeakMap()
export const etagOf = object => etags.get(object)

// A key lives until the server has answered: sending the same again after a lost connection is then one act.
const pending = new Map()
const SECRET = /^(password|token|key|secret|client_secret|invite_token)$/
const masked = (name, value) => (SECRET.test(name) && typeof value === "string" ? "••••" : value)

export const shown = (path, { body, method = body ? "POST" : "GET", etag } = {}) =>
	({ method, path: `/v1${path}`, body: body && JSON.stringify(body, masked, 2), etag })

export async function api(path, { body, method = body ? "POST" : "GET", signal, etag } = {}) {
	const text = body && JSON.stringify(body)
	const headers = { accept: "application/json" }
	if (method !== "GET") headers["x-gatehouse-console"] = "1"
	if (text) headers["content-type"] = "application/json"
	if (etag) headers["if-match"] = etag
	const act = `${path} ${text}`
	if (method === "POST" && /^\/(tenants(\/|$)|api-keys)/.test(path)) {
		if (!pending.has(act)) pending.set(act, crypto.randomUUID())
		headers["idempotency-key"] = pending.get(act)
	}
	remember(shown(path, { method, body, etag }))
	let answer
	try {
		answer = await fetch(`/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" })
	} catch (error) {
		if (error.name === "AbortError") throw error
		throw new Problem(0, {
			title: navigator.onLine ? "The server cannot be reached" : "You are offline",
			detail: "Nothing was lost: what you typed is still here. Try again in a moment.",
		})
	}
	if (answer.status < 500) pending.delete(act)
	const data = answer.status === 204 ? null : await answer.json().catch(() => ({ title: answer.statusText }))
	if (!answer.ok) {
		if (answer.status === 401 && !/^\/(session|setup)/.test(path)) dispatchEvent(new CustomEvent("session-over"))
		throw new Problem(answer.status, data, answer.headers.get("retry-after"))
	}
	if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"))
	return data
}

/** Asks with an API key alone, as a machine would: does it work? */
export async function probe(key) {
	const answer = await fetch("/v1/me", { headers: { authorization: `Bearer ${key}` }, credentials: "omit" })
	return { status: answer.status, ...(await answer.json()) }
}

function remember(entry) {
	const others = sent.filter(one => one.method !== entry.method || one.path !== entry.path)
	sent.splice(0, sent.length, ...others.slice(-7), entry)
}

/** `{a: 1, b: null}` → `?a=1`; empty values are left out. */
export function search(values) {
	const text = new URLSearchParams(Object.entries(values).filter(([, value]) => value != null && value !== "")).toString()
	return text && `?${text}`
}

let operator = null
export const me = () => operator
/** The tenant that this operator is confined to, or null for the whole platform. */
export const scope = () => operator?.scope?.tenant_id ?? null

// Which roles have a right, for leaving out what would be refused; the server decides. o a d s u: owner … auditor.
const LETTERS = { owner: "o", admin: "a", developer: "d", support: "s", auditor: "u" }
const RIGHTS = {
	audit: "oadu", writeKeys: "oad", revokeKeys: "oads", origins: "oadu", writeOrigins: "oad", policy: "oadu", writePolicy: "oa",
	invites: "oas", editUsers: "oa", suspendUsers: "oas", editTenant: "oa", operators: "o", suspendTenant: "o", createTenant: "oa",
}
const PLATFORM = ["createTenant", "suspendTenant"]
export const may = right => RIGHTS[right].includes(LETTERS[operator?.role] ?? "-") && !(scope() && PLATFORM.includes(right))

export async function loadMe() {
	operator ??= (await api("/me")).operator
}

export async function signOut() {
	await api("/session", { method: "DELETE" })
	operator = null
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

/** What this browser keeps: theme, density, keys, the tenant last seen. Never a secret. */
export const kept = () => {
	try {
		return JSON.parse(localStorage.getItem("ui")) ?? {}
	} catch {
		return {}
	}
}
export const keep = (name, value) => localStorage.setItem("ui", JSON.stringify({ ...kept(), [name]: value || undefined }))
