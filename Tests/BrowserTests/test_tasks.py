"""What operators do most, by mouse and by keyboard, with the steps and the requests that it costs.

A step is a click, a choice from a menu of the browser, or a chord that acts. Pointing is none: neither the mouse's way nor the
focus's (Tab, arrows, J and K). Typing and pasting is none either.
"""
import datetime
import re
import subprocess
import uuid

from budgets import database
from console import Console, FreshServer
from playwright.sync_api import expect


class Hand:
    """An operator at work; `end` fails where the task took more steps or requests than it may."""

    def __init__(self, console, start="/console/"):
        self.console = console
        self.page = console.go(start)
        console.idle()
        console.requests.clear()
        self.steps = []

    def click(self, where):
        self.steps.append("click")
        where.click()

    def choose(self, select, option):
        self.steps.append("choose")
        select.select_option(option)

    def press(self, chord):
        self.steps.append(chord)
        self.page.keyboard.press(chord)

    def reach(self, where, key="Tab"):
        """Moves the focus."""
        expect(where).to_be_visible()
        for _ in range(80):
            if where.evaluate("(one) => one === document.activeElement"):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{where} is not reached by {key}")

    def type(self, text):
        self.page.keyboard.type(text)

    def paste(self, text):
        self.page.keyboard.insert_text(text)

    def find(self, text, by, first=None, kind=""):
        """Opens what the palette finds first, or the entry that holds `first` and is of that kind."""
        if by == "mouse":
            self.click(self.page.locator(".finder"))
        else:
            self.press("Control+k")
        # Its code comes with the first use.
        expect(self.page.locator(".palette input")).to_be_focused()
        self.paste(text)
        entry = self.page.get_by_role("option", name=re.compile(re.escape(first or text), re.I)).filter(has_text=kind).first
        expect(entry).to_be_visible()
        if by == "mouse":
            return self.click(entry)
        while entry.get_attribute("aria-selected") != "true":
            self.page.keyboard.press("ArrowDown")
        return self.press("Enter")

    def act(self, where, by):
        """A button, by either."""
        if by == "mouse":
            self.click(where)
        else:
            self.reach(where)
            self.press("Enter")

    def store_secret(self, by):
        """Says that the secret shown is stored, and closes its dialog."""
        self.page.locator(".secret").wait_for()
        stored = self.page.locator("#stored")
        if by == "mouse":
            self.click(stored)
        else:
            self.reach(stored)
            self.press("Space")
        self.act(self.page.locator("dialog[open] .primary"), by)

    def end(self, steps, requests):
        self.console.idle()
        asked = [f"{one.method} {one.url.split('/v1')[1]}" for one in self.console.requests if "/v1/" in one.url]
        print(f"{len(self.steps)} steps ({' '.join(self.steps)}), {len(asked)} requests")
        assert len(self.steps) <= steps, self.steps
        assert len(asked) <= requests, asked


def both(task):
    """Runs the task by mouse and by keyboard."""
    def run(console):
        for by in ("mouse", "keyboard"):
            task(console, by)
    run.__name__, run.__doc__ = task.__name__, task.__doc__
    return run


