import { add } from "../lib/html.js";
import { audit } from "../lib/audit.js";
import { head } from "../lib/states.js";

export default async function page(page) {
    add(page.body, head("Audit", { lead: "Who did what, to whom. Nothing here can be edited." }));
    audit(page, "/audit-events");
}
