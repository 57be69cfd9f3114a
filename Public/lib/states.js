import { add, fill, h, icon } from "./html.js";

const LOOKS = { empty: "mark", none: "search", error: "alert", forbidden: "lock", missing: "globe" };

/** What stands where there is no data: one sentence, one action. Returns the node it filled. */
export function state(node, kind, { title, text, action, error, again, href } = {}) {
    if (error) {
        kind = error.status === 403 ? "forbidden" : error.status === 404 ? "missing" : "error";
        title ??= { forbidden: "You may not see this", missing: "This is not here" }[kind] ?? error.title;
        text ??= error.message;
    }
    const acts = h("div.acts", {}, action);
    if (again && kind === "error") {
        acts.append(h("button.btn", { type: "button", onclick: again }, "Try again"));
    }
    if (href) acts.append(h("a.btn", { href }, "Go to the overview"));
    const box = h("div.state", { role: kind === "error" ? "alert" : null },
        icon(LOOKS[kind]), h("h2", {}, title), text && h("p", {}, text),
        error?.id && h("p.small.muted", {}, "Request ", h("code", {}, error.id)));
    add(box, acts.children.length && acts);
    return fill(node, box);
}

export const note = (tone, look, ...kids) => h(`div.note.${tone}`, {}, icon(look), h("div", {}, ...kids));

/** Head of a page: title, a line under it, its actions. */
export function head(title, { lead, acts, crumbs } = {}) {
    return h("div.head", {},
        h("div", {},
            crumbs && h("nav.crumbs", { "aria-label": "Breadcrumb" },
                crumbs.map(([text, href]) => [h("a", { href }, text), icon("next")])),
            h("h1", {}, title), lead && h("p.lead", {}, lead)),
        h("div.acts", {}, acts));
}
