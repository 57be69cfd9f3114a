"""Join links at the console: made once with the address, listed with their uses, revoked; and where an invite leads in the end."""
import re

from playwright.sync_api import expect


def dialog(page):
    return page.locator("dialog[open]")


def test_a_join_link_is_created_shown_once_and_revoked(console):
    one = console.tenant()
    path = f"/console/t/{one['slug']}/invites"
    page = console.go(path)
    page.get_by_role("link", name="Join links").click()
    expect(page.get_by_role("heading", name="Join links", exact=True)).to_be_visible()
    expect(page.get_by_text("No join links yet")).to_be_visible()
    page.keyboard.press("Shift+N")
    console.field("How many may join").fill("3")
    console.field("Only addresses of").fill("acme.example\nworks.example")
    dialog(page).get_by_role("button", name="Make the link").click()
    expect(dialog(page).get_by_text("It is shown only now.")).to_be_visible()
    assert "/join#token=" in dialog(page).locator(".secret").inner_text()
    done = dialog(page).get_by_role("button", name="Done")
    expect(done).to_be_disabled()
    dialog(page).get_by_label("I have stored it").check()
    done.click()
    row = page.get_by_role("row", name=re.compile("acme.example, works.example"))
    expect(row).to_contain_text("0 of 3")
    expect(row).to_contain_text("Active")
    row.get_by_role("button", name="Revoke").click()
    expect(dialog(page).get_by_role("button", name="Keep")).to_be_focused()
    dialog(page).get_by_role("button", name="Revoke link").click()
    expect(row).to_contain_text("Revoked")
    expect(row.get_by_role("button", name="Revoke")).to_have_count(0)
    page.get_by_role("link", name="All invites").click()
    page.wait_for_url(re.compile(f"{path}$"))


def test_a_join_link_that_nobody_can_use_says_so_until_there_is_a_provider(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/join-links", {})
    page = console.go(f"/console/t/{one['slug']}/invites/join-links")
    said = page.get_by_text("Nobody can use a join link yet: there is no provider to sign in with.")
    expect(said).to_be_visible()
    expect(page.locator(".note").get_by_role("link", name="Add a provider")).to_have_attribute("href", "/console/providers")
    page.keyboard.press("Shift+N")
    dialog(page).get_by_role("button", name="Make the link").click()
    expect(dialog(page).get_by_text("Nobody can use a join link yet")).to_be_visible()
    made = console.api("POST", "/providers", {"kind": "oidc", "name": "Acme", "client_id": "x", "tenant": one["slug"],
                                              "issuer": f"https://id.{one['slug']}.example"})
    console.go(f"/console/t/{one['slug']}/invites/join-links")
    expect(page.get_by_role("row", name=re.compile("Every address"))).to_have_count(2)
    expect(said).to_have_count(0)
    console.api("DELETE", f"/providers/{made['id']}")


def test_an_error_of_a_join_link_is_shown_at_its_field(console):
    one = console.tenant()
    console.expects_refusals = True
    page = console.go(f"/console/t/{one['slug']}/invites/join-links?new=1")
    console.field("Only addresses of").fill("not a domain")
    console.field("Leads back to").fill("https://stranger.example/")
    make = dialog(page).get_by_role("button", name="Make the link")
    make.click()
    expect(dialog(page).get_by_text("must be a domain name")).to_be_visible()
    console.field("Only addresses of").fill("acme.example")
    make.click()
    expect(dialog(page).get_by_text("must be one of the `redirect_uris`")).to_be_visible()
    assert console.api("GET", f"/tenants/{one['id']}/join-links")["items"] == []


def test_an_accepted_invite_leads_back_to_the_app_by_a_link(console):
    one = console.tenant()
    app = f"{console.base}/console/sign-in?from=app"
    console.api("PUT", f"/tenants/{one['id']}/clients/immich", {"enabled": True, "redirect_uris": [app]})
    made = console.api("POST", f"/tenants/{one['id']}/invites", {"email": "ann@acme.example", "delivery": "link", "return_to": app})
    console.context.clear_cookies()
    page = console.page
    page.goto(made["accept_url"])
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Choose a password").fill("a sentence that is long")
    page.get_by_role("button", name="Accept the invite").click()
    expect(page.get_by_role("heading", name=f"Welcome to {one['name']}")).to_be_visible()
    expect(page.get_by_role("link", name="Go to the app")).to_have_attribute("href", app)


def test_a_decision_by_a_join_link_links_to_the_join_links(console):
    one = console.tenant()
    made = console.api("POST", f"/tenants/{one['id']}/join-links", {})
    console.api("POST", f"/tenants/{one['id']}/join-links/{made['id']}/revoke", {})
    said = console.api("POST", "/hooks/pre-signup", {
        "provider": "google", "subject": "late", "email": f"late@{one['slug']}.example", "email_verified": True,
        "join_token": made["url"].split("#token=")[1]})
    assert said["reason"] == "join_revoked", said
    page = console.go(f"/console/decisions/{said['decision_id']}")
    expect(page.get_by_text("The join link was revoked, or its maker may no longer invite.")).to_be_visible()
