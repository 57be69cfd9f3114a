"""Answers whose body is still on its way when the page no longer wants it, or when the connection ends."""
import re
import time

from playwright.sync_api import expect
from relay import Relay
from test_account import PASSWORD, operator
from test_drafts import publish

WATCH = """() => {
    window.drawn = []
    new MutationObserver(() => {
        if (document.querySelector("main [data-state=error]")) drawn.push("error")
        if (document.querySelector(".spread[hidden]")) drawn.push("no bars")
    }).observe(document.querySelector("main"), { childList: true, subtree: true, attributes: true })
}"""
CHOOSE = """(node, value) => {
    node.value = value
    node.dispatchEvent(new Event("change"))
}"""


def knock(console, tenant, email):
    console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": f"s-{email}", "email": email, "email_verified": True,
                                              "tenant": tenant["slug"]})


def test_a_response_that_is_abandoned_half_way_draws_nothing(console):
    one = console.tenant()
    for number in range(3):
        knock(console, one, f"s{number}@acme.example")
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        console.go(f"/console/t/{one['slug']}/decisions")
        expect(page.locator("tbody tr")).to_have_count(3)
        bars = page.get_by_role("slider", name="Rows by time")
        bars.focus()
        page.evaluate(WATCH)
        relay.stop("outcome=refused")
        with page.expect_response(re.compile("outcome=refused")):
            page.get_by_label("Outcome").evaluate(CHOOSE, "refused")
        assert relay.stopped.wait(30)
        page.get_by_label("Outcome").evaluate(CHOOSE, "deferred")
        expect(page.locator("[data-state=none]")).to_be_visible()
        expect(page).to_have_url(re.compile("outcome=deferred"))
        assert page.evaluate("drawn") == []
        expect(bars).to_be_focused()


def ask_for_a_key(console, tenant):
    console.go(f"/console/t/{tenant['slug']}/keys/new")
    console.field("Name").fill("cut off")
    console.page.get_by_role("button", name="Verify keys").click()
    return console.page.get_by_role("button", name="Create key")


def lose(console, relay, pattern, button):
    """What `button` does is done, and its answer is lost."""
    relay.stop(pattern)
    button.click()
    assert relay.stopped.wait(30)
    relay.cut()
    expect(console.page.get_by_text("Nothing was lost")).to_be_visible()


def number_of(console, tenant, what):
    return console.api("GET", f"/tenants/{tenant['id']}/{what}")["total"]["value"]


def test_a_response_that_breaks_off_is_discarded_and_sending_again_gets_it_whole(console):
    console.expects_refusals = True
    one = console.tenant()
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        create = ask_for_a_key(console, one)
        lose(console, relay, "^POST .*/api-keys ", create)
        expect(console.field("Name")).to_have_value("cut off")
        # However long that was read.
        page.clock.set_fixed_time(time.time() + 90)
        create.click()
        expect(page.get_by_role("dialog").locator(".secret")).to_have_text(re.compile("^gate_live_"))
        # The act was done once: the second time the server gave the answer of the first.
        assert number_of(console, one, "api-keys") == 1


def test_a_form_that_is_sent_much_later_counts_as_a_new_request(console):
    console.expects_refusals = True
    one = console.tenant()
    with Relay(console.server) as relay:
        console.base = relay.base
        create = ask_for_a_key(console, one)
        lose(console, relay, "^POST .*/api-keys ", create)
        console.page.clock.set_fixed_time(time.time() + 16 * 60)
        create.click()
        expect(console.page.get_by_role("dialog").locator(".secret")).to_be_visible()
        assert number_of(console, one, "api-keys") == 2


def test_a_join_link_is_created_once_however_often_its_form_is_sent(console):
    console.expects_refusals = True
    one = console.tenant()
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        console.go(f"/console/t/{one['slug']}/invites/join-links?new=1")
        make = page.get_by_role("dialog").get_by_role("button", name="Make the link")
        lose(console, relay, "^POST .*/join-links ", make)
        page.clock.set_fixed_time(time.time() + 90)
        make.click()
        expect(page.get_by_role("dialog", name="Join link").locator(".secret")).to_be_visible()
        assert number_of(console, one, "join-links") == 1


