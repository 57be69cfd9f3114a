import { api, etagOf } from "../../lib/api.js";
import { act, confirm, copy, formDialog } from "../../lib/dialog.js";
import { tag, time, user, words } from "../../lib/format.js";
import { form } from "../../lib/form.js";
import { add, fill, h, icon } from "../../lib/html.js";
import { redraw } from "../../lib/router.js";
import { state } from "../../lib/states.js";
import { toast } from "../../elements/toast-stack.js";
import { ROLES } from "./users.js";

const MODES = [
    ["invite_only", "Invite only: nobody without an invite"], ["domain", "Domain: addresses of verified domains"],
    ["approval", "Approval: everyone waits for a yes"], ["open", "Open: everyone with a verified address"], ["closed", "Closed: nobody new"],
];

export default async function policy(page) {
    const [one, domains] = await Promise.all([
        api(`${page.path}/policy`, { signal: page.signal }),
        api(`${page.path}/domains`, { signal: page.signal }).catch((error) => ({ error })),
    ]);
    const box = h("div.card", {}, h("h2", {}, "Domains"));
    add(page.body, h("div.two", {}, h("div.card", {}, h("h2", {}, "Sign-up policy"), h("p.small.muted", {}, `Version ${one.version}`), editor(page, one)), box));
    drawDomains(page, box, domains);
}

function editor(page, one) {
    const yes = (name, label, hint) => ({ name, label, hint, type: "check", value: one[name] });
    return form([
        { name: "sign_up", label: "Who may sign up", type: "select", options: MODES, value: one.sign_up },
        { name: "default_role", label: "Role of a newcomer", type: "select", options: ROLES.slice(0, 2), value: one.default_role },
        { name: "allowed_domains", label: "Allowed domains", type: "lines", value: one.allowed_domains, keep: true, hint: "One a line; empty is every verified one." },
        yes("external_invites", "Invites may go to other domains"),
        yes("invite_email_must_match", "An invite is only for its own address"),
        { name: "auto_link", label: "Link to an account of the same address", type: "select", options: [["off", "Off: always ask"], ["authoritative", "Only where the provider is the authority"]], value: one.auto_link },
        { name: "password_min", label: "Shortest password", type: "number", value: one.password_min, attrs: { min: 8, max: 128 } },
        yes("password_blocklist", "Refuse well-known passwords"),
        { name: "scope_catalogue", label: "Own scopes for API keys", type: "lines", value: one.scope_catalogue, keep: true },
        yes("dev_origins", "Allow localhost origins"),
        yes("private_network", "Allow private network access"),
    ], {
        submit: "Publish",
        send: async (values) => {
            const made = await api(`${page.path}/policy`, { method: "PUT", body: { ...one, ...values }, etag: etagOf(one) });
            toast(`Version ${made.version} is in force`);
            redraw();
        },
    });
}

function drawDomains(page, box, domains) {
    const path = `${page.path}/domains`;
    const list = h("div.stack-gap", {});
    add(box, [list, h("div.acts", {}, h("button.btn", { type: "button", onclick: () => open(path), "data-new": "" }, icon("plus"), "Add domain"))]);
    if (domains.error) return state(list, "error", { error: domains.error, again: redraw });
    if (!domains.items.length) return fill(list, h("p.muted", {}, "A verified domain lets its people in by the domain rule."));
    return fill(list, domains.items.map((one) => h("div.card", {},
        h("div.head", {}, h("h3", {}, user(one.display ?? one.domain)), tag(one.status)),
        one.status === "verified" ? h("p.small.muted", {}, "Verified ", time(one.verified_at)) : h("div.stack-gap", {},
            h("p.small", {}, "Publish this TXT record, then check:"),
            h("code.code", {}, `${one.verification?.record_name} TXT "${one.verification?.record_value}"`)),
        h("div.acts", {},
            one.status !== "verified" && h("button.btn.tiny", { type: "button", onclick: () => copy(one.verification?.record_value ?? "") }, "Copy value"),
            one.status !== "verified" && h("button.btn.tiny", { type: "button", onclick: () => act(`${path}/${one.id}/verify`, { body: { method: "dns" } }, `Checked: ${words(one.status)}`, redraw) }, "Check DNS"),
            h("button.btn.tiny.ghost.warnish", {
                type: "button", onclick: () => confirm({
                    title: `Remove ${one.domain}?`, act: "Remove", text: "Its people are no longer admitted by the domain rule. Those who are in stay.",
                    run: async () => { await api(`${path}/${one.id}`, { method: "DELETE" }); redraw(); },
                }),
            }, "Remove")))));
}

function open(path) {
    formDialog({
        title: "Add domain", submit: "Add domain",
        fields: [{ name: "domain", label: "Domain", required: true, hint: "Such as example.com, without www." }],
        send: async (values) => {
            await api(path, { method: "POST", body: values });
            redraw();
        },
    });
}
