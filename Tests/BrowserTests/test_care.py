"""What an operator does for one person: another role or end of an invite, a password link, another address, an act asked twice."""
import json
import re

from playwright.sync_api import expect


def test_a_pending_invite_gets_another_role_and_end_and_keeps_its_link(console):
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


def test_a_change_of_address_is_refused_with_an_explanation_if_no_mail_is_sent(console):
    console.expects_refusals = True
    people = console.api("GET", "/tenants/demo/users?status=active")["items"]
    page = console.go(f"/console/t/demo/users/{people[0]['id']}")
    page.get_by_role("button", name="Change address").click()
    console.field("New address").fill("another@demo.example")
    page.get_by_role("dialog").get_by_role("button", name="Mail a link").click()
    expect(page.get_by_role("dialog")).to_contain_text("Without a mail server no address can be verified")
    expect(console.field("New address")).to_have_value("another@demo.example")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()


def test_an_undo_cancels_a_pending_change_of_address(console):
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


def test_the_console_asks_about_a_running_act_until_its_response_is_there(console):
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


def test_a_key_is_revoked_with_everything_that_it_created(console):
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


def test_what_the_server_wants_confirmed_is_shown_and_sent_once_more(console):
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


def erase(page, word):
    expect(page.get_by_role("dialog").get_by_role("button", name="Erase for good")).to_be_visible()
    page.get_by_role("dialog").get_by_role("textbox").fill(word)
    page.get_by_role("dialog").get_by_role("button", name="Erase for good").click()


def test_a_user_is_erased_for_good_once_the_address_is_typed(console):
    console.expects_refusals = True
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    users = [console.api("POST", path, {"email": f"{name}@acme.example"}) for name in ("ann", "bob")]
    page = console.go(f"/console/t/{one['slug']}/users")
    row = page.locator("tbody tr", has_text="ann@acme.example")
    console.more(row, "Erase for good")
    erase(page, "ann")
    expect(page.get_by_role("dialog")).to_contain_text("That is not ann@acme.example.")
    assert len(console.api("GET", path)["items"]) == 2
    erase(page, "ann@acme.example")
    expect(page.get_by_text("ann@acme.example is erased")).to_be_visible()
    expect(row).to_have_count(0)
    # From the own page the way leads back to the list.
    console.go(f"/console/t/{one['slug']}/users/{users[1]['id']}")
    page.get_by_role("button", name="Erase for good").click()
    erase(page, "bob@acme.example")
    expect(page).to_have_url(re.compile(f"/t/{one['slug']}/users$"))
    actions = [event["action"] for event in console.api("GET", f"/tenants/{one['id']}/audit-events")["items"]]
    assert actions.count("user.purged") == 2, actions


def test_a_deleted_tenant_is_erased_for_good(console):
    console.expects_refusals = True
    one = console.tenant("Gone Works")
    page = console.go(f"/console/t/{one['slug']}/settings")
    expect(page.get_by_role("button", name="Erase tenant")).to_have_count(0)
    console.api("DELETE", f"/tenants/{one['id']}")
    page = console.go(f"/console/t/{one['slug']}/settings")
    page.get_by_role("button", name="Erase tenant").click()
    erase(page, one["slug"])
    expect(page.get_by_text("Gone Works is erased")).to_be_visible()
    expect(page).to_have_url(re.compile("/console/tenants$"))
    assert console.context.request.get(f"{console.base}/v1/tenants/{one['id']}").status == 404