def test_a_preview_does_not_abandon_an_act_whose_response_was_lost(console):
    console.expects_refusals = True
    one = console.tenant()
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        console.go(f"/console/t/{one['slug']}/invites?new=1")
        console.field("Email addresses").fill("a@acme.example\nb@acme.example")
        console.field("Delivery").select_option(label="Give me the link")
        dialog = page.get_by_role("dialog", name="Invite people")
        invite = dialog.get_by_role("button", name="Invite", exact=True)
        lose(console, relay, "^POST .*/invites ", invite)
        dialog.get_by_role("button", name="Preview").click()
        page.get_by_role("dialog", name="would be invited").get_by_role("button", name="Close").last.click()
        invite.click()
        # The links, which are shown only now.
        expect(page.get_by_role("dialog", name="2 of 2 invited").locator(".secret")).to_contain_text("b@acme.example http")


def test_sending_again_after_a_step_up_is_still_the_same_act(console):
    one = console.tenant()
    with operator(console) as other, Relay(console.server) as relay:
        other.expects_refusals = True
        page = other.page
        other.base = relay.base
        create = ask_for_a_key(other, one)
        lose(other, relay, "^POST .*/api-keys ", create)
        # What the server says to a session of more than ten minutes.
        page.route(re.compile("/api-keys$"), lambda route: route.fulfill(
            status=403, content_type="application/problem+json", json={
                "title": "Step up required", "status": 403, "code": "step_up_required", "methods": ["password"],
                "detail": "A new key needs a proof from the last 10 minutes that it is you."}), times=1)
        create.click()
        dialog = page.get_by_role("dialog", name="Is it still you?")
        dialog.get_by_label("Your password").fill(PASSWORD)
        dialog.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("dialog").locator(".secret")).to_have_text(re.compile("^gate_live_"))
        assert number_of(console, one, "api-keys") == 1


def test_a_lost_response_does_not_hide_what_was_done_meanwhile(console):
    console.expects_refusals = True
    one = console.tenant()
    publish(console, one, sign_up="open")
    knock(console, one, "a@acme.example")
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        console.go(f"/console/t/{one['slug']}/users")
        group = page.get_by_role("group", name="Selected rows")

        def act(name):
            page.get_by_label("Select a@acme.example").check()
            group.get_by_role("button", name=name).click()
            if name == "Suspend":
                page.get_by_role("dialog").get_by_role("button", name="Suspend 1 user").click()
        relay.stop("^POST .*/users/actions ")
        act("Suspend")
        assert relay.stopped.wait(30)
        relay.cut()
        expect(page.get_by_text("0 done, 1 not")).to_be_visible()
        expect(page.locator("tbody")).to_contain_text("Suspended")
        act("Resume")
        expect(page.locator("tbody")).not_to_contain_text("Suspended")
        act("Suspend")
        expect(page.locator("tbody")).to_contain_text("Suspended")


def test_a_list_whose_response_breaks_off_is_requested_again(console):
    console.expects_refusals = True
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        relay.stop("^GET /v1/tenants[?]")
        page.goto(f"{relay.base}/console/tenants")
        assert relay.stopped.wait(30)
        relay.cut()
        expect(page.locator("main tbody tr:not(:has(.sk))").first).to_be_visible()


def test_suggestions_belong_to_what_was_typed_last(console):
    console.expects_refusals = True
    one = console.tenant("Suggested Works")
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        console.go("/console/operators?new=1")
        field = console.field("Only this tenant")
        relay.stop("^GET /v1/tenants[?]q=Su&")
        field.fill("Su")
        assert relay.stopped.wait(30)
        with page.expect_event("requestfailed", lambda request: "q=Su&" in request.url):
            field.fill("Suggested")
        expect(page.locator("datalist option").first).to_have_attribute("value", one["slug"])


