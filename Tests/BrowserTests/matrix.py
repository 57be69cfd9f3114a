"""Every page for every role, in every look: light and dark, 1440, 1280 and 390 pixels, both directions, each language.

See deploy/checks/looks. Ends with 1 if a page has an error, is wider than the window, has a button out of view, or a violation
that axe finds.
"""
import os
import re
import sys

from console import Console, Server
from places import all_pages, keep
from playwright.sync_api import sync_playwright
from test_looks import AXE, OUT_OF_VIEW, RULES, RUN

ROLES = os.environ.get("ROLES", "owner admin developer support auditor").split()
LANGUAGES = os.environ.get("LANGUAGES", "en de").split()
DIRECTIONS = os.environ.get("DIRECTIONS", "ltr rtl").split()
PAGES = os.environ.get("PAGES", "")
WIDTHS = (1440, 1280, 390)


def look(console, path, direction):
    page = console.go(path)
    page.evaluate(AXE)
    wrong = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{width}: wider than the window")
        wrong += [f"{width}: {one} is out of view" for one in page.evaluate(OUT_OF_VIEW)]
        # As tall as the page: what lies under the bottom bar of a narrow window is scrolled to before it is used.
        page.set_viewport_size({"width": width, "height": max(800, page.evaluate("document.documentElement.scrollHeight"))})
        # Nothing but colours differs in the dark, and nothing but places from right to left.
        for scheme in ("light", "dark") if direction == "ltr" else ():
            page.emulate_media(color_scheme=scheme)
            wrong += [f"{width} {scheme}: {one}" for one in page.evaluate(RUN, RULES if scheme == "light" else None)]
    page.set_viewport_size({"width": 1280, "height": 800})
    wrong += console.faults
    console.faults.clear()
    return wrong


def main():
    seen = failed = 0
    with Server() as server, sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        keeper = Console(server, browser)
        keeper.sign_in_by_link(server.token)
        paths = [path for path in all_pages(keeper) if re.search(PAGES, path)]
        for role in ROLES:
            cookies = keeper.as_operator(role).cookies()
            for language in LANGUAGES:
                for direction in DIRECTIONS:
                    console = Console(server, browser, cookies)
                    # A role that may not see a page is told so.
                    console.expects_refusals = True
                    keep(console, lang=language, dir=direction)
                    for path in paths:
                        wrong = look(console, path, direction)
                        seen += 1
                        failed += bool(wrong)
                        for one in wrong:
                            print(f"{role} {language} {direction} {path} {one}", flush=True)
                    console.close()
            print(f"{role}: {seen} views so far, {failed} with faults", flush=True)
        browser.close()
    print(f"{seen} views at {len(WIDTHS)} widths, {failed} failed")
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
