import { api } from "../lib/api.js";
import { trace } from "../lib/decisions.js";
import { form } from "../lib/form.js";
import { tag, user } from "../lib/format.js";
import { add, fill, h } from "../lib/html.js";
import { query } from "../lib/router.js";
import { head, note } from "../lib/states.js";

export default async function simulator(page) {
    const asked = query();
    const result = h("div", { "aria-live": "polite" }, h("p.muted", {}, "Run an attempt to see each rule and what it said."));
    const built = form([
        { name: "provider", label: "Provider", required: true, value: asked.provider || "google" },
        { name: "subject", label: "Subject", required: true, value: asked.subject || "test-subject", hint: "The provider's own id of the person." },
        { name: "email", label: "Email", type: "email", value: asked.email },
        { name: "email_verified", label: "The provider says the address is verified", type: "check", value: true },
        { name: "name", label: "Name" },
        { name: "tenant", label: "Tenant", value: asked.tenant, hint: "Slug or id; empty lets the rules choose." },
        { name: "invite_token", label: "Invite token" },
    ], {
        submit: "Run",
        send: async (values) => {
            const said = await api("/provisioning/evaluate", { method: "POST", body: values });
            fill(result, h("div.stack-gap", {},
                h("p", {}, tag(said.outcome), " ", said.reason && h("code", {}, said.reason), said.tenant && [" in ", h("strong", {}, user(said.tenant.name))]), trace(said.trace)));
        },
    });
    add(page.body, [head("Simulator", { lead: "What would happen if this person knocked now?" }),
        note("info", "flask", "This writes nothing: no user, no invite is touched."),
        h("div.two", {}, h("div.card", {}, h("h2", {}, "The attempt"), built), h("div.card", {}, h("h2", {}, "The answer"), result))]);
}
