"""Every state of a view: loading, empty, no match, error, forbidden, missing, offline, session over."""
import json
import re

from console import Console, FreshServer
from playwright.sync_api import expect

LISTS = {
    "/console/tenants": "/v1/tenants?", "/console/decisions": "/v1/provisioning/decisions?", "/console/audit": "/v1/audit-events?",
    "/console/operators": "/v1/operators?", "/console/providers": "/v1/providers?", "/console/t/demo/users": "/users?",
    "/console/t/demo/invites": "/invites?", "/console/t/demo/keys": "/api-keys?", "/console/t/demo/origins": "/cors-origins?",
    "/console/t/demo/domains": "/domains?", "/console/t/demo/decisions": "/provisioning/decisions?", "/console/t/demo/audit": "/audit-events?",
}
FAULT = {"title": "Unavailable", "detail": "The service cannot answer now; try again.", "code": "unavailable", "request_id": "abc123"}


def test_a_list_and_its_tenant_are_each_requested_once(console):
    page = console.page
    for name in ("Asked", "Named", "Shown"):
        one = console.tenant(name)
        console.api("POST", "/operators", {"email": f"{one['slug']}@gatehouse.test", "role": "support", "scope": {"tenant_id": one["id"]}})
        console.api("POST", "/providers", {"kind": "google", "name": name, "client_id": "web", "tenant": one["slug"]})
    for path, part in LISTS.items():
        console.requests.clear()
        console.go(path)
        console.idle()
        assert len(console.asked(part)) == 1, (path, [one.url for one in console.asked("")])
        assert len(console.asked("")) <= 3, (path, [one.url for one in console.asked("")])
    console.requests.clear()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Invites").click()
    expect(page.get_by_role("searchbox", name="Search by email")).to_be_visible()
    console.idle()
    assert len(console.asked("")) == 1, [one.url for one in console.asked("")]


def test_each_list_says_what_went_wrong_and_tries_again(console):
    console.expects_refusals = True
    page = console.page
    for path, part in LISTS.items():
        pattern = re.compile(re.escape(part))
        page.route(pattern, lambda route: route.fulfill(status=503, content_type="application/problem+json", body=json.dumps(FAULT)))
        console.go(path)
        alert = page.locator("main [data-state=error]")
        expect(alert).to_contain_text("Unavailable")
        expect(alert).to_contain_text("abc123")
        page.unroute(pattern)
        alert.get_by_role("button", name="Try again").click()
        expect(page.locator("main tbody tr").first).to_be_visible()


def same_page(page, path):
    """Asks for this list anew, by a link to where one is."""
    page.locator(f'.nav a[href="{path}"], .tabs a[href="{path}"]').first.click()


def test_each_list_says_that_it_is_offline_and_goes_on_afterwards(console):
    console.expects_refusals = True
    for path in LISTS:
        page = console.go(path)
        console.context.set_offline(True)
        same_page(page, path)
        expect(page.locator("main [data-state=error]")).to_contain_text("You are offline")
        expect(page.locator(".offline")).to_be_visible()
        console.context.set_offline(False)
        # It is asked again by itself.
        expect(page.locator("main tbody tr").first).to_be_visible()


def test_each_list_leads_to_the_sign_in_and_back_when_the_session_has_ended(console):
    console.expects_refusals = True
    cookies = console.cookies()
    for path in LISTS:
        page = console.go(path)
        console.context.clear_cookies()
        same_page(page, path)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert f"next={path.replace('/', '%2F')}" in page.url, page.url
        console.context.add_cookies(cookies)


def test_each_page_that_a_role_may_not_read_names_the_missing_right(console):
    support = console.as_operator("support")
    support.expects_refusals = True
    for path, right in (("/console/audit", "readAudit"), ("/console/operators", ""), ("/console/providers", ""), *((f"/console/t/demo/{tab}", "")
                        for tab in ("policy", "domains", "origins", "clients", "audit"))):
        page = support.go(path)
        forbidden = page.locator("main [data-state=forbidden]")
        expect(forbidden).to_contain_text("You may not see this")
        expect(forbidden).to_contain_text(re.compile("right|may not|" + (right or "read")))
        assert page.get_by_role("button", name="Try again").count() == 0
    support.check_silence()
    support.close()


def test_back_and_reload_keep_the_filter_of_each_list(console):
    for path, label, value in (
        ("/console/tenants", "Status", "active"), ("/console/decisions", "Outcome", "refused"), ("/console/providers", "Kind", "google"),
        ("/console/t/demo/users", "Role", "member"), ("/console/t/demo/invites", "Status", "pending"), ("/console/t/demo/keys", "Environment", "live"),
        ("/console/t/demo/decisions", "Outcome", "refused"), ("/console/audit", "Action", "user.created"), ("/console/t/demo/audit", "Action", "user.created"),
    ):
        page = console.go(path)
        field = page.get_by_label(label, exact=True)
        if field.evaluate("node => node.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
            page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(re.escape(value)))
        page.reload()
        expect(field).to_have_value(value)
        page.go_back()
        expect(field).to_have_value("")
        page.go_forward()
        expect(field).to_have_value(value)


