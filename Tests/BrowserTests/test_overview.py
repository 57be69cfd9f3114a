"""The numbers of the overview are those of the lists that they lead to, and its days are the reader's."""
import base64
import datetime
import json
import re
import subprocess
import zoneinfo

from budgets import database
from console import Console
from playwright.sync_api import expect
from test_refused_origins import knock
from test_requests import asking


def attempts(console, count):
    for number in range(count):
        console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": f"n-{number}", "email": f"n{number}@nowhere.example",
                                                  "email_verified": True})


def test_each_number_is_that_of_its_list(console):
    attempts(console, 3)
    one = console.tenant("Deleted Works")
    console.api("DELETE", f"/tenants/{one['id']}")
    page = console.go("/console/")
    cards = page.locator(".cards a.card")
    links = cards.evaluate_all("all => all.map(one => [one.querySelector('.num').textContent, one.getAttribute('href')])")
    assert len(links) == 4, links
    # No list has every user of a platform: the number leads to where one is found.
    assert links.pop(0)[1] == "/console/people"
    # Nor has one every key, whose uses these are: a number without a list is plain text.
    expect(page.locator(".cards div.card")).to_have_count(1)
    expect(page.locator(".cards div.card")).to_contain_text("Uses of API keys")
    for number, href in links:
        console.go(href)
        text = page.locator("main .bar .end").inner_text()
        shown = re.search(r"[\d,]+", text)
        assert (shown.group() if shown else "0") == number or (number == "0" and page.locator("[data-state=none]").count()), (href, number, text)
    # The list says of which days it is, and what it shows can be changed there.
    expect(page.get_by_label("From", exact=True)).not_to_have_value("")
    expect(page.get_by_label("Outcome")).to_have_value("refused")


def test_the_numbers_of_one_tenant_lead_to_its_users_and_keys(console):
    one = console.tenant()
    other = console.as_operator("admin", one["id"])
    page = other.go("/console/")
    for label, tab in (("Users", "users"), ("Uses of API keys", "keys")):
        expect(page.locator(".cards a.card").filter(has=page.get_by_text(label, exact=True))).to_have_attribute("href", f"/console/t/{one['id']}/{tab}")
    other.check_silence()
    other.close()


def test_every_use_of_a_key_counts(console):
    one = console.tenant()
    key = console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Caller", "scopes": ["users:read"]})["key"]
    page = console.go("/console/")
    card = page.locator(".cards .card").filter(has_text="Uses of API keys").locator(".num")
    before = int(card.inner_text().replace(",", ""))
    for _ in range(3):
        answer = console.context.request.get(f"{console.base}/v1/tenants/{one['id']}/users", headers={"authorization": f"Bearer {key}", "cookie": ""})
        assert answer.ok, answer.text()
    page.reload()
    expect(card).to_have_text(f"{before + 3:,}")


def test_the_days_are_those_of_the_readers_zone(console):
    for zone in ("America/Los_Angeles", "Pacific/Auckland", "UTC"):
        there = Console(console.server, console.browser, console.cookies(), timezone_id=zone)
        page = there.go("/console/")
        now = datetime.datetime.now(zoneinfo.ZoneInfo(zone))
        expect(page.locator(".axis time").last).to_have_text(f"{now:%b} {now.day}")
        expect(page.locator("figcaption")).to_contain_text(f"midnight in the zone {zone}")
        there.check_silence()
        there.close()


def test_a_period_is_chosen_by_days_of_the_readers_zone(console):
    attempts(console, 1)
    there = Console(console.server, console.browser, console.cookies(), timezone_id="America/Los_Angeles")
    page = there.go("/console/decisions")
    today = datetime.datetime.now(zoneinfo.ZoneInfo("America/Los_Angeles"))
    page.get_by_label("From", exact=True).fill(f"{today:%Y-%m-%d}")
    page.get_by_label("From", exact=True).press("Enter")
    offset = 8 if today.dst() == datetime.timedelta(0) else 7
    expect(page).to_have_url(re.compile(f"since={today:%Y-%m-%d}T0{offset}%3A00"))
    expect(page.locator("tbody tr").first).to_be_visible()
    page.get_by_label("To", exact=True).fill(f"{today - datetime.timedelta(days=1):%Y-%m-%d}")
    page.get_by_label("To", exact=True).press("Enter")
    expect(page.locator("[data-state=none]")).to_be_visible()
    page.reload()
    expect(page.get_by_label("From", exact=True)).to_have_value(f"{today:%Y-%m-%d}")
    there.check_silence()
    there.close()


def test_the_audit_log_is_limited_to_a_period(console):
    page = console.go("/console/audit")
    page.get_by_label("To", exact=True).fill("2020-01-01")
    page.get_by_label("To", exact=True).press("Enter")
    expect(page.locator("[data-state=none]")).to_be_visible()
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator("tbody tr").first).to_be_visible()


