"""What stands around every page: palette, keys, themes, focus, names that try to be more than names."""
import re
from urllib.parse import urlencode

from playwright.sync_api import expect

HOSTILE = ["<script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}';DROP TABLE users;--", "\u202eevil\u202c a\u0007b \u2066c " + "x" * 150]


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
    box = page.locator(".palette input")
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
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".palette")).to_have_count(0)


def test_the_palette_offers_the_places_that_were_seen_last(console):
    one = console.tenant("Lately Works")
    page = console.page
    for path in ("/console/", f"/console/t/{one['slug']}/policy", "/console/audit?action=user.created", "/console/"):
        console.go(path)
    page.keyboard.press("Control+k")
    options = page.locator(".palette").get_by_role("option")
    expect(options.nth(0)).to_contain_text("Audit")
    expect(options.nth(0)).to_contain_text("Seen lately")
    expect(options.nth(1)).to_contain_text("Lately Works")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/console/t/{one['slug']}/policy$"))
    assert "user.created" not in page.evaluate("() => sessionStorage.getItem('places')")


def test_two_words_open_a_page_of_a_tenant(console):
    one = console.tenant("Quarry Works")
    page = console.go("/console/")
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill("quarry pol")
    option = page.get_by_role("option", name=re.compile("policy.*Quarry Works"))
    expect(option).to_have_count(1)
    option.click()
    expect(page).to_have_url(re.compile(f"/console/t/{one['slug']}/policy$"))


def test_inside_a_tenant_the_palette_finds_its_keys_invites_and_ids(console):
    one = console.tenant("Search Works")
    path = f"/tenants/{one['id']}"
    key = console.api("POST", f"{path}/api-keys", {"name": "Harbour mail", "scopes": ["keys:verify"]})
    person = console.api("POST", f"{path}/users", {"email": "harbour@acme.example"})
    console.api("POST", f"{path}/invites", {"email": "harbour.two@acme.example", "delivery": "link"})
    page = console.go(f"/console/t/{one['slug']}/users")
    for text, option, heading in (
        ("harbour mail", "Harbour mail.*API key", "Uses by day"), (key["id"], "Harbour mail.*API key", "Uses by day"),
        (person["id"], "harbour@acme.example.*User", "Profile"), ("harbour.two", "harbour.two.*Invite", None),
    ):
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill(text)
        page.get_by_role("option", name=re.compile(option)).click()
        if heading:
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.get_by_role("searchbox", name="Search by email")).to_have_value("harbour.two@acme.example")
    assert "tenant=" in console.asked("/search")[-1].url


def test_a_pasted_id_opens_its_object_and_an_unknown_id_opens_nothing(console):
    one = console.tenant("Id Works")
    person = console.api("POST", f"/tenants/{one['id']}/users", {"email": "by-id@acme.example"})
    decision = console.api("GET", "/provisioning/decisions")["items"][0]["id"]
    page = console.go(f"/console/t/{one['slug']}/users")
    search = re.compile(r"/v1/search\?")
    held, is_held = [], [False]
    page.route(search, lambda route: held.append(route) if is_held[0] else route.continue_())
    for text, heading in ((person["id"], "Profile"), (decision, "Rule by rule"), (one["id"], None)):
        page.keyboard.press("Control+k")
        is_held[0] = True
        with page.expect_request(search):
            page.locator(".palette input").fill(text)
        # At once, before the answer: what is found is opened.
        page.keyboard.press("Enter")
        while not held:
            page.evaluate("1")
        is_held[0] = False
        while held:
            held.pop().continue_()
        expect(page.locator(".palette")).to_have_count(0)
        if heading:
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.locator("main .crumbs")).to_contain_text("Id Works")
    page.unroute_all()
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill("00000000-0000-4000-8000-000000000000")
    expect(page.locator(".palette").get_by_role("option")).to_have_text("Nothing found")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    # Outside a tenant a decision is found too.
    console.go("/console/tenants")
    page.evaluate("localStorage.clear()")
    console.go("/console/tenants")
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill(decision)
    page.get_by_role("option", name=re.compile("Decision")).click()
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()


def test_the_palette_acts_on_what_is_open(console):
    one = console.tenant("Acting Works")
    user = console.api("POST", f"/tenants/{one['id']}/users", {"email": "act@acme.example"})
    answer = console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": one["slug"], "email": "act@acme.example", "email_verified": True,
                                                       "tenant": one["slug"]})
    assert answer["outcome"] == "linked", answer
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    options = page.locator(".palette").get_by_role("option")
    page.keyboard.press("Control+k")
    box = page.locator(".palette input")
    # The name alone offers no act.
    box.fill("act@acme")
    expect(options.filter(has_text="User").first).to_be_visible()
    expect(options.filter(has_text="Suspend")).to_have_count(0)
    box.fill("suspend act")
    expect(options.first).to_contain_text("Suspend: act@acme.example")
    page.keyboard.press("Enter")
    expect(page.locator("main .head .tag")).to_have_text("Suspended")
    page.keyboard.press("Control+k")
    box.fill("dark")
    expect(options.first).to_contain_text("Dark theme")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Control+k")
    box.fill("sign out")
    expect(options.first).to_contain_text("Sign out")
    page.keyboard.press("Escape")


