import "./elements/toast-stack.js";
import { drawFrame, dropFrame } from "./lib/frame.js";
import { fill, h } from "./lib/html.js";
import { listen } from "./lib/keys.js";
import { go, start } from "./lib/router.js";
import { loadMe } from "./lib/session.js";
import { state } from "./lib/states.js";

let leaving = false;

// Signs in again and comes back; what was refused is not replayed.
addEventListener("session-over", () => {
    if (leaving || location.pathname === "/console/sign-in") return;
    leaving = true;
    location.assign(`/console/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
});

async function frame(route) {
    if (route?.bare) {
        dropFrame();
        return true;
    }
    try {
        await loadMe();
    } catch (error) {
        if (error.status === 401) return false;
        const main = document.querySelector("main");
        state(fill(main), "error", { error, again: () => go(location.href, { replace: true }) });
        main.prepend(h("h1.vh", {}, error.title));
        return false;
    }
    drawFrame();
    return true;
}

listen();
start(frame);
