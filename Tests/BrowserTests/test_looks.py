"""Accessibility by axe on every page and dialog, contrast from the tokens, reflow, and the budgets."""
import pathlib
import re
import uuid

import axe_playwright_python
from budgets import A_LANGUAGE, A_PAGE, ALL_OF_IT, FIRST_VIEW, packed_sizes
from places import all_pages, each_dialog, keep, outside
from playwright.sync_api import expect

AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Nothing but colours differs in the dark. The size of targets is looked at only where it is asked for.
RUN = """async (rules) => (await axe.run(document, {preload: false, resultTypes: ["violations"],
        runOnly: rules ? {type: "tag", values: rules} : {type: "rule", values: ["color-contrast"]},
        rules: rules ? {"target-size": {enabled: true}} : {}})).violations
    .map((one) => one.id + ": " + one.nodes.map((node) => node.target.join(" ")).slice(0, 4).join(", "))"""
# Buttons that lie beyond an edge of the window.
OUT_OF_VIEW = """() => [...document.querySelectorAll("main button, main a.btn")].filter((one) => one.checkVisibility())
    .map((one) => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.right > innerWidth + 1 || box.left < -1)
    .map(([text]) => text)"""
PUBLIC = pathlib.Path(__file__).parents[2] / "Public"


def look(console, what):
    """Light and dark, 1280 and 320 pixels: no violation, nothing wider than the window."""
    page = console.page
    page.evaluate(AXE)
    wrong = []
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            wrong += [f"{what} {width} {scheme} {one}" for one in page.evaluate(RUN, RULES if scheme == "light" else None)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{what} {width}: wider than the window")
    page.set_viewport_size({"width": 1280, "height": 800})
    return wrong


def look_at(console, paths):
    wrong = []
    for path in paths:
        console.go(path)
        wrong += look(console, path)
    assert not wrong, "\n".join(wrong)


def test_no_page_has_a_violation_light_and_dark_wide_and_narrow(console):
    look_at(console, all_pages(console)[::2])


def test_no_other_page_has_a_violation(console):
    look_at(console, all_pages(console)[1::2])


def test_no_page_in_german_has_a_violation_although_its_words_are_longer(console):
    keep(console, lang="de")
    wrong = []
    for path in all_pages(console):
        page = console.go(path)
        page.evaluate(AXE)
        wrong += [f"{path} {one}" for one in page.evaluate(RUN, RULES)]
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 800})
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wrong.append(f"{path} {width}: wider than the window")
            wrong += [f"{path} {width}: {one} is out of view" for one in page.evaluate(OUT_OF_VIEW)]
        page.set_viewport_size({"width": 1280, "height": 800})
    assert not wrong, "\n".join(wrong)


def test_no_page_outside_has_a_violation(console):
    # A provider's long name stands on the page of an invite.
    console.api("POST", "/providers", {"kind": "oidc", "name": "W" * 120, "issuer": f"https://{uuid.uuid4()}.example", "client_id": "long"})
    wrong = []
    for path in outside(console):
        console.page.goto("about:blank")
        console.go(path)
        wrong += look(console, path)
    assert not wrong, "\n".join(wrong)


def test_no_dialog_has_a_violation(console):
    wrong = []
    each_dialog(console, lambda what: wrong.extend(look(console, what)))
    assert not wrong, "\n".join(wrong)


def luminance(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_tokens_have_contrast(console):
    text = (PUBLIC / "styles/main.css").read_text()
    tokens = dict(re.findall(r"--([\w-]+): light-dark\(([^)]+)\)", text))
    pairs = [(ink, paper, 4.5) for ink in ("text", "text-2", "text-3", "accent") for paper in ("bg", "surface-1", "surface-2")]
    pairs += [(f"on-{tone}", tone, 4.5) for tone in ("accent", "danger")]
    pairs += [(tone, f"{tone}-tint", 4.5) for tone in ("accent", "danger", "warn", "ok")] + [("text", "accent-tint", 4.5), ("danger", "bg", 4.5)]
    pairs += [("border-strong", "bg", 3), ("focus", "bg", 3), ("focus", "surface-1", 3)]
    low = []
    for ink, paper, least in pairs:
        for at, scheme in enumerate(("light", "dark")):
            first, second = (luminance(tokens[name].split(", ")[at]) for name in (ink, paper))
            ratio = (max(first, second) + 0.05) / (min(first, second) + 0.05)
            if ratio < least:
                low.append(f"{ink} on {paper}, {scheme}: {ratio:.2f}")
    assert not low, low


def test_the_console_keeps_its_budgets_of_bytes_and_requests(console):
    packed = packed_sizes(console.server)
    languages = [packed.pop(name) for name in list(packed) if name.startswith("lang/")]
    assert max(languages) <= A_LANGUAGE, languages
    assert sum(packed.values()) <= ALL_OF_IT, f"all files: {sum(packed.values())} bytes"
    pages = {name: size for name, size in packed.items() if name.startswith("pages/")}
    assert max(pages.values()) <= A_PAGE, pages
    weights = []
    console.page.on("requestfinished", lambda one: weights.append(one.sizes()["responseBodySize"]))
    for path in ("/console/", "/console/t/demo/users", "/console/t/demo/keys", "/console/audit"):
        # Nothing of the page before is kept.
        tools = console.context.new_cdp_session(console.page)
        tools.send("Network.enable")
        tools.send("Network.clearBrowserCache")
        console.page.goto("about:blank")
        console.requests.clear()
        weights.clear()
        console.go(path)
        console.idle()
        assert len(console.requests) <= 12, [one.url for one in console.requests]
        assert sum(weights) <= FIRST_VIEW, (path, sum(weights))
        assert shifts(console.page) == 0, path


def test_a_list_of_fifty_rows_keeps_search_filter_and_order_too(console):
    one = console.tenant()
    people = [{"email": f"person.number{number}@acme.example", "delivery": "link"} for number in range(60)]
    console.api("POST", f"/tenants/{one['id']}/invites", {"invites": people})
    weights = {}
    console.page.on("requestfinished", lambda one: weights.__setitem__(one.url, one.sizes()["responseBodySize"]))
    console.go(f"/console/t/{one['slug']}/invites")
    console.idle()
    expect(console.page.locator("tbody tr")).to_have_count(50)
    assert sum(weights.values()) <= FIRST_VIEW, weights
    assert sum(size for url, size in weights.items() if "/invites?" in url) < 8_000, weights


def shifts(page):
    return page.evaluate("""() => new Promise((done) => { let sum = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((one) => (sum += one.hadRecentInput ? 0 : one.value))).observe({type: "layout-shift", buffered: true});
        setTimeout(() => done(sum), 50); })""")


def test_nothing_moves_when_responses_come_late(console):
    page = console.page
    for tab, rows in (("users", "/users?"), ("keys", "/api-keys?"), ("invites", "/invites?"), ("audit", "/audit-events?")):
        tenant, data = [], []
        page.route("**/v1/tenants/demo", lambda route: tenant.append(route))
        page.route(re.compile(re.escape(rows)), lambda route: data.append(route))
        with page.expect_request("**/v1/tenants/demo"):
            page.goto(f"{console.base}/console/t/demo/{tab}")
        expect(page.locator(".finder")).to_be_visible()
        with page.expect_request(re.compile(re.escape(rows))):
            tenant[0].continue_()
        expect(page.locator("tbody .sk").first).to_be_visible()
        data[0].continue_()
        expect(page.locator("tbody .sk")).to_have_count(0)
        expect(page.locator("tbody tr").first).to_be_visible()
        assert shifts(page) == 0, tab
        page.unroute_all()
