import { api, etagOf } from "../../lib/api.js";
import { act, formDialog } from "../../lib/dialog.js";
import { initials, tag, time, user, words } from "../../lib/format.js";
import { add, h } from "../../lib/html.js";
import { redraw } from "../../lib/router.js";
import { toast } from "../../elements/toast-stack.js";
import { actions, ROLES } from "./users.js";

export default async function person(page) {
    const path = `${page.path}/users/${page.id}`;
    const [one, sessions] = await Promise.all([
        api(path, { signal: page.signal }),
        api(`${path}/sessions`, { signal: page.signal }).catch(() => ({ items: [] })),
    ]);
    const buttons = actions(page, one, redraw).filter(Boolean).map(({ text, run, danger }) =>
        h(`button.btn${danger ? ".warnish" : ""}`, { type: "button", onclick: run }, text));
    add(page.body, [
        h("div.head", {},
            h("div.who", {}, h("span.face", { "aria-hidden": "true" }, initials(one.name, one.email)), h("div", {}, h("h2", {}, user(one.name || one.email)), tag(one.status))),
            h("div.acts", {}, h("button.btn", { type: "button", onclick: () => edit(path, one) }, "Edit"), buttons)),
        h("div.two", {},
            h("div.card", {}, h("h2", {}, "Profile"), facts([
                ["Email", user(one.email)], ["Verified", time(one.email_verified_at, "not verified")], ["Role", words(one.role)],
                ["Came in by", words(one.source)], ["Last sign-in", time(one.last_sign_in_at)], ["Created", time(one.created_at)],
                ["Id", h("code", {}, one.id)],
                ["Why admitted?", h("a", { href: `${page.base}/decisions?email=${encodeURIComponent(one.email ?? "")}` }, "Its decisions")],
            ])),
            h("div.stack-gap", {},
                h("div.card", {}, h("h2", {}, "Identities"), (one.identities ?? []).map((id) => facts([
                    [words(id.provider), user(id.email)], ["Subject", h("code", {}, user(id.subject))], ["Last used", time(id.last_used_at)]])),
                !one.identities?.length && h("p.muted", {}, "None yet: linked at the first sign-in.")),
                h("div.card", {}, h("h2", {}, "Sessions"), sessions.items.map((id) => h("div.head", {},
                    h("div", {}, user(id.device || id.user_agent || id.client), h("div.small.muted", {}, id.ip, " · seen ", time(id.last_seen_at))),
                    h("button.btn.tiny", { type: "button", onclick: () => act(`${path}/sessions/${id.id}`, { method: "DELETE" }, "Session ended", redraw) }, "End"))),
                !sessions.items.length && h("p.muted", {}, "No open session.")))),
    ]);
}

export const facts = (pairs) => h("dl.facts", {}, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

function edit(path, one) {
    formDialog({
        title: "Edit user", submit: "Save",
        fields: [
            { name: "name", label: "Name", value: one.name, keep: true },
            { name: "email", label: "Email", type: "email", value: one.email, required: true },
            { name: "role", label: "Role", type: "select", options: ROLES, value: one.role },
        ],
        send: async (values) => {
            await api(path, { method: "PATCH", body: values, etag: etagOf(one) });
            toast("Saved");
            redraw();
        },
    });
}
