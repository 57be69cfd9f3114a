"""A picture of each page and of some dialogs, in each look: pictures.py FOLDER."""
import pathlib
import sys

from console import Console, Server, chromium
from playwright.sync_api import sync_playwright

PAGES = {
    "overview": "/console/", "tenants": "/console/tenants", "decisions": "/console/decisions", "simulator": "/console/simulator",
    "audit": "/console/audit", "people": "/console/people", "operators": "/console/operators", "providers": "/console/providers", "account": "/console/me",
    "platform-keys": "/console/keys", "platform-origins": "/console/origins",
    **{tab: f"/console/t/demo/{tab}" for tab in ("users", "requests", "invites", "policy", "domains", "keys", "origins", "clients", "settings")},
    "new-key": "/console/t/demo/keys/new", "none": "/console/t/demo/users?q=nobody", "missing": "/console/nowhere",
}
ONE = {"user": ("/tenants/demo/users?provider=google", "/console/t/demo/users/"), "key": ("/tenants/demo/api-keys", "/console/t/demo/keys/"),
       "decision": ("/provisioning/decisions?outcome=refused", "/console/decisions/")}
OUTSIDE = {"sign-in": "/console/sign-in?next=/console/audit", "setup": "/console/setup", "reset": "/reset", "invite": "/invite"}
LOOKS = {"light": (1280, 800), "dark": (1280, 800), "rtl": (1280, 800), "phone": (390, 844), "german": (1280, 800)}


def dialogs(page):
    """Name, path, and what opens it."""
    yield "add-user", "/console/t/demo/users", lambda: page.keyboard.press("Shift+N")
    yield "client", "/console/t/demo/clients", lambda: (page.locator("tr:has-text('relate') [aria-haspopup]").click(), page.locator(".of-row .btn:has-text('Edit')").click())
    yield "row-menu", "/console/t/demo/keys", lambda: page.locator("td.end [aria-haspopup]").first.click()
    yield "revoke", "/console/t/demo/keys", lambda: (page.locator("td.end [aria-haspopup]").first.click(), page.locator(".of-row .btn").first.click())
    yield "palette", "/console/t/demo/users", lambda: page.keyboard.press("Control+k")
    yield "requests", "/console/t/demo/users", lambda: page.locator(".top > button >> nth=2").click()
    yield "menu", "/console/t/demo/users", lambda: page.locator(".top > button >> nth=3").click()
    yield "selected", "/console/t/demo/users", lambda: page.locator("tbody input").first.click()
    yield "secret", "/console/t/demo/users", lambda: (page.locator("tbody a.main >> nth=2").click(), page.locator(".btn:has-text('Link grant')").click(), page.locator(".secret").wait_for())


def main(folder):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    faults = []
    with Server() as server, sync_playwright() as engine:
        browser = chromium(engine)
        keeper = Console(server, browser)
        keeper.sign_in_by_link(server.token)
        demo = keeper.api("GET", "/tenants/demo")["id"]
        keeper.api("POST", f"/tenants/{demo}/invites", {"email": "ines@demo.example", "delivery": "link"})
        pages = {**PAGES, **{name: path + keeper.api("GET", what)["items"][0]["id"] for name, (what, path) in ONE.items()}}
        for look, (width, height) in LOOKS.items():
            options = {"viewport": {"width": width, "height": height}, "color_scheme": "dark" if look == "dark" else "light",
                       "locale": "de-DE" if look == "german" else "en-US"}
            for cookies, some in ((keeper.cookies(), pages), ((), OUTSIDE)):
                console = Console(server, browser, cookies, **options)
                if look == "rtl":
                    console.context.add_init_script("localStorage.setItem('ui', '{\"dir\":\"rtl\"}')")
                console.expects_refusals = True
                for name, path in some.items():
                    console.go(path)
                    console.idle()
                    console.page.screenshot(path=out / f"{name}-{look}.png")
                # Its dialogs are found by their English names.
                if cookies and look != "german":
                    for name, path, open_it in dialogs(console.page):
                        console.go(path)
                        open_it()
                        console.page.locator("dialog[open], .menu:popover-open, .bulk:not([hidden])").first.wait_for()
                        console.idle()
                        console.page.screenshot(path=out / f"{name}-{look}.png")
                faults += console.faults
                console.context.close()
        browser.close()
    for fault in faults:
        print("console:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
