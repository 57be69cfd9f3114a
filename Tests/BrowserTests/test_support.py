"""The first question of support: why somebody was refused, what was seen, and whose an account is."""
import json
import re

from playwright.sync_api import expect


def shown(console, steps, **more):
    """The page of a refusal with these steps in its trace; answers are those that a server gives which explains them."""
    path = "/provisioning/decisions"
    one = {**console.api("GET", f"{path}?outcome=refused")["items"][0], **more}
    one["trace"] = [*one["trace"], *steps]
    page = console.page
    page.route(re.compile(f"/v1{path}/{one['id']}$"), lambda route: route.fulfill(content_type="application/json", body=json.dumps(one)))
    console.go(f"/console/decisions/{one['id']}")
    return page, one


def test_what_was_seen_and_did_not_help_is_named_and_leads_to_it(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    invite = "00000000-0000-4000-8000-000000000001"
    page, _ = shown(console, [{"rule": "4", "result": "invite_revoked", "detail": invite, "about": [
        {"type": "invite", "id": invite, "tenant_id": demo, "name": "late@demo.example"}]}])
    seen = page.locator(".trace li").filter(has_text="Seen, but of no help")
    expect(seen).to_contain_text("An invite that was revoked")
    seen.get_by_role("link", name="late@demo.example").click()
    expect(page.get_by_role("searchbox", name="Search by email")).to_have_value("late@demo.example")


UNPROVED = {"rule": "8", "result": "address_unproved", "detail": "", "about": []}


def test_whose_an_account_is_whose_address_was_never_proved_is_asked_and_said(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    page, one = shown(console, [UNPROVED], reason="identity_link_required", tenant_id=demo)
    asked = []
    page.route(re.compile("/resolve$"), lambda route: (asked.append(route.request.post_data_json), route.fulfill(
        content_type="application/json", body=json.dumps(one))))
    page.get_by_role("button", name="give them the account").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("every sign-in that no operator linked is removed")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Give the account").click()
    expect(page.get_by_text("The account is theirs")).to_be_visible()
    page.get_by_role("button", name="open another").click()
    console.field("New address of the account that is there").fill("other@demo.example")
    dialog.get_by_role("button", name="Open another").click()
    expect(page.get_by_text("The next try is decided anew")).to_be_visible()
    assert asked == [{"action": "give_account"}, {"action": "open_another", "email": "other@demo.example"}], asked


def test_who_may_not_link_is_not_asked_whose_it_is(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    support = console.as_operator("support")
    page, _ = shown(support, [UNPROVED], reason="identity_link_required", tenant_id=demo)
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()
    expect(page.get_by_role("button", name="give them the account")).to_have_count(0)
    support.check_silence()
    support.close()
