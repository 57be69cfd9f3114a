// What stands around every page: top bar, navigation, operator menu, keys.
import { fill, h, icon } from "./html.js";
import { open as palette } from "../elements/command-palette.js";
import { showRequests } from "./dialog.js";
import { user, words } from "./format.js";
import { go } from "./router.js";
import { me, scope, signOut } from "./session.js";

export function places() {
    const own = scope();
    return [
        { group: "Observe" },
        !own && { text: "Overview", href: "/console/", look: "home", key: "o" },
        { text: "Audit", href: "/console/audit", look: "list", key: "a" },
        { group: "Directory" },
        own ? { text: "Your tenant", href: `/console/t/${own}/users`, look: "building", key: "t" }
            : { text: "Tenants", href: "/console/tenants", look: "building", key: "t" },
        { group: "Access" },
        { text: "Decisions", href: "/console/decisions", look: "branch", key: "d" },
        { text: "Simulator", href: "/console/simulator", look: "flask", key: "s" },
        { group: "Manage" },
        !own && { text: "Operators", href: "/console/operators", look: "badge", key: "p" },
        { text: "API docs", href: "/docs", look: "book", wide: true },
    ].filter(Boolean);
}

export function drawFrame() {
    document.body.classList.remove("bare");
    const top = document.querySelector(".top");
    const nav = document.querySelector(".nav");
    if (!top.children.length) drawTop(top);
    top.hidden = nav.hidden = false;
    const path = location.pathname.replace(/\/$/, "") || "/";
    const here = (href) => {
        const mine = href.replace(/\/$/, "");
        if (mine === "/console") return path === mine;
        return path === mine || path.startsWith(`${mine}/`) || (mine === "/console/tenants" && path.startsWith("/console/t/"));
    };
    fill(nav, h("ul", {}, places().map((place) => place.group
        ? h("li.group", {}, place.group)
        : h(`li${place.wide ? ".wide" : ""}`, {}, h("a", { href: place.href, "aria-current": here(place.href) ? "page" : null }, icon(place.look), h("span", {}, place.text))))));
}

export function dropFrame() {
    document.body.classList.add("bare");
    for (const node of [document.querySelector(".top"), document.querySelector(".nav")]) {
        node.hidden = true;
        node.replaceChildren();
    }
}

function drawTop(top) {
    const menu = h("div.menu", { popover: "auto", id: "who" },
        h("div.line", {}, h("strong", {}, user(me().name || me().email)), h("div.small.muted", {}, user(me().email), " · ", words(me().role))),
        ["system", "light", "dark"].map((theme) => h("button.btn.ghost", { type: "button", onclick: () => look("theme", theme) }, `${words(theme)} theme`)),
        h("button.btn.ghost", { type: "button", onclick: () => look("density", document.documentElement.dataset.density ? "system" : "compact") }, "Compact rows"),
        h("button.btn.ghost", { type: "button", onclick: leave }, "Sign out"));
    fill(top,
        h("a.brand", { href: "/console/", "aria-label": "Gatehouse, overview" }, icon("mark"), h("span", {}, "Gatehouse")),
        h("button.btn.finder", { type: "button", "aria-label": "Search or jump to", onclick: () => palette() }, icon("search"), h("span", {}, "Search or jump to…"), h("kbd", {}, "Ctrl K")),
        h("button.btn.ghost", { type: "button", title: "Show the requests of this view", "aria-label": "Show the requests of this view", onclick: showRequests }, icon("code")),
        h("button.btn.ghost", { type: "button", popoverTargetElement: menu, "aria-label": "Operator menu" }, icon("user"), icon("down")), menu);
}

function look(name, value) {
    let ui = {};
    try {
        ui = JSON.parse(localStorage.getItem("ui") || "{}");
    } catch {
        // What cannot be read is replaced.
    }
    if (value === "system") {
        delete ui[name];
        delete document.documentElement.dataset[name];
    } else {
        ui[name] = document.documentElement.dataset[name] = value;
    }
    localStorage.setItem("ui", JSON.stringify(ui));
}

async function leave() {
    await signOut().catch(() => {});
    go("/console/sign-in");
}
