"""A person in all tenants: found, signed out, exported and erased, with the address in no URL, log or history."""
import base64
import json
import uuid

from playwright.sync_api import expect

from test_exports import saved


def found(console):
    """Ada in two tenants, searched for by an address that no other test has."""
    address = f"ada-{uuid.uuid4().hex[:8]}@person.example"
    tenants = [console.tenant("One Works"), console.tenant("Two Works")]
    users = [console.api("POST", f"/tenants/{one['id']}/users", {"email": address}) for one in tenants]
    page = console.go("/console/people")
    page.get_by_label("Email").fill(address)
    page.keyboard.press("Enter")
    expect(page.locator("main tbody tr")).to_have_count(2)
    return page, tenants, users, address


def give_reason(page, act, reason="Request 4711"):
    page.get_by_label("Reason").fill(reason)
    page.locator("dialog[open]").get_by_role("button", name=act, exact=True).click()


def everything(page):
    """What the browser keeps of where it was."""
    return page.evaluate("JSON.stringify([location.href, {...localStorage}, {...sessionStorage}, history.state])")


def test_a_person_is_found_in_every_tenant_and_the_address_is_stored_nowhere(console):
    page, tenants, users, address = found(console)
    rows = page.locator("main tbody tr")
    expect(rows).to_contain_text([one["name"] for one in sorted(tenants, key=lambda one: one["slug"])])
    for one in users:
        expect(page.locator(f"a[href$='/users/{one['id']}']")).to_be_visible()
    assert address not in everything(page) and page.url.endswith("/console/people")
    page.get_by_label("Email").fill("nobody@person.example")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("No tenant has a row of this person.")
    assert "person.example" not in console.server.log.read_text(errors="replace")


def test_the_chosen_rows_are_suspended_with_a_reason(console):
    page, tenants, users, address = found(console)
    page.locator("main tbody tr").first.get_by_role("checkbox").uncheck()
    page.get_by_role("button", name="Suspend", exact=True).click()
    give_reason(page, "Suspend")
    expect(page.locator(".toast")).to_contain_text("1 row done")
    expect(page.locator("main tbody tr")).to_contain_text(["Pending", "Suspended"])
    last = max(tenants, key=lambda one: one["slug"])
    event = console.api("GET", f"/tenants/{last['id']}/audit-events?action=user.suspended")["items"][0]
    assert event["changes"]["reason"] == [None, "Request 4711"]


def test_everything_that_is_stored_about_a_person_is_saved_as_one_file(console):
    page, _, users, address = found(console)
    page.get_by_role("button", name="Export", exact=True).click()
    download = saved(page, lambda: give_reason(page, "Export"))
    assert download.suggested_filename.startswith("person-") and address not in download.suggested_filename
    people = json.load(open(download.path(), encoding="utf-8"))["people"]
    assert {one["id"] for one in people} == {one["id"] for one in users}


def test_an_erasure_shows_what_breaks_asks_for_the_address_and_gives_a_certificate(console):
    # Its sign-in is of just now; the first answer is a refusal that asks for the confirmation.
    owner = console.as_operator("owner")
    owner.expects_refusals = True
    page, tenants, users, address = found(owner)
    page.get_by_role("button", name="Erase", exact=True).click()
    give_reason(page, "Show what is erased")
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("This cannot be undone.")
    expect(dialog.locator("tbody tr")).to_contain_text(["Users: 1", "Users: 1"])
    dialog.get_by_role("button", name="Erase for good").click()
    expect(dialog).to_contain_text("Please fill this in.")
    dialog.get_by_label(f"Type {address} to confirm").fill(address)
    dialog.get_by_role("button", name="Erase for good").click()
    download = saved(page, page.get_by_role("button", name="Save the certificate").click)
    certificate = open(download.path(), encoding="utf-8").read()
    payload = certificate.split(".")[1]
    said = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert {one["user_id"] for one in said["users"]} == {one["id"] for one in users}
    page.get_by_role("button", name="Close").click()
    expect(page.locator("main")).to_contain_text("No tenant has a row of this person.")
    for one, user in zip(tenants, users):
        event = console.api("GET", f"/tenants/{one['id']}/audit-events?action=user.purged")["items"][0]
        assert event["target"]["id"] == user["id"]
    assert address not in console.server.log.read_text(errors="replace")
    owner.check_silence()
    owner.close()


def test_an_operator_who_may_not_erase_is_not_offered_it(console):
    support = console.as_operator("support")
    page = support.go("/console/people")
    address = f"ada-{uuid.uuid4().hex[:8]}@person.example"
    console.api("POST", f"/tenants/{console.tenant()['id']}/users", {"email": address})
    page.get_by_label("Email").fill(address)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="End sessions")).to_be_visible()
    for name in ("Erase", "Export"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    support.close()
