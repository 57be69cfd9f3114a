import { h } from "./html.js";
import { time, user, words } from "./format.js";
import { list } from "./list.js";

const plain = (value) => (value == null ? "none" : typeof value === "string" ? value : JSON.stringify(value));

const diff = (changes) => h("div.diff.small", {}, Object.entries(changes ?? {}).map(([field, [before, after]]) =>
    h("div", {}, h("span.muted", {}, `${words(field)} `), h("del", {}, user(plain(before))), " → ", h("ins", {}, user(plain(after))))));

/** The audit log, of all tenants or of one: what changed, not only that it did. */
export function audit(page, path) {
    return list(page, page.body, {
        path, noun: ["entry", "entries"],
        empty: { title: "Nothing has happened yet", text: "Every change is written here, with what stood before and after." },
        filters: [{ name: "action", label: "Action" }, { name: "actor", label: "Actor" }, { name: "target", label: "Target" }],
        columns: [
            { label: "Action", cell: (one) => [h("span.main", {}, words(one.action.replaceAll(".", " "))), h("span.sub", {}, user(one.target?.name ?? one.target?.id))] },
            { label: "Changes", cell: (one) => diff(one.changes) },
            { label: "Actor", cell: (one) => [user(one.actor?.name ?? "system"), h("span.sub", {}, one.ip)] },
            { label: "When", cell: (one) => time(one.occurred_at) },
        ],
    });
}
