// Keys that work on every page, never while something is being typed.
import { dialog } from "./dialog.js";
import { h } from "./html.js";
import { open as palette } from "../elements/command-palette.js";
import { places } from "./frame.js";
import { go } from "./router.js";

const SHEET = [
    ["Ctrl K", "Search or jump"], ["/", "Search this list"], ["Shift N", "New"], ["J, K", "Next, previous row"],
    ["Enter", "Open the row"], ["G then O T D S A P", "Go to a page"], ["F6", "Messages"], ["?", "This sheet"],
];
let going = 0;

export function listen() {
    addEventListener("keydown", (event) => {
        if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !document.body.classList.contains("bare")) {
            event.preventDefault();
            palette();
            return;
        }
        const typing = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
        if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
        if (press(event.key)) event.preventDefault();
    });
}

function press(key) {
    if (Date.now() - going < 1200) {
        going = 0;
        const place = places().find((one) => one.key === key.toLowerCase());
        if (place) go(place.href);
        return Boolean(place);
    }
    switch (key) {
        case "g": going = Date.now(); return true;
        case "/": return focus("[data-search]");
        case "N": document.querySelector("[data-new]")?.click(); return true;
        case "j": return move(1);
        case "k": return move(-1);
        case "?": sheet(); return true;
        default: return false;
    }
}

function focus(selector) {
    const node = document.querySelector(selector);
    node?.focus();
    return Boolean(node);
}

function move(step) {
    const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector("a, button"));
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
    next?.querySelector("a, button").focus();
    return Boolean(next);
}

function sheet() {
    dialog("Keys", h("dl.facts", {}, SHEET.map(([keys, text]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, text)])));
}
