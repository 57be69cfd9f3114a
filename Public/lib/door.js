import { h, icon } from "./html.js";

/** The frame of pages outside the gate: the gatehouse on one side, a form on the other. */
export const door = (title, lead, ...kids) => h("div.door", {},
    h("div.wall", {}, h("span.brand", {}, icon("mark"), h("span", {}, "Gatehouse")),
        h("p", {}, "Who may come in, and why."), icon("mark", "big")),
    h("div.sheet", {}, h("div", {}, h("h1", {}, title), h("p.lead", {}, lead), kids)));
