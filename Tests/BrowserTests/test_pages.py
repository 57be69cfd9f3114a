"""The states of the pages that are no lists, and those of lists that the demonstration does not have."""
import json
import re

from console import Console, FreshServer
from playwright.sync_api import expect
from test_keyboard import button, press
from test_states import FAULT, LISTS

EMPTY = {"items": [], "next_cursor": None, "total": {"value": 0, "exact": True}}
FORBIDDEN = {"title": "Forbidden", "detail": "Your role lacks the right readThat.", "code": "forbidden", "request_id": "abc123"}


def answer(route, status, body):
    route.fulfill(status=status, content_type="application/problem+json" if status >= 400 else "application/json", body=json.dumps(body))


def things(console):
    """Each page that is no list, and what it asks for."""
    def one_of(path):
        return console.api("GET", path)["items"][0]["id"]

    tenant = console.api("GET", "/tenants/demo")["id"]
    user, key, decision = one_of("/tenants/demo/users"), one_of("/tenants/demo/api-keys"), one_of("/provisioning/decisions")
    return {
        f"/console/t/demo/users/{user}": f"/v1/.*/users/{user}$", f"/console/t/demo/keys/{key}": f"/v1/.*/api-keys/{key}$",
        f"/console/decisions/{decision}": f"/v1/.*/decisions/{decision}$", "/console/t/demo/policy": "/v1/.*/policy$",
        "/console/t/demo/settings": f"/v1/tenants/{tenant}$", "/console/t/demo/clients": "/v1/.*/clients$", "/console/": "/stats/overview",
    }


def test_each_page_says_what_went_wrong_and_tries_again(console):
    console.expects_refusals = True
    page = console.page
    for path, part in things(console).items():
        pattern = re.compile(part)
        page.route(pattern, lambda route: answer(route, 503, FAULT))
        console.go(path)
        alert = page.locator("main [data-state=error]")
        expect(alert).to_contain_text("Unavailable")
        expect(alert).to_contain_text("abc123")
        page.unroute(pattern)
        alert.get_by_role("button", name="Try again").click()
        expect(alert).to_have_count(0)
        expect(page.locator("main h2, main tbody tr").first).to_be_visible()


def test_each_page_that_is_refused_names_the_missing_right(console):
    console.expects_refusals = True
    page = console.page
    # Every role may read these lists; a role to come may not.
    open_to_all = ("/console/tenants", "/console/decisions", "/console/t/demo/users", "/console/t/demo/invites", "/console/t/demo/keys", "/console/t/demo/decisions")
    for path, part in {**things(console), **{path: re.escape(LISTS[path]) for path in open_to_all}}.items():
        pattern = re.compile(part)
        page.route(pattern, lambda route: answer(route, 403, FORBIDDEN))
        console.go(path)
        forbidden = page.locator("main [data-state=forbidden]")
        expect(forbidden).to_contain_text("readThat")
        assert forbidden.get_by_role("button").count() == 0, path
        page.unroute(pattern)


def test_each_page_says_that_it_is_offline_or_signs_in_again(console):
    console.expects_refusals = True
    page = console.page
    cookies = console.cookies()
    for path in things(console):
        console.go(path)
        page.get_by_role("link", name="Simulator").first.click()
        expect(page.locator("main h1")).to_have_text("Simulator")
        console.context.set_offline(True)
        page.go_back()
        expect(page.locator("main [data-state=error]").first).to_contain_text("You are offline")
        console.context.set_offline(False)
        # It is asked again by itself.
        expect(page.locator("main [data-state=error]")).to_have_count(0)
        expect(page.locator("main h2, main tbody tr").first).to_be_visible()
        page.get_by_role("link", name="Simulator").first.click()
        expect(page.locator("main h1")).to_have_text("Simulator")
        console.context.clear_cookies()
        page.go_back()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert f"next={path.replace('/', '%2F')}" in page.url, page.url
        console.context.add_cookies(cookies)


def test_a_request_that_fails_offline_or_signed_out_is_reported(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go("/console/simulator?email=kept@acme.example")
    console.context.set_offline(True)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert").last).to_contain_text("Nothing was lost")
    expect(console.field("Email")).to_have_value("kept@acme.example")
    console.context.set_offline(False)
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".trace li").first).to_be_visible()
    console.go(f"/console/t/{one['slug']}/keys/new?name=Kept")
    page.get_by_label("Verify API keys").check()
    page.route(re.compile("/v1/.*/api-keys$"), lambda route: answer(route, 503, FAULT))
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("alert")).to_contain_text("abc123")
    expect(console.field("Name")).to_have_value("Kept")
    page.unroute_all()
    cookies = console.cookies()
    console.context.clear_cookies()
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    console.context.add_cookies(cookies)
    assert console.api("GET", f"/tenants/{one['id']}/api-keys")["items"] == []


def test_each_list_has_an_empty_state_that_teaches(console):
    page = console.page
    for path, part in LISTS.items():
        pattern = re.compile(re.escape(part))
        page.route(pattern, lambda route: answer(route, 200, EMPTY))
        console.go(path)
        expect(page.locator("main [data-state=empty] h2")).to_be_visible()
        page.unroute(pattern)