def with_users(console, number=1):
    one = console.tenant()
    word = uuid.uuid4().hex[:8]
    people = [console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{word}{at}@acme.example"}) for at in range(number)]
    for at, person in enumerate(people):
        console.api("POST", "/hooks/pre-signup", {
            "provider": "google", "subject": f"{word}{at}", "email": person["email"], "email_verified": True, "tenant": one["slug"]})
    return one, people


@both
def test_01_the_first_owner_sets_up_the_server(console, by):
    with FreshServer() as server:
        fresh = Console(server, console.browser)
        try:
            hand = Hand(fresh, f"/console/setup#token={server.token}")
            page = hand.page
            for label, text in (("Email", "ada@acme.example"), ("Your name", "Ada"), ("Password", "a long enough passphrase")):
                field = page.get_by_label(label, exact=True)
                if field.count():
                    hand.click(field) if by == "mouse" else hand.reach(field)
                    hand.paste(text)
            hand.click(page.get_by_role("button", name="Become the first owner")) if by == "mouse" else hand.press("Enter")
            expect(page.locator("h1")).to_have_text("Overview")
            hand.end(5, 12)
        finally:
            fresh.close()


@both
def test_02_find_one_person_across_tenants(console, by):
    _, (person,) = with_users(console)
    hand = Hand(console)
    hand.find(person["email"][:9], by)
    expect(hand.page.locator(".person")).to_contain_text(person["email"])
    hand.end(2, 14)


@both
def test_03_say_why_somebody_was_refused(console, by):
    email = f"{uuid.uuid4().hex[:8]}@stranger.example"
    answer = console.api("POST", "/hooks/pre-signup", {"provider": "google", "subject": "1", "email": email})
    decision = console.api("GET", f"/provisioning/decisions/{answer['decision_id']}")
    hand = Hand(console)
    hand.find(decision.get("reference") or email, by, first=email)
    expect(hand.page.locator("h1")).to_contain_text(email)
    expect(hand.page.locator(".note").first).to_contain_text("No tenant knows the address")
    hand.end(2, 14)


@both
def test_04_invite_twenty_by_pasting(console, by):
    one = console.tenant()
    console.go(f"/console/t/{one['slug']}/users")
    hand = Hand(console)
    hand.find("Invite people", by)
    box = hand.page.get_by_label("Email addresses")
    expect(box).to_be_focused()
    hand.paste("\n".join(f"guest{at}@acme.example" for at in range(20)))
    if by == "mouse":
        hand.click(hand.page.locator("dialog[open] .primary"))
    else:
        hand.press("Control+Enter")
    expect(hand.page.locator("dialog[open]")).to_contain_text("20 of 20 invited")
    hand.end(4, 16)


@both
def test_05_change_a_role(console, by):
    one, (person,) = with_users(console)
    hand = Hand(console, f"/console/t/{one['slug']}/users")
    hand.act(hand.page.locator("tbody a.main"), by)
    hand.act(hand.page.get_by_role("button", name="Role: Member"), by)
    entry = hand.page.get_by_role("menuitem", name=re.compile("^Admin"))
    if by == "mouse":
        hand.click(entry)
    else:
        hand.reach(entry, "ArrowDown")
        hand.press("Enter")
    expect(hand.page.get_by_role("button", name="Role: Admin")).to_be_visible()
    hand.end(3, 18)
    hand.press("z")
    expect(hand.page.get_by_role("button", name="Role: Member")).to_be_visible()


@both
def test_06_suspend_and_undo(console, by):
    one, _ = with_users(console)
    hand = Hand(console, f"/console/t/{one['slug']}/users")
    hand.act(hand.page.get_by_role("button", name=re.compile("^Suspend ")), by)
    expect(hand.page.locator("tbody")).to_contain_text("Suspended")
    if by == "mouse":
        hand.click(hand.page.get_by_role("button", name="Undo"))
    else:
        hand.press("z")
    expect(hand.page.locator("tbody")).to_contain_text("Active")
    hand.end(2, 6)


@both
def test_07_revoke_a_leaked_key_from_its_text(console, by):
    one = console.tenant()
    made = console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Leaked", "scopes": ["keys:verify"]})
    hand = Hand(console)
    hand.find(made["key"], by, first="Leaked")
    hand.act(hand.page.locator("dialog[open] .danger"), by)
    expect(hand.page.locator("main")).to_contain_text("Revoked")
    assert not [one.url for one in console.requests if made["key"][:20] in one.url]
    hand.end(4, 16)


@both
def test_08_rotate_a_key(console, by):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Worker", "scopes": ["keys:verify"]})
    hand = Hand(console, f"/console/t/{one['slug']}/keys")
    hand.act(hand.page.get_by_role("button", name=re.compile("^Rotate ")), by)
    hand.act(hand.page.locator("dialog[open] .primary"), by)
    hand.store_secret(by)
    expect(hand.page.locator("dialog[open]")).to_have_count(0)
    hand.end(4, 8)


@both
def test_09_allow_an_origin_and_test_it(console, by):
    one = console.tenant()
    console.go(f"/console/t/{one['slug']}/users")
    hand = Hand(console)
    hand.find("Add origin", by)
    expect(hand.page.locator("dialog[open] input").first).to_be_focused()
    hand.paste("https://app.acme.example")
    hand.click(hand.page.locator("dialog[open] .primary")) if by == "mouse" else hand.press("Enter")
    expect(hand.page.locator("main")).to_contain_text("Preflight, 204")
    hand.end(4, 16)


def did_yesterday(console, actor, action, kind, target, tenant):
    """Writes an event of yesterday noon, as the browser counts days; `target`: its id and its name."""
    at = datetime.datetime.now().replace(hour=12) - datetime.timedelta(days=1)
    values = [tenant, str(uuid.uuid4()), at.astimezone().isoformat(), "operator", str(uuid.uuid4()), actor, action, kind, *target, "test"]
    names = "tenant_id, id, occurred_at, actor_type, actor_id, actor_name, action, target_type, target_id, target_name, request_id"
    marks = ", ".join(f"'{one}'" for one in values)
    subprocess.run(["psql", "-X", "-q", "-d", database(console.server), "-c", f"INSERT INTO audit_events ({names}) VALUES ({marks})"], check=True)


@both
def test_12_say_who_did_what_yesterday(console, by):
    one, (person,) = with_users(console)
    actor = f"Ida {uuid.uuid4().hex[:8]}"
    did_yesterday(console, actor, "user.suspended", "user", (person["id"], person["email"]), one["id"])
    hand = Hand(console)
    hand.find("Audit", by)
    hand.choose(hand.page.get_by_label("Period", exact=True), "Yesterday")
    expect(hand.page).to_have_url(re.compile(r"since=.*until="))
    row = hand.page.locator("tbody tr", has_text=actor)
    for text in ("User suspended", person["email"], one["name"]):
        expect(row).to_contain_text(text)
    hand.end(3, 12)


def test_the_audit_log_leads_to_what_was_done_and_offers_each_action(console):
    one, (person,) = with_users(console)
    key = console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Caller", "scopes": ["keys:verify"]})
    invite = console.api("POST", f"/tenants/{one['id']}/invites", {"email": "iris@acme.example", "delivery": "link"})
    page = console.go("/console/audit")
    inside = f"/console/t/{one['id']}"
    places = {"api_key.created": (key["id"], f"{inside}/keys/{key['id']}"), "user.created": (person["id"], f"{inside}/users/{person['id']}"),
              "invite.created": (invite["id"], f"{inside}/invites?q=iris%40acme.example"), "tenant.created": (one["id"], f"{inside}/users")}
    for action, (target, place) in places.items():
        page = console.go(f"/console/audit?target={target}")
        page.get_by_label("Action", exact=True).select_option(action)
        expect(page).to_have_url(re.compile(f"action={re.escape(action)}"))
        row = page.locator("tbody tr")
        expect(row).to_have_count(1)
        expect(row.locator(".sub a").first).to_have_attribute("href", place)
        expect(row.locator("td[data-label=Tenant] a")).to_have_attribute("href", f"{inside}/users")
    page.get_by_label("Action", exact=True).select_option("API key: all")
    expect(page).to_have_url(re.compile("action=api_key\\."))
    # Within a tenant each entry is that tenant's.
    console.go(f"/console/t/{one['slug']}/audit")
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.locator("td[data-label=Tenant]")).to_have_count(0)


