"""A secret that is shown once: it cannot be lost by a slip, and it is gone afterwards."""
import re

from playwright.sync_api import expect


def create(console, tenant):
    page = console.go(f"/console/t/{tenant['slug']}/keys/new")
    expect(console.field("Name")).to_be_focused()
    console.field("Name").fill("Mail server")
    page.get_by_role("button", name="Verify keys").click()
    page.get_by_role("button", name="Create key").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".secret")).to_be_visible()
    return page, dialog, dialog.locator(".secret").inner_text()


def test_the_secret_stays_after_escape_and_a_click_outside_and_is_gone_after_done(console):
    one = console.tenant()
    page, dialog, secret = create(console, one)
    assert re.fullmatch(r"gate_live_\S+", secret)
    for _ in range(3):
        page.keyboard.press("Escape")
    page.mouse.click(5, 5)
    expect(dialog.locator(".secret")).to_have_text(secret)
    expect(dialog.get_by_role("button", name="Done")).to_be_disabled()
    dialog.get_by_role("button", name="Test it now").click()
    expect(dialog.get_by_text("It works")).to_be_visible()
    dialog.get_by_label("I have stored it").check()
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    assert secret not in page.evaluate(KEPT)
    page.get_by_role("button", name="Show the requests of this view").click()
    assert secret not in page.content()
    page.keyboard.press("Escape")
    page.go_back()
    page.go_forward()
    expect(page.get_by_role("heading", name="What it may do")).to_be_visible()
    assert secret not in page.content()


# All that outlives a document, or that a script can still reach.
KEPT = """async () => [document.documentElement.outerHTML, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie,
    JSON.stringify(history.state), ...navigation.entries().map((one) => one.url + JSON.stringify(one.getState())),
    ...(await caches.keys()), ...(await indexedDB.databases()).map((one) => one.name)].join(" ")"""


def heap(page):
    """A snapshot of all that the page's scripts hold."""
    tools = page.context.new_cdp_session(page)
    parts = []
    tools.on("HeapProfiler.addHeapSnapshotChunk", lambda event: parts.append(event["chunk"]))
    for _ in range(3):
        tools.send("HeapProfiler.collectGarbage")
    tools.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    tools.detach()
    return "".join(parts)


def test_each_secret_is_gone_from_the_memory_of_its_page_once_done(console):
    one = console.tenant()
    path = f"/tenants/{one['id']}"
    key = console.api("POST", f"{path}/api-keys", {"name": "Turned", "scopes": ["keys:verify"]})["id"]
    person = console.api("POST", f"{path}/users", {"email": "grace@acme.example"})["id"]
    page, base = console.page, f"/console/t/{one['slug']}"

    def button(name):
        page.get_by_role("button", name=name, exact=True).click()

    def rotated():
        console.go(f"{base}/keys/{key}")
        button("Rotate")
        page.get_by_role("dialog").get_by_role("button", name="Rotate").click()

    def granted():
        console.go(f"{base}/users/{person}")
        button("Link grant")

    def invited():
        console.go(f"{base}/invites?new=1")
        console.field("Email addresses").fill("ada@acme.example")
        console.field("Delivery").select_option("link")
        page.get_by_role("dialog").get_by_role("button", name="Invite").click()

    def engaged():
        console.go("/console/operators?new=1")
        console.field("Email").fill("held@gatehouse.test")
        page.get_by_role("dialog").get_by_role("button", name="Add operator").click()

    for at, show in enumerate((lambda: create(console, one), rotated, granted, invited, engaged)):
        show()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator(".secret")).to_be_visible()
        # The end, which is random: neither its prefix nor the address before it.
        secret = dialog.locator(".secret").inner_text().strip()[-20:]
        assert re.fullmatch(r"[\w-]{20}", secret), secret
        assert at > 0 or secret in heap(page), "a snapshot that does not find it proves nothing"
        dialog.get_by_label("I have stored it").check()
        dialog.get_by_role("button", name="Done").click()
        expect(dialog).to_have_count(0)
        assert secret not in page.evaluate(KEPT)
        assert secret not in heap(page), at


def test_leaving_with_the_secret_open_warns(console):
    one = console.tenant()
    page, dialog, _ = create(console, one)
    asked = []
    page.once("dialog", lambda prompt: (asked.append(prompt.type), prompt.dismiss()))
    page.close(run_before_unload=True)
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]


def test_a_key_is_rotated_its_grace_period_is_ended_and_it_is_revoked(console):
    one = console.tenant()
    page, dialog, first = create(console, one)
    dialog.get_by_label("I have stored it").check()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Rotate").click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    expect(dialog.locator(".secret")).to_be_visible()
    assert dialog.locator(".secret").inner_text() != first
    dialog.get_by_label("I have stored it").check()
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_text("still works and ends")).to_be_visible()
    page.get_by_role("button", name="End old secret").click()
    dialog.get_by_role("button", name="End old secret").click()
    expect(page.get_by_text("still works and ends")).to_have_count(0)
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke key").click()
    expect(page.get_by_role("heading", name=re.compile("^Mail server"))).to_contain_text("Revoked")


def test_a_key_is_revoked_by_three_activations_of_the_keyboard(console):
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Old", "scopes": ["keys:verify"]})
    page = console.go(f"/console/t/{one['slug']}/keys")
    page.get_by_role("button", name="More for Old").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Revoke Old")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    expect(dialog).to_contain_text("It was never used")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name=re.compile("Old"))).to_contain_text("Revoked")


def test_a_link_that_fills_in_the_form_of_a_key_says_so_and_sends_nothing(console):
    page = console.go("/console/t/demo/keys/new?name=Deploy&scopes=users:read+audit:read&days=30")
    expect(page.get_by_text("A link filled in this form")).to_be_visible()
    expect(console.field("Name")).to_have_value("Deploy")
    expect(page.locator(".checks input:checked")).to_have_count(2)
    assert not console.asked("api-keys", "POST")


def test_the_request_panel_shows_what_is_sent_without_the_secret(console):
    page = console.go("/console/t/demo/keys/new")
    page.get_by_text("Show the request").click()
    console.field("Name").fill("From curl")
    expect(page.locator("details .code")).to_contain_text('"name": "From curl"')
    expect(page.locator("details .code")).to_contain_text("/v1/tenants/")
    console.go("/console/t/demo/users?status=active")
    page.get_by_role("button", name="Show the requests of this view").click()
    expect(page.get_by_role("dialog")).to_contain_text("status=active")
    expect(page.get_by_role("dialog")).to_contain_text("Bearer $GATEHOUSE_KEY")
