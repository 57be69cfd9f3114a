"""Who comes by a one-time link: what they come back with, and what leads on once it is too late to prove anything."""
import contextlib
import json
import re
import uuid

from console import Console
from playwright.sync_api import expect

PASSWORD = "a keeper's own long password"


@contextlib.contextmanager
def arriving(console):
    """A new operator at their one-time link, and its address."""
    email = f"new-{uuid.uuid4().hex[:8]}@gatehouse.test"
    link = console.api("POST", "/operators", {"email": email, "role": "admin", "scope": {"platform": True}})["sign_in_url"]
    with contextlib.closing(Console(console.server, console.browser)) as one:
        one.page.goto(f"{one.base}/console/sign-in#{link.split('#')[1]}")
        yield one, email
        one.check_silence()


def test_enter_goes_on_at_a_link_and_a_password_is_asked_for_first(console):
    with arriving(console) as (one, email):
        page = one.page
        expect(page.get_by_role("button", name="Continue")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Choose how you come back")).to_be_visible()
        expect(one.field("New password")).to_be_focused()
        page.reload()
        one.field("New password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Overview")
        expect(page.get_by_text("Choose a password or a passkey")).to_have_count(0)
        assert one.api("GET", "/session")["methods"] == ["password"]


def test_a_postponed_choice_of_a_password_waits_and_a_sign_out_asks_about_it(console):
    with arriving(console) as (one, _):
        page = one.page
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Not now").click()
        page.get_by_role("link", name="Choose a password or a passkey").click()
        expect(page.get_by_text("without one you cannot sign in again")).to_be_visible()
        page.get_by_role("button", name="Operator menu").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("dialog", name="Sign out for good?")).to_be_visible()
        page.get_by_role("button", name="Stay").click()
        assert one.api("GET", "/session")["remedies"][0] == "set_up"


def test_an_operator_without_any_factor_is_offered_a_link_and_no_sign_out(console):
    console.expects_refusals = True
    page = console.go(f"/console/t/{console.tenant()['slug']}/users")
    asked = {"title": "Step up", "status": 403, "code": "step_up_required", "methods": [], "detail": "An export needs a proof.",
             "remedies": ["mail_link", "operator_reset"]}
    page.route(re.compile("/users"), lambda route: route.fulfill(
        status=403, content_type="application/problem+json", body=json.dumps(asked)))
    mailed = []
    page.route(re.compile("/v1/session/link"), lambda route: (mailed.append(route.request.method), route.fulfill(status=202, json={})))
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="There is nothing to prove it by")
    expect(dialog).to_contain_text("gatehouse operator reset")
    expect(dialog.get_by_role("button", name=re.compile("Sign"))).to_have_count(0)
    dialog.get_by_role("button", name="Mail me a new link").click()
    expect(dialog.get_by_role("status")).to_contain_text("on its way")
    assert mailed == ["POST"]
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_export_waits_for_the_step_up_and_is_saved_after_it(console):
    """What tells of progress does not cover the question."""
    console.expects_refusals = True
    page = console.go(f"/console/t/{console.tenant()['slug']}/users")
    asked = {"title": "Step up", "status": 403, "code": "step_up_required", "methods": ["password"], "detail": "An export needs a proof."}
    refusals = []

    def refuse_once(route):
        if "csv" not in route.request.headers.get("accept", "") or refusals:
            return route.continue_()
        refusals.append(1)
        return route.fulfill(status=403, content_type="application/problem+json", body=json.dumps(asked))

    page.route(re.compile("/users"), refuse_once)
    page.route(re.compile("/session/step-up"), lambda route: route.fulfill(status=200, json={}))
    page.get_by_role("button", name="Export").click()
    dialog = page.get_by_role("dialog", name="Is it still you?")
    # Longer than what comes at once.
    page.evaluate("new Promise(done => setTimeout(done, 700))")
    expect(page.get_by_role("dialog")).to_have_count(1)
    dialog.get_by_label("Your password").fill("x")
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Continue").click()
    assert saved.value.suggested_filename.endswith(".csv")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_unknown_section_of_a_tenant_is_no_page(console):
    one = console.tenant()["slug"]
    for path in (f"/console/t/{one}/operators/", f"/console/t/{one}/import", f"/console/t/{one}/policy/x", "/console/nowhere"):
        answer = console.page.goto(console.base + path)
        assert answer.status == 404, path
        expect(console.page.get_by_role("heading", name="There is no such page").last).to_be_visible()
    # Each place that the navigation leads to is one for the server, too.
    console.go(f"/console/t/{one}/users")
    for href in console.page.eval_on_selector_all(".nav a, .tabs a", "all => all.map(one => one.href)"):
        assert console.context.request.get(href).status == 200, href


def test_an_unreachable_server_is_not_mistaken_for_a_new_version(console):
    console.expects_refusals = True
    page = console.go("/console/tenants")
    page.route(re.compile("/livez|pages/audit"), lambda route: route.abort())
    page.get_by_role("link", name="Audit").first.click()
    expect(page.get_by_role("heading", name="The server cannot be reached").last).to_be_visible()
    expect(page.get_by_text("new version")).to_have_count(0)
    page.unroute_all()
    expect(page.locator("main h1")).to_have_text("Audit")


def test_a_key_without_a_scope_says_that_it_has_none(console):
    page = console.go(f"/console/t/{console.tenant()['slug']}/keys/new")
    console.field("Name").fill("CI")
    page.keyboard.press("Enter")
    wrong = page.locator(".wrong:visible")
    expect(wrong).to_have_text("Please fill this in.")
    box = wrong.bounding_box()
    assert 52 < box["y"] < 780, box
    expect(page.get_by_role("alert").filter(has_text="Nothing is ticked")).to_be_attached()