def test_every_key_of_a_user_and_then_of_a_tenant_ends_at_once(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    user = console.api("POST", f"{path}/users", {"email": "ann@acme.example"})
    for owner in (None, {"type": "user", "id": user["id"]}):
        console.api("POST", f"{path}/api-keys", {"name": "Mail", "scopes": ["keys:verify"], **({"owner": owner} if owner else {})})
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    page.get_by_role("button", name="Revoke all").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke all").click()
    expect(page.get_by_text("1 API key revoked")).to_be_visible()
    states = lambda: sorted(key["status"] for key in console.api("GET", f"{path}/api-keys")["items"])
    assert states() == ["active", "revoked"]
    console.go(f"/console/t/{one['slug']}/settings")
    page.get_by_role("button", name="Revoke every key").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(one["slug"])
    page.get_by_role("dialog").get_by_role("button", name="Revoke every key").click()
    expect(page.get_by_text("1 API key revoked")).to_be_visible()
    assert states() == ["revoked", "revoked"]


def test_a_key_belongs_to_a_user_and_has_an_end_date_and_a_rate_limit(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    user = console.api("POST", f"{path}/users", {"email": "ann@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    page.get_by_role("link", name="New key").click()
    expect(page.get_by_text("It belongs to this user and ends with the account:")).to_be_visible()
    console.field("Name").fill("Own")
    page.get_by_label("Verify API keys").check()
    expect(console.field("Last day")).to_be_hidden()
    console.field("Expires after").select_option("At the end of a day")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_text("Please fill this in.")).to_be_visible()
    console.field("Last day").fill("2030-05-01")
    console.field("Most calls a minute").fill("60")
    # What it will do stands beside the form.
    will = page.locator(".card", has=page.get_by_role("heading", name="What it will do"))
    for text in ("Own may: Verify API keys.", "It ends on May 1, 2030.", "from anywhere", "More than 60 calls a minute are refused."):
        expect(will).to_contain_text(text)
    page.get_by_role("button", name="Create key").click()
    page.get_by_label("I have stored it").check()
    page.get_by_role("button", name="Done").click()
    key = console.api("GET", f"{path}/api-keys")["items"][0]
    assert (key["owner"], key["rate_limit"]) == ({"type": "user", "id": user["id"]}, {"per_minute": 60}), key
    assert page.evaluate("iso => new Date(iso).toDateString()", key["expires_at"]) == "Wed May 01 2030"
    expect(page.locator("dd").get_by_role("link", name="ann@acme.example")).to_be_visible()
    # Only what was changed goes out; an emptied number lifts the limit.
    page.get_by_role("button", name="Edit").click()
    expect(console.field("Expires")).to_have_value("2030-05-01")
    console.field("Most calls a minute").fill("")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
    assert sent.value.post_data_json == {"rate_limit": None}
    expect(page.get_by_text("as the server is set", exact=True)).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    console.field("Expires").fill("2030-04-01")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    key = console.api("GET", f"{path}/api-keys")["items"][0]
    assert key["expires_at"] < "2030-04-03" and key["rate_limit"] is None


def test_a_key_and_an_origin_of_the_platform_are_created_and_removed(console):
    page = console.go("/console/keys")
    page.get_by_role("link", name="Create key").first.click()
    console.field("Name").fill("Automation")
    page.get_by_label("Read tenants").check()
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Test it now").click()
    expect(page.get_by_text("It works: the server knows it as")).to_be_visible()
    page.get_by_text("Call the API with it").click()
    expect(page.locator("dialog details code")).to_contain_text("curl")
    secret = page.locator(".secret").inner_text()
    page.get_by_label("I have stored it").check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text("The platform", exact=True)).to_be_visible()
    # The way from a pasted key to its end.
    console.go("/console/")
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill(secret)
    page.get_by_role("option", name=re.compile("Automation")).click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke key").click()
    expect(page.locator("main h1")).to_contain_text("Revoked")
    page.get_by_role("link", name="Platform keys").click()
    expect(page.get_by_role("row", name=re.compile("Automation"))).to_contain_text("Revoked")
    page.get_by_role("link", name="Platform origins").click()
    page.get_by_role("button", name="Add origin").first.click()
    console.field("Origin").fill("https://platform.acme.example")
    console.field("Ends").fill("2030-05-01")
    page.get_by_role("dialog").get_by_role("button", name="Add origin").click()
    row = page.get_by_role("row", name=re.compile("platform.acme.example"))
    expect(row).to_be_visible()
    assert console.api("GET", "/cors-origins")["items"][0]["expires_at"].startswith("2030-05-0")
    row.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_users_are_filtered_by_their_last_sign_in(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "ann@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_label("Last sign-in").select_option("Not for 90 days")
    expect(page.get_by_text("No users match")).to_be_visible()
    assert "last_sign_in_until=" in console.asked("/users?")[-1].url and "seen=" not in console.asked("/users?")[-1].url
    page.get_by_label("Last sign-in").select_option("Never signed in")
    expect(page.get_by_role("link", name="ann@acme.example")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Last sign-in")).to_have_value("never")
    expect(page.get_by_role("link", name="ann@acme.example")).to_be_visible()


def test_many_users_get_one_role_and_z_restores_their_own_roles(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    for name, role in (("ann", "member"), ("bob", "admin")):
        console.api("POST", path, {"email": f"{name}@acme.example", "role": role})
    roles = lambda: [user["role"] for user in console.api("GET", f"{path}?sort=email")["items"]]
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_label("Select all of this page").check()
    page.get_by_role("group", name="Selected rows").get_by_role("button", name="Change role").click()
    console.field("Role").select_option("manager")
    page.get_by_role("dialog").get_by_role("button", name="Change role").click()
    expect(page.get_by_text("Role changed: 2 users")).to_be_visible()
    assert roles() == ["manager", "manager"]
    page.locator("main h1").focus()
    page.keyboard.press("z")
    expect(page.get_by_text("Taken back")).to_be_visible()
    assert roles() == ["member", "admin"]


def test_invites_with_a_role_of_their_own_are_previewed_first(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/invites"
    page = console.go(f"/console/t/{one['slug']}/invites?new=1")
    console.field("Email addresses").fill("Ann Lee <ann@acme.example> manager\nbob@acme.example;cid@acme.example\nwrong")
    console.field("Ends").select_option("In 30 days")
    page.get_by_role("button", name="Preview").click()
    look = page.get_by_role("dialog", name="3 of 4 would be invited")
    expect(look).to_contain_text("wrong")
    assert console.api("GET", path)["items"] == []
    look.get_by_role("button", name="Close").click()
    # What was typed is still there.
    console.field("Email addresses").fill("Ann Lee <ann@acme.example> manager\nbob@acme.example;cid@acme.example")
    page.get_by_role("dialog").get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_text("3 of 3 invited")).to_be_visible()
    made = {invite["email"]: invite for invite in console.api("GET", path)["items"]}
    assert [made[f"{name}@acme.example"]["role"] for name in ("ann", "bob", "cid")] == ["manager", "member", "member"]
    days = page.evaluate("iso => (Date.parse(iso) - Date.now()) / 86400000", made["bob@acme.example"]["expires_at"])
    assert 29.9 < days < 30, days


def test_the_form_of_a_provider_asks_for_what_its_kind_needs(console):
    page = console.go("/console/providers?new=1")
    labels = lambda: [text for text in page.locator("dialog .field > label:visible").all_inner_texts() if "Refuse" not in text]
    expect(console.field("Issuer")).to_be_visible()
    console.field("Kind").select_option("google")
    assert labels() == ["Kind", "Name", "Client id", "Client secret", "Domains it is the authority of", "Tenants of its clients",
                        "Only for this tenant"], labels()
    console.field("Kind").select_option("cognito")
    expect(console.field("Client secret")).to_be_hidden()
    console.field("Name").fill("Pool of tests")
    console.field("Pool").fill("eu-central-1_TestPool")
    console.field("Providers behind the pool").fill('[{"name": "Okta", "kind": "oidc", "issuer": "https://okta.acme.example", "domains": ["acme.example"]}]')
    console.field("Users whom the pool's administrator creates").select_option("allow")
    console.field("Tenants of its clients").fill("app1 = demo")
    page.get_by_role("dialog").get_by_role("button", name="Add provider").click()
    row = page.get_by_role("row", name=re.compile("Pool of tests"))
    expect(row).to_be_visible()
    made = next(one for one in console.api("GET", "/providers")["items"] if one["name"] == "Pool of tests")
    assert (made["issuer"], made["admin_create"], made["upstreams"][0]["name"]) == ("eu-central-1_TestPool", "allow", "Okta"), made
    assert made["client_tenants"] == {"app1": console.api("GET", "/tenants/demo")["id"]}
    # An edit sends what was changed alone.
    console.more(row, "Edit")
    console.field("Tenants of its clients").fill("")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
    assert sent.value.post_data_json == {"client_tenants": {}}, sent.value.post_data
    # With what its triggers sign: made, shown once, removed.
    console.more(row, "Hook credentials")
    console.field("Name").fill("Trigger")
    page.get_by_role("button", name="Make one").click()
    expect(page.get_by_text("It is shown only now.")).to_be_visible()
    page.get_by_label("I have stored it").check()
    page.get_by_role("button", name="Done").click()
    console.more(row, "Hook credentials")
    page.get_by_role("button", name="Remove Trigger").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert console.api("GET", f"/providers/{made['id']}/hook-credentials")["items"] == []
    console.api("DELETE", f"/providers/{made['id']}")


def test_a_domain_counts_with_all_names_below_it(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/domains?new=1")
    console.field("Domain").fill(f"{one['slug']}.example")
    console.field("Addresses at names below it count too").check()
    page.get_by_role("dialog").get_by_role("button", name="Add domain").click()
    expect(page.get_by_role("row", name=re.compile("with all names below it"))).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/domains")["items"][0]["include_subdomains"] is True
