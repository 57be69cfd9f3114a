"""Addresses and names with letters that may be taken for others: the server compares bytes, people look."""
from playwright.sync_api import expect
from test_looks import look

# With Cyrillic а, с, е.
MIXED = "ada@аcme.example"
WHOLE = "ada@асе.example"
HONEST = ["ada@acme.example", "ada@bücher.example", "ada@пример.example", "ada@東京カフェ.example", "ada@tokyo東京.example"]


def ascii_of(page, address):
    return page.evaluate("text => new URL('http://' + text.split('@')[1]).hostname", address)


def test_the_invite_form_warns_of_letters_that_look_alike_and_shows_the_ascii_form(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/invites?new=1")
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("Email addresses")
    warning = dialog.locator(".note.warn")
    field.fill("\n".join(HONEST))
    console.idle()
    expect(warning).to_have_count(0)
    field.fill(f"{HONEST[1]}\n{MIXED}")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("several scripts")
    expect(warning).to_contain_text(ascii_of(page, MIXED))
    described = field.get_attribute("aria-describedby").split()
    assert warning.evaluate("node => node.parentNode.id") in described
    assert warning.evaluate("node => node.parentNode.ariaLive ?? node.parentNode.getAttribute('aria-live')") == "polite"
    field.fill(f"{MIXED}, {WHOLE}")
    expect(warning).to_have_count(2)
    expect(warning.nth(1)).to_contain_text("look like Latin")
    wrong = look(console, "an invite with a warning")
    assert not wrong, "\n".join(wrong)
    # It warns, and leaves the decision to the operator.
    field.fill(MIXED)
    dialog.get_by_label("Delivery").select_option("link")
    dialog.get_by_role("button", name="Invite").click()
    expect(page.locator(".secret")).to_be_visible()
    page.locator("#stored").check()
    page.locator("dialog[open] .primary").click()
    expect(page.locator("tbody tr")).to_contain_text("Look-alike letters")
    expect(page.locator("tbody tr")).to_contain_text(ascii_of(page, MIXED))


def test_the_user_form_and_lists_warn_and_honest_names_stay_as_they_are(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/users"
    page = console.go(f"/console/t/{one['slug']}/users?new=1")
    dialog = page.get_by_role("dialog")
    warning = dialog.locator(".note.warn")
    # A browser may give the name of an email in its ASCII form.
    for address in (MIXED, MIXED.split("@")[0] + "@" + ascii_of(page, MIXED)):
        dialog.get_by_label("Email").fill(address)
        expect(warning).to_contain_text("“аcme” has letters of several scripts")
        expect(warning).to_contain_text(ascii_of(page, MIXED))
    dialog.get_by_label("Email").fill("ada@acme.example")
    expect(warning).to_have_count(0)
    dialog.get_by_role("button", name="Cancel").click()
    for address in [MIXED, *HONEST]:
        console.api("POST", path, {"email": address})
    console.go(f"/console/t/{one['slug']}/users")
    expect(page.locator("tbody tr")).to_have_count(1 + len(HONEST))
    expect(page.get_by_text("Look-alike letters")).to_have_count(1)
    row = page.locator("tbody tr").filter(has_text="Look-alike letters")
    expect(row).to_contain_text(ascii_of(page, MIXED))
    wrong = look(console, "a list with a warning")
    assert not wrong, "\n".join(wrong)
    row.get_by_role("link").first.click()
    expect(page.locator(".person")).to_contain_text("Look-alike letters")


def test_the_forms_of_domains_and_origins_warn_too(console):
    one = console.tenant()
    for tab, label, text in (("domains", "Domain", "аcme.example"), ("origins", "Origin", "https://app.аcme.example:8443")):
        page = console.go(f"/console/t/{one['slug']}/{tab}?new=1")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label(label, exact=True).fill(text)
        expect(dialog.locator(".note.warn")).to_contain_text("“аcme” has letters of several scripts")
