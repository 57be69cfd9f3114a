"""Each page's main action by the keyboard alone: no test here touches the mouse or sets a value."""
import re

from playwright.sync_api import expect


def reach(page, locator, back=False):
    """Tabs until the control has the focus, as a person would."""
    locator = locator.first
    locator.wait_for()
    for _ in range(250):
        if locator.evaluate("node => node === document.activeElement"):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"no Tab leads to {locator}")


def press(page, locator, key="Enter", **where):
    reach(page, locator, **where)
    page.keyboard.press(key)


def button(page, name, **more):
    return page.get_by_role("button", name=name, **more)


def choose(page, row, name):
    """Opens a row's menu and takes what is called so, by arrows."""
    press(page, row.get_by_role("button", name=re.compile("^More for")))
    item = page.get_by_role("menuitem", name=re.compile(f"^{name}"))
    item.wait_for()
    for _ in range(9):
        if item.evaluate("node => node === document.activeElement"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def begin(page):
    """Opens what makes a new one, and waits for the focus, as a person does."""
    page.keyboard.press("Shift+N")
    expect(page.locator("form :focus")).to_have_count(1)


def store(page):
    """Ends the dialog that shows a secret."""
    press(page, page.get_by_label("I have stored it"), "Space")
    press(page, button(page, "Done"))
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_user_is_added_edited_and_suspended(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/users")
    begin(page)
    expect(console.field("Email")).to_be_focused()
    page.keyboard.type("mary@acme.example")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="mary@acme.example")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    press(page, button(page, "Edit"))
    expect(console.field("Name")).to_be_focused()
    page.keyboard.type("Mary")
    page.keyboard.press("Enter")
    expect(page.locator(".person").get_by_text("Mary", exact=True)).to_be_visible()
    press(page, button(page, "Delete"))
    expect(button(page, "Keep")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".person").get_by_text("Deleted")).to_be_visible()
    page.keyboard.press("z")
    expect(page.locator(".person").get_by_text("Pending")).to_be_visible()


def test_a_key_is_created_rotated_and_revoked(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/keys")
    begin(page)
    expect(console.field("Name")).to_be_focused()
    page.keyboard.type("By keys")
    press(page, button(page, "Verify keys"), "Space")
    press(page, button(page, "Create key"))
    expect(page.locator(".secret")).to_be_focused()
    store(page)
    press(page, button(page, "Rotate"))
    page.keyboard.press("Tab")
    press(page, page.get_by_role("dialog").get_by_role("button", name="Rotate"))
    expect(page.locator(".secret")).to_be_focused()
    store(page)
    press(page, button(page, "Revoke"))
    press(page, button(page, "Revoke key"))
    expect(page.locator("main h1").first).to_contain_text("Revoked")


def test_a_policy_is_published_and_a_domain_claimed(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/policy")
    reach(page, console.field("Who may sign up"))
    page.keyboard.type("Open")
    press(page, button(page, "Publish"))
    expect(page.get_by_text("Version 2 is in force.", exact=True)).to_be_visible()
    press(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="Domains"))
    expect(page.locator("[data-state=empty]")).to_be_visible()
    begin(page)
    page.keyboard.type(f"{one['slug']}.example")
    page.keyboard.press("Enter")
    row = page.get_by_role("row", name=re.compile(one["slug"]))
    choose(page, row, "Verify without DNS")
    expect(button(page, "Cancel")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name=re.compile("Verified"))).to_be_visible()


