import { h, icon } from "./html.js";
import { number, tag, time, user, words } from "./format.js";
import { list } from "./list.js";

const OUTCOMES = ["created", "linked", "existing", "reserved", "deferred", "refused"];

/** The list of provisioning decisions, of all tenants or of one. */
export function decisions(page, path) {
    return list(page, page.body, {
        path, noun: ["decision", "decisions"],
        empty: { title: "Nobody has knocked yet", text: "Each sign-up attempt is kept here with the rules that decided it.", action: h("a.btn", { href: "/console/simulator" }, icon("flask"), "Try the simulator") },
        filters: [
            { name: "outcome", label: "Outcome", options: OUTCOMES.map((code) => [code, words(code)]) },
            { name: "email", label: "Email" }, { name: "reason", label: "Reason" },
        ],
        columns: [
            { label: "Email", cell: (one) => [h("a.main", { href: `/console/decisions/${one.id}` }, user(one.email ?? "no address")), h("span.sub", {}, words(one.provider))] },
            { label: "Outcome", cell: (one) => tag(one.outcome) },
            { label: "Reason", cell: (one) => (one.reason ? h("code", {}, one.reason) : h("span.muted", {}, "–")) },
            { label: "Took", cell: (one) => `${number(one.duration_ms)} ms` },
            { label: "When", cell: (one) => time(one.created_at) },
        ],
    });
}

const LOOK = { pass: ["ok", "check"], allow: ["ok", "check"], match: ["ok", "check"], deny: ["danger", "x"], refuse: ["danger", "x"], fail: ["danger", "x"] };

/** The trace, rule by rule, in the order it was asked. */
export const trace = (steps) => h("ol.trace", {}, (steps ?? []).map(({ rule, result, detail }) => {
    const [tone, look] = LOOK[result] ?? ["quiet", "next"];
    return h("li", {}, h(`span.dot.${tone}`, {}, icon(look)),
        h("div", {}, h("strong", {}, words(rule)), " ", h("span.muted.small", {}, words(result)), detail && h("div.small", {}, user(typeof detail === "string" ? detail : JSON.stringify(detail)))));
}));
