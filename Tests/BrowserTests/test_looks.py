"""Accessibility by axe on every page and dialog, contrast from the tokens, reflow, and the budgets."""
import pathlib
import re

import axe_playwright_python
from playwright.sync_api import expect

AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Nothing but colours differs in the dark.
RUN = """async (rules) => (await axe.run(document, {resultTypes: ["violations"], runOnly: rules ? {type: "tag", values: rules} : {type: "rule", values: ["color-contrast"]}})).violations
    .map((one) => one.id + ": " + one.nodes.map((node) => node.target.join(" ")).slice(0, 4).join(", "))"""
PAGES = """/console/ /console/tenants /console/decisions /console/decisions?reason=rate_limited /console/simulator /console/audit /console/operators
    /console/providers /console/me /console/t/demo/users /console/t/demo/users?q=nobody-here /console/t/demo/invites /console/t/demo/policy
    /console/t/demo/domains /console/t/demo/keys /console/t/demo/keys/new?name=Prefilled /console/t/demo/origins /console/t/demo/decisions
    /console/t/demo/audit /console/t/demo/clients /console/t/demo/settings /console/none""".split()
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


def one_of(console, path):
    return console.api("GET", path)["items"][0]["id"]


def test_no_page_has_a_violation_light_and_dark_wide_and_narrow(console):
    pages = PAGES + [
        f"/console/t/demo/users/{one_of(console, '/tenants/demo/users?provider=google')}",
        f"/console/t/demo/users/{one_of(console, '/tenants/demo/users?q=katherine')}", f"/console/t/demo/keys/{one_of(console, '/tenants/demo/api-keys')}",
        f"/console/decisions/{one_of(console, '/provisioning/decisions')}",
    ]
    wrong = []
    for path in pages:
        console.go(path)
        wrong += look(console, path)
    assert not wrong, "\n".join(wrong)


def test_no_page_outside_has_a_violation(console):
    made = console.api("POST", f"/tenants/{console.tenant()['id']}/invites", {"email": "a@acme.example", "delivery": "link"})
    console.context.clear_cookies()
    wrong = []
    for path in ("/console/sign-in?next=/console/audit", "/console/sign-in#token=x", "/console/setup", "/reset", "/reset#token=x", made["accept_url"].replace(console.base, "")):
        console.page.goto("about:blank")
        console.go(path)
        wrong += look(console, path)
    assert not wrong, "\n".join(wrong)


def test_no_dialog_has_a_violation(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "a@acme.example"})
    console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Old", "scopes": ["keys:verify"]})
    page = console.page
    wrong = []

    def opened(path, open_it, what):
        console.go(path)
        open_it()
        expect(page.locator("dialog[open], .menu:popover-open, .toast").first).to_be_visible()
        wrong.extend(look(console, what))

    for path in ("tenants", "operators", "providers", f"t/{one['slug']}/users", f"t/{one['slug']}/invites", f"t/{one['slug']}/domains", f"t/{one['slug']}/origins"):
        opened(f"/console/{path}?new=1", lambda: None, f"new of {path}")
    keys, users = f"/console/t/{one['slug']}/keys", f"/console/t/{one['slug']}/users"
    opened(keys, lambda: page.get_by_role("button", name="Revoke Old").click(), "confirm")
    opened(keys, lambda: page.keyboard.press("Control+k"), "palette")
    opened(keys, lambda: page.keyboard.press("?"), "keys")
    opened(keys, lambda: page.get_by_role("button", name="Show the requests of this view").click(), "requests")
    opened(keys, lambda: page.get_by_role("button", name="Operator menu").click(), "menu")
    opened(users, lambda: page.get_by_label("Select a@acme.example").click() or page.keyboard.press("z"), "selection and message")
    opened(keys, lambda: (page.get_by_role("button", name="Rotate Old").click(), page.get_by_role("dialog").get_by_role("button", name="Rotate").click(), page.locator(".secret").wait_for()), "secret")
    page.get_by_label("I have stored it").check()
    page.get_by_role("button", name="Done").click()
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
    size = sum(path.stat().st_size for path in PUBLIC.rglob("*") if path.is_file())
    assert size <= 150_000, f"all files: {size} bytes"
    weights = []
    console.page.on("requestfinished", lambda one: weights.append(one.sizes()["responseBodySize"]))
    console.go("/console/")
    console.idle()
    assert len(console.requests) <= 12, [one.url for one in console.requests]
    assert sum(weights) <= 60_000, sum(weights)
    shifts = console.page.evaluate("""() => new Promise((done) => { let sum = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((one) => (sum += one.hadRecentInput ? 0 : one.value))).observe({type: "layout-shift", buffered: true});
        setTimeout(() => done(sum), 50); })""")
    assert shifts == 0, shifts
