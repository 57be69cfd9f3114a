import { api, sent } from "./api.js";
import { form } from "./form.js";
import { add, fill, h, icon } from "./html.js";
import { toast } from "../elements/toast-stack.js";

let serial = 0;

/** Opens a modal dialog; it leaves the DOM when it closes, and focus returns to where it was. */
export function dialog(title, ...kids) {
    const id = `d${(serial += 1)}`;
    const before = document.activeElement;
    const node = h("dialog", { "aria-labelledby": id }, h("h2", { id }, title), kids);
    document.body.append(node);
    node.addEventListener("close", () => {
        node.remove();
        (before?.isConnected ? before : document.querySelector("main h1"))?.focus();
    });
    node.showModal();
    return node;
}

/**
 * A dialog with a form. `send(values)` may throw a Problem, whose pointers land on the fields;
 * what was typed is kept.
 */
export function formDialog({ title, lead, fields, submit, danger, send }) {
    const built = form(fields, {
        submit, danger,
        cancel: () => node.close(),
        send: async (values) => {
            await send(values);
            node.close();
        },
    });
    const node = dialog(title, lead && h("p.lead", {}, lead), built);
    (node.querySelector("input, select, textarea") ?? node).focus();
    return node;
}

/** For what is final: says what breaks now, with focus on Keep. `type`: a word to be typed first. */
export function confirm({ title, text, keep = "Keep", act, type, run }) {
    const fields = type ? [{ name: "typed", label: `Type ${type} to confirm`, required: true, attrs: { autocomplete: "off" } }] : [];
    const node = formDialog({
        title, lead: text, fields, submit: act, danger: true,
        send: async (values) => {
            if (type && values.typed !== type) throw new Error(`That is not ${type}.`);
            await run();
        },
    });
    const button = node.querySelector("[data-cancel]");
    button.textContent = keep;
    if (!type) button.focus();
}

export async function copy(text, what = "Copied") {
    await navigator.clipboard.writeText(text);
    toast(what);
}

const copyButton = (text, label = "Copy") =>
    h("button.btn", { type: "button", onclick: () => copy(text) }, icon("copy"), label);

/** Shows a secret that is never shown again. Nothing closes it before "stored" is ticked. */
export function reveal({ title, secret, name, curl, text }) {
    const leave = (event) => event.preventDefault();
    const value = h("code.code.secret", { tabIndex: 0 }, secret);
    const stored = h("input", { type: "checkbox", id: "stored", onchange: () => (done.disabled = !stored.checked) });
    const done = h("button.btn.primary", { type: "button", disabled: true, onclick: () => close() }, "Done");
    const file = () => {
        const url = URL.createObjectURL(new Blob([`${name}=${secret}\n`], { type: "text/plain" }));
        h("a", { href: url, download: ".env" }).click();
        URL.revokeObjectURL(url);
    };
    const close = () => {
        removeEventListener("beforeunload", leave);
        fill(value);
        node.close();
        node.replaceChildren();
    };
    const node = dialog(title, h("p.lead", {}, text ?? "This is the only time it is shown. Store it now: nobody, not even Gatehouse, can show it again."),
        value, h("div.acts", {}, copyButton(secret), h("button.btn", { type: "button", onclick: file }, "Download .env")),
        curl && h("details", {}, h("summary", {}, "Try it"), h("code.code", {}, curl)),
        h("div.acts", {}, h("label.check", {}, stored, "I have stored it"), done));
    node.setAttribute("closedby", "none");
    // A second Escape closes a dialog whose `cancel` was refused without the key press being refused as well.
    node.addEventListener("keydown", (event) => event.key === "Escape" && event.preventDefault());
    node.addEventListener("cancel", (event) => event.preventDefault());
    addEventListener("beforeunload", leave);
    value.focus();
}

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
function curlOf({ method, path, body, etag }) {
    const lines = [`curl${method === "GET" ? "" : ` -X ${method}`} ${quote(location.origin + path)}`,
        `  -H "Authorization: Bearer $GATEHOUSE_KEY"`];
    if (etag) lines.push(`  -H ${quote(`If-Match: ${etag}`)}`);
    if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quote(body)}`);
    return lines.join(" \\\n");
}

/** The requests this view has really sent, to be run elsewhere. */
export function showRequests() {
    const node = dialog("Requests of this view", h("p.lead", {}, "Exactly what this page sent, for an API key instead of your session. Secrets are masked."));
    for (const entry of sent.toReversed()) {
        const text = curlOf(entry);
        add(node, h("div.stack-gap", {}, h("code.code", {}, text), h("div.acts", {}, copyButton(text, "Copy curl"))));
    }
    add(node, h("div.acts", {}, h("button.btn", { type: "button", onclick: () => node.close() }, "Close")));
}

/** Runs one call and says how it went; for actions that need no form. */
export async function act(path, options, said, after) {
    try {
        const answer = await api(path, { method: "POST", ...options });
        toast(said);
        await after?.(answer);
    } catch (error) {
        toast(error.message, { stay: true });
    }
}
