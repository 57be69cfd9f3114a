import { api } from "../lib/api.js";
import { confirm, formDialog } from "../lib/dialog.js";
import { tag, time, user } from "../lib/format.js";
import { add, h, icon } from "../lib/html.js";
import { list } from "../lib/list.js";
import { go } from "../lib/router.js";
import { head } from "../lib/states.js";
import { toast } from "../elements/toast-stack.js";

export default async function tenants(page) {
    const create = () => h("button.btn.primary", { type: "button", onclick: open, "data-new": "" }, icon("plus"), "New tenant");
    add(page.body, head("Tenants", { lead: "Each tenant keeps its own users, invites, keys and rules." }));
    list(page, page.body, {
        path: "/tenants", noun: ["tenant", "tenants"], search: "Search by name or slug", create,
        empty: { title: "Open the first gate", text: "A tenant is one customer or team. Give it a name; invite people next." },
        filters: [{ name: "status", label: "Status", options: [["active", "Active"], ["suspended", "Suspended"], ["deleted", "Deleted"]] }],
        columns: [
            { label: "Name", sort: "name", cell: (one) => [h("a.main", { href: `/console/t/${one.slug}/users` }, user(one.name)), h("span.sub.mono", {}, one.slug)] },
            { label: "Status", cell: (one) => tag(one.status) },
            { label: "Created", sort: "created_at", cell: (one) => time(one.created_at) },
        ],
        actions: (one, reload) => [
            one.status === "active" && { text: "Suspend", name: one.name, danger: true, run: () => suspend(one, reload) },
            one.status === "suspended" && { text: "Resume", name: one.name, run: () => change(one, "resume", reload) },
            one.status === "deleted" && { text: "Restore", name: one.name, run: () => change(one, "restore", reload) },
        ],
    });
}

async function change(one, verb, reload) {
    try {
        await api(`/tenants/${one.id}/${verb}`, { method: "POST" });
        toast(`${one.name}: ${verb} done`, verb === "suspend" ? { action: "Undo", run: () => change(one, "resume", reload) } : {});
        reload();
    } catch (error) {
        toast(error.message, { stay: true });
    }
}

function suspend(one, reload) {
    confirm({
        title: `Suspend ${one.name}?`, act: "Suspend", type: one.slug,
        text: "Its sign-ins, sessions and keys are refused at once. Nothing is deleted; resuming lets them work again.",
        run: () => change(one, "suspend", reload),
    });
}

export function slugOf(name) {
    return name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 63);
}

function open() {
    const node = formDialog({
        title: "New tenant", submit: "Create tenant",
        fields: [
            { name: "name", label: "Name", required: true },
            { name: "slug", label: "Slug", required: true, hint: "Stands in addresses: lower-case letters, digits and dashes. It cannot be used again by another." },
        ],
        send: async (values) => {
            const made = await api("/tenants", { method: "POST", body: values });
            toast(`${made.name} is open`);
            go(`/console/t/${made.slug}/users`);
        },
    });
    const [name, slug] = node.querySelectorAll("input");
    let own = false;
    slug.addEventListener("input", () => (own = slug.value !== ""));
    name.addEventListener("input", () => own || (slug.value = slugOf(name.value)));
}
