"""What is typed and not sent is not lost: a session that ends, Escape, another page, another who published first."""
import re

from playwright.sync_api import expect


def sign_in_again(other, cookies):
    """The session of `other` ends; once it has signed in again, the page is opened that it was led from."""
    expect(other.page.get_by_role("heading", name="Sign in")).to_be_visible()
    next_page = other.page.evaluate("new URLSearchParams(location.search).get('next')")
    other.context.add_cookies(cookies)
    other.page.goto(other.base + next_page)
    expect(other.page.locator("main h1")).to_be_attached()
    return other.page


def test_what_was_typed_is_restored_after_the_session_ended(console):
    console.expects_refusals = True
    one = console.tenant()
    cookies = console.cookies()
    page = console.go(f"/console/t/{one['slug']}/users?new=1")
    console.field("Email").fill("typed@acme.example")
    console.field("Name").fill("Typed Person")
    console.context.clear_cookies()
    page.keyboard.press("Enter")
    sign_in_again(console, cookies)
    # The form is open again, with what was in it.
    expect(console.field("Email")).to_have_value("typed@acme.example")
    expect(console.field("Name")).to_have_value("Typed Person")
    expect(page.get_by_text("What you typed before is back.")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Add user").click()
    expect(page.get_by_role("link", name="typed@acme.example")).to_be_visible()
    # What was sent is no draft any more.
    page.keyboard.press("Shift+N")
    expect(console.field("Email")).to_have_value("")


def test_a_policy_and_a_new_key_survive_the_end_of_the_session_too(console):
    console.expects_refusals = True
    one = console.tenant()
    cookies = console.cookies()
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Allowed domains").fill("a.example\nb.example\nc.example")
    console.context.clear_cookies()
    page.get_by_role("button", name="Publish").click()
    sign_in_again(console, cookies)
    expect(console.field("Allowed domains")).to_have_value("a.example\nb.example\nc.example")
    expect(page.get_by_text("What publishing changes")).to_be_visible()
    page.get_by_role("button", name="Start over").click()
    expect(console.field("Allowed domains")).to_have_value("")
    expect(page.get_by_text("What publishing changes")).to_have_count(0)
    console.go(f"/console/t/{one['slug']}/keys/new")
    console.field("Name").fill("Kept key")
    page.get_by_label("Verify API keys").check()
    console.context.clear_cookies()
    page.get_by_role("button", name="Create key").click()
    sign_in_again(console, cookies)
    expect(console.field("Name")).to_have_value("Kept key")
    expect(page.get_by_label("Verify API keys")).to_be_checked()


def test_escape_keeps_what_was_typed_for_the_next_time_and_cancel_does_not(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/invites?new=1")
    many = "\n".join(f"p{number}@acme.example" for number in range(20))
    console.field("Email addresses").fill(many)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("What you typed is kept")).to_be_visible()
    page.get_by_role("button", name="Invite").first.click()
    expect(console.field("Email addresses")).to_have_value(many)
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Invite").first.click()
    expect(console.field("Email addresses")).to_have_value("")


def test_a_draft_holds_no_secret_and_ends_with_the_sign_out(console):
    other = console.as_operator("owner")
    page = other.go("/console/providers?new=1")
    other.field("Name").fill("Drafted provider")
    other.field("Client secret").fill("hush-hush-hush")
    page.keyboard.press("Escape")
    kept = page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    assert "Drafted provider" in kept and "hush" not in kept, kept
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="Sign out").click()
    # Who came by a one-time link and has no password yet is asked.
    page.get_by_role("dialog", name="Sign out for good?").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    other.check_silence()
    other.close()


def test_leaving_an_edited_page_asks_and_keeps_a_draft(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Allowed domains").fill("kept.example")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Tenants").click()
    dialog = page.get_by_role("dialog", name="Leave this page?")
    expect(dialog.get_by_role("button", name="Stay")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    assert page.url.endswith("/policy")
    expect(console.field("Allowed domains")).to_have_value("kept.example")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Tenants").click()
    dialog.get_by_role("button", name="Leave").click()
    expect(page.locator("main h1")).to_have_text("Tenants")
    console.go(f"/console/t/{one['slug']}/policy")
    expect(console.field("Allowed domains")).to_have_value("kept.example")
    # A page on which nothing was changed is left without a question.
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Tenants").click()
    expect(page.locator("main h1")).to_have_text("Tenants")
    # A reload is asked by the browser itself.
    console.go(f"/console/t/{one['slug']}/policy")
    console.field("Allowed domains").fill("again.example")
    asked = []
    page.on("dialog", lambda prompt: (asked.append(prompt.type), prompt.accept()))
    page.reload()
    expect(console.field("Allowed domains")).to_have_value("again.example")
    assert asked == ["beforeunload"]


def publish(console, tenant, **values):
    """Another publishes a policy, as a second tab would."""
    path = f"{console.base}/v1/tenants/{tenant['id']}/policy"
    now = console.context.request.get(path)
    answer = console.context.request.fetch(path, method="PUT", data={**now.json(), **values}, headers={
        "if-match": now.headers["etag"], "x-gatehouse-console": "1", "sec-fetch-site": "same-origin", "content-type": "application/json"})
    assert answer.ok, answer.text()


def test_the_second_of_two_publishers_sees_the_first_change_and_publishes_on_top(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Allowed domains").fill("mine.example")
    publish(console, one, sign_up="open")
    page.get_by_role("button", name="Publish").click()
    clash = page.locator("form .note.warn").filter(has_text="was published by")
    expect(clash).to_contain_text(re.compile("Version 2 was published by .+ just now"))
    clash.get_by_text("See what changed").click()
    expect(clash).to_contain_text("Who may sign up")
    expect(clash).to_contain_text("Open")
    expect(clash).to_contain_text("mine.example")
    # In between once more: the newest is named then.
    publish(console, one, password_min=20)
    clash.get_by_role("button", name="Put mine on top").click()
    expect(clash).to_contain_text("Version 3 was published by")
    clash.get_by_role("button", name="Put mine on top").click()
    expect(page.get_by_text("Version 4 is in force.", exact=True)).to_be_visible()
    policy = console.api("GET", f"/tenants/{one['id']}/policy")
    assert (policy["allowed_domains"], policy["sign_up"], policy["password_min"]) == (["mine.example"], "open", 20)


def test_an_operator_may_take_the_newest_policy_and_drop_their_own_change(console):
    console.expects_refusals = True
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/policy")
    console.field("Allowed domains").fill("mine.example")
    publish(console, one, sign_up="open")
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("button", name="Take the newest, drop mine").click()
    expect(console.field("Who may sign up")).to_have_value("open")
    expect(console.field("Allowed domains")).to_have_value("")


def test_an_edit_is_saved_on_top_of_another_operators_change(console):
    console.expects_refusals = True
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    user = console.api("POST", path, {"email": "mary@acme.example", "name": "Mary"})
    page = console.go(f"/console/t/{one['slug']}/users/{user['id']}")
    page.get_by_role("button", name="Edit").click()
    console.field("Name").fill("Mary Ann")
    console.api("PATCH", f"{path}/{user['id']}", {"role": "manager"})
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Save mine on top").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    saved = console.api("GET", f"{path}/{user['id']}")
    assert (saved["name"], saved["role"]) == ("Mary Ann", "manager")