def lines(page):
    """What needs attention: the number, the words and the address of each line."""
    found = page.get_by_role("region", name="Needs your attention").locator("li a").evaluate_all(
        "all => all.map(one => [one.textContent, one.getAttribute('href')])")
    return [(int(re.match(r"\d+", text).group()), text, href) for text, href in found]


def test_pending_work_is_shown_first_with_the_number_of_each_list(console):
    one, domain = asking(console, "ann", "bob")
    for name in ("one", "two", "three"):
        console.api("POST", f"/tenants/{one['id']}/domains", {"domain": f"{name}.{domain}"})
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=5)
    console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Soon", "scopes": ["users:read"], "expires_at": f"{soon:%Y-%m-%dT%H:%M:%S.000Z}"})
    console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Later", "scopes": ["users:read"]})
    knock(console, one, "https://shop.example")
    owner = console.as_operator("owner", one["id"])
    owner.api("PUT", "/me/password", {"password": "a sentence is a password"})
    page = owner.go("/console/")
    found = lines(page)
    assert [text for _, text, _ in found] == [
        "2 people ask to join", "3 domains are not proved", "1 API key ends soon", "1 origin was refused"], found
    for number, text, href in found:
        owner.go(href)
        rows = page.locator("main .card").filter(has_text="Refused in the last 24 hours").locator("tbody tr") if "origin" in text else page.locator("main tbody tr")
        expect(rows).to_have_count(number)
    owner.check_silence()
    owner.close()
    # The platform sees whose it is, and the same number.
    page = console.go("/console/")
    item = page.get_by_role("region", name="Needs your attention").locator("li", has=page.locator(f"a[href='/console/t/{one['slug']}/requests']"))
    expect(item).to_contain_text("2 people ask to join")
    expect(item).to_contain_text("Asking Works")


def test_the_console_leads_to_an_older_key_and_its_scopes_are_confirmed(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}/api-keys"
    key = console.api("POST", path, {"name": "Old", "scopes": ["policy:write"]})
    console.api("PATCH", f"{path}/{key['id']}", {"allowed_ips": ["10.0.0.0/8"]})
    console.api("POST", path, {"name": "New", "scopes": ["policy:write"]})
    subprocess.run(["psql", "-X", "-q", "-d", database(console.server), "-c",
                    f"UPDATE api_keys SET given_before = true WHERE tenant_id = '{one['id']}'"], check=True)
    owner = console.as_operator("owner", one["id"])
    owner.api("PUT", "/me/password", {"password": "a sentence is a password"})
    page = owner.go("/console/")
    page.get_by_role("link", name="1 API key leads to an admin").click()
    expect(page.locator("main tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Old").click()
    page.get_by_text("are older than the rule about who may give them").wait_for()
    page.get_by_role("button", name="Confirm scopes").click()
    page.get_by_role("dialog").get_by_role("button", name="Confirm scopes").click()
    expect(page.get_by_text("are older than the rule about who may give them")).to_have_count(0)
    page = owner.go("/console/")
    expect(page.get_by_text("All is well: nothing waits for you.")).to_be_visible()
    owner.check_silence()
    owner.close()


def test_an_overview_without_pending_work_says_that_all_is_well(console):
    one = console.tenant()
    owner = console.as_operator("owner", one["id"])
    owner.api("PUT", "/me/password", {"password": "a sentence is a password"})
    page = owner.go("/console/")
    expect(page.get_by_text("All is well: nothing waits for you.")).to_be_visible()
    assert lines(page) == []
    owner.check_silence()
    owner.close()


def test_the_first_steps_tick_themselves_and_go_when_all_are_done(console):
    one = console.tenant()
    owner = console.as_operator("owner", one["id"])
    owner.api("PUT", "/me/password", {"password": "a sentence is a password"})
    page = owner.go("/console/")
    card = page.locator(".card").filter(has=page.get_by_role("heading", name="First steps"))
    step = card.locator("li").filter(has_text="Invite people")
    expect(step).to_contain_text("works once")
    owner.api("POST", f"/tenants/{one['id']}/invites", {"email": "ann@acme.example"})
    page.reload()
    expect(step).to_contain_text("Done.")
    owner.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Caller", "scopes": ["users:read"]})
    owner.go("/console/simulator?subject=s&email=a@acme.example")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("main .trace").first).to_be_visible()
    owner.go("/console/")
    expect(card.locator("li").filter(has_text="Try the rules")).to_contain_text("Done.")
    page.route("**/stats/overview*", lambda route: route.fulfill(json={
        **route.fetch().json(), "first_steps": dict.fromkeys(["tenant", "invite", "provider", "call", "second_owner"], True)}))
    owner.go("/console/")
    expect(page.get_by_text("All is well: nothing waits for you.")).to_be_visible()
    expect(card).to_be_hidden()
    owner.check_silence()
    owner.close()


