"""Lists between a phone and a wide screen: a row is one row, and no column is cut."""
from places import keep
from playwright.sync_api import expect

WIDTHS = [721, 834, 1024, 1152, 1200, 1280, 1366, 1440, 1536, 1920]
LISTS = """users invites invites/join-links domains keys origins clients decisions jobs audit requests""".split()
LOOK = """() => ({
    rows: [...document.querySelectorAll("main table.stack tbody tr")].map(row => row.offsetHeight),
    lost: [...document.querySelectorAll("main .table:has(table.stack)")].map(one => one.scrollWidth - one.clientWidth),
    columns: document.querySelectorAll("main table.stack thead th:not([hidden])").length,
})"""


def fill(console):
    one = console.tenant("Bäckerei und Konditorei Hintermüller & Söhne Gesellschaft")
    tenant = f"/tenants/{one['id']}"
    long = "a.very.long.name.of.someone.who.signs.in@an-even-longer-domain.of-a-company.example"
    console.api("POST", f"{tenant}/users", {"email": long, "name": "Wolfeschlegelsteinhausenbergerdorff " * 3})
    console.api("POST", f"{tenant}/invites", {"email": f"b{long}", "delivery": "link"})
    console.api("POST", f"{tenant}/join-links", {"domains": ["an-even-longer-domain.of-a-company.example"]})
    console.api("POST", f"{tenant}/domains", {"domain": "an-even-longer-domain.of-a-company.example"})
    console.api("POST", f"{tenant}/cors-origins", {"origin": "https://an-even-longer-name.of-a-company.example:8443"})
    console.api("POST", f"{tenant}/api-keys", {"name": "The nightly export of everything to the archive in the cellar " * 2,
                "scopes": ["users:read", "users:write", "invites:read", "invites:write", "keys:verify", "policy:read", "audit:read"]})
    return one["slug"]


def check(console, language):
    slug = fill(console)
    paths = [f"/console/t/{slug}/{name}" for name in LISTS] + [f"/console/{name}" for name in ("tenants", "operators", "providers", "audit", "decisions", "keys", "origins")]
    wrong = []
    for path in paths:
        page = console.go(path)
        console.idle()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            seen = page.evaluate(LOOK)
            # What changed has a line for each field.
            high = [] if "audit" in path else [one for one in seen["rows"] if one > (110 if "domains" in path else 70)]
            if high or max(seen["lost"], default=0) > 0:
                wrong.append((language, path, width, high[:3], seen["lost"], seen["columns"]))
            if path.endswith("/keys") and slug in path and width >= 1440:
                assert seen["columns"] == 8, (width, seen)
    assert not wrong, "\n".join(map(str, wrong))
    expect(console.page.locator("main")).to_be_visible()


def test_rows_stay_rows_at_every_width(console):
    check(console, "en")


def test_rows_stay_rows_in_german(console):
    keep(console, lang="de")
    check(console, "de")


def test_the_actions_for_selected_rows_stay_in_view(console):
    console.page.set_viewport_size({"width": 1280, "height": 480})
    page = console.go("/console/t/demo/users")
    last = page.locator("tbody tr").last
    last.scroll_into_view_if_needed()
    last.get_by_role("checkbox").check()
    bar = page.get_by_role("group", name="Selected rows")
    expect(bar).to_contain_text("1 selected")
    box = bar.bounding_box()
    assert 50 <= box["y"] < 430, box


def test_on_a_phone_nothing_covers_an_operators_role(console):
    console.page.set_viewport_size({"width": 390, "height": 844})
    page = console.go("/console/operators")
    assert page.locator("tbody tr").first.locator(".status").count() == 1
