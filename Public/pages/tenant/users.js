import { api, may } from "../../lib/api.js";
import { act, confirm, formDialog, undoable } from "../../lib/dialog.js";
import { button, none, tag, time, who, words } from "../../lib/html.js";
import { list, only } from "../../lib/list.js";
import { toast } from "../../elements/toast-stack.js";

export const ROLES = [["member", "Member"], ["manager", "Manager"], ["admin", "Admin"]];
const STATUSES = ["pending", "active", "suspended", "deleted"].map((code) => [code, words(code)]);
const PROVIDERS = [["google", "Google"], ["github", "GitHub"], ["oidc", "OpenID Connect"], ["cognito", "Cognito"], ["password", "Password"]];

export default async function users(page) {
    const create = () => may("editUsers") && button("Add user", () => open(page, view), { look: ".primary", icon: "plus", "data-new": "" });
    const path = (one) => `${page.path}/users/${one.id}`;
    const post = (verb) => (one) => api(`${path(one)}/${verb}`, { method: "POST" });
    const view = await list(page, page.body, {
        path: `${page.path}/users`, noun: ["user", "users"], search: "Search by email or name", create, named: (one) => one.email ?? one.id,
        empty: { title: "Nobody has come in yet", text: "Invite people, add them here, or let the sign-up policy admit them." },
        filters: [{ name: "status", label: "Status", options: STATUSES }, { name: "role", label: "Role", options: ROLES }, { name: "provider", label: "Provider", options: PROVIDERS }],
        columns: [
            { label: "User", sort: "email", cell: (one) => who(one, `${page.base}/users/${one.id}`) },
            { label: "Status", state: true, cell: (one) => tag(one.status) },
            { label: "Role", cell: (one) => only("role", one.role, words(one.role)) },
            { label: "Sign-in by", cell: (one) => (one.identities ?? []).map((id) => words(id.provider)).join(", ") || none() },
            { label: "Last sign-in", cell: (one) => time(one.last_sign_in_at) },
            { label: "Created", sort: "created_at", cell: (one) => time(one.created_at) },
        ],
        actions: (one, reload) => actions(page, one, reload).filter((act) => act && act.text !== "Delete"),
        bulk: may("suspendUsers") && [
            { text: "Suspend", danger: true, fits: (one) => one.status === "active", run: post("suspend"), asks: "Their sign-ins, sessions and keys are refused at once. Resuming lets them work again." },
            may("editUsers") && { text: "Resume", fits: (one) => one.status === "suspended", run: post("resume") },
            may("editUsers") && { text: "Delete", danger: true, fits: (one) => ["active", "pending", "suspended"].includes(one.status), run: (one) => api(path(one), { method: "DELETE" }), asks: "Sign-in ends now, sessions and own keys with it. Each can be restored for 30 days." },
        ].filter(Boolean),
    });
}

/** What may be done to a user now, by its status. */
export function actions(page, one, reload) {
    const path = `${page.path}/users/${one.id}`;
    const name = one.email;
    const turn = (word, said, back) => act(`${path}/${word}`, { back: back && (() => turn(back, "Taken back")) }, said, reload);
    const verb = (text, word, said, back) => ({ text, name, run: () => turn(word, said, back) });
    return [
        one.status === "pending" && one.source === "approval" && may("editUsers") && verb("Approve", "approve", `${name} may come in`),
        one.status === "suspended" && may("editUsers") && verb("Resume", "resume", `${name} may sign in again`, may("suspendUsers") && "suspend"),
        one.status === "deleted" && may("editUsers") && verb("Restore", "restore", `${name} is restored`),
        one.status === "active" && may("suspendUsers") && { ...verb("Suspend", "suspend", `${name} is suspended: sessions and keys are refused`, may("editUsers") && "resume"), danger: true },
        ["active", "pending", "suspended"].includes(one.status) && may("editUsers") && {
            text: "Delete", name, danger: true,
            run: () => confirm({
                title: `Delete ${name}?`, act: "Delete user",
                text: "Sign-in ends now, sessions and own keys with it. The account can be restored for 30 days.",
                run: async () => {
                    await api(path, { method: "DELETE" });
                    undoable(`${name} is deleted`, () => act(`${path}/restore`, {}, "Restored", reload));
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
        request: (values) => [`${page.path}/users`, { method: "POST", body: values }],
        done: (made) => (toast(`${made.email} is added`), view.reload()),
    });
}