def test_an_origin_is_added_tested_removed_and_restored(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/origins")
    begin(page)
    page.keyboard.type("https://app.acme.example")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name=re.compile("app.acme.example"))).to_be_visible()
    reach(page, page.get_by_label("Origin of the page"))
    page.keyboard.type("https://app.acme.example")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Allowed.")).to_be_visible()
    press(page, button(page, "Remove https://app.acme.example"), back=True)
    expect(page.locator("[data-state=empty]")).to_be_visible()
    page.keyboard.press("F6")
    expect(button(page, "Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name=re.compile("app.acme.example"))).to_be_visible()


def test_a_client_is_switched_on_and_a_tenant_renamed(console):
    one = console.tenant()
    page = console.go(f"/console/t/{one['slug']}/clients")
    row = page.get_by_role("row", name=re.compile("relate"))
    press(page, row.get_by_role("button", name="Switch on"))
    expect(row).to_contain_text("Active")
    press(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="Settings"), back=True)
    reach(page, console.field("Name"))
    page.keyboard.press("Control+a")
    page.keyboard.type("Another Name")
    page.keyboard.press("Enter")
    expect(page.locator("main .crumbs")).to_contain_text("Another Name")


def test_a_provider_and_an_operator_are_created_and_deleted(console):
    page = console.go("/console/providers")
    begin(page)
    reach(page, console.field("Name"))
    page.keyboard.type("By keys")
    reach(page, console.field("Issuer"))
    page.keyboard.type("https://keys.acme.example")
    reach(page, console.field("Client id"))
    page.keyboard.type("by-keys")
    page.keyboard.press("Enter")
    row = page.get_by_role("row", name=re.compile("By keys"))
    choose(page, row, "Remove")
    press(page, button(page, "Remove provider"))
    expect(row).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("Operators")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("Operators")
    begin(page)
    # The dialog's code is there already: the key that opened it must not be its first letter.
    expect(page.locator("form :focus")).to_have_value("")
    page.keyboard.type("keys@gatehouse.test")
    page.keyboard.press("Enter")
    expect(page.locator(".secret")).to_be_focused()
    store(page)
    row = page.get_by_role("row", name=re.compile("keys@gatehouse.test"))
    choose(page, row, "Remove")
    press(page, button(page, "Remove operator"))
    expect(row).to_have_count(0)


def test_the_simulator_runs_and_a_decision_is_opened(console):
    page = console.go("/console/simulator")
    reach(page, console.field("Email"))
    page.keyboard.type("stranger@nowhere.example")
    page.keyboard.press("Enter")
    expect(page.locator(".trace li").first).to_be_visible()
    page.locator("main h1").focus()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.locator("main h1")).to_have_text("Decisions")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Rule by rule")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("d")
    press(page, button(page, "Follow"))
    expect(button(page, "Follow")).to_have_attribute("aria-pressed", "true")


def test_the_audit_log_is_filtered_and_the_overview_takes_another_window(console):
    page = console.go("/console/t/demo/audit")
    press(page, page.get_by_role("link", name="User created"))
    expect(page).to_have_url(re.compile("action=user.created"))
    page.locator("main h1").focus()
    page.keyboard.press("g")
    page.keyboard.press("o")
    period = page.get_by_label("Period", exact=True)
    reach(page, period)
    page.keyboard.type("Last 30")
    expect(page).to_have_url(re.compile(r"since=\d{4}-"))
    expect(period.locator("option:checked")).to_have_text("Last 30 days")


def test_the_menu_changes_the_theme_and_leads_to_the_account(console):
    page = console.go("/console/")
    press(page, button(page, "Operator menu"))
    press(page, button(page, "Dark"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    press(page, page.get_by_role("link", name="Your account"))
    expect(page.locator("main h1")).to_have_text("Your account")


def test_the_tenant_is_switched(console):
    one = console.tenant("Yellow Works")
    page = console.go("/console/t/demo/users")
    press(page, page.get_by_title("Switch tenant"))
    page.keyboard.type("Yellow")
    page.get_by_role("option", name=re.compile("Yellow")).wait_for()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/t/{one['slug']}/users"))


def test_an_operator_signs_in_by_a_link_signs_out_and_stays_signed_out(console):
    link = console.api("POST", "/operators", {"email": "link@gatehouse.test", "role": "support", "scope": {"platform": True}})["sign_in_url"]
    console.context.clear_cookies()
    page = console.go(link.replace(console.base, ""))
    press(page, button(page, "Continue"))
    press(page, button(page, "Not now"))
    expect(page.locator("main h1")).to_have_text("Overview")
    press(page, button(page, "Operator menu"))
    press(page, button(page, "Sign out"))
    # Without a password or a passkey there would be no way back: it is asked.
    press(page, page.get_by_role("dialog").get_by_role("button", name="Sign out"))
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_label("Email")).to_be_focused()
    console.expects_refusals = True
    console.page.goto(f"{console.base}/console/t/demo/keys")
    expect(page).to_have_url(re.compile("sign-in.next="))


def test_the_menu_shows_the_keys(console):
    page = console.go("/console/")
    page.get_by_role("button", name="Operator menu").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Look at the row")