def test_an_empty_list_teaches_and_offers_the_first_step(console):
    one = console.tenant()
    for tab, title, action in (
        ("users", "Nobody has come in yet", "Add user"), ("invites", "No invites yet", "Invite"), ("keys", "No API keys yet", "Create key"),
        ("origins", "No origin is allowed", "Add origin"), ("domains", "No domain is claimed", "Add domain"), ("decisions", "Nobody has knocked yet", "Try the simulator"),
    ):
        page = console.go(f"/console/t/{one['slug']}/{tab}")
        empty = page.locator("[data-state=empty]")
        expect(empty).to_contain_text(title)
        expect(empty.get_by_text(action, exact=True)).to_be_visible()


def test_a_list_without_matches_repeats_the_filters_and_clears_them(console):
    page = console.go("/console/t/demo/users?q=nobody-at-all&status=active")
    none = page.locator("[data-state=none]")
    expect(none).to_contain_text("nobody-at-all")
    expect(none).to_contain_text("Status: active")
    none.get_by_role("button", name="Clear all").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    assert "q=" not in page.url


def test_back_and_reload_keep_search_filter_and_order(console):
    page = console.go("/console/t/demo/users")
    page.keyboard.press("/")
    page.keyboard.type("demo.example")
    expect(page).to_have_url(re.compile("q=demo.example"))
    page.get_by_label("Status").select_option("active")
    expect(page.locator("tbody tr")).to_have_count(6)
    page.get_by_role("button", name="User", exact=True).click()
    expect(page).to_have_url(re.compile("sort=email"))
    expect(page.locator("tbody tr a.main").first).to_have_text("ada@demo.example")
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(6)
    expect(page.get_by_role("searchbox", name="Search by email or name")).to_have_value("demo.example")
    page.locator("tbody tr a.main").first.click()
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(6)
    expect(page.get_by_label("Status")).to_have_value("active")
    page.go_back()
    expect(page.get_by_role("columnheader", name="Created")).to_have_attribute("aria-sort", "descending")


def test_pages_go_on_by_cursor_and_a_new_filter_drops_it(console):
    one = console.tenant()
    emails = [{"email": f"p{number:03}@acme.example", "delivery": "link"} for number in range(55)]
    console.api("POST", f"/tenants/{one['id']}/invites", {"invites": emails})
    page = console.go(f"/console/t/{one['slug']}/invites")
    expect(page.locator("tbody tr")).to_have_count(50)
    expect(page.get_by_text("55 invites")).to_be_visible()
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("tbody tr")).to_have_count(5)
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(5)
    page.get_by_label("Status").select_option("pending")
    expect(page.locator("tbody tr")).to_have_count(50)
    assert "cursor=" not in page.url


def test_actions_that_a_role_may_not_do_are_absent_and_a_deep_link_says_why(console):
    support = console.as_operator("support")
    support.expects_refusals = True
    page = support.go("/console/t/demo/keys")
    nav = page.get_by_role("navigation", name="Main")
    for name in ("Audit", "Operators", "Providers", "CORS origins", "Sign-up policy"):
        expect(nav.get_by_role("link", name=name)).to_have_count(0)
    expect(page.get_by_role("link", name="Create key")).to_have_count(0)
    expect(page.locator("td.end").get_by_role("button", name=re.compile("^Revoke")).first).to_be_visible()
    support.go("/console/audit")
    expect(page.locator("[data-state=forbidden]")).to_contain_text("readAudit")
    support.check_silence()
    support.close()


def test_an_operator_of_one_tenant_sees_that_tenant(console):
    one = console.tenant("Only Mine")
    own = console.as_operator("admin", one["id"])
    page = own.go(f"/console/t/{one['slug']}/users")
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Tenants")).to_have_count(0)
    own.expects_refusals = True
    own.go("/console/t/demo/users")
    expect(page.locator("[data-state=missing]")).to_be_visible()
    own.check_silence()
    own.close()


def test_missing_pages_and_objects_are_reported(console):
    console.expects_refusals = True
    page = console.go("/console/decisions/00000000-0000-7000-8000-000000000000")
    expect(page.get_by_text("Decisions are kept for 90 days")).to_be_visible()
    console.go("/console/no/such/page")
    expect(page.get_by_role("heading", name="There is no such page", level=2)).to_be_visible()
    console.go("/console/t/demo/users/00000000-0000-4000-8000-000000000000")
    expect(page.locator("[data-state=missing]")).to_be_visible()


