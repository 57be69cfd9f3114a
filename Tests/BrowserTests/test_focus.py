"""After each act something has the focus: never the body, from where a reader begins again at the page's top.

`:focus` never matches the body, so one match is enough; which one it is, is said where it matters.
"""
import contextlib
import re

from playwright.sync_api import expect
from test_account import email_of, operator, sign_in
from test_looks import AXE, RULES, RUN
from test_refused_origins import knock

# Two frames and a turn: the browser takes the focus away after the frame in which its holder went.
SETTLED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 40))))"


def by_mouse(locator):
    locator.click()


def by_keys(locator):
    locator.focus()
    locator.press("Enter")


BOTH = (by_mouse, by_keys)


class Acts:
    """Acts of a page, after each of which something must have the focus."""

    def __init__(self, console, act=by_mouse):
        self.page, self.act, self.lost = console.page, act, []

    def kept(self, what, at=None):
        """Called once the act has had its effect; `at`: what has the focus then."""
        self.page.evaluate(SETTLED)
        try:
            expect(self.page.locator(":focus")).to_have_count(1, timeout=3000)
            if at:
                expect(at).to_be_focused(timeout=1000)
        except AssertionError:
            held = self.page.evaluate("document.activeElement.outerHTML.slice(0, 90)")
            self.lost.append(f"{self.act.__name__}: {what}: the focus is on {held}")

    def button(self, name, within=None, **more):
        return (within or self.page).get_by_role("button", name=name, **more)

    def press(self, name, within=None, **more):
        self.act(self.button(name, within, **more).first)

    @property
    def dialog(self):
        return self.page.locator("dialog[open]")

    def ask(self, row, name):
        """Opens the question that an act of a row's menu asks."""
        self.press(re.compile("^More for"), row)
        self.act(self.page.get_by_role("menuitem", name=re.compile(f"^{name}")))
        expect(self.dialog).to_be_visible()

    def closed(self, what):
        expect(self.dialog).to_have_count(0)
        self.kept(what)

    def check(self):
        assert not self.lost, "\n".join(self.lost)


def with_people(console, *names):
    one = console.tenant()
    for name in names:
        user = console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{name}@acme.example"})
        console.api("POST", f"/tenants/{one['id']}/users/{user['id']}/suspend")
    return one


def check_by_axe(page):
    page.evaluate(AXE)
    # The rows that stand for those to come may be scrolled, and hold nothing yet.
    wrong = [one for one in page.evaluate(RUN, RULES) if not one.startswith("scrollable-region")]
    assert not wrong, wrong


def test_bars_that_are_not_there_yet_are_no_slider(console):
    support = console.as_operator("support")
    page, held = support.page, []
    try:
        page.route(re.compile(r"/v1/.*decisions\?"), lambda route: held.append(route))
        page.goto(f"{support.base}/console/t/demo/decisions")
        expect(page.locator(".spread")).to_be_visible()
        expect(page.locator("tbody .sk").first).to_be_visible()
        expect(page.get_by_role("slider")).to_have_count(0)
        check_by_axe(page)
        held[0].continue_()
        slider = page.get_by_role("slider", name="Rows by time")
        expect(slider).to_have_attribute("aria-valuenow", "0")
        expect(slider).to_have_attribute("aria-valuemax", re.compile(r"^\d+$"))
        check_by_axe(page)
        # What may not be read has none either.
        support.expects_refusals = True
        support.go("/console/audit")
        check_by_axe(page)
        support.check_silence()
    finally:
        support.close()


