import { api } from "../../lib/api.js";
import { act, confirm, formDialog, reveal } from "../../lib/dialog.js";
import { ago, tag, time, user } from "../../lib/format.js";
import { h, icon } from "../../lib/html.js";
import { list } from "../../lib/list.js";
import { query } from "../../lib/router.js";
import { toast } from "../../elements/toast-stack.js";

const SCOPES = ["users:read", "users:write", "invites:read", "invites:write", "api-keys:read", "api-keys:write", "cors:read", "cors:write",
    "policy:read", "policy:write", "clients:read", "clients:write", "audit:read", "hooks:signup", "keys:verify"];
const DAYS = [["90", "90 days"], ["30", "30 days"], ["365", "1 year"], ["", "Never"]];
const GRACE = [["3600", "1 hour"], ["0", "None: cut at once"], ["900", "15 minutes"], ["86400", "24 hours"], ["604800", "7 days"]];

const shown = (page, made) => setTimeout(() => reveal({
    title: `Key of ${made.name}`, secret: made.key, name: "GATEHOUSE_KEY",
    curl: `curl '${location.origin}/v1${page.path}' \\\n  -H "Authorization: Bearer $GATEHOUSE_KEY"`,
}));

export default function keys(page) {
    const path = `${page.path}/api-keys`;
    const create = () => h("button.btn.primary", { type: "button", onclick: () => open(page, path, view), "data-new": "" }, icon("plus"), "Create key");
    const view = list(page, page.body, {
        path, noun: ["API key", "API keys"], search: "Search by name", create,
        empty: { title: "No keys cut yet", text: "A key lets a machine call the API with just the rights you choose." },
        filters: [{ name: "status", label: "Status", options: [["active", "Active"], ["grace", "In grace"], ["revoked", "Revoked"], ["expired", "Expired"]] }],
        columns: [
            { label: "Name", sort: "name", cell: (one) => [h("span.main", {}, user(one.name)), h("span.sub.mono", {}, `${one.prefix}…${one.last4}`)] },
            { label: "Status", cell: (one) => [tag(one.status), one.previous && h("span.sub", {}, `old secret ends ${ago(one.previous.until)}`)] },
            { label: "Scopes", cell: (one) => h("span.small", { title: one.scopes.join(" ") }, one.scopes.slice(0, 2).join(", "), one.scopes.length > 2 && ` and ${one.scopes.length - 2} more`) },
            { label: "Last used", cell: (one) => time(one.last_used_at) },
            { label: "Expires", cell: (one) => time(one.expires_at) },
        ],
        actions: (one, reload) => one.status === "revoked" || one.status === "expired" ? [] : [
            one.previous && { text: "Cut old", name: one.name, run: () => act(`${path}/${one.id}/cut`, {}, "The old secret is dead", reload) },
            { text: "Rotate", name: one.name, run: () => rotate(page, path, one, reload) },
            { text: "Revoke", name: one.name, danger: true, run: () => revoke(path, one, reload) },
        ],
    });
}

function revoke(path, one, reload) {
    confirm({
        title: `Revoke ${one.name}?`, act: "Revoke key",
        text: `Calls with it fail at once. ${one.last_used_at ? `It was last used ${ago(one.last_used_at)}.` : "It was never used."} This is final.`,
        run: async () => {
            await api(`${path}/${one.id}/revoke`, { method: "POST", body: { reason: "revoked in the console" } });
            toast(`${one.name} is revoked`);
            reload();
        },
    });
}

function rotate(page, path, one, reload) {
    formDialog({
        title: `Rotate ${one.name}`, submit: "Rotate", lead: "A new secret now; the old one works on for the grace you choose.",
        fields: [{ name: "grace_seconds", label: "Grace of the old secret", type: "select", options: GRACE }],
        send: async (values) => {
            const made = await api(`${path}/${one.id}/rotate`, { method: "POST", body: { grace_seconds: Number(values.grace_seconds) } });
            reload();
            shown(page, made);
        },
    });
}

function open(page, path, view) {
    const asked = query();
    formDialog({
        title: "Create API key", submit: "Create key",
        fields: [
            { name: "name", label: "Name", required: true, value: asked.name, hint: "What will hold it, such as “Production backend”." },
            { name: "scopes", label: "Scopes", type: "lines", required: true, value: asked.scopes?.split(" ") ?? ["users:read"], hint: `One a line. ${SCOPES.join(", ")}; and those of the tenant's catalogue.` },
            { name: "days", label: "Expires after", type: "select", options: DAYS },
            { name: "allowed_ips", label: "Only from these addresses", type: "lines", hint: "Addresses or CIDR ranges; empty is anywhere." },
        ],
        send: async ({ days, ...values }) => {
            const body = { ...values };
            if (days) body.expires_at = new Date(Date.now() + days * 86400000).toISOString();
            const made = await api(path, { method: "POST", body });
            view.reload();
            shown(page, made);
        },
    });
}
