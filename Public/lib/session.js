import { api } from "./api.js";

let operator = null;

/** Who is signed in; null before the first answer. */
export const me = () => operator;
export const isOwner = () => operator?.role === "owner";
/** The tenant that this operator is confined to, or null for the whole platform. */
export const scope = () => operator?.scope?.tenant_id ?? null;

export async function loadMe() {
    operator ??= (await api("/me")).operator;
    return operator;
}

export async function signOut() {
    await api("/session", { method: "DELETE" });
    operator = null;
}

/** Only a path of this console is a place to go to after signing in. */
export function safeNext(text) {
    try {
        const url = new URL(text ?? "/console/", location.origin);
        if (url.origin === location.origin && url.pathname.startsWith("/console/")) return url.pathname + url.search;
    } catch {
        // Not an address at all.
    }
    return "/console/";
}