def test_after_acts_on_rows(console):
    for act in BOTH:
        one = with_people(console, "a", "b", "c")
        acts, page = Acts(console, act), console.go(f"/console/t/{one['slug']}/users?sort=email")
        row = page.locator("tbody tr", has_text="b@acme")
        acts.press("Resume", row)
        expect(row).not_to_contain_text("Suspended")
        acts.kept("resume")
        page.keyboard.press("z")
        expect(row).to_contain_text("Suspended")
        acts.kept("undo by Z")
        acts.press("Resume", row)
        expect(row).not_to_contain_text("Suspended")
        acts.press("Undo", page.locator(".toast").last)
        expect(row).to_contain_text("Suspended")
        acts.kept("undo by the message's button")
        expect(row.locator(":focus")).to_have_count(1)
        acts.press("Dismiss", page.locator(".toast").last)
        acts.kept("dismiss a message")
        acts.press(re.compile("^More for"), row)
        expect(page.get_by_role("menuitem").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("menuitem")).to_have_count(0)
        acts.kept("a row's menu closed by Escape", acts.button(re.compile("^More for"), row))
        acts.ask(row, "Delete")
        page.keyboard.press("Escape")
        acts.closed("a question closed by Escape")
        acts.ask(row, "Delete")
        acts.press("Keep", acts.dialog)
        acts.closed("a question answered with Keep")
        acts.ask(row, "Delete")
        acts.press("Delete user", acts.dialog)
        expect(row).to_have_count(0)
        acts.closed("delete")
        page.keyboard.press("F6")
        acts.kept("F6")
        page.keyboard.press("Enter")
        expect(row).to_have_count(1)
        acts.kept("undo by F6 and Enter")
        acts.check()


def test_after_acts_on_chosen_rows(console):
    for act in BOTH:
        one = with_people(console, "a", "b", "c")
        acts, page = Acts(console, act), console.go(f"/console/t/{one['slug']}/users?sort=email")
        bar = page.get_by_role("group", name="Selected rows")
        first = page.get_by_label("Select a@acme.example")
        first.click()
        expect(bar).to_be_visible()
        acts.kept("a row chosen", first)
        acts.press("Clear", bar)
        expect(bar).to_be_hidden()
        acts.kept("the choice cleared", first)
        page.get_by_label("Select all of this page").click()
        acts.press("Resume", bar)
        expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(0)
        acts.kept("resume those chosen")
        acts.press("Undo", page.locator(".toast").last)
        expect(page.locator("tbody").get_by_text("Suspended")).to_have_count(3)
        acts.kept("that undone")
        page.get_by_label("Select all of this page").click()
        acts.press("Delete", bar)
        acts.press("Keep", acts.dialog)
        acts.closed("delete those chosen, answered with Keep")
        acts.press("Delete", bar)
        acts.press("Delete 3 users", acts.dialog)
        expect(page.get_by_text("Nobody has come in yet")).to_be_visible()
        acts.kept("delete those chosen")
        page.keyboard.press("z")
        expect(page.locator("tbody tr")).to_have_count(3)
        acts.kept("that undone by Z")
        acts.check()


def test_after_acts_beside_a_list(console):
    one, many = with_people(console, "a", "b", "c"), console.tenant()
    console.api("POST", f"/tenants/{many['id']}/invites", {"invites": [{"email": f"p{at:02}@acme.example", "delivery": "link"} for at in range(55)]})
    for act in BOTH:
        acts, page = Acts(console, act), console.go(f"/console/t/{one['slug']}/users?sort=email")
        panel, link = page.locator("aside.peek"), page.get_by_role("link", name="a@acme.example")
        link.focus()
        page.keyboard.press("Space")
        expect(panel).to_be_visible()
        acts.kept("a look at a row", link)
        page.keyboard.press("ArrowDown")
        expect(panel).to_contain_text("b@acme.example")
        acts.kept("a look at the next")
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
        acts.kept("the look closed by Escape")
        page.locator("tbody tr", has_text="c@acme.example").locator("td", has_text="never").click()
        expect(panel).to_be_visible()
        acts.kept("a look by a click beside")
        acts.press("Close", panel)
        expect(panel).to_have_count(0)
        acts.kept("the look closed by its button", page.get_by_role("link", name="c@acme.example"))
        acts.press("User", page.locator("thead"))
        expect(page).to_have_url(re.compile("sort=-email"))
        expect(page.locator("tbody tr").first).to_contain_text("c@acme.example")
        acts.kept("sorted", acts.button("User", page.locator("thead")))
        acts.press("Columns")
        expect(page.get_by_role("menuitem").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("menuitem")).to_have_count(0)
        acts.kept("the menu of columns closed")
        page.get_by_label("Status", exact=True).focus()
        page.get_by_label("Status", exact=True).select_option("active")
        expect(page.get_by_text("No users match")).to_be_visible()
        acts.kept("filtered")
        acts.press("Clear all")
        expect(page.locator("tbody tr")).to_have_count(3)
        acts.kept("filters cleared")
        page.get_by_role("searchbox").first.fill("b@acme")
        expect(page.locator("tbody tr")).to_have_count(1)
        acts.kept("searched", page.get_by_role("searchbox"))
        acts.act(page.locator("nav.nav").get_by_role("link", name="Invites"))
        expect(page.locator("main h1")).to_have_text("Invites")
        acts.kept("another page", page.locator("main h1"))
        console.go(f"/console/t/{many['slug']}/invites")
        acts.press("Next page")
        expect(page.locator("tbody tr")).to_have_count(5)
        acts.kept("the next page of a list")
        acts.press("First page")
        expect(page.locator("tbody tr")).to_have_count(50)
        acts.kept("the first page of a list")
        acts.check()


