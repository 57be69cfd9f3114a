// The only way to the server.
import { t, translateAnswer } from "./i18n.js"

/** An answer that is not 2xx, as RFC 9457 problem details. */
class Problem extends Error {
	constructor(status, body = {}, retryAfter = null) {
		const { code, confirm, users, methods, remedies, reference, request_id: id } = body
		const { title = "The request failed" } = body
		super(translateAnswer(body.detail || body.title, "code", code) || t`The server answered ${status}.`)
		const errors = body.errors?.map(one =>
			({ ...one, detail: translateAnswer(one.detail, "field", one.code) }))
		Object.assign(this, { status, retryAfter, code, errors, confirm, users, methods, remedies, reference, id })
		this.title = title
	}
}

/** What this view has sent, newest last: the material of "show me the curl". Secrets are masked. */
export const sentRequests = []

const etags = new WeakMap()
export const etagOf = object => etags.get(object)

// The keys of acts without an answer: sending the same again after a lost connection is then one act.
const pending = new Map()
// What is sent so much later, in milliseconds, is meant anew: others may have changed what it is about.
const KEY_LASTS = 15 * 60_000

function keyOf(act) {
	const held = pending.get(act)
	if (held && Date.now() < held.until) return held.key
	const key = crypto.randomUUID()
	pending.set(act, { key, until: Date.now() + KEY_LASTS })
	return key
}

const SECRET = /^(password|token|key|secret|client_secret|invite_token|totp|recovery_code|code)$/
const masked = (name, value) => (SECRET.test(name) && typeof value === "string" ? "••••" : value)

export const describeRequest = (path, { body, method = body ? "POST" : "GET", ...more } = {}) =>
	({ ...more, method, path: `/v1${path}`, body: body && JSON.stringify(body, masked, 2) })

// A step-up replaces the session's cookie: what was on its way with the old one is asked once more.
let steppedUp = 0
let asking = 0
/** Whether an operator is being asked for a proof: what tells of progress waits, since it would cover the question. */
export const isProving = () => asking > 0
/** Whether the page proved that its operator is there; who asks is the frame. */
const provesPresence = async problem => {
	const { promise, resolve } = Promise.withResolvers()
	const event = new CustomEvent("step-up", { cancelable: true, detail: { ...problem, resolve } })
	asking += 1
	try {
		if (dispatchEvent(event) || !(await promise)) return false
	} finally {
		asking -= 1
	}
	steppedUp = performance.now()
	return true
}

const NO_ANSWER = /^(step_up_required|second_factor_required|request_in_progress)$/
/** Whether a refusal is the act's own answer. After another the act may have been done, or may be under way. */
const isAnswer = (status, { code }) => status < 500 && ![401, 408, 429].includes(status) && !NO_ANSWER.test(code)

// Who acts, and what is only tried or looked for.
const CHANGES_NOTHING = /^\/(session|me)(\/|$)|[?&]dry_run=true|\/(evaluate|search|identify|test)$/
/** Something was changed: an act whose answer was lost before is another one now. */
function forgetLost() {
	for (const [act, one] of pending) if (one.isLost) pending.delete(act)
}

/** A body that breaks off is no answer: without this the act that it is of would pass for done. */
const whole = async answer => new Response(answer.status === 204 ? null : await answer.arrayBuffer(), answer)

// What is sent with a key; a file is not.
const KEYED = /^\/(tenants|providers|people\/actions|api-keys(?!\/identify))(\/|\?|$)/
// So often an act that is under way is asked about again, twice a second.
const MOST_TRIES = 20
/**
 * The server's answer, of a 2xx; any other is thrown. `accept`: the type that is wanted, whose body is read as it
 * comes; `file`: a body that is no JSON, with what `headers` say of it; `key`: that of the act, which was sent before;
 * `proved`: no proof is asked for any more.
 */
export async function sendRequest(
	path, {
		body, file, method = body ? "POST" : "GET", signal, etag, accept, headers: more, tries = 0, proved, key,
	} = {},
) {
	const text = file ?? (body && JSON.stringify(body))
	const headers = { accept: accept ?? "application/json", "x-gatehouse-console": "1", ...more }
	if (body) headers["content-type"] = "application/json"
	if (etag) headers["if-match"] = etag
	const act = `${method} ${path} ${text}`
	if (method === "POST" && !file && KEYED.test(path)) key ??= keyOf(act)
	if (key) headers["idempotency-key"] = key
	// Another may be held meanwhile.
	const held = () => (pending.get(act)?.key === key ? pending.get(act) : null)
	remember(describeRequest(path, { method, body, etag, accept }))
	let answer
	try {
		answer = await fetch(`/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" })
		// Of what cannot be sent twice the head alone says that it is done.
		if (!accept && (method === "GET" || key)) answer = await whole(answer)
	} catch (error) {
		if (error.name === "AbortError") throw error
		// What was asked as the connection came back may have gone out too early.
		if (method === "GET" && navigator.onLine && !tries) {
			await new Promise(done => setTimeout(done, 500))
			return sendRequest(path, { signal, accept, tries: 1 })
		}
		if (held()) held().isLost = true
		throw new Problem(0, {
			title: navigator.onLine ? "The server cannot be reached" : "You are offline",
			detail: method === "GET" ? "It is asked again by itself once the connection is back."
				: "Nothing was lost: what you typed is still here. Try again in a moment.",
		})
	}
	if (answer.ok) {
		if (held()) pending.delete(act)
		if (method !== "GET" && !CHANGES_NOTHING.test(path)) forgetLost()
		return answer
	}
	const problem = await answer.json().catch(() => ({ title: answer.statusText }))
	if (held() && isAnswer(answer.status, problem)) pending.delete(act)
	// The same act is under way, as after a lost connection: its answer is asked for until it is there.
	if (problem.code === "request_in_progress" && tries < MOST_TRIES) {
		await new Promise(done => setTimeout(done, 500))
		return sendRequest(path, { body, method, signal, etag, accept, key, tries: tries + 1 })
	}
	const again = () =>
		sendRequest(path, { body, file, method, signal, etag, accept, headers: more, key, proved: true })
	if (answer.status === 401 && !/^\/(session|setup)/.test(path)) {
		if (method === "GET" && !proved && steppedUp && performance.now() - steppedUp < 10000) return again()
		dispatchEvent(new CustomEvent("session-over"))
	}
	if (problem.code === "step_up_required" && !proved && !path.startsWith("/session")) {
		if (await provesPresence(problem)) return again()
	}
	if (held()) held().isLost = true
	if (problem.code === "second_factor_required" && answer.status === 403) {
		dispatchEvent(new CustomEvent("second-factor"))
	}
	throw new Problem(answer.status, problem, answer.headers.get("retry-after"))
}

export async function api(path, options) {
	const answer = await sendRequest(path, options)
	const data = answer.status === 204 ? null : await answer.json().catch(() => ({}))
	// What was given up meanwhile is drawn by no page.
	options?.signal?.throwIfAborted()
	if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"))
	return data
}

/** Whether the server answers at all: what it then does not have is of an older version. */
export const isServerThere = () => fetch("/livez", { cache: "no-store" }).then(answer => answer.ok, () => false)

function remember(entry) {
	const others = sentRequests.filter(one => one.method !== entry.method || one.path !== entry.path)
	sentRequests.splice(0, sentRequests.length, ...others.slice(-7), entry)
}

/** `{a: 1, b: null}` → `?a=1`; empty values are left out. */
export function queryString(values) {
	const text = new URLSearchParams(
		Object.entries(values).filter(([, value]) => value != null && value !== ""),
	).toString()
	return text && `?${text}`
}
