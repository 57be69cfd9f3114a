import { add } from "../lib/html.js";
import { decisions } from "../lib/decisions.js";
import { head } from "../lib/states.js";

export default async function page(page) {
    add(page.body, head("Decisions", { lead: "Who knocked, what was answered, and the rule that decided." }));
    decisions(page, "/provisioning/decisions");
}
