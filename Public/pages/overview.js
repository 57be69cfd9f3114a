import { api } from "../lib/api.js";
import { bars } from "../lib/chart.js";
import { number, time, user, words } from "../lib/format.js";
import { add, fill, h, icon } from "../lib/html.js";
import { query, setQuery } from "../lib/router.js";
import { head, state } from "../lib/states.js";

const WINDOWS = [["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"]];

export default async function overview(page) {
    const cards = h("div.cards", {});
    const chart = h("div.card", {});
    const recent = h("div.card", {});
    const choice = h("div.acts", { role: "group", "aria-label": "Window" });
    add(page.body, [head("Overview", { lead: "Who came to the gate, and who was let in.", acts: choice }),
        h("div.stack-gap", {}, cards, chart, h("div.two", {}, recent, steps()))]);
    const load = () => {
        const chosen = WINDOWS.some(([code]) => code === query().window) ? query().window : "7d";
        fill(choice, WINDOWS.map(([code, text]) => h("button.btn", { type: "button", "aria-pressed": String(code === chosen), onclick: () => setQuery({ window: code }) }, text)));
        return Promise.all([numbers(page, cards, chart, chosen), latest(page, recent)]);
    };
    page.onUpdate(load);
    await load();
}

async function numbers(page, cards, chart, chosen) {
    let data = {};
    try {
        data = await api(`/stats/overview?window=${chosen}`, { signal: page.signal });
    } catch (error) {
        if (error.name === "AbortError") return;
        if (error.status !== 404) state(chart, "error", { error, again: () => numbers(page, cards, chart, chosen) });
    }
    const sum = (name) => data.sign_ups?.reduce((all, one) => all + one[name], 0);
    const card = (look, label, value, href) => h("a.card", { href }, h("span.label", {}, icon(look), label), h("span.num", {}, number(value)));
    fill(cards, card("users", "Users", data.users, "/console/tenants"), card("building", "Tenants", data.tenants, "/console/tenants"),
        card("check", "Admitted", sum("admitted"), "/console/decisions?outcome=created"), card("shield", "Refused", sum("refused"), "/console/decisions?outcome=refused"),
        card("key", "Key checks", data.key_verifications, "/console/audit"));
    if (data.sign_ups?.length) fill(chart, h("h2", {}, "Sign-ups"), bars(data.sign_ups));
    else if (!chart.children.length) fill(chart, h("h2", {}, "Sign-ups"), h("p.muted", {}, "No numbers yet. They appear with the first attempt."));
}

async function latest(page, card) {
    const title = h("h2", {}, "Latest changes");
    try {
        const data = await api("/audit-events?limit=8", { signal: page.signal });
        fill(card, title, h("div.stack-gap", {}, data.items.map((one) => h("div", {},
            h("strong", {}, words(one.action.replaceAll(".", " "))), " ", user(one.target?.name), h("div.small.muted", {}, user(one.actor?.name ?? "system"), " · ", time(one.occurred_at))))),
            data.items.length ? h("p", {}, h("a", { href: "/console/audit" }, "All changes")) : h("p.muted", {}, "Nothing has changed yet."));
    } catch (error) {
        if (error.name !== "AbortError") state(card, "error", { error, again: () => latest(page, card) });
    }
}

const steps = () => h("div.card", {}, h("h2", {}, "First steps"), h("ol.trace", {}, [
    ["building", "Open a tenant", "One for each customer or team.", "/console/tenants"],
    ["flask", "Try the rules", "See what would happen before anyone knocks.", "/console/simulator"],
    ["badge", "Share the keys", "Add a second owner, so that none is locked out.", "/console/operators"],
    ["book", "Call the API", "Everything here can be done by a program.", "/docs"],
].map(([look, title, text, href]) => h("li", {}, h("span.dot", {}, icon(look)), h("div", {}, h("a", { href }, title), h("div.small.muted", {}, text))))));