def test_a_provider_that_cannot_be_reached_is_shown_with_the_time_of_its_first_failure(console):
    provider = console.api("POST", "/providers", {"kind": "oidc", "name": "Away", "issuer": "http://127.0.0.1:9", "client_id": "x"})
    claims = {"iss": "http://127.0.0.1:9", "aud": "x", "sub": "s"}
    parts = [json.dumps(one).encode() for one in ({"alg": "RS256", "kid": "1"}, claims)] + [b"no signature"]
    token = ".".join(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts)
    answer = console.context.request.post(f"{console.base}/v1/provisioning/sign-in", data={}, headers={"authorization": f"Bearer {token}", "cookie": ""})
    assert answer.status == 503, answer.text()
    page = console.go("/console/")
    item = page.get_by_role("region", name="Needs your attention").locator("li").filter(has_text="cannot be reached")
    expect(item).to_contain_text("1 provider cannot be reached")
    expect(item.locator("time")).to_be_visible()
    item.get_by_role("link").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("Unreachable since")
    console.api("DELETE", f"/providers/{provider['id']}")
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(0)


def spread(page):
    return page.get_by_role("slider", name="Rows by time")


def test_bars_above_the_decisions_narrow_the_period_by_pointer_and_by_keyboard(console):
    one = console.tenant()
    for number in range(3):
        console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": f"s-{number}", "email": f"s{number}@{one['slug']}.example",
                                                  "email_verified": True, "tenant": one["slug"]})
    page = console.go(f"/console/t/{one['slug']}/decisions")
    page.get_by_label("Period", exact=True).select_option(label="Last 7 days")
    expect(page).to_have_url(re.compile(r"since="))
    bars = spread(page)
    expect(bars).to_be_visible()
    expect(page.locator(".spread figcaption")).to_contain_text("Times are in your zone")
    assert len([one for one in console.asked("/provisioning/decisions") if "histogram=60" in one.url]) == 2
    # The last bar has them all; the first has none.
    box, most = bars.bounding_box(), bars.get_attribute("aria-valuemax")
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 20, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"since=.*until="))
    expect(page.get_by_label("Period", exact=True).locator("option:checked")).to_have_text("Own dates")
    expect(page.locator("tbody tr")).to_have_count(3)
    # The bars are those of the narrower period until the answer has come.
    with page.expect_response(re.compile(r"/provisioning/decisions\?.*histogram=60")):
        page.go_back()
    expect(page.get_by_label("Period", exact=True).locator("option:checked")).to_have_text("Last 7 days")
    expect(bars).to_have_attribute("aria-valuemax", most)
    bars.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    expect(bars).to_have_attribute("aria-valuetext", re.compile("^0 from "))
    page.keyboard.press("Enter")
    expect(page.locator("[data-state=none]")).to_be_visible()
    expect(bars).to_be_focused()
    page.get_by_role("button", name="Clear all").click()
    expect(page).not_to_have_url(re.compile("since="))


def test_bars_above_the_audit_log_are_those_of_its_filters(console):
    one = console.tenant()
    for number in range(4):
        console.api("POST", f"/tenants/{one['id']}/users", {"email": f"u{number}@acme.example"})
    page = console.go(f"/console/t/{one['slug']}/audit?action=user.created")
    page.get_by_label("Period", exact=True).select_option(label="Today")
    expect(page).to_have_url(re.compile("since="))
    console.idle()
    expect(page.locator("tbody tr")).to_have_count(4)
    spread(page).focus()
    page.keyboard.press("End")
    page.keyboard.press("Shift+Home")
    expect(spread(page)).to_have_attribute("aria-valuetext", re.compile("^4 from "))
    page.keyboard.press("Escape")
    expect(page.locator(".spread .chosen")).to_have_count(0)
    page.get_by_label("Period", exact=True).select_option(label="Yesterday")
    expect(page.locator("[data-state=none]")).to_be_visible()
    page.get_by_label("Period", exact=True).select_option(label="Any time")
    expect(page.locator("tbody tr")).to_have_count(4)


def test_bars_of_the_overview_narrow_its_period_by_pointer_and_by_keyboard(console):
    attempts(console, 2)
    page = console.go("/console/")
    bars = page.get_by_role("slider", name="Sign-ups by time")
    expect(page.locator("figcaption")).to_contain_text("Days begin at midnight")
    console.idle()
    bars.scroll_into_view_if_needed()
    box = bars.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 20, steps=4)
    expect(page.locator("rect.chosen")).to_have_count(4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"since=.*until="))
    expect(page.get_by_label("Period", exact=True).locator("option:checked")).to_have_text("Own dates")
    page.go_back()
    expect(page.get_by_label("Period", exact=True).locator("option:checked")).to_have_text("Last 7 days")
    expect(page.locator(".chart rect")).to_have_count(14)
    bars.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    expect(bars).to_have_attribute("aria-valuetext", re.compile(r"^\d+ from "))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"since=.*until="))
    expect(page.locator("rect.chosen")).to_have_count(0)
    expect(bars).to_be_focused()