@both
def test_13_export_users(console, by):
    one, _ = with_users(console, 3)
    console.go(f"/console/t/{one['slug']}/keys")
    hand = Hand(console)
    hand.find("Users", by)
    expect(hand.page.locator("tbody tr")).to_have_count(3)
    with hand.page.expect_download() as file:
        hand.click(hand.page.get_by_role("button", name="Export")) if by == "mouse" else hand.press("e")
    assert file.value.path().read_text().count("\n") >= 4
    hand.end(3, 14)


@both
def test_15_delete_a_tenant_and_restore_it(console, by):
    one = console.tenant()
    console.go(f"/console/t/{one['slug']}/users")
    hand = Hand(console)
    # Not the settings of another tenant that were seen lately.
    hand.find("Settings", by, kind="Page")
    hand.act(hand.page.get_by_role("button", name="Delete tenant"), by)
    hand.page.locator("dialog[open] input").focus()
    hand.paste(one["slug"])
    hand.click(hand.page.locator("dialog[open] .danger")) if by == "mouse" else hand.press("Enter")
    expect(hand.page.locator("h1")).to_have_text("Tenants")
    hand.click(hand.page.get_by_role("button", name="Undo")) if by == "mouse" else hand.press("z")
    expect(hand.page.locator("h1")).to_have_text("Settings")
    hand.end(5, 24)


