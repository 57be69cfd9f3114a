"""Origins that were refused are shown beside those that are allowed, and one of them is allowed with open eyes."""
import urllib.error
import urllib.request

from playwright.sync_api import expect


def knock(console, tenant, origin, times=1):
    for _ in range(times):
        asked = urllib.request.Request(f"{console.base}/v1/tenants/{tenant['id']}/users", headers={"Origin": origin})
        try:
            urllib.request.urlopen(asked)
            raise AssertionError("the origin was let in")
        except urllib.error.HTTPError as error:
            assert error.code == 403, error.read()


def test_a_refused_origin_is_allowed_without_cookies_after_a_warning(console):
    one = console.tenant()
    knock(console, one, "https://shop.example", 3)
    knock(console, one, "https://xn--pple-43d.example")
    page = console.go(f"/console/t/{one['slug']}/origins")
    page.get_by_role("button", name="Show what was refused lately").click()
    card = page.locator(".card", has_text="Refused in the last 24 hours")
    row = card.locator("tbody tr", has_text="https://shop.example")
    expect(row).to_contain_text("3")
    expect(row).to_contain_text("/v1/tenants/{tenant}/users")
    # A name that mixes scripts says so.
    expect(card.locator("tbody tr", has_text="xn--pple-43d")).to_contain_text("Look-alike letters")
    row.get_by_role("button", name="Allow").click()
    dialog = page.get_by_role("dialog", name="Allow https://shop.example?")
    expect(dialog).to_contain_text("Anyone can cause this line")
    expect(dialog.get_by_role("checkbox")).to_have_count(0)
    dialog.get_by_role("button", name="Allow", exact=True).click()
    expect(page.get_by_text("https://shop.example is allowed")).to_be_visible()
    listed, = console.api("GET", f"/tenants/{one['id']}/cors-origins")["items"]
    assert listed["origin"] == "https://shop.example" and listed["credentials"] is False


def test_an_operator_who_may_not_change_origins_sees_them_without_a_button(console):
    one = console.tenant()
    knock(console, one, "https://shop.example")
    reader = console.as_operator("auditor")
    reader.go(f"/console/t/{one['slug']}/origins")
    reader.page.get_by_role("button", name="Show what was refused lately").click()
    expect(reader.page.get_by_text("https://shop.example")).to_be_visible()
    expect(reader.page.get_by_role("button", name="Allow")).to_have_count(0)
    reader.check_silence()
    reader.close()


def test_a_list_without_refusals_says_that_nothing_was_refused(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/origins")
    page.get_by_role("button", name="Show what was refused lately").click()
    expect(page.get_by_text("Nothing was refused")).to_be_visible()


def test_the_link_of_the_overview_opens_what_was_refused(console):
    one = console.tenant()
    knock(console, one, "https://shop.example")
    page = console.go(f"/console/t/{one['slug']}/origins?refused=1")
    row = page.locator(".card", has_text="Refused in the last 24 hours").locator("tbody tr")
    expect(row).to_contain_text("https://shop.example")
    row.get_by_role("button", name="Allow").click()
    page.get_by_role("dialog").get_by_role("button", name="Allow", exact=True).click()
    expect(page.get_by_text("https://shop.example is allowed")).to_be_visible()
