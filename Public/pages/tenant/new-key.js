import { api } from "../../lib/api.js";
import { form } from "../../lib/form.js";
import { add, card, h, note } from "../../lib/html.js";
import { go, query } from "../../lib/router.js";
import { showSecret } from "./keys.js";

const GROUPS = [
    ["People"], ["users:read", "Read users, decisions and statistics"], ["users:write", "Add and change users"], ["invites:read", "Read invites"], ["invites:write", "Invite and revoke"],
    ["Sign-up"], ["hooks:signup", "Ask what a sign-up may do (pre-signup hook)"], ["policy:read", "Read policy and domains"], ["policy:write", "Change policy and domains"],
    ["Keys and origins"], ["keys:verify", "Verify API keys"], ["api-keys:read", "Read keys"], ["api-keys:write", "Create, rotate, revoke keys"], ["cors:read", "Read origins"], ["cors:write", "Change origins"],
    ["Other"], ["clients:read", "Read clients"], ["clients:write", "Change clients"], ["audit:read", "Read the audit log"],
];
const PRESETS = [["Sign-up hook", ["hooks:signup"]], ["Verify keys", ["keys:verify"]], ["Read only", ["users:read", "invites:read", "api-keys:read", "cors:read", "audit:read"]]];
const DAYS = [["90", "90 days"], ["30", "30 days"], ["365", "1 year"], ["", "Never"]];

export default async function create(page) {
    const asked = query();
    const policy = await api(`${page.path}/policy`, { signal: page.signal }).catch(() => null);
    const own = (policy?.scope_catalogue ?? []).map((scope) => [scope, scope]);
    const wanted = asked.scopes?.split(/[ ,]+/) ?? [];
    const built = form([
        { name: "name", label: "Name", required: true, value: asked.name, hint: "What will hold it, such as “Production backend”." },
        { name: "environment", label: "Environment", type: "select", options: [["live", "Live"], ["test", "Test"]], value: asked.environment },
        { name: "scopes", label: "Scopes", type: "checks", required: true, value: wanted,
            options: [...(own.length ? [["This tenant's own"], ...own] : []), ...GROUPS.map(([code, text]) => (text ? [code, text, code] : [code]))] },
        { name: "days", label: "Expires after", type: "select", options: DAYS, value: asked.days },
        { name: "allowed_ips", label: "Only from these addresses", type: "lines", hint: "Addresses or CIDR ranges, one a line; empty is anywhere." },
        { name: "allowed_origins", label: "Only from these browser origins", type: "lines", hint: "One a line; empty is every one." },
        { name: "note", label: "Note", type: "textarea" },
    ], {
        submit: "Create key", cancel: () => go(`${page.base}/keys`),
        request: (values) => [`${page.path}/api-keys`, { method: "POST", body: body(values) }],
        send: async (values) => {
            const made = await api(`${page.path}/api-keys`, { method: "POST", body: body(values) });
            go(`${page.base}/keys/${made.id}`);
            showSecret(page, made);
        },
    });
    const boxes = () => [...built.querySelectorAll(".checks input")];
    const preset = ([text, scopes]) => h("button.btn.tiny", { type: "button", onclick: () => {
        for (const box of boxes()) box.checked = scopes.includes(box.value);
        built.dispatchEvent(new Event("input"));
    } }, text);
    built.querySelector(".checks").before(h("div.acts", {}, PRESETS.map(preset)));
    add(page.body, [
        (asked.name || asked.scopes) && note("warn", "alert", "A link filled in this form. Read what it asks for before you create the key."),
        h("div.narrow", {}, card("Create API key", built)),
    ]);
    built.querySelector("input").autofocus = true;
    built.querySelector("input").setAttribute("autofocus", "");
}

// Rounded to the minute, so that what is shown is what is sent.
function body({ days, ...values }) {
    const end = days && Math.ceil((Date.now() + days * 86400000) / 60000) * 60000;
    return end ? { ...values, expires_at: new Date(end).toISOString() } : values;
}
