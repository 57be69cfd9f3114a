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


def test_a_refusal_names_what_was_found_but_did_not_help_and_links_to_it(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    invite = "00000000-0000-4000-8000-000000000001"
    page, _ = shown(console, [{"rule": "4", "result": "invite_revoked", "detail": invite, "about": [
        {"type": "invite", "id": invite, "tenant_id": demo, "name": "late@demo.example"}]}])
    seen = page.locator(".trace li").filter(has_text="Seen, but of no help")
    expect(seen).to_contain_text("An invite that was revoked")
    seen.get_by_role("link", name="late@demo.example").click()
    expect(page.get_by_role("searchbox", name="Search by email")).to_have_value("late@demo.example")


UNPROVED = {"rule": "8", "result": "address_unproved", "detail": "", "about": []}


def test_the_console_asks_whose_an_account_with_an_unproved_address_is(console):
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
    console.field("New address of the existing account").fill("other@demo.example")
    dialog.get_by_role("button", name="Open another").click()
    expect(page.get_by_text("The next attempt is decided again")).to_be_visible()
    assert asked == [{"action": "give_account"}, {"action": "open_another", "email": "other@demo.example"}], asked


def test_an_operator_who_may_not_link_is_not_asked_whose_account_it_is(console):
    demo = console.api("GET", "/tenants/demo")["id"]
    support = console.as_operator("support")
    page, _ = shown(support, [UNPROVED], reason="identity_link_required", tenant_id=demo)
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()
    expect(page.get_by_role("button", name="give them the account")).to_have_count(0)
    support.check_silence()
    support.close()


def refused_for_want_of_proof(console, tenant):
    """An account whose address was never proved, and the refusal of the owner of that address."""
    email = f"ann@{tenant['slug']}.example"
    made = console.api("POST", f"/tenants/{tenant['id']}/invites", {"email": email, "delivery": "link"})
    accepted = console.api("POST", "/invites/accept", {
        "token": made["accept_url"].split("token=")[1], "name": "Ann", "password": "a sentence is fine here"})
    answer = console.api("POST", "/hooks/pre-signup", {
        "provider": "google", "subject": tenant["slug"], "email": email, "email_verified": True, "tenant": tenant["slug"]})
    assert answer["reason"] == "identity_link_required", answer
    return email, accepted["user"]["id"], answer["decision_id"]


def test_a_refusal_is_found_by_the_reference_that_the_person_was_told(console):
    one = console.tenant()
    answer = console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": "ref", "email": f"ref@{one['slug']}.example", "email_verified": True})
    reference = console.api("GET", f"/provisioning/decisions/{answer['decision_id']}")["reference"]
    page = console.go("/console/tenants")
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill(reference)
    page.locator(".palette").get_by_role("option", name=re.compile("Decision")).click()
    expect(page.get_by_text(reference, exact=True)).to_be_visible()
    console.go("/console/decisions")
    for part in (reference, f"ref@{one['slug']}"):
        page.get_by_role("searchbox").fill(part)
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody")).to_contain_text(f"ref@{one['slug']}.example")


def test_a_revoked_invite_is_named_as_seen(console):
    one = console.tenant("Seen Works")
    email = f"late@{one['slug']}.example"
    made = console.api("POST", f"/tenants/{one['id']}/invites", {"email": email, "delivery": "link"})
    console.api("POST", f"/tenants/{one['id']}/invites/{made['id']}/revoke")
    answer = console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": "late", "email": email, "email_verified": True, "tenant": one["slug"]})
    page = console.go(f"/console/decisions/{answer['decision_id']}")
    seen = page.locator(".trace li").filter(has_text="Seen, but of no help")
    expect(seen).to_contain_text("An invite that was revoked")
    expect(seen.get_by_role("link", name=email)).to_be_visible()


def test_an_account_is_given_to_the_person_who_proved_its_address(console):
    one = console.tenant()
    email, user, decision = refused_for_want_of_proof(console, one)
    page = console.go(f"/console/decisions/{decision}")
    page.get_by_role("button", name="give them the account").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("every sign-in that no operator linked is removed")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    dialog.get_by_role("button", name="Give the account").click()
    expect(page.get_by_text("The account is theirs")).to_be_visible()
    after = console.api("GET", f"/tenants/{one['id']}/users/{user}")
    assert [id["provider"] for id in after["identities"]] == ["google"] and after["email_verified_at"], after


def test_an_existing_account_gets_another_address(console):
    one = console.tenant()
    email, user, decision = refused_for_want_of_proof(console, one)
    page = console.go(f"/console/decisions/{decision}")
    page.get_by_role("button", name="open another").click()
    console.field("New address of the existing account").fill(f"other@{one['slug']}.example")
    page.get_by_role("dialog").get_by_role("button", name="Open another").click()
    expect(page.get_by_text("The next attempt is decided again")).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/users/{user}")["email"] == f"other@{one['slug']}.example"


def test_a_support_operator_is_not_asked_whose_account_it_is(console):
    one = console.tenant()
    _, _, decision = refused_for_want_of_proof(console, one)
    support = console.as_operator("support")
    page = support.go(f"/console/decisions/{decision}")
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()
    expect(page.get_by_role("button", name="give them the account")).to_have_count(0)
    support.check_silence()
    support.close()


def test_the_headline_repeats_what_the_refusing_step_says(console):
    about = [{"type": "tenant", "id": f"00000000-0000-4000-8000-00000000000{at}", "name": name} for at, name in ((1, "Acme"), (2, "Globex"))]
    page, _ = shown(console, [{"rule": "0", "result": "no_tenant", "detail": "two tenants were named", "about": about}], reason="no_tenant")
    headline = page.locator(".note.info")
    expect(headline).to_contain_text("Two tenants were named: Acme, Globex.")
    expect(headline).not_to_contain_text("verified domain")
    page.unroute_all()
    page, _ = shown(console, [{"rule": "0", "result": "no_tenant", "detail": "no such tenant"}], reason="no_tenant")
    expect(page.locator(".note.info")).to_contain_text("The requested tenant does not exist.")


def test_a_registered_authority_is_named_instead_of_asked_for(console):
    console.page.route(re.compile(r"/v1/providers\?limit=100"), lambda route: route.fulfill(json={"items": [
        {"id": "1", "name": "Okta of Acme", "email_trust": "authoritative", "domains": ["acme.example"]}]}))
    page, _ = shown(console, [{"rule": "9", "result": "email_unverified", "detail": "not authoritative"}], reason="email_unverified", email="a@acme.example")
    expect(page.locator(".note.info")).to_contain_text("Okta of Acme is the authority of acme.example")
    expect(page.locator(".note.info")).not_to_contain_text("Register a provider")
