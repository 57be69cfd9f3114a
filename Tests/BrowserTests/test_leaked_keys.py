"""A key that leaked is found by its text, and ended: nothing of the text is searched for, or stays anywhere."""
import re

from playwright.sync_api import expect


def secret_of(console, tenant):
    return console.api("POST", f"/tenants/{tenant['id']}/api-keys", {"name": "Leaky", "scopes": ["smtp"]})["key"]


def paste(page, text):
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+v")


def check_nothing_stays(console, secret):
    page = console.page
    bodies = [(one.url, one.post_data or "") for one in console.requests]
    assert not [url for url, _ in bodies if secret[:20] in url], bodies
    assert [url for url, body in bodies if secret[:20] in body] == [f"{console.base}/v1/api-keys/identify"], bodies
    kept = page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, history.state, location.href, document.body.outerHTML])")
    assert secret[:20] not in kept


def test_a_leaked_key_is_revoked_from_its_text_in_four_steps(console):
    one = console.tenant()
    secret = secret_of(console, one)
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = console.go("/console/")
    console.requests.clear()
    page.get_by_role("button", name="Search or jump to").click()
    # Its code comes with the first use.
    expect(page.locator(".palette input")).to_be_focused()
    paste(page, f"Authorization: Bearer {secret}")
    option = page.get_by_role("option", name="Leaky")
    expect(option).to_contain_text("Active")
    option.click()
    dialog = page.get_by_role("dialog", name="Revoke Leaky?")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    check_nothing_stays(console, secret)
    dialog.get_by_role("button", name="Revoke key").click()
    expect(page.locator("main h1 .tag", has_text="Revoked")).to_be_visible()


def test_the_console_says_that_a_key_in_its_address_has_leaked(console):
    one = console.tenant()
    secret = secret_of(console, one)
    console.expects_refusals = True
    refused = console.context.request.get(f"{console.base}/v1/me?key={secret}", headers={"cookie": ""})
    assert not refused.ok
    page = console.go("/console/")
    page.keyboard.press("Control+k")
    expect(page.locator(".palette input")).to_be_focused()
    page.keyboard.insert_text(secret)
    page.get_by_role("option", name="Leaky").click()
    dialog = page.get_by_role("dialog", name="Revoke Leaky?")
    expect(dialog).to_contain_text("It was recognised as leaked")
    dialog.get_by_role("button", name="Keep").click()
    note = page.locator("main .note.danger")
    expect(note).to_contain_text("The text of this key was recognised as leaked")
    expect(note.locator("time")).to_be_visible()


def test_a_key_that_is_pasted_into_a_list_is_not_searched_for(console):
    one = console.tenant()
    secret = secret_of(console, one)
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = console.go(f"/console/t/{one['slug']}/keys")
    console.requests.clear()
    page.get_by_role("searchbox", name="Search by name").click()
    paste(page, secret)
    expect(page.get_by_role("option", name="Leaky")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Revoke Leaky?")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/keys/[0-9a-f-]+\?act=revoke$"))
    check_nothing_stays(console, secret)


def test_a_part_of_a_key_and_a_foreign_key_are_not_recognised_as_keys(console):
    one = console.tenant()
    secret = secret_of(console, one)
    page = console.go("/console/")
    console.requests.clear()
    page.keyboard.press("Control+k")
    box = page.locator(".palette input")
    box.fill(secret[:-1])
    expect(page.locator(".palette").get_by_role("option")).to_have_text("This is not a whole key")
    box.fill(secret[:-1] + ("a" if secret[-1] != "a" else "b"))
    expect(page.locator(".palette").get_by_role("option")).to_have_text("This is not a whole key")
    assert not [one for one in console.requests if "/v1/" in one.url and "search" in one.url]
    # Of no server.
    console.expects_refusals = True
    box.fill("gate_live_000000" + "0" * 30 + "3Ij47c")
    expect(page.locator(".palette").get_by_role("option")).to_have_text("No key that you may list has this secret")
    # What lists show of a key is searched for as ever.
    box.fill(secret[:12])
    expect(page.locator(".palette").get_by_role("option")).to_have_text("Nothing found")
