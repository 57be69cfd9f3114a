"""The main flows in another engine: Debian's Firefox ESR."""
from firefox import Firefox


def test_the_main_flows_work_in_firefox_too(console):
    one = console.tenant("Gecko Garden")
    for name in ("ada", "grace", "edsger"):
        console.api("POST", f"/tenants/{one['id']}/users", {"email": f"{name}@gecko.example"})
    link = console.api("POST", "/operators", {"email": f"{one['slug']}@gatehouse.test", "name": "Gecko", "role": "owner", "scope": {"platform": True}})["sign_in_url"]
    base = f"{console.base}/console/t/{one['slug']}"
    with Firefox() as page:
        page.go(link)
        page.click("button", "Continue")
        page.seen("Choose how you come back")
        page.click("button", "Not now")
        page.seen("Who came to the gate")

        # Links, search by typing, filters and Back.
        page.go(f"{base}/users")
        page.until("document.querySelectorAll('tbody tr').length === 3")
        page.press("/")
        page.type("grace")
        page.until("document.querySelectorAll('tbody tr').length === 1 && location.search === '?q=grace'")
        page.click("a.main", "grace")
        page.seen("Profile")
        page.run("history.back()")
        page.until("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('[type=search]').value === 'grace'")

        # A secret survives Escape and is gone after Done.
        page.click(".nav a", "API keys")
        page.click("a[data-new]", "Create key")
        page.until("document.activeElement.name === 'name'")
        page.type("From Firefox")
        page.click(".checks + *, .acts .btn", "Verify keys")
        page.click("form .primary", "Create key")
        page.until("document.querySelector('dialog .secret')?.innerText.startsWith('gate_live_')")
        page.press("Escape", "Escape", "Escape")
        page.until("document.querySelector('dialog .secret')?.innerText.startsWith('gate_live_')")
        page.click("dialog .btn", "Test it now")
        page.seen("It works", "dialog")
        page.click("#stored")
        page.click("dialog .primary", "Done")
        page.until("!document.querySelector('dialog') && !document.documentElement.outerHTML.match(/gate_live_[A-Za-z0-9]{20}/)")
        page.click(".acts .btn", "Revoke")
        page.until("document.activeElement.innerText === 'Keep'")
        page.press("Tab", "Enter")
        page.seen("Revoked", "main h1")

        # An origin, an invite, an attempt that is only tried.
        page.click(".nav a", "CORS origins")
        page.click("[data-new]", "Add origin")
        page.type("https://gecko.example/")
        page.press("Enter")
        page.seen("Saved as https://gecko.example")
        page.click(".nav a", "Invites")
        page.click("[data-new]", "Invite")
        page.type("new@gecko.example")
        page.click("dialog .primary", "Invite")
        page.seen("It works once", "dialog")
        page.click("#stored")
        page.click("dialog .primary", "Done")
        page.click(".nav a", "Simulator")
        page.click("[name=email]")
        page.type("new@gecko.example")
        page.press("Enter")
        page.until("document.querySelectorAll('.trace li').length > 3")
        assert not page.faults, page.faults
