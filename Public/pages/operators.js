import { api } from "../lib/api.js";
import { confirm, formDialog, reveal } from "../lib/dialog.js";
import { initials, tag, time, user, words } from "../lib/format.js";
import { add, h, icon } from "../lib/html.js";
import { list } from "../lib/list.js";
import { head } from "../lib/states.js";
import { toast } from "../elements/toast-stack.js";

const ROLES = [
    ["auditor", "Auditor: reads"], ["support", "Support: helps people"],
    ["developer", "Developer: keys and origins"], ["admin", "Admin: manages"],
    ["owner", "Owner: everything"],
];

export default async function operators(page) {
    const create = () => h("button.btn.primary", { type: "button", onclick: () => open(view), "data-new": "" }, icon("plus"), "Add operator");
    add(page.body, head("Operators", { lead: "The keepers of this gatehouse. There is always at least one owner." }));
    const view = list(page, page.body, {
        path: "/operators", noun: ["operator", "operators"], search: "Search by email or name", create,
        columns: [
            { label: "Operator", cell: (one) => h("div.who", {}, h("span.face", { "aria-hidden": "true" }, initials(one.name, one.email)), h("span", {}, h("span.main", {}, user(one.email)), h("span.sub", {}, user(one.name)))) },
            { label: "Role", cell: (one) => tag(one.role) },
            { label: "Scope", cell: (one) => (one.scope?.tenant_id ? h("a", { href: `/console/t/${one.scope.tenant_id}/users` }, "One tenant") : "Whole platform") },
            { label: "Status", cell: (one) => words(one.status) },
            { label: "Last sign-in", cell: (one) => time(one.last_sign_in_at) },
        ],
        actions: (one, reload) => [{ text: "Remove", name: one.email, danger: true, run: () => remove(one, reload) }],
    });
}

function remove(one, reload) {
    confirm({
        title: `Remove ${one.email}?`, act: "Remove operator", text: "Sessions end now. What was done stays in the audit log.",
        run: async () => {
            await api(`/operators/${one.id}`, { method: "DELETE" });
            toast("Removed");
            reload();
        },
    });
}

function open(view) {
    formDialog({
        title: "Add operator", submit: "Add operator", lead: "A one-time link is mailed, or shown to you once where no mail is set up.",
        fields: [
            { name: "email", label: "Email", type: "email", required: true },
            { name: "name", label: "Name" },
            { name: "role", label: "Role", type: "select", options: ROLES },
            { name: "scope.tenant_id", label: "Only this tenant", hint: "Tenant id; empty is the whole platform." },
        ],
        send: async (values) => {
            const made = await api("/operators", { method: "POST", body: values });
            const link = made.link ?? made.sign_in_url ?? made.url;
            view.reload();
            toast(`${made.email} is an operator`);
            if (link) setTimeout(() => reveal({ title: "One-time sign-in link", secret: link, name: "SIGN_IN_URL", text: `Send it to ${made.email}. It works once and is shown only now.` }));
        },
    });
}
