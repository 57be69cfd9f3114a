"""The numbers of the overview are those of the lists that they lead to, and its days are the reader's."""
import datetime
import re
import zoneinfo

from console import Console
from playwright.sync_api import expect


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
    assert len(links) == 3, links
    for number, href in links:
        console.go(href)
        text = page.locator("main .bar .end").inner_text()
        shown = re.search(r"[\d,]+", text)
        assert (shown.group() if shown else "0") == number or (number == "0" and page.locator("[data-state=none]").count()), (href, number, text)
    # The list says of which days it is, and what it shows can be changed there.
    expect(page.get_by_label("From", exact=True)).not_to_have_value("")
    expect(page.get_by_label("Outcome")).to_have_value("refused")


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


def test_the_audit_log_is_narrowed_to_a_period(console):
    page = console.go("/console/audit")
    page.get_by_label("To", exact=True).fill("2020-01-01")
    page.get_by_label("To", exact=True).press("Enter")
    expect(page.locator("[data-state=none]")).to_be_visible()
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator("tbody tr").first).to_be_visible()
