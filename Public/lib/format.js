import { h } from "./html.js";

const language = document.documentElement.lang || undefined;
const numbers = new Intl.NumberFormat(language);
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const plurals = new Intl.PluralRules(language);
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];

export const number = (value) => (value == null ? "–" : numbers.format(value));

/** `count(2, "user")` → "2 users" */
export function count(value, one, many = `${one}s`) {
    return `${number(value)} ${plurals.select(value) === "one" ? one : many}`;
}

/** A list's `total`, which may be a floor. */
export function total(value, one, many) {
    if (!value) return "";
    return (value.exact ? "" : "over ") + count(value.value, one, many);
}

export function ago(iso) {
    const seconds = (Date.parse(iso) - Date.now()) / 1000;
    for (const [unit, size] of STEPS) {
        if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
    }
    return Math.abs(seconds) < 10 ? "just now" : relative.format(Math.round(seconds), "second");
}

/** Relative time with the exact one as title; `none` where there is no time. */
export function time(iso, none = "never") {
    if (!iso) return h("span.muted", {}, none);
    return h("time", { dateTime: iso, title: exact.format(new Date(iso)) }, ago(iso));
}

/** User content: its own direction, control characters made visible. */
export function user(text) {
    const shown = String(text ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return h("span", { dir: "auto" }, shown);
}

export function initials(name, email) {
    const words = (name || email || "?").split(/[\s@._-]+/u).filter(Boolean);
    return words.slice(0, 2).map((word) => [...word][0]).join("").toUpperCase();
}

const TONES = {
    active: "ok", verified: "ok", accepted: "ok", created: "ok", linked: "ok", existing: "ok", allowed: "ok", pass: "ok",
    pending: "warn", grace: "warn", deferred: "warn", reserved: "warn", approval: "warn",
    suspended: "danger", deleted: "danger", revoked: "danger", refused: "danger", expired: "danger",
    open: "warn", domain: "info", invite_only: "info", owner: "info", admin: "info",
};
/** A status: a word, a dot and a tone, so never colour alone. */
export const tag = (status) => h(`span.tag.${TONES[status] ?? "quiet"}`, {}, words(status));

/** `invite_only` → "Invite only" */
export function words(code) {
    const text = String(code ?? "–").replaceAll("_", " ");
    return text.charAt(0).toUpperCase() + text.slice(1);
}
