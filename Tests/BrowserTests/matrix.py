"""Every page for every role, in every look: light and dark, 1440, 1280 and 390 pixels, both directions, each language.

The pages of a tenant also for operators of that tenant alone, the pages outside for nobody, and each dialog, menu and
message for an owner at 1440 and 390 pixels. See deploy/checks/looks. Ends with 1 if a view has an error, is wider than
the window, has a button out of view, or a violation that axe finds.
"""
import os
import re
import sys

from console import Console, Server, chromium
from places import all_pages, each_dialog, keep, outside
from playwright.sync_api import sync_playwright
from test_looks import AXE, OUT_OF_VIEW, RULES, RUN

ROLES = os.environ.get("ROLES", "owner admin developer support auditor").split()
LANGUAGES = os.environ.get("LANGUAGES", "en de").split()
DIRECTIONS = os.environ.get("DIRECTIONS", "ltr rtl").split()
PARTS = os.environ.get("PARTS", "roles tenant outside dialogs").split()
PAGES = os.environ.get("PAGES", "")
WIDTHS = (1440, 1280, 390)
# A dialog is as wide in both wide windows.
WIDTHS_OF_DIALOGS = (1440, 390)
# Of one tenant alone; an owner there is one of all pages below it.
OWN_PAGES = "^/console/(t/|$|me$)"


def faults(page, widths=WIDTHS, is_whole=True):
    """What is wrong with what is shown, at each width, light and dark, by all of axe's rules."""
    page.evaluate(AXE)
    wrong = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{width}: wider than the window")
        wrong += [f"{width}: {one} is out of view" for one in page.evaluate(OUT_OF_VIEW)]
        # As tall as the page: what lies under the bottom bar of a narrow window is scrolled to before it is used.
        if is_whole:
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": max(800, height)})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            wrong += [f"{width} {scheme}: {one}" for one in page.evaluate(RUN, RULES)]
    page.set_viewport_size({"width": 1280, "height": 800})
    return wrong


class Matrix:
    """Counts the views, and says what is wrong with them."""

    def __init__(self, server, browser):
        self.server, self.browser = server, browser
        self.seen = self.failed = 0

    def looks(self, cookies=()):
        """A console for each language and direction, and how it is called."""
        for language in LANGUAGES:
            for direction in DIRECTIONS:
                console = Console(self.server, self.browser, cookies)
                # A role that may not see a page is told so.
                console.expects_refusals = True
                keep(console, lang=language, dir=direction)
                yield console, f"{language} {direction}"
                console.close()

    def judge(self, console, name, wrong):
        wrong = wrong + console.faults
        console.faults.clear()
        self.seen += 1
        self.failed += bool(wrong)
        for one in wrong:
            print(f"{name} {one}", flush=True)

    def walk(self, who, cookies, paths):
        for console, look in self.looks(cookies):
            for path in paths:
                # Another link to a page that is open would not open it anew.
                console.page.goto("about:blank")
                self.judge(console, f"{who} {look} {path}", faults(console.go(path)))
        print(f"{who}: {self.seen} views so far, {self.failed} with faults", flush=True)

    def dialogs(self, cookies):
        for console, look in self.looks(cookies):
            each_dialog(console, lambda what: self.judge(
                console, f"dialog {look} {what}", faults(console.page, WIDTHS_OF_DIALOGS, is_whole=False)))
        print(f"dialogs: {self.seen} views so far, {self.failed} with faults", flush=True)


PASSWORD = "the keeper's own password"


def main():
    with Server() as server, sync_playwright() as engine:
        browser = chromium(engine)
        keeper = Console(server, browser)
        keeper.sign_in_by_link(server.token)
        keeper.api("PUT", "/me/password", {"password": PASSWORD})
        matrix = Matrix(server, browser)

        def operator(*words):
            # A new operator needs a proof of the last ten minutes, and the walks before took longer.
            keeper.api("POST", "/session/step-up", {"password": PASSWORD})
            return keeper.as_operator(*words).cookies()

        paths = [path for path in all_pages(keeper) if re.search(PAGES, path)]
        for role in ROLES if "roles" in PARTS else ():
            matrix.walk(role, operator(role), paths)
        demo = keeper.api("GET", "/tenants/demo")["id"]
        for role in ROLES if "tenant" in PARTS else ():
            matrix.walk(f"{role} of a tenant", operator(role, demo), [path for path in paths if re.search(OWN_PAGES, path)])
        if "dialogs" in PARTS:
            matrix.dialogs(operator("owner"))
        # Last: the keeper is signed out for it.
        if "outside" in PARTS:
            keeper.api("POST", "/session/step-up", {"password": PASSWORD})
            matrix.walk("outside", (), [path for path in outside(keeper) if re.search(PAGES, path)])
        browser.close()
    print(f"{matrix.seen} views at up to {len(WIDTHS)} widths, {matrix.failed} failed")
    return 1 if matrix.failed or not matrix.seen else 0


if __name__ == "__main__":
    sys.exit(main())