def test_the_operator_s_menu_is_not_replaced_once_it_is_shown(console):
    page = console.go("/console/")
    opener = page.get_by_role("button", name="Operator menu")
    opener.click()
    expect(page.get_by_role("button", name="Deutsch")).to_be_visible()
    page.keyboard.press("Escape")
    opener.evaluate("opener => { opener.click(); globalThis.shown = document.querySelector('.menu button') }")
    page.evaluate(SETTLED)
    assert page.evaluate("shown.isConnected")


def test_after_acts_on_what_stands_around(console):
    other = console.tenant("Yonder Works")
    for act in BOTH:
        acts, page = Acts(console, act), console.go("/console/t/demo/users")
        menu, switch = acts.button("Operator menu"), page.get_by_title("Switch tenant")
        page.keyboard.press("Control+k")
        expect(page.locator(".palette input")).to_be_focused()
        page.keyboard.press("Escape")
        acts.closed("the palette closed by Escape")
        act(switch)
        page.keyboard.press("Escape")
        acts.closed("the switch closed by Escape")
        acts.kept("the switch closed", switch)
        act(switch)
        page.keyboard.type("Yonder")
        found = page.get_by_role("option", name=re.compile("Yonder"))
        found.wait_for()
        if act is by_mouse:
            found.click()
        else:
            page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/t/{other['slug']}/users"))
        expect(page.locator("main .crumbs")).to_contain_text("Yonder Works")
        acts.kept("the tenant switched", page.locator("main h1"))
        act(menu)
        acts.act(acts.button("Dark", exact=True))
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        acts.kept("another theme")
        act(acts.button("Exact times"))
        expect(page.locator("html")).to_have_attribute("data-times", "exact")
        expect(page.locator("main .busy, main.busy")).to_have_count(0)
        acts.kept("exact times", acts.button("Exact times"))
        with page.expect_response(re.compile(r"/users\?")):
            act(acts.button("Relative times"))
        acts.kept("relative times", acts.button("Relative times"))
        page.keyboard.press("Escape")
        acts.kept("the operator's menu closed by Escape", menu)
        act(menu)
        act(acts.button("Keyboard shortcuts"))
        expect(acts.dialog).to_be_visible()
        acts.press("Close", acts.dialog)
        acts.closed("the sheet of keys closed")
        act(page.get_by_title("Show the requests of this view"))
        expect(acts.dialog).to_be_visible()
        page.keyboard.press("Escape")
        acts.closed("the requests closed")
        act(menu)
        act(acts.button("Deutsch"))
        expect(page.locator("html")).to_have_attribute("lang", "de")
        expect(page.locator("main h1")).to_be_attached()
        acts.kept("another language")
        act(page.get_by_role("button", name="Menü des Betreibers"))
        act(acts.button("English"))
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(page.locator("main h1")).to_be_attached()
        acts.kept("the language back")
        acts.check()


def store(acts):
    """Ends a dialog that shows a secret."""
    expect(acts.dialog.locator(".secret")).to_be_visible()
    acts.press("Copy", acts.dialog)
    acts.kept("a secret copied")
    acts.dialog.get_by_label("I have stored it").check()
    acts.press("Done", acts.dialog)


