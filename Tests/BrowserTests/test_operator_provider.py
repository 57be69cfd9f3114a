"""Operators who sign in at a provider: set up at the console, then the way there and back, also for a step-up."""
import json
import re

from playwright.sync_api import expect
from test_looks import look
from test_sign_in_pages import scene


def set_up(operator):
    """At the page of operators; the provider is authoritative for example.com."""
    page = operator.go("/console/operators")
    page.get_by_role("button", name="Sign-in at a provider").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Provider", exact=True).select_option(label="Acme SSO")
    dialog.get_by_label("Domains", exact=True).fill("example.com")
    wrong = look(operator, "operators' sign-in at a provider")
    assert not wrong, "\n".join(wrong)
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Operators sign in there from now on")).to_be_visible()


def sign_in(person, path):
    page = person.page
    page.goto(f"{person.base}/console/sign-in?next={path}")
    link = page.get_by_role("link", name="Sign in at Acme SSO")
    link.focus()
    link.press("Enter")
    page.wait_for_url(f"{person.base}{path}")
    expect(page.locator(".top")).to_be_visible()
    # Back leads to no page that asks to sign in again.
    page.go_back()
    page.wait_for_url(f"{person.base}{path}")
    expect(page.locator(".top")).to_be_visible()
    return page


def test_an_operator_signs_in_and_steps_up_at_a_provider(console):
    with scene(console, ["Acme SSO"]) as (operator, person):
        operator.api("POST", "/operators", {"email": "alice@example.com", "name": "Alice", "role": "owner", "scope": {"platform": True}})
        set_up(operator)
        page = sign_in(person, "/console/operators?new=1")
        # The session is too old for what follows: the provider is asked in a window of its own.
        person.expects_refusals = True
        refused = []

        def refuse(route):
            if refused or route.request.method != "POST":
                return route.fallback()
            refused.append(route.request.url)
            route.fulfill(status=403, content_type="application/problem+json", body=json.dumps({
                "title": "Step up required", "status": 403, "code": "step_up_required", "methods": ["provider"]}))
        page.route(re.compile("/v1/operators$"), refuse)
        page.get_by_role("dialog").get_by_label("Email").fill("bob@example.com")
        page.get_by_role("dialog").get_by_role("button", name="Add operator").click()
        asked = page.get_by_role("dialog", name="Is it still you?")
        before = {one["value"] for one in person.cookies() if one["name"] == "gatehouse"}
        with person.context.expect_page():
            asked.get_by_role("link", name="Prove it at your provider").click()
        expect(page.get_by_role("dialog", name="One-time sign-in link")).to_be_visible()
        assert before != {one["value"] for one in person.cookies() if one["name"] == "gatehouse"}
        assert refused


def test_a_person_whom_the_provider_does_not_prove_to_be_an_operator_reads_why(console):
    with scene(console, ["Acme SSO"]) as (operator, person):
        set_up(operator)
        page = person.page
        page.goto(f"{person.base}/console/sign-in")
        page.get_by_role("link", name="Sign in at Acme SSO").click()
        expect(page.locator(".note.danger")).to_contain_text("No operator of this console has that account")
        assert "#" not in page.url
        wrong = look(person, "a refused sign-in at a provider")
        assert not wrong, "\n".join(wrong)


def test_the_sign_in_at_a_provider_is_ended(console):
    with scene(console, ["Acme SSO"]) as (operator, person):
        set_up(operator)
        page = operator.page
        page.get_by_role("button", name="Sign-in at a provider").click()
        page.get_by_role("dialog").get_by_role("button", name="End it").click()
        page.get_by_role("dialog").get_by_role("button", name="End it").click()
        expect(page.get_by_text("It has ended")).to_be_visible()
        person.page.goto(f"{person.base}/console/sign-in")
        expect(person.page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        person.idle()
        assert person.page.get_by_role("link", name="Sign in at Acme SSO").count() == 0
