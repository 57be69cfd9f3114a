import { forgetTenants, may } from "../lib/api.js";
import { act, confirm, formDialog } from "../lib/dialog.js";
import { add, button, h, head, tag, time, user } from "../lib/html.js";
import { list } from "../lib/list.js";
import { go } from "../lib/router.js";

export default async function tenants(page) {
    const create = () => may("createTenant") && button("New tenant", open, { look: ".primary", icon: "plus", "data-new": "" });
    add(page.body, head("Tenants", { lead: "Each tenant keeps its own users, invites, keys and rules." }));
    await list(page, page.body, {
        path: "/tenants", noun: ["tenant", "tenants"], search: "Search by name or slug", create,
        empty: { title: "Open the first gate", text: "A tenant is one customer or team. Give it a name; invite people next." },
        filters: [{ name: "status", label: "Status", options: [["active", "Active"], ["suspended", "Suspended"], ["deleted", "Deleted"]] }],
        columns: [
            { label: "Name", cell: (one) => [h("a.main", { href: `/console/t/${one.slug}/users` }, user(one.name)), user(one.slug, "span.sub.mono")] },
            { label: "Status", state: true, cell: (one) => tag(one.status) },
            { label: "Created", sort: "created_at", cell: (one) => time(one.created_at) },
        ],
        actions: may("suspendTenant") && ((one, reload) => [
            one.status === "active" && { text: "Suspend", name: one.name, danger: true, run: () => suspend(one, reload) },
            one.status === "suspended" && { text: "Resume", name: one.name, run: () => change(one, "resume", "works again", reload) },
            one.status === "deleted" && { text: "Restore", name: one.name, run: () => change(one, "restore", "is restored", reload) },
        ]),
    });
}

function change(one, verb, said, reload, back) {
    forgetTenants();
    return act(`/tenants/${one.id}/${verb}`, { back }, `${one.name} ${said}`, reload);
}

/** Wide: the slug is typed first. */
export const suspend = (one, reload) => confirm({
    title: `Suspend ${one.name}?`, act: "Suspend", type: one.slug,
    text: "Its sign-ins, sessions and keys are refused at once. Nothing is deleted; resuming lets them work again.",
    run: () => change(one, "suspend", "is suspended", reload, () => change(one, "resume", "works again", reload)),
});

export function slugOf(name) {
    return name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 63);
}

function open() {
    const node = formDialog({
        title: "New tenant", submit: "Create tenant",
        fields: [
            { name: "name", label: "Name", required: true },
            { name: "slug", label: "Slug", required: true, hint: "Stands in addresses: lower-case letters, digits and dashes. It is never given again." },
        ],
        request: (values) => ["/tenants", { method: "POST", body: values }],
        done: (made) => go(`/console/t/${made.slug}/users`),
    });
    const [name, slug] = node.querySelectorAll("input");
    let own = false;
    slug.addEventListener("input", () => (own = slug.value !== ""));
    name.addEventListener("input", () => own || (slug.value = slugOf(name.value)));
}
