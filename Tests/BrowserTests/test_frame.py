"""What stands around every page: palette, keys, themes, focus, names that try to be more than names."""
import re

from playwright.sync_api import expect

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202eevil\u202c", "a\u0007b", "';DROP TABLE users;--", "{{7*7}}", "x" * 190,
]


def test_after_a_navigation_the_title_changes_and_the_heading_has_focus(console):
    page = console.go("/console/")
    page.get_by_role("link", name="Decisions").first.click()
    expect(page.locator("main h1")).to_be_focused()
    expect(page).to_have_title("Decisions · Gatehouse")
    page.reload()
    expect(page.locator("main h1")).to_be_attached()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()


def test_the_palette_finds_pages_tenants_people_and_ids(console):
    page = console.go("/console/t/demo/users")
    page.keyboard.press("Control+k")
    box = page.locator("command-palette input")
    expect(box).to_be_focused()
    box.fill("ada")
    page.get_by_role("option", name=re.compile("ada@demo.example")).wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()
    page.keyboard.press("Control+k")
    box.fill("Create API")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Create API key")).to_be_visible()
    decision = console.api("GET", "/provisioning/decisions")["items"][0]["id"]
    page.keyboard.press("Control+k")
    box.fill(decision)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(page.locator("command-palette")).to_have_count(0)


def test_the_tenant_is_switched_and_the_page_stays(console):
    one = console.tenant("Zebra Works")
    page = console.go("/console/t/demo/invites")
    page.get_by_title("Switch tenant").click()
    page.locator("command-palette input").fill("Zebra")
    page.get_by_role("option", name=re.compile("Zebra")).click()
    expect(page).to_have_url(re.compile(f"/t/{one['slug']}/invites"))
    expect(page.locator("main h1")).to_have_text("Zebra Works")


def test_keys_go_to_pages_and_can_be_switched_off(console):
    page = console.go("/console/t/demo/users")
    for key, title in (("k", "API keys · Demo"), ("o", "Overview"), ("t", "Tenants"), ("a", "Audit"), ("i", "Invites · Demo")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_title(f"{title} · Gatehouse")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="No letter keys").click()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_theme_is_kept_and_the_overview_follows_its_window(console):
    page = console.go("/console/")
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="24 hours").click()
    expect(page).to_have_url(re.compile("window=24h"))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="24 hours")).to_have_attribute("aria-pressed", "true")
    page.get_by_text("View as table").click()
    expect(page.get_by_role("columnheader", name="Admitted")).to_be_visible()


def test_one_card_fails_alone(console):
    console.expects_refusals = True
    page = console.page
    page.route(re.compile("/stats/overview"), lambda route: route.fulfill(status=500, content_type="application/problem+json", body='{"title":"Broken"}'))
    console.go("/console/")
    expect(page.locator("[data-state=error]")).to_contain_text("Broken")
    expect(page.get_by_role("heading", name="Latest changes")).to_be_visible()


def test_hostile_names_stay_text_on_every_page(console):
    tenants = []
    for name in HOSTILE:
        one = console.tenant(name)
        tenants.append(one)
        console.api("POST", f"/tenants/{one['id']}/users", {"email": "u@acme.example", "name": name})
        console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": name, "scopes": ["keys:verify"], "note": name})
        console.api("POST", f"/tenants/{one['id']}/cors-origins", {"origin": "https://a.acme.example", "label": name})
    page = console.page
    alerts = []
    page.on("dialog", lambda prompt: (alerts.append(prompt.message), prompt.dismiss()))
    for one in tenants:
        for tab in ("users", "keys", "origins", "audit", "settings"):
            console.go(f"/console/t/{one['slug']}/{tab}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (tab, one["name"][:20])
            assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
            assert not re.search("[\u202a-\u202e\u2066-\u2069\u0007]", page.locator("body").inner_text())
    for path in ("/console/audit", "/console/", "/console/tenants"):
        console.go(path)
    expect(page.get_by_text("<script>alert(1)</script>").first).to_be_attached()
    assert not alerts


def test_a_very_long_name_is_refused_in_words_and_a_long_search_stays_text(console):
    console.expects_refusals = True
    page = console.go("/console/tenants?new=1")
    console.field("Name").fill("n" * 10_000)
    console.field("Slug").fill("long-name")
    page.keyboard.press("Enter")
    expect(console.field("Name")).to_have_attribute("aria-invalid", "true")
    page.keyboard.press("Escape")
    console.go("/console/t/demo/users?q=" + "y" * 250)
    expect(page.locator("[data-state=none]")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