def test_being_offline_is_shown_and_what_was_typed_can_be_sent_again(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users?new=1")
    console.field("Email").fill("typed@acme.example")
    console.context.set_offline(True)
    expect(page.locator(".offline")).to_be_attached()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Nothing was lost")
    expect(console.field("Email")).to_have_value("typed@acme.example")
    console.context.set_offline(False)
    expect(page.locator(".offline")).to_have_count(0)
    console.field("Email").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="typed@acme.example")).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/users")["total"]["value"] == 1


def test_after_the_session_ended_a_sign_in_leads_back_to_the_page(console):
    other = console.as_operator("owner")
    other.expects_refusals = True
    page = other.go("/console/t/demo/users?status=active")
    other.context.clear_cookies()
    page.get_by_label("Status").select_option("pending")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert "next=%2Fconsole%2Ft%2Fdemo%2Fusers%3Fstatus%3Dpending" in page.url, page.url
    expect(page.get_by_text("continue where you were")).to_be_visible()
    other.check_silence()
    other.close()


def test_a_loading_page_shows_the_shape_of_its_content(console):
    page = console.page
    page.route(re.compile("/users\\?"), lambda route: None)
    page.goto(f"{console.base}/console/t/demo/users")
    expect(page.locator("tbody .sk").first).to_be_attached()


def test_a_refused_password_is_reported_and_the_address_stays_in_the_form(console):
    console.context.clear_cookies()
    console.expects_refusals = True
    page = console.go("/console/sign-in")
    page.get_by_label("Email").fill("owner@gatehouse.test")
    page.get_by_label("Password").fill("not the password at all")
    page.keyboard.press("Enter")
    expect(page.locator("form").get_by_role("alert")).to_contain_text("password is wrong")
    expect(page.get_by_label("Email")).to_have_value("owner@gatehouse.test")


def test_setup_is_closed_once_there_is_an_owner(console):
    console.expects_refusals = True
    page = console.go("/console/setup#token=whatever")
    assert "#" not in page.url
    expect(page.get_by_role("heading", name="Set-up is closed")).to_be_visible()
    expect(page.get_by_label("Your name")).to_have_count(0)


def test_a_server_without_an_owner_says_where_its_setup_begins(console):
    with FreshServer() as server:
        fresh = Console(server, console.browser)
        try:
            # The first request is refused: there is no session.
            fresh.expects_refusals = True
            page = fresh.go("/console/")
            expect(page.get_by_text("This server is not set up yet")).to_be_visible()
            expect(page.get_by_text("gatehouse setup")).to_be_visible()
            expect(page.get_by_text("Welcome back")).to_have_count(0)
            fresh.api("POST", "/setup", {"token": server.token, "name": "Ada", "email": "ada@acme.example", "password": "a long enough passphrase"})
            fresh.context.clear_cookies()
            page = fresh.go("/console/sign-in")
            expect(page.get_by_text("The gate knows its keepers.")).to_be_visible()
            expect(page.get_by_text("This server is not set up yet")).to_have_count(0)
            fresh.check_silence()
        finally:
            fresh.close()


def test_an_invited_person_accepts_and_the_link_is_spent(console):
    one = console.tenant("Garden Club")
    made = console.api("POST", f"/tenants/{one['id']}/invites", {"email": "iris@acme.example", "delivery": "link"})
    console.context.clear_cookies()
    page = console.go(made["accept_url"].replace(console.base, ""))
    expect(page.get_by_role("heading", name="Join Garden Club")).to_be_visible()
    page.get_by_label("Your name").fill("Iris")
    page.get_by_label("Choose a password").fill("roses are red violets too")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Welcome to Garden Club")).to_be_visible()
    assert "token" not in page.url
    console.expects_refusals = True
    page.goto("about:blank")
    console.go(made["accept_url"].replace(console.base, ""))
    expect(page.get_by_role("heading", name="This invite cannot be used")).to_be_visible()


def test_a_password_reset_is_requested_and_a_dead_link_says_that_it_is_dead(console):
    console.context.clear_cookies()
    page = console.go("/reset")
    page.get_by_label("Email").fill("nobody@stranger.example")
    page.get_by_role("button", name="Mail me a link").click()
    expect(page.get_by_role("heading", name="Look into your mail")).to_be_visible()
    console.expects_refusals = True
    page.goto("about:blank")
    console.go("/reset#token=spent")
    expect(page.get_by_role("heading", name="Set a new password")).to_be_visible()
    assert "token" not in page.url
    page.get_by_label("New password").fill("a sentence is fine here")
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_role("alert")).to_contain_text("ask for a new one")


def test_this_was_not_me_acts_by_its_button_alone(console):
    console.context.clear_cookies()
    page = console.go("/not-me#token=spent")
    expect(page.get_by_role("heading", name="This was not you?")).to_be_visible()
    assert "token" not in page.url
    console.expects_refusals = True
    page.get_by_role("button", name="End all sessions").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid, or no longer valid")
    page.goto("about:blank")
    console.go("/not-me")
    expect(page.get_by_role("heading", name="No link here")).to_be_visible()
