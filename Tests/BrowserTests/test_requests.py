"""People who ask to join: their page, its number in the navigation, and the two answers."""
import re

from playwright.sync_api import expect
from test_words import verified


def asking(console, *names, **policy):
    """A tenant whose policy is `approval`, and people who wait there."""
    one = console.tenant("Asking Works")
    domain = f"{one['slug']}.example"
    verified(console, one, domain, **{"sign_up": "approval", **policy})
    provider = console.api("POST", "/providers", {"kind": "oidc", "name": f"Staff of {one['slug']}", "issuer": f"https://id.{domain}", "client_id": "x",
                                                  "email_trust": "authoritative", "domains": [domain]})
    for name in names:
        answer = console.api("POST", "/hooks/pre-signup", {"provider": provider["id"], "subject": name, "email": f"{name}@{domain}",
                                                           "email_verified": True, "tenant": one["slug"]})
        assert answer["outcome"] == "created", answer
    return one, domain


def entry(page):
    return page.get_by_role("navigation", name="Main").get_by_role("link", name=re.compile("^Join requests"))


def test_a_person_who_asks_to_join_is_shown_in_the_inbox_and_approved(console):
    one, domain = asking(console, "ann", "bob")
    page = console.go(f"/console/t/{one['slug']}/requests")
    expect(page.get_by_role("row", name=re.compile(f"ann@{domain}"))).to_be_visible()
    expect(entry(page)).to_contain_text("2")
    page.get_by_role("row", name=re.compile(f"ann@{domain}")).get_by_role("button", name="Approve").click()
    expect(page.get_by_role("row", name=re.compile(f"ann@{domain}"))).to_have_count(0)
    expect(entry(page)).to_contain_text("1")
    users = console.api("GET", f"/tenants/{one['id']}/users?status=active")["items"]
    assert [each["email"] for each in users] == [f"ann@{domain}"]


def test_a_person_who_asks_to_join_is_approved_with_a_message(console):
    one, domain = asking(console, "ann")
    page = console.go(f"/console/t/{one['slug']}/requests")
    console.more(page.get_by_role("row", name=re.compile(f"ann@{domain}")), "Approve with a message")
    console.field("Message to them").fill("Come in.")
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Nobody waits")).to_be_visible()
    expect(entry(page).locator(".tag")).to_have_count(0)
    event, = console.api("GET", f"/tenants/{one['id']}/audit-events?action=user.approved")["items"]
    assert event["changes"]["reason"] == [None, "Come in."], event


def test_a_person_who_asks_to_join_is_declined_with_a_message_and_may_be_restored(console):
    one, domain = asking(console, "ann")
    page = console.go(f"/console/t/{one['slug']}/requests")
    console.more(page.get_by_role("row", name=re.compile(f"ann@{domain}")), "Decline")
    console.field("Message to them").fill("We do not know you.")
    page.get_by_role("dialog").get_by_role("button", name="Decline").click()
    expect(page.get_by_text("Nobody waits")).to_be_visible()
    expect(entry(page).locator(".tag")).to_have_count(0)
    event, = console.api("GET", f"/tenants/{one['id']}/audit-events?action=user.declined")["items"]
    assert event["changes"]["reason"] == [None, "We do not know you."], event
    user, = console.api("GET", f"/tenants/{one['id']}/users?status=deleted")["items"]
    console.api("POST", f"/tenants/{one['id']}/users/{user['id']}/restore")
    console.go(f"/console/t/{one['slug']}/requests")
    expect(page.get_by_role("row", name=re.compile(f"ann@{domain}"))).to_be_visible()


def test_several_requests_are_declined_together_and_the_decline_is_undone(console):
    one, domain = asking(console, "ann", "bob", "eve")
    page = console.go(f"/console/t/{one['slug']}/requests")
    for name in ("ann", "bob"):
        page.get_by_label(f"Select {name}@{domain}").click()
    page.get_by_role("group", name="Selected rows").get_by_role("button", name="Decline").click()
    page.get_by_role("dialog").get_by_role("button", name="Decline 2 requests").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(entry(page)).to_contain_text("1")
    page.get_by_role("button", name=re.compile("^Undo")).click()
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(entry(page)).to_contain_text("3")
    # So does one alone.
    console.more(page.get_by_role("row", name=re.compile(f"eve@{domain}")), "Decline")
    page.get_by_role("dialog").get_by_role("button", name="Decline").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name=re.compile("^Undo")).click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_a_domain_shows_who_signs_up_with_it(console):
    one, domain = asking(console)
    page = console.go(f"/console/t/{one['slug']}/domains")
    row = page.get_by_role("row", name=re.compile(domain))
    expect(row).to_contain_text("As the policy")
    row.get_by_role("button", name="Who is admitted").click()
    console.field("Whom it admits").select_option("ask")
    console.field("Role of those it admits").select_option("manager")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Ask")
    expect(row).to_contain_text("Manager")
    made, = console.api("GET", f"/tenants/{one['id']}/domains")["items"]
    assert (made["mode"], made["role"]) == ("ask", "manager")


def test_the_policy_has_a_block_list_and_quotas(console):
    one, domain = asking(console, sign_up="open")
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Blocked domains").fill("Bad.example")
    console.field("Blocked addresses").fill("eve@good.example")
    page.get_by_label("Keep out disposable mail domains").check()
    console.field("Invites pending at once").fill("7")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Version 3 is in force.", exact=True)).to_be_visible()
    policy = console.api("GET", f"/tenants/{one['id']}/policy")
    assert (policy["blocked_domains"], policy["blocked_emails"], policy["block_disposable"], policy["invites_pending_max"]) == (
        ["bad.example"], ["eve@good.example"], True, 7), policy
    answer = console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": "eve", "email": "eve@good.example", "email_verified": True,
                                                       "tenant": one["slug"]})
    assert answer["reason"] == "email_blocked", answer
    console.go(f"/console/decisions/{answer['decision_id']}")
    expect(page.get_by_text("The address is on the tenant's block list.")).to_be_visible()
    expect(page.locator(".trace")).to_contain_text("The address is blocked.")
