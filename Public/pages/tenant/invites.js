import { act, formDialog, reveal } from "../../lib/dialog.js";
import { api } from "../../lib/api.js";
import { tag, time, user, words } from "../../lib/format.js";
import { h, icon } from "../../lib/html.js";
import { list } from "../../lib/list.js";
import { toast } from "../../elements/toast-stack.js";
import { ROLES } from "./users.js";

const link = (invite) => invite.accept_url && reveal({
    title: "Invite link", secret: invite.accept_url, name: "INVITE_URL",
    text: `Send it to ${invite.email}. It works once and is shown only now.`,
});

export default function invites(page) {
    const path = `${page.path}/invites`;
    const create = () => h("button.btn.primary", { type: "button", onclick: () => open(path, view), "data-new": "" }, icon("plus"), "Invite");
    const view = list(page, page.body, {
        path, noun: ["invite", "invites"], search: "Search by email", create,
        empty: { title: "No invites yet", text: "An invite opens the gate for one address, in one role, until it ends." },
        filters: [{ name: "status", label: "Status", options: ["pending", "accepted", "revoked", "expired"].map((code) => [code, words(code)]) }],
        columns: [
            { label: "Email", sort: "email", cell: (one) => [h("span.main", {}, user(one.email)), h("span.sub", {}, one.delivery === "link" ? "by link" : "by mail", one.sent_count > 1 && `, sent ${one.sent_count} times`)] },
            { label: "Status", cell: (one) => tag(one.status) },
            { label: "Role", cell: (one) => words(one.role) },
            { label: "Ends", cell: (one) => time(one.expires_at) },
            { label: "Sent", sort: "created_at", cell: (one) => time(one.created_at) },
        ],
        actions: (one, reload) => one.status !== "pending" && one.status !== "expired" ? [] : [
            { text: "Resend", name: one.email, run: () => act(`${path}/${one.id}/resend`, {}, "Sent again", (made) => (reload(), link(made))) },
            one.status === "pending" && { text: "Revoke", name: one.email, danger: true, run: () => act(`${path}/${one.id}/revoke`, {}, "Revoked", reload) },
        ],
    });
}

function open(path, view) {
    formDialog({
        title: "Invite people", submit: "Invite",
        fields: [
            { name: "emails", label: "Email addresses", type: "lines", required: true, hint: "One a line; up to 1,000." },
            { name: "role", label: "Role", type: "select", options: ROLES },
            { name: "delivery", label: "Delivery", type: "select", options: [["", "As the server is set"], ["mail", "By mail"], ["link", "Give me the link"]] },
            { name: "message", label: "Message", type: "textarea" },
        ],
        send: async ({ emails, ...rest }) => {
            const each = emails.map((email) => ({ email, ...rest }));
            const made = await api(path, { method: "POST", body: each.length === 1 ? each[0] : { invites: each } });
            toast(each.length === 1 ? `${emails[0]} is invited` : `${each.length} invites were handed in`);
            view.reload();
            if (each.length === 1) setTimeout(() => link(made));
        },
    });
}
