"""What an operator does for one person: another role or end of an invite, a password link, another address, an act asked twice."""
import json
import re

from playwright.sync_api import expect


def test_an_invite_that_waits_gets_another_role_and_end_and_keeps_its_link(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/invites"
    made = console.api("POST", path, {"email": "a@acme.example", "delivery": "link"})
    page = console.go(f"/console/t/{one['slug']}/invites")
    console.more(page.locator("tbody tr").first, "Edit")
    console.field("Role").select_option("manager")
    console.field("Ends").select_option("90")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr").first).to_contain_text("Manager")
    saved = console.api("GET", f"{path}/{made['id']}")
    assert saved["role"] == "manager" and saved["expires_at"] > made["expires_at"] and saved["status"] == "pending"
    token = made["accept_url"].split("token=")[1]
    assert console.api("POST", "/invites/preview", {"token": token})["role"] == "manager"


def test_a_password_link_is_asked_for_and_shown_once(console):
    user = console.api("GET", "/tenants/demo/users?status=active")["items"][0]
    page = console.go(f"/console/t/demo/users/{user['id']}")
    page.get_by_role("button", name="Password link").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("all sessions end")
    dialog.get_by_role("button", name="Make a link").click()
    expect(dialog.locator(".secret")).to_contain_text("/reset#token=")
    dialog.get_by_label("I have stored it").check()
    dialog.get_by_role("button", name="Done").click()
    assert "/reset#token=" not in page.content()


def test_another_address_is_refused_in_words_where_no_mail_is_sent(console):
    console.expects_refusals = True
    people = console.api("GET", "/tenants/demo/users?status=active")["items"]
    page = console.go(f"/console/t/demo/users/{people[0]['id']}")
    page.get_by_role("button", name="Change address").click()
    console.field("New address").fill("another@demo.example")
    page.get_by_role("dialog").get_by_role("button", name="Mail a link").click()
    expect(page.get_by_role("dialog")).to_contain_text("Without a mail server no address can be proved")
    expect(console.field("New address")).to_have_value("another@demo.example")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()


def test_another_address_that_waits_is_called_off_by_undo(console):
    people = console.api("GET", "/tenants/demo/users?status=active")["items"]
    page = console.go(f"/console/t/demo/users/{people[0]['id']}")
    asked = []
    page.route(re.compile("/email-change$"), lambda route: (asked.append(route.request.method), route.fulfill(
        status=204 if route.request.method == "DELETE" else 202, content_type="application/json",
        body="" if route.request.method == "DELETE" else '{"email":"new@demo.example","expires_at":"2099-01-01T00:00:00.000Z"}')))
    page.get_by_role("button", name="Change address").click()
    console.field("New address").fill("new@demo.example")
    page.get_by_role("dialog").get_by_role("button", name="Mail a link").click()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The change of address is called off")).to_be_visible()
    assert asked == ["POST", "DELETE"]


def test_an_act_that_is_under_way_is_asked_about_until_its_answer_is_there(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users?new=1")
    keys = []

    def answer(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) < 3:
            return route.fulfill(status=409, content_type="application/problem+json", body=json.dumps(
                {"title": "Conflict", "detail": "The same request is under way.", "code": "request_in_progress"}))
        return route.continue_()

    page.route(re.compile("/users$"), answer)
    console.field("Email").fill("once@acme.example")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="once@acme.example")).to_be_visible()
    assert len(keys) == 3 and len(set(keys)) == 1, keys


def test_a_key_is_revoked_with_all_that_it_made(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/api-keys"
    maker = console.api("POST", path, {"name": "Maker", "scopes": ["api-keys:write", "keys:verify"]})
    for name in ("First", "Second"):
        answer = console.context.request.post(f"{console.base}/v1{path}", data={"name": name, "scopes": ["keys:verify"]}, headers={
            "authorization": f"Bearer {maker['key']}", "cookie": ""})
        assert answer.ok, answer.text()
    page = console.go(f"/console/t/{one['slug']}/keys/{maker['id']}")
    page.get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    dialog.get_by_label("Also every key that it made").check()
    dialog.get_by_role("button", name="Revoke key").click()
    expect(page.locator("main h1").first).to_contain_text("Revoked")
    assert {key["status"] for key in console.api("GET", path)["items"]} == {"revoked"}


def test_what_the_server_wants_confirmed_is_said_and_sent_once_more(console):
    console.expects_refusals = True
    made = console.api("POST", "/providers", {"kind": "oidc", "name": "In use", "issuer": "https://in-use.acme.example", "client_id": "x"})
    page = console.go("/console/providers")
    asked = []

    def answer(route):
        asked.append(route.request.url.split("?")[-1] if "?" in route.request.url else "")
        if len(asked) > 1:
            return route.continue_(url=route.request.url.split("?")[0])
        return route.fulfill(status=409, content_type="application/problem+json", body=json.dumps({
            "title": "Confirm", "detail": "12 identities name it: repeat it with `confirm`.", "code": "confirm_required", "confirm": "abc"}))

    page.route(re.compile(f"/providers/{made['id']}"), lambda route: answer(route) if route.request.method == "DELETE" else route.continue_())
    row = page.get_by_role("row", name=re.compile("In use"))
    console.more(row, "Remove")
    remove = page.get_by_role("dialog").get_by_role("button", name="Remove provider")
    remove.click()
    expect(page.get_by_role("dialog")).to_contain_text("12 identities name it")
    remove.click()
    expect(row).to_have_count(0)
    assert asked == ["", "confirm=abc"], asked
