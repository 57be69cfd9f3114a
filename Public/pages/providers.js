import { api, etagOf, may, scope } from "../lib/api.js";
import { confirm, formDialog } from "../lib/dialog.js";
import { add, button, h, head, none, number, time, user, words } from "../lib/html.js";
import { list } from "../lib/list.js";
import { toast } from "../elements/toast-stack.js";

const KINDS = [["oidc", "OpenID Connect"], ["google", "Google"], ["github", "GitHub"], ["cognito", "Amazon Cognito"]];
const TRUST = [["", "As is usual for the kind"], ["none", "None"], ["verified_claim", "Its claim “verified” counts"], ["authoritative", "Authoritative for its domains"]];

export default async function providers(page) {
    const create = () => may("writePolicy") && button("Add provider", () => open(view), { look: ".primary", icon: "plus", "data-new": "" });
    add(page.body, head("Providers", { lead: "Where people sign in, and what each one's word about an address is worth." }));
    const view = await list(page, page.body, {
        path: "/providers", noun: ["provider", "providers"], create,
        empty: { title: "No provider yet", text: "Register the identity provider whose sign-ups Gatehouse shall decide." },
        filters: [{ name: "kind", label: "Kind", options: KINDS }],
        columns: [
            { label: "Name", cell: (one) => [user(one.name, "span.main"), user(one.issuer, "span.sub.mono")] },
            { label: "Kind", state: true, cell: (one) => h("span.tag.plain", {}, KINDS.find(([code]) => code === one.kind)?.[1] ?? words(one.kind)) },
            { label: "Trust", cell: (one) => (one.email_trust ? words(one.email_trust) : h("span.muted", {}, "Usual")) },
            { label: "Domains", cell: (one) => (one.domains?.length ? [user(one.domains[0]), one.domains.length > 1 && ` and ${number(one.domains.length - 1)} more`] : none()) },
            { label: "Owner", cell: (one) => (one.tenant_id ? h("a", { href: `/console/t/${one.tenant_id}/users` }, "One tenant") : "Platform") },
            { label: "Added", cell: (one) => time(one.created_at) },
        ],
        actions: may("writePolicy") && ((one, reload) => [
            { text: "Edit", name: one.name, run: () => edit(one, reload) },
            { text: "Remove", name: one.name, danger: true, run: () => remove(one, reload) },
        ]),
    });
}

const fields = (one = {}) => [
    { name: "name", label: "Name", required: true, value: one.name },
    { name: "issuer", label: "Issuer", value: one.issuer, hint: "Its address; of a Cognito pool the pool's id. Google and GitHub need none." },
    { name: "client_id", label: "Client id", value: one.client_id, hint: "Not for Cognito." },
    { name: "secret", label: "Client secret", type: "password", hint: one.id ? "Empty keeps the one that is stored." : "Stored, never shown.", attrs: { autocomplete: "off" } },
    { name: "email_trust", label: "Trust in its addresses", type: "select", options: TRUST, value: one.email_trust ?? "" },
    { name: "domains", label: "Domains it is the authority of", type: "lines", value: one.domains, keep: Boolean(one.id), hint: "One a line." },
];

function open(view) {
    formDialog({
        title: "Add provider", submit: "Add provider",
        fields: [{ name: "kind", label: "Kind", type: "select", options: KINDS }, ...fields(),
            !scope() && { name: "tenant", label: "Only for this tenant", hint: "Slug or id; empty is the whole platform." }].filter(Boolean),
        request: (values) => ["/providers", { method: "POST", body: values }],
        done: (made) => (toast(`${made.name} is registered`), view.reload()),
    });
}

async function edit(one, reload) {
    const fresh = await api(`/providers/${one.id}`);
    formDialog({
        title: `Edit ${one.name}`, submit: "Save", fields: fields(fresh),
        request: (values) => [`/providers/${one.id}`, { method: "PATCH", body: values, etag: etagOf(fresh) }],
        done: () => (toast("Saved"), reload()),
    });
}

function remove(one, reload) {
    confirm({
        title: `Remove ${one.name}?`, act: "Remove provider", text: "Sign-ups and sign-ins through it are refused from now on. Identities that came by it stay listed.",
        run: async () => {
            await api(`/providers/${one.id}`, { method: "DELETE" });
            toast("Removed");
            reload();
        },
    });
}
