// The only fetch of the console.

/** An answer that is not 2xx, as RFC 9457 problem details. */
export class Problem extends Error {
    constructor(status, body = {}, retryAfter = null) {
        super(body.detail || body.title || `The server answered ${status}.`);
        Object.assign(this, { status, retryAfter, code: body.code, id: body.request_id, errors: body.errors ?? [] });
        this.title = body.title || "The request failed";
    }
}

/** What this view has sent, newest last: the material of "show me the curl". Secrets are masked. */
export const sent = [];

const etags = new WeakMap();
/** The ETag an object came with, for `If-Match`. */
export const etagOf = (object) => etags.get(object);

// A key lives until the server has answered: sending the same again after a lost connection is then one act.
const pending = new Map();
const SECRET = /^(password|token|key|secret|client_secret)$/;
const masked = (name, value) => (SECRET.test(name) && typeof value === "string" ? "••••" : value);

export async function api(path, { method = "GET", body, signal, etag } = {}) {
    const write = method !== "GET";
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { accept: "application/json" };
    if (write) headers["x-gatehouse-console"] = "1";
    if (text !== undefined) headers["content-type"] = "application/json";
    if (etag) headers["if-match"] = etag;
    const act = `${path} ${text}`;
    if (method === "POST" && /^\/(tenants(\/|$)|api-keys)/.test(path)) {
        if (!pending.has(act)) pending.set(act, crypto.randomUUID());
        headers["idempotency-key"] = pending.get(act);
    }
    remember({ method, path: `/v1${path}`, body: body && JSON.stringify(body, masked, 2), etag });
    let answer;
    try {
        answer = await fetch(`/v1${path}`, { method, headers, body: text, signal, credentials: "same-origin" });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Problem(0, {
            title: navigator.onLine ? "The server cannot be reached" : "You are offline",
            detail: "Nothing was lost: what you typed is still here. Try again in a moment.",
        });
    }
    if (answer.status < 500) pending.delete(act);
    const data = answer.status === 204 ? null : await answer.json().catch(() => ({ title: answer.statusText }));
    if (!answer.ok) {
        if (answer.status === 401 && !path.startsWith("/session") && !path.startsWith("/setup")) {
            dispatchEvent(new CustomEvent("session-over"));
        }
        throw new Problem(answer.status, data ?? {}, answer.headers.get("retry-after"));
    }
    if (data && answer.headers.get("etag")) etags.set(data, answer.headers.get("etag"));
    return data;
}

function remember(entry) {
    const same = sent.findIndex((one) => one.method === entry.method && one.path === entry.path);
    if (same >= 0) sent.splice(same, 1);
    sent.push(entry);
    if (sent.length > 8) sent.shift();
}

/** `{a: 1, b: null}` → `?a=1`; empty values are left out. */
export function search(values) {
    const kept = Object.entries(values).filter(([, value]) => value != null && value !== "");
    const text = new URLSearchParams(kept).toString();
    return text && `?${text}`;
}
