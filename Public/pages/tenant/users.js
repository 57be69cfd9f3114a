import { api } from "../../lib/api.js";
import { act, confirm, formDialog } from "../../lib/dialog.js";
import { initials, tag, time, user, words } from "../../lib/format.js";
import { h, icon } from "../../lib/html.js";
import { list } from "../../lib/list.js";
import { toast } from "../../elements/toast-stack.js";

export const ROLES = [["member", "Member"], ["manager", "Manager"], ["admin", "Admin"]];

export default function users(page) {
    const create = () => h("button.btn.primary", { type: "button", onclick: () => open(page, view), "data-new": "" }, icon("plus"), "Add user");
    const view = list(page, page.body, {
        path: `${page.path}/users`, noun: ["user", "users"], search: "Search by email or name", create,
        empty: { title: "Nobody has come in yet", text: "Invite people, add them here, or let the sign-up policy admit them." },
        filters: [
            { name: "status", label: "Status", options: [["pending", "Pending"], ["active", "Active"], ["suspended", "Suspended"], ["deleted", "Deleted"]] },
            { name: "role", label: "Role", options: ROLES },
        ],
        columns: [
            { label: "User", sort: "email", cell: (one) => h("div.who", {}, h("span.face", { "aria-hidden": "true" }, initials(one.name, one.email)),
                h("span", {}, h("a.main", { href: `${page.base}/users/${one.id}` }, user(one.email ?? "Erased")), h("span.sub", {}, user(one.name)))) },
            { label: "Status", cell: (one) => tag(one.status) },
            { label: "Role", cell: (one) => words(one.role) },
            { label: "Sign-in by", cell: (one) => (one.identities ?? []).map((id) => words(id.provider)).join(", ") || h("span.muted", {}, "–") },
            { label: "Last sign-in", cell: (one) => time(one.last_sign_in_at) },
            { label: "Created", sort: "created_at", cell: (one) => time(one.created_at) },
        ],
        actions: (one, reload) => actions(page, one, reload).filter((act) => act && act.text !== "Delete"),
    });
}

/** What may be done to a user now, by its status. */
export function actions(page, one, reload) {
    const path = `${page.path}/users/${one.id}`;
    const name = one.email;
    const verb = (text, word, said) => ({ text, name, run: () => act(`${path}/${word}`, {}, said, reload) });
    return [
        one.status === "pending" && one.source === "approval" && verb("Approve", "approve", "Approved"),
        one.status === "suspended" && verb("Resume", "resume", "Resumed"),
        one.status === "deleted" && verb("Restore", "restore", "Restored"),
        one.status === "active" && {
            text: "Suspend", name, danger: true,
            run: () => act(`${path}/suspend`, {}, "Suspended: sessions and keys are refused", reload),
        },
        (one.status === "active" || one.status === "pending") && {
            text: "Delete", name, danger: true,
            run: () => confirm({
                title: `Delete ${name}?`, act: "Delete user",
                text: "Sign-in ends now, sessions and own keys with it. The account can be restored for 30 days.",
                run: async () => {
                    await api(path, { method: "DELETE" });
                    toast("Deleted", { action: "Undo", run: () => act(`${path}/restore`, {}, "Restored", reload) });
                    reload();
                },
            }),
        },
    ];
}

function open(page, view) {
    formDialog({
        title: "Add user", submit: "Add user", lead: "Pending until the first sign-in. No message is sent; use an invite for that.",
        fields: [
            { name: "email", label: "Email", type: "email", required: true },
            { name: "name", label: "Name" },
            { name: "role", label: "Role", type: "select", options: ROLES },
        ],
        send: async (values) => {
            const made = await api(`${page.path}/users`, { method: "POST", body: values });
            toast(`${made.email} is added`);
            view.reload();
        },
    });
}
