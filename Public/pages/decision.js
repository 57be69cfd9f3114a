import { api } from "../lib/api.js";
import { trace } from "../lib/decisions.js";
import { tag, time, user, words } from "../lib/format.js";
import { add, h, icon } from "../lib/html.js";
import { head, state } from "../lib/states.js";

export default async function decision(page) {
    const crumbs = [["Decisions", "/console/decisions"]];
    let one;
    try {
        one = await api(`/provisioning/decisions/${encodeURIComponent(page.params.id)}`, { signal: page.signal });
    } catch (error) {
        if (error.status !== 404) throw error;
        add(page.body, [head("No such decision", { crumbs }), state(h("div", {}), "missing", { title: "It is not here", text: "Decisions are kept for 90 days; an older one is gone." })]);
        return;
    }
    const again = new URLSearchParams({ provider: one.provider ?? "", email: one.email ?? "", subject: one.subject ?? "", tenant: one.tenant_id ?? "" });
    const rows = [["Outcome", tag(one.outcome)], ["Reason", one.reason ? h("code", {}, one.reason) : "–"], ["When", time(one.created_at)], ["Provider", words(one.provider)],
        ["Issuer", user(one.issuer)], ["Subject", h("code", {}, user(one.subject))], ["Policy", one.policy_version ? `Version ${one.policy_version}` : "–"], ["Took", `${one.duration_ms} ms`],
        ["User", one.user_id && one.tenant_id ? h("a", { href: `/console/t/${one.tenant_id}/users/${one.user_id}` }, "Open") : "none"], ["Id", h("code", {}, one.id)]];
    add(page.body, [
        head(user(one.email ?? "A decision"), { crumbs, acts: h("a.btn", { href: `/console/simulator?${again}` }, icon("flask"), "Simulate again") }),
        h("div.two", {}, h("div.card", {}, h("h2", {}, "Rule by rule"), trace(one.trace)),
            h("div.card", {}, h("h2", {}, "The attempt"), h("dl.facts", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])))),
    ]);
}