def begin(acts, name):
    acts.press(name, acts.page.locator("main"))
    expect(acts.page.locator("form :focus")).to_have_count(1)


def test_after_what_is_made_and_ended(console):
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for act in BOTH:
        one = console.tenant()
        acts, page, base = Acts(console, act), console.go(f"/console/t/{one['slug']}/invites"), f"/console/t/{one['slug']}"
        rows = page.locator("tbody tr")
        begin(acts, "Invite")
        page.keyboard.press("Escape")
        acts.closed("a form closed by Escape")
        begin(acts, "Invite")
        acts.press("Cancel", acts.dialog)
        acts.closed("a form closed by Cancel")
        begin(acts, "Invite")
        console.field("Email addresses").fill("ann@acme.example")
        acts.press("Invite", acts.dialog, exact=True)
        store(acts)
        expect(rows).to_have_count(1)
        acts.closed("an invite made")
        acts.ask(rows.first, "Revoke")
        acts.press("Revoke invite", acts.dialog)
        expect(rows.first).to_contain_text("Revoked")
        acts.closed("an invite revoked")
        console.go(f"{base}/invites/join-links")
        begin(acts, "Make a link")
        acts.press("Make the link", acts.dialog)
        store(acts)
        expect(rows).to_have_count(1)
        acts.closed("a join link made")
        acts.press("Revoke", rows.first)
        expect(acts.dialog).to_be_visible()
        acts.press("Revoke link", acts.dialog)
        expect(rows.first).to_contain_text("Revoked")
        acts.closed("a join link revoked")
        console.go(f"{base}/domains")
        begin(acts, "Add domain")
        console.field("Domain").fill(f"{one['slug']}.example")
        acts.press("Add domain", acts.dialog)
        expect(rows).to_have_count(1)
        acts.closed("a domain added")
        acts.press("Copy name")
        acts.kept("a record's name copied", acts.button("Copy name"))
        acts.ask(rows.first, "Verify without DNS")
        acts.press("Verify", acts.dialog, exact=True)
        expect(rows.first).to_contain_text("Verified")
        acts.closed("a domain verified")
        acts.ask(rows.first, "Remove")
        acts.press("Remove domain", acts.dialog)
        expect(page.locator("[data-state=empty]")).to_be_visible()
        acts.closed("a domain removed")
        acts.check()


def test_after_acts_on_keys_and_origins(console):
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for act in BOTH:
        one = console.tenant()
        console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Mail", "scopes": ["keys:verify"]})
        knock(console, one, "https://shop.example")
        acts, page = Acts(console, act), console.go(f"/console/t/{one['slug']}/keys")
        rows = page.locator("tbody tr")
        acts.press("Rotate", rows.first)
        expect(acts.dialog).to_be_visible()
        acts.press("Rotate", acts.dialog)
        store(acts)
        expect(page.locator("main").get_by_role("button", name=re.compile("^More for"))).to_have_count(1)
        acts.closed("a key rotated")
        acts.ask(rows.first, "End old secret")
        acts.press("End old secret", acts.dialog)
        acts.closed("an old secret ended")
        page.get_by_role("link", name="Mail").first.click()
        expect(page.get_by_role("heading", name="Mail").first).to_be_visible()
        acts.kept("a key opened")
        acts.press("Revoke", page.locator("main .head, main .acts"))
        expect(acts.dialog).to_be_visible()
        acts.press("Revoke key", acts.dialog)
        expect(page.locator("main h1").first).to_contain_text("Revoked")
        acts.closed("a key revoked on its page")
        console.go(f"/console/t/{one['slug']}/origins")
        acts.press("Show what was refused lately")
        expect(page.get_by_role("button", name="Allow https://shop.example")).to_be_visible()
        acts.kept("what was refused is shown")
        acts.press("Allow https://shop.example")
        expect(acts.dialog).to_be_visible()
        acts.press("Allow", acts.dialog, exact=True)
        expect(page.get_by_role("button", name="Remove https://shop.example")).to_be_visible()
        acts.closed("a refused origin allowed")
        acts.press("Remove https://shop.example")
        expect(page.locator("[data-state=empty]")).to_be_visible()
        acts.kept("an origin removed")
        page.keyboard.press("z")
        expect(page.get_by_role("button", name="Remove https://shop.example")).to_be_visible()
        acts.kept("an origin put back")
        acts.check()


