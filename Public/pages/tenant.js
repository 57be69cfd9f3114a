import { api } from "../lib/api.js";
import { act } from "../lib/dialog.js";
import { user } from "../lib/format.js";
import { add, h } from "../lib/html.js";
import { redraw } from "../lib/router.js";
import { scope } from "../lib/session.js";
import { head, note } from "../lib/states.js";

const TABS = [
    ["users", "Users"], ["invites", "Invites"], ["policy", "Policy & domains"], ["keys", "API keys"],
    ["origins", "Origins"], ["decisions", "Decisions"], ["audit", "Audit"], ["settings", "Settings"],
];

export default async function tenant(page) {
    const { slug, tab = "users", id } = page.params;
    const one = await api(`/tenants/${encodeURIComponent(slug)}`, { signal: page.signal });
    const known = TABS.find(([name]) => name === tab) ?? TABS[0];
    const base = `/console/t/${encodeURIComponent(slug)}`;
    const title = head(user(one.name), { crumbs: scope() ? null : [["Tenants", "/console/tenants"]] });
    title.querySelector("h1").dataset.title = `${known[1]} · ${one.name}`;
    add(page.body, [
        title,
        one.status === "suspended" && note("warn", "alert", "This tenant is suspended: its sign-ins, sessions and keys are refused. ",
            h("button.btn.tiny", { type: "button", onclick: () => act(`/tenants/${one.id}/resume`, {}, "Resumed", redraw) }, "Resume")),
        one.status === "deleted" && note("danger", "alert", "This tenant is deleted; it can be restored for 30 days. ",
            h("button.btn.tiny", { type: "button", onclick: () => act(`/tenants/${one.id}/restore`, {}, "Restored", redraw) }, "Restore")),
        h("nav.tabs", { "aria-label": "Tenant" }, TABS.map(([name, text]) =>
            h("a", { href: `${base}/${name}`, "aria-current": name === known[0] ? "page" : null }, text))),
    ]);
    const section = add(h("section", { "aria-label": known[1] }), []);
    page.body.append(section);
    const file = known[0] === "users" && id ? "user" : known[0];
    const draw = (await import(`./tenant/${file}.js`)).default;
    await draw({ ...page, body: section, tenant: one, base, path: `/tenants/${one.id}`, id });
}