@both
def test_15_make_one_of_two_records(console, by):
    one = console.tenant()
    for email in ("ada.lovelace@acme.example", "adalovelace@acme.example"):
        console.api("POST", f"/tenants/{one['id']}/users", {"email": email})
    hand = Hand(console, f"/console/t/{one['slug']}/users")
    hand.act(hand.page.get_by_role("link", name="Duplicates"), by)
    hand.act(hand.page.locator("main .primary, main button", has_text=re.compile("Make one|Merge")).first, by)
    hand.act(hand.page.locator("dialog[open] .primary"), by)
    expect(hand.page.locator(".toast")).to_contain_text("are one")
    hand.end(4, 10)


@both
def test_10_close_sign_up_to_the_people_of_a_domain(console, by):
    one = console.tenant()
    domain = f"d{uuid.uuid4().hex[:8]}.example"
    console.go(f"/console/t/{one['slug']}/users")
    hand = Hand(console)
    hand.find("Add domain", by)
    page = hand.page
    expect(page.locator("dialog[open] input").first).to_be_focused()
    hand.paste(domain)
    word = page.get_by_label("You confirm that it is theirs")
    if by == "mouse":
        hand.click(word)
    else:
        hand.reach(word)
        hand.press("Space")
    hand.choose(page.locator("dialog[open] select[name=mode]"), "join")
    hand.click(page.locator("dialog[open] .primary")) if by == "mouse" else hand.press("Control+Enter")
    expect(page.locator("tbody")).to_contain_text(domain)
    hand.end(5, 18)
    answer = console.api("POST", "/provisioning/evaluate", {
        "provider": "google", "subject": "1", "email": f"a@{domain}", "email_verified": True, "tenant": one["slug"]})
    assert answer["reason"] != "no_tenant", answer


@both
def test_11_simulate_a_sign_in(console, by):
    email = f"{uuid.uuid4().hex[:8]}@stranger.example"
    hand = Hand(console)
    hand.find("Simulator", by)
    expect(hand.page.get_by_label("Email", exact=True)).to_be_focused()
    hand.paste(email)
    hand.click(hand.page.get_by_role("button", name="Run", exact=True)) if by == "mouse" else hand.press("Enter")
    expect(hand.page.locator("main .trace").first).to_be_visible()
    hand.end(3, 12)


@both
def test_14_make_an_operator_of_one_tenant(console, by):
    one = console.tenant(f"Scoped {by}")
    console.go(f"/console/t/{one['slug']}/users")
    hand = Hand(console)
    hand.find("Add operator of this tenant", by)
    page = hand.page
    expect(page.locator("dialog[open] input").first).to_be_focused()
    hand.paste(f"{uuid.uuid4().hex[:8]}@gatehouse.test")
    hand.click(page.locator("dialog[open] .primary")) if by == "mouse" else hand.press("Enter")
    hand.store_secret(by)
    expect(page.locator("tbody").first).to_contain_text(f"Scoped {by}")
    hand.end(5, 16)
    made, = (each for each in console.api("GET", "/operators?limit=100")["items"] if each["scope"].get("tenant_id") == one["id"])
    console.api("DELETE", f"/operators/{made['id']}")