def test_each_list_says_when_nothing_matches_and_clears_its_filters(console):
    page = console.page
    for path, what in {
        "/console/tenants": "q=zzqx", "/console/operators": "q=zzqx", "/console/providers": "kind=cognito", "/console/decisions": "email=zz%40acme.example",
        "/console/audit": "target=zzqx", "/console/t/demo/invites": "q=zzqx", "/console/t/demo/keys": "q=zzqx&status=active", "/console/t/demo/origins": "q=zzqx",
        "/console/t/demo/decisions": "email=zz%40acme.example", "/console/t/demo/audit": "actor=zzqx",
    }.items():
        console.go(f"{path}?{what}")
        none = page.locator("[data-state=none]")
        expect(none).to_contain_text(re.compile("zzqx|zz@acme.example|cognito"))
        none.get_by_role("button", name="Clear all").click()
        expect(page.locator("main tbody tr").first).to_be_visible()
        assert page.url.endswith(path), page.url


def test_back_and_reload_keep_each_page_and_what_was_searched(console):
    page = console.page
    for path in things(console):
        console.go(path)
        heading = page.locator("main h1").inner_text()
        parts = page.locator("main h2").count()
        page.reload()
        expect(page.locator("main h2")).to_have_count(parts)
        page.get_by_role("link", name="Simulator").first.click()
        expect(page.locator("main h1")).to_have_text("Simulator")
        page.go_back()
        expect(page.locator("main h1")).to_have_text(heading)
        expect(page.locator("main h2")).to_have_count(parts)
    for path, label in (("/console/operators", "Search by email or name"), ("/console/t/demo/origins", "Search origins"), ("/console/tenants", "Search by name or slug")):
        console.go(path)
        box = page.get_by_role("searchbox", name=label)
        box.press_sequentially("demo")
        expect(page).to_have_url(re.compile("q=demo"))
        page.get_by_role("link", name="Simulator").first.click()
        expect(page.locator("main h1")).to_have_text("Simulator")
        page.go_back()
        expect(box).to_have_value("demo")
        page.reload()
        expect(box).to_have_value("demo")
    console.go("/console/simulator")
    console.field("Email").fill("again@acme.example")
    page.get_by_role("button", name="Run").click()
    expect(page).to_have_url(re.compile("again"))
    page.get_by_role("link", name="Decisions").first.click()
    expect(page.locator("main h1")).to_have_text("Decisions")
    page.go_back()
    expect(console.field("Email")).to_have_value("again@acme.example")


def test_a_tenant_is_created_and_renamed_by_mouse(console):
    page = console.go("/console/tenants")
    page.get_by_role("button", name="New tenant").click()
    console.field("Name").fill("Red Harbour")
    page.get_by_role("dialog").get_by_role("button", name="Create tenant").click()
    expect(page.locator("main .crumbs")).to_contain_text("Red Harbour")
    page.get_by_role("link", name="Settings").click()
    console.field("Name").fill("Green Harbour")
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator("main .crumbs")).to_contain_text("Green Harbour")
    page.get_by_role("button", name="Delete tenant").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("red-harbour")
    page.get_by_role("dialog").get_by_role("button", name="Delete tenant").click()
    expect(page.locator("main h1")).to_have_text("Tenants")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("main .crumbs")).to_contain_text("Green Harbour")


def test_a_new_service_gets_its_first_owner_once_who_then_signs_in_by_password(console):
    with FreshServer() as server:
        first = Console(server, console.browser)
        page = first.page
        page.goto(f"{server.base}/console/setup#token={server.token}")
        page.get_by_label("Your name").click()
        page.keyboard.type("Ada")
        page.keyboard.press("Tab")
        page.keyboard.type("ada@gatehouse.test")
        page.keyboard.press("Tab")
        page.keyboard.type("a sentence is fine here")
        page.keyboard.press("Enter")
        expect(page.locator("main h1")).to_have_text("Overview")
        expect(page.get_by_role("heading", name="First steps")).to_be_visible()
        first.go("/console/tenants")
        expect(page.locator("[data-state=empty]")).to_contain_text("Open the first gate")
        # By mouse, then by keyboard alone.
        for by_keys in (False, True):
            page.get_by_role("button", name="Operator menu").click()
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_label("Email")).to_be_focused()
            page.keyboard.type("ada@gatehouse.test")
            if by_keys:
                page.keyboard.press("Tab")
                page.keyboard.type("a sentence is fine here")
                press(page, button(page, "Sign in"))
            else:
                page.get_by_label("Password").fill("a sentence is fine here")
                page.get_by_role("button", name="Sign in", exact=True).click()
            expect(page.locator("main h1")).to_have_text("Overview")
        first.check_silence()
        first.expects_refusals = True
        page.goto("about:blank")
        page.goto(f"{server.base}/console/setup#token={server.token}")
        expect(page.get_by_role("heading", name="Set-up is closed")).to_be_visible()
        first.check_silence()
        first.close()


def test_the_pages_outside_say_that_they_are_offline_and_keep_what_was_typed(console):
    console.expects_refusals = True
    made = console.api("POST", f"/tenants/{console.tenant()['id']}/invites", {"email": "a@acme.example", "delivery": "link"})
    console.context.clear_cookies()
    page = console.page
    for path, act in (("/console/sign-in", "Sign in"), ("/reset#token=x", "Set the password"),
                      (made["accept_url"].replace(console.base, ""), "Accept the invite")):
        page.goto("about:blank")
        console.go(path)
        for box in page.locator("form input:not([readonly]):visible").all():
            box.fill("typed@acme.example, a sentence")
        console.context.set_offline(True)
        page.get_by_role("button", name=act, exact=True).click()
        expect(page.locator("form").get_by_role("alert").last).to_contain_text("Nothing was lost")
        expect(page.locator("form input:visible").last).to_have_value("typed@acme.example, a sentence")
        console.context.set_offline(False)
