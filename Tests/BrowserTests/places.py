"""Every page and every dialog of the console, to be walked by the tests that look at all of them."""
from playwright.sync_api import expect

PAGES = """/console/ /console/tenants /console/people /console/decisions /console/decisions?reason=rate_limited /console/simulator /console/audit /console/operators
    /console/providers /console/keys /console/keys/new /console/origins /console/me /console/t/demo/users /console/t/demo/users?q=nobody-here /console/t/demo/users/duplicates /console/t/demo/users/import /console/t/demo/jobs /console/t/demo/requests
    /console/t/demo/invites /console/t/demo/invites/join-links /console/t/demo/policy
    /console/t/demo/domains /console/t/demo/keys /console/t/demo/keys/new?name=Prefilled /console/t/demo/origins /console/t/demo/decisions
    /console/t/demo/audit /console/t/demo/clients /console/t/demo/settings /console/none""".split()
ADDERS = ["tenants", "operators", "providers", "t/{}/users", "t/{}/invites", "t/{}/invites/join-links", "t/{}/domains", "t/{}/origins"]


def all_pages(console):
    """PAGES, and one of each thing that has a page of its own."""
    def one_of(path):
        return console.api("GET", path)["items"][0]["id"]

    # A decision of no tenant is the platform's: its page is not for a tenant's operators.
    decisions = console.api("GET", "/tenants/demo/provisioning/decisions")["items"]
    own = next(one["id"] for one in decisions if one.get("tenant_id"))
    return PAGES + [
        f"/console/t/demo/users/{one_of('/tenants/demo/users?provider=google')}",
        f"/console/t/demo/users/{one_of('/tenants/demo/users?q=katherine')}", f"/console/t/demo/keys/{one_of('/tenants/demo/api-keys')}",
        f"/console/decisions/{own}",
    ]


def outside(console):
    """The pages of people who are not signed in; the console is signed out for them."""
    made = console.api("POST", f"/tenants/{console.tenant()['id']}/invites", {"email": "a@acme.example", "delivery": "link"})
    link = console.api("POST", f"/tenants/{made['tenant_id']}/join-links", {"domains": ["acme.example"]})
    console.context.clear_cookies()
    return ["/console/sign-in?next=/console/audit", "/console/sign-in#token=x", "/console/setup", "/invite", "/join", "/reset", "/reset#token=x", "/not-me#token=x",
            made["accept_url"].replace(console.base, ""), link["url"].replace(console.base, "")]


def each_dialog(console, look):
    """Opens each dialog, menu and message, and calls look(what) while it is there."""
    one = console.tenant()
    console.api("POST", f"/tenants/{one['id']}/users", {"email": "a@acme.example"})
    console.api("POST", f"/tenants/{one['id']}/api-keys", {"name": "Old", "scopes": ["keys:verify"]})
    page = console.page

    def opened(path, open_it, what):
        console.go(path)
        open_it()
        expect(page.locator("dialog[open], .menu:popover-open, .toast").first).to_be_visible()
        look(what)

    for path in (each.format(one["slug"]) for each in ADDERS):
        opened(f"/console/{path}?new=1", lambda: None, f"new of {path}")
    keys, users, settings = (f"/console/t/{one['slug']}/{tab}" for tab in ("keys", "users", "settings"))
    person = f"{users}/{console.api('GET', '/tenants/' + one['id'] + '/users')['items'][0]['id']}"

    def press(selector):
        return lambda: page.locator(selector).first.click()

    rotate = "td.end button"

    def first_of_menu():
        page.locator("td.end [aria-haspopup]").first.click()
        page.locator(".menu.of-row .btn").first.click()

    opened(keys, first_of_menu, "confirm")
    opened(keys, press("td.end button >> nth=1"), "menu of a row")
    opened(keys, press(rotate), "rotate")
    opened(settings, press("main .btn.danger"), "delete tenant")
    opened(person, press(".person .acts .btn"), "edit user")
    opened(person, press("main .card .acts .btn.tiny >> nth=1"), "link")
    opened(f"/console/t/{one['slug']}/clients", press("td.end button"), "client")
    opened("/console/providers", press("td.end button"), "test of a provider")
    opened("/console/providers", first_of_menu, "edit provider")
    for at, what in enumerate(("own name", "own password", "authenticator app")):
        opened("/console/me", press(f"main dd .btn.tiny >> nth={at}"), what)
    opened(keys, lambda: page.keyboard.press("Control+k"), "palette")
    opened(keys, lambda: page.keyboard.press("?"), "keys")
    opened(keys, press(".top > button >> nth=2"), "requests")
    opened(keys, press(".top > button >> nth=3"), "menu")
    opened(users, lambda: (page.locator("tbody input").first.click(), page.keyboard.press("z")), "selection and message")
    opened(keys, lambda: (press(rotate)(), press("dialog .primary")(), page.locator(".secret").wait_for()), "secret")
    page.locator("#stored").check()
    page.locator("dialog[open] .primary").click()


def keep(console, **ui):
    """What this browser keeps of how the console looks, from the next page on."""
    text = ",".join(f'"{name}":"{value}"' for name, value in ui.items())
    console.context.add_init_script(f"if (location.protocol !== 'about:') localStorage.setItem('ui', '{{{text}}}')")
