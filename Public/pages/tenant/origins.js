import { api } from "../../lib/api.js";
import { act, formDialog } from "../../lib/dialog.js";
import { time, user } from "../../lib/format.js";
import { form } from "../../lib/form.js";
import { add, fill, h, icon } from "../../lib/html.js";
import { list } from "../../lib/list.js";
import { note } from "../../lib/states.js";
import { toast } from "../../elements/toast-stack.js";

export default function origins(page) {
    const path = `${page.path}/cors-origins`;
    const lists = h("div", {});
    const create = () => h("button.btn.primary", { type: "button", onclick: () => open(path, view), "data-new": "" }, icon("plus"), "Add origin");
    add(page.body, [lists, tester(page)]);
    const view = list(page, lists, {
        path, noun: ["origin", "origins"], search: "Search origins", create,
        empty: { title: "No origin is allowed", text: "Browsers of other sites are kept out. Add the origin of your web app to let it call." },
        columns: [
            { label: "Origin", cell: (one) => [h("span.main.mono", {}, user(one.origin)), one.label && h("span.sub", {}, user(one.label))] },
            { label: "Credentials", cell: (one) => (one.credentials ? "Cookies allowed" : h("span.muted", {}, "None")) },
            { label: "Ends", cell: (one) => time(one.expires_at) },
            { label: "Added", cell: (one) => time(one.created_at) },
        ],
        actions: (one, reload) => [{
            text: "Remove", name: one.origin, danger: true,
            run: async () => {
                const { origin, credentials, label, expires_at } = one;
                await act(`${path}/${one.id}`, { method: "DELETE" }, `${origin} is removed`, reload);
                toast("Removed by mistake?", { action: "Put it back", run: () => act(path, { body: { origin, credentials, label, expires_at } }, "It is back", reload) });
            },
        }],
    });
}

function open(path, view) {
    formDialog({
        title: "Add origin", submit: "Add origin",
        fields: [
            { name: "origin", label: "Origin", required: true, hint: "Scheme, host and port: https://app.example.com. A path is refused; a lone slash is dropped." },
            { name: "label", label: "Label" },
            { name: "credentials", label: "Allow cookies and credentials", type: "check", value: false },
        ],
        send: async (values) => {
            const made = await api(path, { method: "POST", body: values });
            toast(made.origin === values.origin ? `${made.origin} is allowed` : `Saved as ${made.origin}`, { stay: made.origin !== values.origin });
            view.reload();
        },
    });
}

function tester(page) {
    const result = h("div", { "aria-live": "polite" });
    const built = form([
        { name: "origin", label: "Origin of the page", required: true, attrs: { placeholder: "https://app.example.com" } },
        { name: "method", label: "Method", type: "select", options: ["GET", "POST", "PUT", "PATCH", "DELETE"].map((one) => [one, one]) },
        { name: "request_headers", label: "Request headers", type: "lines", hint: "One a line, such as authorization." },
        { name: "credentials", label: "With cookies", type: "check" },
    ], {
        submit: "Test",
        send: async (values) => {
            const said = await api("/cors/evaluate", { method: "POST", body: { tenant: page.tenant.id, ...values } });
            fill(result, h("div.stack-gap", {},
                note(said.allowed ? "ok" : "danger", said.allowed ? "check" : "x", h("strong", {}, said.allowed ? "Allowed. " : "Refused. "), user(said.reason), said.rule && [" Rule: ", h("code", {}, user(said.rule))]),
                headers(`Preflight, ${said.preflight?.status ?? "not sent"}`, said.preflight?.headers), headers("Response", said.response?.headers)));
        },
    });
    return h("div.two", {}, h("div.card", {}, h("h2", {}, "Try an origin"), built), h("div.card", {}, h("h2", {}, "What the browser gets"), add(result, h("p.muted", {}, "Test an origin to see both answers, header by header."))));
}

function headers(title, values) {
    const lines = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${value}`);
    return h("div", {}, h("h3", {}, title), h("code.code", {}, lines.join("\n") || "No CORS header: the browser refuses."));
}