def test_the_overview_shows_the_period_that_was_chosen_last(console):
    console.expects_refusals = True
    with Relay(console.server) as relay:
        page = console.page
        console.base = relay.base
        console.go("/console/")
        choice = page.get_by_label("Period", exact=True)
        relay.stop("^GET /v1/stats/overview")
        choice.select_option(label="Last 30 days")
        assert relay.stopped.wait(30)
        with page.expect_event("requestfailed", lambda request: "/stats/overview" in request.url):
            choice.select_option(label="Last 7 days")
        expect(page.locator("main .hold, main .wait, main [data-state=error]")).to_have_count(0)
        expect(page.locator("main .cards .num").first).to_be_visible()


class Late:
    """The first answer of those that match comes when `come()` lets it, and the page has dealt with it then."""

    def __init__(self, page, pattern, change=None):
        self.page, self.change, self.held = page, change, []
        page.route(re.compile(pattern), self._hold)

    def _hold(self, route):
        if self.held:
            return route.fallback()
        self.held.append(route)

    def come(self):
        route = self.held[0]
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), **(self.change or {})})
        self.page.evaluate("() => fetch('/v1/session').then(answer => answer.text())")


def open_next(page, path):
    """As a link does: without loading anew."""
    page.evaluate("path => { location.assign(path) }", path)


def test_the_top_bar_shows_the_tenant_of_the_page(console):
    first, second = console.tenant("First Works"), console.tenant("Second Works")
    page = console.go("/console/")
    late = Late(page, f"/v1/tenants/{first['slug']}$")
    open_next(page, f"/console/t/{first['slug']}/users")
    page.wait_for_url(re.compile(first["slug"]))
    open_next(page, f"/console/t/{second['slug']}/users")
    switch = page.get_by_title("Switch tenant")
    expect(switch).to_contain_text("Second Works")
    late.come()
    expect(switch).to_contain_text("Second Works")


def test_the_number_of_waiting_people_is_shown_on_the_next_page(console):
    one = console.tenant()
    page = console.go("/console/")
    late = Late(page, f"/v1/me[?]tenant={one['slug']}", {"join_requests": 7})
    open_next(page, f"/console/t/{one['slug']}/users")
    expect(page.get_by_role("heading", name="Users", exact=True)).to_be_visible()
    open_next(page, f"/console/t/{one['slug']}/invites")
    expect(page.get_by_role("heading", name="Invites", exact=True)).to_be_visible()
    late.come()
    expect(page.locator("nav a[href$='/requests'] .tag")).to_have_text("7")


def test_the_people_shown_are_those_of_the_latest_search(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "first@people.example"})
    page = console.go("/console/people")
    late = Late(page, "/v1/people/search$")
    email = page.locator("form").first.get_by_label("Email")
    search = page.get_by_role("button", name="Search", exact=True)
    email.fill("first@people.example")
    search.click()
    expect(search).to_be_disabled()
    # From the other form, which waits for no answer of the first.
    page.get_by_text("Search by a sign-in instead").click()
    console.field("Issuer").fill("https://accounts.google.com")
    console.field("Subject").fill("nobody")
    page.get_by_role("button", name="Search by sign-in").click()
    expect(page.get_by_text("No tenant has a row of this person.")).to_be_visible()
    late.come()
    expect(search).to_be_enabled()
    expect(page.get_by_text("No tenant has a row of this person.")).to_be_visible()


def test_the_chosen_tenant_is_the_one_whose_name_is_shown(console):
    console.expects_refusals = True
    first, second = console.tenant("Former Works"), console.tenant("Later Works")
    page = console.go("/console/operators?new=1")
    console.field("Email").fill(f"{first['slug']}@gatehouse.test")
    field = console.field("Only this tenant")
    field.fill(first["slug"])
    late = Late(page, f"/v1/tenants/{first['slug']}$")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/v1/operators")) as asked:
        page.get_by_role("dialog").get_by_role("button", name="Add operator").click()
        expect(page.locator("form[aria-busy]")).to_be_attached()
        field.fill(second["slug"])
        late.come()
    assert asked.value.post_data_json["scope"]["tenant"] == second["slug"]