def test_after_changes_to_the_rules(console):
    for act in BOTH:
        one = console.tenant()
        acts, page = Acts(console, act), console.go(f"/console/t/{one['slug']}/policy")
        mode = console.field("Who may sign up")
        mode.select_option("approval")
        expect(page.get_by_text("What publishing changes")).to_be_visible()
        console.go(f"/console/t/{one['slug']}/policy")
        expect(mode).to_have_value("approval")
        acts.press("Start over")
        expect(acts.button("Start over")).to_have_count(0)
        acts.kept("a draft dropped")
        mode.focus()
        mode.select_option("approval")
        acts.kept("a rule changed", mode)
        acts.press("Publish")
        expect(page.get_by_text("Version 2 is in force.", exact=True)).to_be_visible()
        acts.kept("rules published")
        acts.press("Roll back to version 1")
        expect(acts.dialog).to_be_visible()
        acts.press("Roll back", acts.dialog)
        expect(page.get_by_text("Version 3 is in force.", exact=True)).to_be_visible()
        acts.closed("rules rolled back")
        console.go("/console/simulator")
        console.field("Email").fill("stranger@nowhere.example")
        acts.press("Run", exact=True)
        expect(page.locator(".trace li").first).to_be_visible()
        acts.kept("an attempt tried", acts.button("Run", exact=True))
        console.go(f"/console/t/{one['slug']}/clients")
        row = page.locator("tbody tr").last
        acts.press("Switch on", row)
        expect(row).to_contain_text("Active")
        acts.kept("a client switched on")
        acts.press(re.compile("^More for"), row)
        acts.act(page.get_by_role("menuitem", name=re.compile("^Switch off")))
        expect(row).not_to_contain_text("Active")
        acts.kept("a client switched off")
        acts.check()


def test_after_a_period_is_chosen(console):
    for act in BOTH:
        acts, page = Acts(console, act), console.go("/console/t/demo/decisions")
        period, bars = page.get_by_label("Period", exact=True), page.get_by_role("slider", name="Rows by time")
        period.focus()
        period.select_option(label="Last 7 days")
        expect(page).to_have_url(re.compile("since="))
        acts.kept("a period", period)
        expect(bars).to_be_visible()
        bars.focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("since=.*until="))
        acts.kept("a part of the bars")
        period.focus()
        period.select_option(label="Any time")
        expect(page).not_to_have_url(re.compile("since="))
        expect(bars).to_be_visible()
        bars.focus()
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("since=.*until="))
        acts.kept("a part of the bars that may have no row")
        acts.press("Follow")
        expect(acts.button("Follow")).to_have_attribute("aria-pressed", "true")
        acts.kept("followed", acts.button("Follow"))
        console.go("/console/")
        period.focus()
        period.select_option(label="Last 30 days")
        expect(page).to_have_url(re.compile("since="))
        console.idle()
        acts.kept("the overview's period", period)
        acts.check()


def test_after_acts_on_the_own_account(console):
    with operator(console, "support") as other:
        page = other.page
        rows = page.get_by_role("region", name="Your sessions").locator("tbody tr")
        for act in BOTH:
            with contextlib.closing(sign_in(console, email_of(other))) as third:
                third.page.wait_for_url(f"{console.base}/console/")
            page.reload()
            expect(rows).to_have_count(2)
            acts = Acts(other, act)
            acts.press("Change name")
            expect(acts.dialog).to_be_visible()
            other.field("Name").fill(f"Grace {act.__name__}")
            acts.press("Save", acts.dialog)
            expect(page.locator("main dd", has_text=f"Grace {act.__name__}")).to_be_visible()
            acts.closed("another name")
            acts.kept("another name", acts.button("Change name"))
            acts.press(re.compile("^[0-9a-f]{8}-"))
            acts.kept("the id copied")
            expect(rows).to_have_count(2)
            acts.press(re.compile("^End the session"))
            expect(rows).to_have_count(1)
            acts.kept("another session ended")
            acts.check()
