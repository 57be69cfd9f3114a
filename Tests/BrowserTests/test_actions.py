"""Each page's main action, by mouse and by keyboard alone."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import uuid

from console import Console
from playwright.sync_api import expect


def dialog(page):
    return page.get_by_role("dialog")


def test_a_tenant_is_created_by_keyboard_alone(console):
    page = console.go("/console/tenants")
    page.keyboard.press("Shift+N")
    expect(console.field("Name")).to_be_focused()
    page.keyboard.type("Blue Harbour")
    page.keyboard.press("Tab")
    expect(console.field("Slug")).to_have_value("blue-harbour")
    page.keyboard.press("Enter")
    expect(page.locator("main .crumbs")).to_contain_text("Blue Harbour")
    assert page.url.endswith("/console/t/blue-harbour/users")


def test_a_tenant_is_suspended_by_typing_its_slug_and_resumed_by_z(console):
    one = console.tenant("Quiet Lake")
    page = console.go(f"/console/t/{one['slug']}/settings")
    page.get_by_role("button", name="Suspend tenant").click()
    dialog(page).get_by_role("button", name="Suspend").click()
    expect(dialog(page).get_by_text("Please fill this in.")).to_be_visible()
    dialog(page).get_by_role("textbox").fill(one["slug"])
    page.keyboard.press("Enter")
    expect(page.get_by_text("This tenant is suspended")).to_be_visible()
    page.locator("main h1").focus()
    page.keyboard.press("z")
    expect(page.get_by_text("This tenant is suspended")).to_have_count(0)
    assert console.api("GET", f"/tenants/{one['id']}")["status"] == "active"


def test_a_user_is_added_suspended_and_resumed(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users")
    expect(page.get_by_text("Nobody has come in yet")).to_be_visible()
    page.get_by_role("button", name="Add user").first.click()
    console.field("Email").fill("mary@acme.example")
    console.field("Name").fill("Mary")
    dialog(page).get_by_role("button", name="Add user").click()
    expect(page.get_by_role("link", name="mary@acme.example")).to_be_visible()


def test_an_external_id_is_entered_and_shown(console):
    one = console.tenant()
    user = console.api("POST", f"/tenants/{one['id']}/users", {"email": "mary@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    page.get_by_role("button", name="Edit").click()
    console.field("External id").fill("crm-4711")
    dialog(page).get_by_role("button", name="Save").click()
    expect(page.get_by_text("crm-4711")).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/users?external_id=crm-4711")["items"][0]["id"] == user["id"]


def test_an_edit_sends_only_what_was_changed_and_clears_an_emptied_field(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/api-keys"
    key = console.api("POST", path, {"name": "Mail", "scopes": ["keys:verify"], "note": "Old", "allowed_ips": ["10.0.0.0/8"]})
    page = console.go(f"/console/t/{one['slug']}/keys/{key['id']}")
    page.get_by_role("button", name="Edit").click()
    console.field("Only from these addresses").fill("")
    console.field("Note").fill("")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        dialog(page).get_by_role("button", name="Save").click()
    assert sent.value.post_data_json == {"allowed_ips": [], "note": None}
    expect(dialog(page)).to_have_count(0)
    saved = console.api("GET", f"{path}/{key['id']}")
    assert (saved["name"], saved["allowed_ips"], saved["note"]) == ("Mail", [], None)


def test_users_are_chosen_and_deleted_together(console):
    one = console.tenant()
    for name in "abc":
        console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{name}@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_label("Select a@acme.example").click()
    page.get_by_label("Select c@acme.example").click(modifiers=["Shift"])
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.get_by_role("group", name="Selected rows").get_by_role("button", name="Delete").click()
    expect(dialog(page).get_by_role("button", name="Keep")).to_be_focused()
    dialog(page).get_by_role("button", name="Delete 3 users").click()
    expect(page.get_by_text("Nobody has come in yet")).to_be_visible()


def test_two_records_of_one_person_become_one_and_two_again(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    invited = console.api("POST", path, {"email": "ann@acme.example", "role": "manager"})
    other = console.api("POST", path, {"email": "ann@mail.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_label("Select ann@acme.example").click()
    expect(page.get_by_role("group", name="Selected rows").get_by_role("button", name="Merge")).to_have_count(0)
    page.get_by_label("Select ann@mail.example").click()
    page.get_by_role("group", name="Selected rows").get_by_role("button", name="Merge").click()
    expect(console.field("Who stays")).to_have_value(invited["id"])
    dialog(page).get_by_role("button", name="Merge").click()
    expect(page.get_by_label("Select ann@mail.example")).to_have_count(0)
    assert console.api("GET", f"{path}/{other['id']}")["id"] == invited["id"]
    page = console.go(f"/console/t/{one['slug']}/users/{invited['id']}")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("They are two again")).to_be_visible()
    assert console.api("GET", f"{path}/{other['id']}")["id"] == other["id"]


def test_two_users_of_one_person_become_one_after_two_clicks(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    console.api("POST", path, {"email": "annlee@acme.example", "role": "manager"})
    other = console.api("POST", path, {"email": "ann.lee+work@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    page.get_by_role("link", name="Duplicates").click()
    expect(page.get_by_text("Maybe: one address is another spelling of annlee@acme.example.")).to_be_visible()
    page.get_by_role("button", name="Merge").click()
    dialog(page).get_by_role("button", name="Merge").click()
    expect(page.get_by_text("No two users look like one person.")).to_be_visible()
    assert console.api("GET", f"{path}/{other['id']}")["email"] == "annlee@acme.example"


def test_rows_stay_in_their_places_while_what_can_be_done_to_them_is_loaded(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "a@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users")
    held = []
    page.route(re.compile("/lib/chooser.js"), lambda route: held.append(route))
    box = page.get_by_label("Select a@acme.example")
    box.click()
    expect(page.get_by_role("group", name="Selected rows")).to_be_attached()
    while not held:
        page.wait_for_timeout(10)
    before = box.bounding_box()
    held[0].continue_()
    expect(page.get_by_text("1 selected")).to_be_visible()
    assert box.bounding_box() == before


def test_a_row_is_chosen_by_keys(console):
    page = console.go("/console/t/demo/users")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()


def test_a_user_has_identities_sessions_keys_and_a_history(console):
    people = console.api("GET", "/tenants/demo/users")["items"]
    ada = next(one for one in people if one["identities"])
    page = console.go(f"/console/t/demo/users/{ada['id']}")
    for title in ("Profile", "Identities", "Sessions", "API keys", "Activity"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    console.field("Name").fill("Renamed Person")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Renamed Person").first).to_be_visible()
    page.get_by_role("button", name="Link grant").click()
    expect(dialog(page).get_by_text("adds one more sign-in")).to_be_visible()
    dialog(page).get_by_label("I have stored it").check()
    dialog(page).get_by_role("button", name="Done").click()


def test_one_person_is_invited_by_keyboard_and_the_link_is_shown_once(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/invites")
    page.keyboard.press("Shift+N")
    expect(console.field("Email addresses")).to_be_focused()
    page.keyboard.type("grace@acme.example")
    invite = dialog(page).get_by_role("button", name="Invite", exact=True)
    for _ in range(9):
        page.keyboard.press("Tab")
        if invite.evaluate("node => node === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_text("It works once")).to_be_visible()
    assert "/invite#token=" in dialog(page).locator(".secret").inner_text()
    dialog(page).get_by_label("I have stored it").check()
    dialog(page).get_by_role("button", name="Done").click()
    expect(page.get_by_role("row", name=re.compile("grace@acme.example"))).to_contain_text("Pending")
    console.more(page.get_by_role("row", name=re.compile("grace@acme.example")), "Revoke")
    expect(dialog(page).get_by_role("button", name="Keep")).to_be_focused()
    dialog(page).get_by_role("button", name="Revoke invite").click()
    expect(page.get_by_role("row", name=re.compile("grace@acme.example"))).to_contain_text("Revoked")


def test_many_are_invited_at_once_and_each_result_is_named(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/invites?new=1")
    console.field("Email addresses").fill("a@acme.example\nnot an address\nb@acme.example")
    console.field("Delivery").select_option("link")
    dialog(page).get_by_role("button", name="Invite").click()
    expect(dialog(page).locator(".secret")).to_contain_text("b@acme.example")
    dialog(page).get_by_label("I have stored it").check()
    dialog(page).get_by_role("button", name="Done").click()
    expect(page.get_by_text("2 invites")).to_be_visible()


def test_the_policy_shows_what_publishing_changes_and_rolls_back(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Who may sign up").select_option("approval")
    effect = page.get_by_role("heading", name="What publishing changes")
    expect(effect).to_be_visible()
    # Beside the rules, level with them, so that both are seen at once; before them on a phone.
    rules = page.get_by_role("heading", name="Rules")
    assert effect.bounding_box()["x"] > rules.bounding_box()["x"] + 200
    assert abs(effect.bounding_box()["y"] - rules.bounding_box()["y"]) < 5
    page.set_viewport_size({"width": 390, "height": 800})
    assert effect.bounding_box()["y"] < rules.bounding_box()["y"]
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Version 2 is in force.", exact=True)).to_be_visible()
    page.get_by_role("button", name="Roll back to version 1").click()
    dialog(page).get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("Version 3 is in force.", exact=True)).to_be_visible()
    expect(console.field("Who may sign up")).to_have_value("invite_only")


def test_a_rule_for_unused_accounts_is_previewed_before_it_is_published(console):
    console.expects_refusals = True
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "ada@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Suspend after days without use").fill("60")
    console.field("Warn after days without use").fill("60")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("must be more than `warn_days`")).to_be_visible()
    console.field("Warn after days without use").fill("30")
    page.get_by_role("button", name="Publish").click()
    expect(dialog(page)).to_contain_text("it would warn 0 users, suspend 0 users, delete 0 users")
    dialog(page).get_by_role("button", name="Go back").click()
    expect(page.get_by_text("Nothing was published.")).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/policy")["version"] == 1
    page.get_by_role("button", name="Publish").click()
    dialog(page).get_by_role("button", name="Publish the rule").click()
    expect(page.get_by_text("Version 2 is in force.", exact=True)).to_be_visible()
    policy = console.api("GET", f"/tenants/{one['id']}/policy")
    assert policy["inactivity"] == {"warn_days": 30, "suspend_days": 60, "delete_days": None}, policy
    expect(page.get_by_text("Suspend after days without use 60")).to_be_visible()
    # Switched off it asks nothing; going back to the rule does.
    console.field("Warn after days without use").fill("")
    console.field("Suspend after days without use").fill("")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Version 3 is in force.", exact=True)).to_be_visible()
    page.get_by_role("button", name="Roll back to version 2").click()
    dialog(page).get_by_role("button", name="Roll back").click()
    page.get_by_role("button", name="Publish the rule").click()
    expect(page.get_by_text("Version 4 is in force.", exact=True)).to_be_visible()
    expect(console.field("Warn after days without use")).to_have_value("30")


def test_a_user_is_exempted_from_the_rule_for_unused_accounts(console):
    one = console.tenant()
    user = console.api("POST", f"/tenants/{one['id']}/users", {"email": "ada@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    page.get_by_role("button", name="Edit", exact=True).click()
    dialog(page).get_by_label("Keep although unused").check()
    dialog(page).get_by_role("button", name="Save").click()
    expect(page.locator(".facts")).to_contain_text("Kept although unusedYes")
    assert console.api("GET", f"/tenants/{one['id']}/users/{user['id']}")["keep"] is True


def test_a_domain_is_claimed_shows_its_dns_record_and_is_verified_by_an_operators_word(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/domains")
    page.get_by_role("button", name="Add domain").first.click()
    console.field("Domain").fill(f"{one['slug']}.example")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Publish as a TXT record:")).to_be_visible()
    console.more(page.get_by_role("row", name=re.compile("example")), "Verify without DNS")
    dialog(page).get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("example"))).to_contain_text("Verified")


def test_a_domain_that_looks_like_another_shows_what_it_is(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/domains")
    page.get_by_role("button", name="Add domain").first.click()
    looks = f"\u0435{one['slug']}.example"  # a Cyrillic letter
    console.field("Domain").fill(looks)
    page.keyboard.press("Enter")
    truly = looks.encode("idna").decode()
    expect(page.get_by_text(f"{truly} is claimed")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile(truly))).to_contain_text(looks)


def test_an_origin_is_normalised_tested_removed_and_restored(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/origins")
    page.get_by_role("button", name="Add origin").first.click()
    console.field("Origin").fill("HTTPS://App.Acme.Example:443/")
    dialog(page).get_by_role("button", name="Add origin").click()
    expect(page.get_by_text("Saved as https://app.acme.example")).to_be_visible()
    page.get_by_label("Origin of the page").fill("https://app.acme.example")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_text("Allowed.")).to_be_visible()
    expect(page.get_by_text("access-control-allow-origin: https://app.acme.example").first).to_be_visible()
    page.get_by_role("button", name="Remove https://app.acme.example").click()
    expect(page.get_by_text("No origin is allowed")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("row", name=re.compile("app.acme.example"))).to_be_visible()


def test_a_path_in_an_origin_is_refused_at_its_field_and_kept(console):
    console.expects_refusals = True
    page = console.go("/console/t/demo/origins?new=1")
    field = console.field("Origin")
    field.fill("https://app.acme.example/path")
    page.keyboard.press("Enter")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(field).to_have_value("https://app.acme.example/path")
    page.keyboard.press("Escape")


def test_the_simulator_explains_and_writes_nothing_and_its_address_repeats_it(console):
    before = console.api("GET", "/provisioning/decisions")["total"]
    page = console.go("/console/simulator")
    console.field("Email").fill("stranger@nowhere.example")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".trace li").first).to_be_visible()
    assert "stranger" in page.url
    page.reload()
    expect(console.field("Email")).to_have_value("stranger@nowhere.example")
    assert console.api("GET", "/provisioning/decisions")["total"] == before
    page.get_by_text("Paste a hook payload instead").click()
    page.get_by_label("Payload").fill('{"userPoolId":"eu_1","userName":"x","request":{"userAttributes":{"email":"pool@acme.example"}}}')
    page.get_by_role("button", name="Fill the form").click()
    expect(console.field("Email")).to_have_value("pool@acme.example")


def test_a_decision_shows_its_trace_and_leads_to_the_simulator(console):
    page = console.go("/console/decisions?outcome=refused")
    page.get_by_role("link", name="eve@stranger.example").click()
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()
    page.get_by_role("link", name="Simulate again").click()
    expect(console.field("Email")).to_have_value("eve@stranger.example")


def test_decisions_are_followed(console):
    page = console.go("/console/decisions")
    rows = page.locator("tbody tr")
    known = rows.count()
    page.get_by_role("button", name="Follow").click()
    expect(page).to_have_url(re.compile("live=1"))
    console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": "live-1", "email": "live@nowhere.example", "email_verified": True})
    expect(page.get_by_role("link", name="live@nowhere.example")).to_be_visible()
    assert rows.count() == known + 1


def test_the_audit_log_is_filtered_by_a_cell(console):
    page = console.go("/console/t/demo/audit")
    page.get_by_role("link", name="User created").first.click()
    expect(page).to_have_url(re.compile("action=user.created"))
    expect(page.get_by_label("Action")).to_have_value("user.created")
    expect(page.get_by_role("link", name="API key created")).to_have_count(0)


def test_a_provider_is_added_edited_and_removed(console):
    page = console.go("/console/providers")
    page.get_by_role("button", name="Add provider").click()
    console.field("Name").fill("Staff sign-in")
    console.field("Issuer").fill("https://id.acme.example")
    console.field("Client id").fill("console-test")
    dialog(page).get_by_role("button", name="Add provider").click()
    row = page.get_by_role("row", name=re.compile("Staff sign-in"))
    expect(row).to_be_visible()
    console.more(row, "Edit")
    console.field("Trust in its addresses").select_option("verified_claim")
    dialog(page).get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Verified claim")
    row.get_by_role("button", name="Test").click()
    expect(dialog(page).get_by_text("People cannot sign in there now.")).to_be_visible()
    expect(dialog(page).locator(".trace li").first).to_be_visible()
    dialog(page).get_by_role("button", name="Close").click()
    console.more(row, "Remove")
    dialog(page).get_by_role("button", name="Remove provider").click()
    expect(row).to_have_count(0)


def test_a_provider_at_which_people_can_sign_in_is_shown_as_working(console):
    folder = tempfile.mkdtemp(prefix="gt-canaille.")
    provider = [str(pathlib.Path(__file__).parents[2] / "deploy/tools/provider")]
    try:
        issuer = subprocess.run([*provider, "start", folder], check=True, capture_output=True, text=True).stdout.split()[-1]
        made = console.api("POST", "/providers", {"kind": "oidc", "name": "Canaille", "issuer": issuer, "client_id": "gatehouse-test"})
        page = console.go("/console/providers")
        row = page.get_by_role("row", name=re.compile("Canaille"))
        row.get_by_role("button", name="Test").click()
        expect(dialog(page).locator(".note.ok")).to_contain_text("As far as this test can see, people can sign in there")
        expect(dialog(page).locator(".trace .dot.ok").first).to_be_visible()
        expect(dialog(page).locator(".trace .dot.danger")).to_have_count(0)
        console.api("DELETE", f"/providers/{made['id']}")
    finally:
        subprocess.run([*provider, "stop", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_key_shows_its_uses_by_day(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/api-keys"
    key = console.api("POST", path, {"name": "Busy", "scopes": ["keys:verify"]})
    for _ in range(3):
        assert console.api("POST", "/api-keys/verify", {"key": key["key"]})["valid"]
    page = console.go(f"/console/t/{one['slug']}/keys/{key['id']}")
    expect(page.get_by_role("img", name=re.compile("^3 in 30 days; at most 3 in a day. Days begin at midnight UTC"))).to_be_visible()
    page.get_by_text("View as table").click()
    expect(page.get_by_role("region", name="Uses").get_by_role("row")).to_have_count(31)
    expect(page.get_by_role("region", name="Uses").get_by_role("row").last).to_contain_text("3")


def test_an_operator_is_added_gets_a_link_and_another_role_and_is_deleted(console):
    page = console.go("/console/operators?new=1")
    console.field("Email").fill("helper@gatehouse.test")
    console.field("Role").select_option("support")
    dialog(page).get_by_role("button", name="Add operator").click()
    expect(dialog(page).locator(".secret")).to_contain_text("sign-in#token=")
    dialog(page).get_by_label("I have stored it").check()
    dialog(page).get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Edit helper@gatehouse.test").click()
    console.field("Name").fill("Hedy Helper")
    console.field("Role").select_option("auditor")
    dialog(page).get_by_role("button", name="Save").click()
    row = page.get_by_role("row", name=re.compile("helper@gatehouse.test"))
    expect(row).to_contain_text("Auditor")
    expect(row).to_contain_text("Hedy Helper")
    console.more(row, "Remove")
    dialog(page).get_by_role("button", name="Remove operator").click()
    expect(row).to_have_count(0)


def test_an_operator_who_lost_the_link_gets_a_new_one(console):
    made = console.api("POST", "/operators", {"email": "lost@gatehouse.test", "role": "support", "scope": {"platform": True}})
    page = console.go("/console/operators")
    row = page.get_by_role("row", name=re.compile("lost@gatehouse.test"))
    console.more(row, "New link")
    dialog(page).get_by_role("button", name="Make a link").click()
    secret = dialog(page).locator(".secret")
    expect(secret).to_contain_text("sign-in#token=")
    assert secret.inner_text() != made["sign_in_url"]
    link = secret.inner_text()
    dialog(page).get_by_label("I have stored it").check()
    dialog(page).get_by_role("button", name="Done").click()
    # Once they are in, only a mail to their own address makes a new password; this server sends none, and says so.
    other = Console(console.server, console.browser)
    other.page.goto(link)
    other.page.get_by_role("button", name="Continue").click()
    other.page.get_by_role("button", name="Not now").click()
    expect(other.page.locator(".top")).to_be_visible()
    other.close()
    page.reload()
    console.expects_refusals = True
    console.more(row, "Mail a new password")
    dialog(page).get_by_role("button", name="Mail the link").click()
    expect(dialog(page).locator(".note.danger, .error, [role=alert]").first).to_be_visible()
    dialog(page).get_by_role("button", name="Cancel").click()
    console.api("DELETE", f"/operators/{made['id']}")


def test_the_operators_second_factor_is_shown(console):
    made = console.api("POST", "/operators", {"email": "factor@gatehouse.test", "role": "support", "scope": {"platform": True}})
    # How an owner with an app, and one whose time runs, come from the server.
    def answer(route):
        data = route.fetch().json()
        one = next(each for each in data["items"] if each["id"] == made["id"])
        data["items"] = [one, {**one, "id": str(uuid.uuid4()), "email": "app@gatehouse.test", "factors": {**one["factors"], "totp": True}},
                         {**one, "id": str(uuid.uuid4()), "email": "due@gatehouse.test", "second_factor_due": "2099-01-02T00:00:00Z"}]
        route.fulfill(json=data)

    console.page.route(re.compile("/v1/operators[?]"), answer)
    page = console.go("/console/operators")
    for email, said in (("factor", "No"), ("app", "Yes"), ("due", "Due")):
        row = page.get_by_role("row", name=re.compile(f"{email}@gatehouse.test"))
        expect(row.locator("td[data-label='Second factor'] .tag")).to_have_text(said)
    expect(row.locator("td[data-label='Second factor'] time")).to_be_visible()
    console.api("DELETE", f"/operators/{made['id']}")


def test_the_end_of_a_users_session_is_asked_for(console):
    one = console.tenant()
    user = console.api("POST", f"/tenants/{one['id']}/users", {"email": "mary@acme.example"})
    session = {"id": str(uuid.uuid4()), "device": "Phone", "user_agent": "", "client": "immich", "ip": "192.0.2.1",
               "last_seen_at": "2026-01-02T00:00:00Z", "created_at": "2026-01-02T00:00:00Z", "expires_at": "2099-01-02T00:00:00Z"}
    ended = []

    def end(route):
        ended.append(route.request.url)
        route.fulfill(status=204)

    console.page.route(re.compile(f"/users/{user['id']}/sessions$"),
                       lambda route: route.fulfill(json={"items": [session], "next_cursor": None, "total": {"value": 1, "exact": True}}))
    console.page.route(re.compile(f"/sessions/{session['id']}"), end)
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    page.get_by_role("button", name="End", exact=True).click()
    expect(dialog(page)).to_contain_text("mary@acme.example is signed out at once of Phone.")
    assert not ended
    dialog(page).get_by_role("button", name="End session").click()
    expect(page.get_by_text("Session ended")).to_be_visible()
    assert len(ended) == 1


def test_decisions_name_the_provider_and_the_tenant(console):
    one = console.tenant("Named Works")
    issuer = f"https://{one['slug']}.example"
    made = console.api("POST", "/providers", {"kind": "oidc", "name": "Staff of Acme", "issuer": issuer, "client_id": "x"})
    answer = console.api("POST", "/hooks/pre-signup", {"provider": made["id"], "subject": "1", "email": "a@nowhere.example", "email_verified": True,
                                                       "tenant": one["slug"]})
    page = console.go("/console/decisions?q=a@nowhere.example")
    row = page.locator(f"tbody tr[data-id='{answer['decision_id']}']")
    expect(row).to_contain_text("Staff of Acme")
    expect(row).not_to_contain_text(made["id"])
    expect(row.locator("td[data-label=Tenant] a")).to_have_text("Named Works")
    row.locator("a.main").click()
    expect(page.locator("main dl").get_by_text("Staff of Acme")).to_be_visible()
    page = console.go(f"/console/t/{one['slug']}/decisions")
    expect(page.locator("tbody tr").first).to_contain_text("Staff of Acme")
    expect(page.locator("td[data-label=Tenant]")).to_have_count(0)
    console.api("DELETE", f"/providers/{made['id']}")


def test_the_scopes_of_a_key_are_ticked_when_it_is_edited(console):
    one = console.tenant()
    key = console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Worker", "scopes": ["keys:verify", "smtp"]})
    page = console.go(f"/console/t/{one['slug']}/keys/{key['id']}")
    page.get_by_role("button", name="Edit").click()
    box = dialog(page).locator(".checks")
    expect(box.locator("input:checked")).to_have_count(2)
    # What is in no catalogue any more can still be taken away.
    box.get_by_label("smtp").uncheck()
    box.locator("input[value='users:read']").check()
    dialog(page).get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    assert sorted(console.api("GET", f"/tenants/{one['id']}/api-keys/{key['id']}")["scopes"]) == ["keys:verify", "users:read"]


def test_theme_and_rows_are_kept_and_the_account_says_who_is_signed_in(console):
    page = console.go("/console/me")
    expect(page.locator("main").get_by_text("owner@gatehouse.test")).to_be_visible()
    expect(page.get_by_role("rowheader", name="Read the audit log")).to_be_visible()
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="Dark").click()
    page.get_by_role("button", name="Compact").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_attribute("data-density", "compact")


def test_a_client_is_switched_on_and_its_settings_are_put_as_a_whole(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/clients")
    row = page.get_by_role("row", name=re.compile("immich"))
    row.get_by_role("button", name="Switch on").click()
    expect(row).to_contain_text("Active")
    row.get_by_role("button", name="Edit").click()
    console.field("Where a sign-in may lead back to").fill("app.immich:///oauth-callback")
    dialog(page).get_by_role("button", name="Save").click()
    expect(row).to_contain_text("app.immich:///oauth-callback")
    expect(row).to_contain_text("Active")


def test_a_revoked_key_does_not_say_that_its_old_secret_works(console):
    one = console.tenant()
    keys = f"/tenants/{one['id']}/api-keys"
    key = console.api("POST", keys, {"name": "Rotated", "scopes": ["users:read"]})
    console.api("POST", f"{keys}/{key['id']}/rotate", {"grace_seconds": 3600})
    page = console.go(f"/console/t/{one['slug']}/keys/{key['id']}")
    expect(page.get_by_text("The old secret")).to_be_visible()
    console.api("POST", f"{keys}/{key['id']}/revoke", {"reason": "over"})
    console.go(f"/console/t/{one['slug']}/keys/{key['id']}")
    expect(page.locator("main .tag").first).to_have_text("Revoked")
    expect(page.get_by_text("The old secret")).to_have_count(0)
    console.go(f"/console/t/{one['slug']}/keys")
    expect(page.locator("tbody .status")).to_have_text("Revoked")


def test_a_message_disappears_when_its_change_is_undone_by_z(console):
    page = console.go("/console/t/demo/users?status=active")
    page.get_by_role("button", name="Suspend").first.click()
    expect(page.locator(".toast").get_by_role("button", name="Undo")).to_be_visible()
    page.locator("main h1").focus()
    page.keyboard.press("z")
    expect(page.get_by_text("Taken back")).to_be_visible()
    expect(page.locator(".toast").get_by_role("button", name="Undo")).to_have_count(0)
