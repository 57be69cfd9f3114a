import { keep, kept, me } from "../lib/api.js";
import { form } from "../lib/form.js";
import { add, card, facts, h, head, tag, time, user } from "../lib/html.js";
import { toast } from "../elements/toast-stack.js";
import { matrix } from "./operators.js";

export default function account(page) {
    const one = me();
    const looks = form([
        { name: "theme", label: "Theme", type: "select", options: [["", "As the system"], ["light", "Light"], ["dark", "Dark"]], value: kept().theme ?? "" },
        { name: "density", label: "Rows", type: "select", options: [["", "Comfortable"], ["compact", "Compact"]], value: kept().density ?? "" },
        { name: "keys", label: "Keys of one letter work", type: "check", value: kept().keys !== "off", hint: "Ctrl K and F6 always do." },
    ], {
        submit: "Save",
        send: async ({ theme, density, keys }) => {
            for (const [name, value] of [["theme", theme], ["density", density]]) {
                keep(name, value ?? null);
                if (value) document.documentElement.dataset[name] = value;
                else delete document.documentElement.dataset[name];
            }
            keep("keys", keys ? null : "off");
            toast("Saved in this browser");
        },
    });
    add(page.body, [head("Your account"), h("div.stack-gap", {},
        h("div.two", {}, card("You", facts([["Name", user(one.name)], ["Email", user(one.email)], ["Role", tag(one.role)],
            ["Scope", one.scope?.tenant_id ? h("a", { href: `/console/t/${one.scope.tenant_id}/users` }, "One tenant") : "Whole platform"],
            ["This sign-in", time(one.last_sign_in_at)], ["Since", time(one.created_at)], ["Id", h("code", {}, one.id)]])), card("This browser", looks)),
        card("What each role may do", matrix()))]);
}