def test_the_palette_finds_a_domain_and_an_origin_by_their_names(console):
    one = console.tenant("Finding Works")
    name = f"{one['slug']}.example"
    made = console.api("POST", f"/tenants/{one['id']}/domains", {"domain": name})
    console.api("POST", f"/tenants/{one['id']}/domains", {"domain": f"other-{name}"})
    console.api("POST", f"/tenants/{one['id']}/cors-origins", {"origin": f"https://app.{name}"})
    page = console.go(f"/console/t/{one['slug']}/users")
    for text, option, row in ((name, "Domain", name), (f"app.{name}", "CORS origin", f"https://app.{name}")):
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill(text)
        page.locator(".palette").get_by_role("option").filter(has_text=re.compile(f"^{re.escape(row)}.*{option}$")).click()
        expect(page.locator("tbody tr").filter(has_text=row).first).to_be_visible()
    # From outside a tenant a verified domain leads into the one that has it.
    console.api("POST", f"/tenants/{one['id']}/domains/{made['id']}/verify", {"method": "operator"})
    console.go("/console/tenants")
    page.evaluate("localStorage.clear()")
    console.go("/console/tenants")
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill(name)
    page.locator(".palette").get_by_role("option", name=re.compile("Domain")).click()
    expect(page).to_have_url(re.compile(f"/domains\\?q={re.escape(name)}"))
    expect(page.locator("tbody tr").first).to_contain_text(name)


def test_the_operators_menu_opens_the_sheet_of_keys(console):
    page = console.go("/console/")
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Undo the last change")


def test_the_tenant_is_switched_and_the_page_stays(console):
    one = console.tenant("Zebra Works")
    page = console.go("/console/t/demo/invites")
    page.get_by_title("Switch tenant").click()
    page.locator(".palette input").fill("Zebra")
    page.get_by_role("option", name=re.compile("Zebra")).click()
    expect(page).to_have_url(re.compile(f"/t/{one['slug']}/invites"))
    expect(page.locator("main .crumbs")).to_contain_text("Zebra Works")


def test_keys_go_to_pages_and_can_be_switched_off(console):
    page = console.go("/console/t/demo/users")
    for key, title in (("k", "API keys · Demo"), ("o", "Overview"), ("t", "Tenants"), ("a", "Audit"), ("i", "Invites · Demo")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_title(f"{title} · Gatehouse")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
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
    period = page.get_by_label("Period", exact=True)
    expect(period.locator("option:checked")).to_have_text("Last 7 days")
    period.select_option(label="Last 24 hours")
    expect(page).to_have_url(re.compile(r"since=\d{4}-"))
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(period.locator("option:checked")).to_have_text("Last 24 hours")
    expect(page.locator("figcaption")).to_contain_text("in a bar")
    page.get_by_text("View as table").click()
    expect(page.get_by_role("columnheader", name="Admitted")).to_be_visible()


def test_one_card_fails_alone(console):
    console.expects_refusals = True
    page = console.page
    page.route(re.compile("/stats/overview"), lambda route: route.fulfill(status=500, content_type="application/problem+json", body='{"title":"Broken"}'))
    console.go("/console/")
    expect(page.locator("[data-state=error]")).to_contain_text("Broken")
    expect(page.get_by_role("heading", name="Latest changes")).to_be_visible()


def test_hostile_names_are_shown_as_plain_text_on_every_page(console):
    page = console.page
    alerts = []
    page.on("dialog", lambda prompt: (alerts.append(prompt.message), prompt.dismiss()))
    for name in HOSTILE:
        # No name, label or note may have such characters; what was only tried is shown as it was sent.
        plain = re.sub("[\u0000-\u001f\u202a-\u202e\u2066-\u2069]", "", name)
        one = console.tenant(plain)
        path = f"/tenants/{one['id']}"
        person = console.api("POST", f"{path}/users", {"email": "u@acme.example", "name": plain})
        key = console.api("POST", f"{path}/api-keys", {"name": plain, "scopes": ["keys:verify"], "note": plain})
        console.api("POST", f"{path}/cors-origins", {"origin": "https://a.acme.example", "label": plain})
        console.api("POST", f"{path}/invites", {"email": "i@acme.example", "delivery": "link"})
        console.api("POST", "/operators", {"email": f"{one['slug']}@gatehouse.test", "name": plain, "role": "support", "scope": {"platform": True}})
        provider = console.api("POST", "/providers", {"kind": "oidc", "name": plain, "issuer": f"https://{one['slug']}.example", "client_id": "x"})
        console.api("POST", "/hooks/pre-signup", {"provider": provider["id"], "subject": name, "name": name, "email": "eve@nowhere.example", "tenant": one["slug"]})
        decision = console.api("GET", f"{path}/provisioning/decisions")["items"]
        base = f"/console/t/{one['slug']}"
        tabs = ("users", "requests", "invites", "policy", "domains", "keys", "keys/new", "origins", "clients", "decisions", "audit", "settings")
        paths = [f"{base}/{tab}" for tab in tabs] + [f"{base}/users/{person['id']}", f"{base}/keys/{key['id']}"]
        paths += ["/console/", "/console/tenants", "/console/people", "/console/operators", "/console/providers", "/console/decisions", "/console/audit", "/console/me"]
        paths += [f"/console/decisions/{one['id']}" for one in decision[:1]] + ["/console/simulator?" + urlencode({"name": name, "subject": name, "tenant": name})]
        for path in paths:
            console.go(path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, name[:20])
            assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0, path
            assert not re.search("[\u202a-\u202e\u2066-\u2069\u0007]", page.locator("body").inner_text()), path
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill(one["slug"])
        page.get_by_role("option", name=re.compile(one["slug"])).first.wait_for()
        page.keyboard.press("Escape")
    console.go("/console/tenants")
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
