"""The pages that the server itself shows people: a tenant's sign-in, the choice of a tenant, and a second sign-in."""
import contextlib
import http.server
import pathlib
import shutil
import subprocess
import tempfile
import threading
import urllib.parse

from console import Console, Server
from playwright.sync_api import expect
from test_looks import look

PROVIDER = pathlib.Path(__file__).parents[2] / "deploy/tools/provider"


class Provider:
    """Canaille behind a page that signs alice in at once, as a provider does that knows the browser."""

    def __init__(self, *callbacks):
        self.home = tempfile.mkdtemp(prefix="gatehouse-provider.")
        self.issuer = self.run("start", self.home, *callbacks).splitlines()[-1]
        provider = self

        class Authorize(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                # The same by OpenID Connect Core; Canaille 0.3.6 asks for ever at max_age=0.
                query = urllib.parse.urlsplit(self.path).query.replace("max_age=0", "prompt=login")
                back = provider.run("authorize", provider.home, f"{provider.issuer}/oauth/authorize?{query}", "alice")
                self.send_response(302)
                self.send_header("location", back.strip())
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Authorize)
        self.page = f"http://127.0.0.1:{self.server.server_port}/authorize"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def run(self, *words):
        return subprocess.run([PROVIDER, *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.run("stop", self.home)
        shutil.rmtree(self.home, ignore_errors=True)


@contextlib.contextmanager
def scene(console, names):
    """A server of its own, since its providers are everybody's; gives its console and the pages of a person."""
    with Server() as server, contextlib.ExitStack() as stack:
        operator = stack.enter_context(contextlib.closing(Console(server, console.browser)))
        operator.sign_in_by_link(server.token)
        providers = []
        for name in names:
            provider = Provider(f"{server.base}/sign-in/callback", f"{server.base}/v1/session/provider/callback")
            stack.callback(provider.stop)
            providers.append(provider)
            operator.api("POST", "/providers", {
                "kind": "oidc", "name": name, "issuer": provider.issuer, "client_id": "gatehouse-test", "secret": "test-secret",
                "email_trust": "authoritative", "domains": ["example.com"], "endpoints": {"authorization_endpoint": provider.page}})
        person = stack.enter_context(contextlib.closing(Console(server, console.browser)))
        yield operator, person
        # To go to the provider is what the pages are for.
        pages = tuple(f"foreign request: {one.page}" for one in providers)
        person.faults = [one for one in person.faults if not one.startswith(pages)]
        person.check_silence()
        operator.check_silence()


def tenant_with_pages(operator, name="Acme"):
    """A tenant whose own pages offer the platform's providers: one of its apps names them."""
    tenant = operator.tenant(name)
    operator.api("PUT", f"/tenants/{tenant['id']}/clients/immich", {"enabled": True, "settings": {"provider": "oidc"}})
    return tenant


def invite(operator, tenant, email="alice@example.com"):
    return operator.api("POST", f"/tenants/{tenant['id']}/invites", {"email": email, "delivery": "link"})


def looks_right(person, title, tenant):
    """The title, the tenant's name, no script but one, and no violation light and dark, wide and narrow."""
    page = person.page
    expect(page.locator("h1")).to_have_text(title)
    expect(page.locator(".name")).to_have_text(tenant)
    assert page.title() == f"{title} · {tenant}"
    # The page that begins a sign-in takes a grant out of its address; no other has a script.
    assert page.locator("script").count() == (1 if title == "Sign in" else 0)
    wrong = look(person, title)
    assert not wrong, "\n".join(wrong)
    small = page.evaluate("""() => [...document.querySelectorAll("button, input:not([type=hidden]), .choice")]
        .filter((one) => one.type !== "radio" && one.checkVisibility() && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)""")
    assert not small, small


def press(person, name):
    """By the keyboard alone."""
    button = person.page.get_by_role("button", name=name)
    button.focus()
    button.press("Enter")


def test_an_invited_person_signs_up_at_their_tenants_page(console):
    with scene(console, ["One"]) as (operator, person):
        tenant = tenant_with_pages(operator, f"Acme & <Sons> {'x' * 60}")
        invite(operator, tenant)
        person.page.goto(f"{person.base}/t/{tenant['slug']}/sign-in")
        looks_right(person, "Sign in", tenant["name"])
        press(person, "Continue with One")
        looks_right(person, "You are signed up", tenant["name"])
        expect(person.page.locator("main")).to_contain_text("You are known as alice@example.com.")
        assert operator.api("GET", f"/tenants/{tenant['id']}/users")["items"][0]["status"] == "active"
        person.expects_refusals = True
        person.page.goto(f"{person.base}/t/nobody-here/sign-in")
        looks_right(person, "This did not work", "Gatehouse")
        assert person.page.get_by_role("alert").count() == 1


def test_an_invited_person_joins_by_a_provider_from_the_invites_page(console):
    with scene(console, ["One"]) as (operator, person):
        tenant = tenant_with_pages(operator)
        made = invite(operator, tenant)
        page = person.page
        # Whoever only looks at the link uses nothing up.
        for _ in range(2):
            page.goto("about:blank")
            page.goto(made["accept_url"])
            expect(page.get_by_role("heading", name=f"Join {tenant['name']}")).to_be_visible()
        wrong = look(person, "an invite with a provider")
        assert not wrong, "\n".join(wrong)
        expect(page.get_by_label("Choose a password")).to_be_visible()
        went = []
        page.on("request", lambda request: went.append((request.url, request.headers.get("referer", ""))))
        press(person, "Continue with One")
        looks_right(person, "You are signed up", tenant["name"])
        assert went and not [one for one in went if made["token"] in "".join(one)], went
        [user] = operator.api("GET", f"/tenants/{tenant['id']}/users")["items"]
        assert (user["status"], len(user["identities"])) == ("active", 1), user
        person.expects_refusals = True
        page.goto("about:blank")
        page.goto(made["accept_url"])
        expect(page.get_by_role("heading", name="This invite cannot be used")).to_be_visible()


def test_a_person_joins_by_a_provider_from_the_page_of_a_join_link_and_goes_back_to_the_app(console):
    with scene(console, ["One"]) as (operator, person):
        tenant = tenant_with_pages(operator)
        app = f"{operator.base}/invite?from=app"
        operator.api("PUT", f"/tenants/{tenant['id']}/clients/immich",
                     {"enabled": True, "redirect_uris": [app], "settings": {"provider": "oidc"}})
        links = f"/tenants/{tenant['id']}/join-links"
        made = operator.api("POST", links, {"max_uses": 1, "domains": ["example.com"], "return_to": app})
        page = person.page
        # Whoever only looks at the link takes no place.
        for _ in range(2):
            page.goto("about:blank")
            page.goto(made["url"])
            expect(page.get_by_role("heading", name=f"Join {tenant['name']}")).to_be_visible()
        expect(page.locator("main")).to_contain_text("example.com")
        assert page.locator("input[type=password]").count() == 0
        wrong = look(person, "a join link with a provider")
        assert not wrong, "\n".join(wrong)
        token = made["url"].split("#token=")[1]
        went = []
        page.on("request", lambda request: went.append((request.url, request.headers.get("referer", ""))))
        press(person, "Continue with One")
        looks_right(person, "You are signed up", tenant["name"])
        assert went and not [one for one in went if token in "".join(one)], went
        [user] = operator.api("GET", f"/tenants/{tenant['id']}/users")["items"]
        assert (user["status"], user["role"], user["source"]) == ("active", "member", "join_link"), user
        assert user["joined_by"] == {"type": "join_link", "id": made["id"]}, user
        assert operator.api("GET", f"{links}/{made['id']}")["status"] == "used_up"
        # Nothing leads away by itself; the person goes.
        page.get_by_role("link", name="Go to the app").click()
        page.wait_for_url(app)
        person.expects_refusals = True
        page.goto("about:blank")
        page.goto(made["url"])
        expect(page.get_by_role("heading", name="This link cannot be used")).to_be_visible()


def test_an_invite_of_somebody_else_is_refused_with_an_explanation(console):
    with scene(console, ["One"]) as (operator, person):
        tenant = tenant_with_pages(operator)
        made = invite(operator, tenant, "grace@example.com")
        person.expects_refusals = True
        person.page.goto(made["accept_url"])
        press(person, "Continue with One")
        looks_right(person, "This did not work", "Gatehouse")
        expect(person.page.get_by_role("alert")).to_contain_text("The invite is for another address.")
        [one] = operator.api("GET", f"/tenants/{tenant['id']}/invites")["items"]
        assert one["status"] == "pending", one


def test_a_person_with_two_invites_chooses_the_tenant(console):
    with scene(console, ["One"]) as (operator, person):
        first, second = tenant_with_pages(operator, "First"), tenant_with_pages(operator, "Second")
        for tenant in (first, second):
            invite(operator, tenant)
        person.page.goto(f"{person.base}/sign-in")
        looks_right(person, "Sign in", "Gatehouse")
        press(person, "Continue with One")
        looks_right(person, "Where do you want to go?", "Gatehouse")
        expect(person.page.get_by_role("group", name="More than one organisation knows you.")).to_be_visible()
        press(person, "Continue")
        # Nothing was chosen: the browser says so, and stays.
        expect(person.page.locator("h1")).to_have_text("Where do you want to go?")
        choice = person.page.get_by_role("radio", name="Second")
        choice.focus()
        choice.press("Space")
        press(person, "Continue")
        looks_right(person, "You are signed up", "Second")
        statuses = [operator.api("GET", f"/tenants/{one['id']}/users")["items"][0]["status"] for one in (first, second)]
        assert statuses == ["pending", "active"], statuses


def test_the_owner_of_an_account_adds_a_second_way_to_sign_in(console):
    with scene(console, ["One", "Two"]) as (operator, person):
        tenant = tenant_with_pages(operator)
        token = invite(operator, tenant)["token"]
        operator.api("POST", "/invites/accept", {"token": token, "password": "correct horse battery", "name": "Alice"})
        person.page.goto(f"{person.base}/t/{tenant['slug']}/sign-in")
        press(person, "Continue with One")
        looks_right(person, "Is this your account?", tenant["name"])
        password = person.page.get_by_label("Password")
        password.fill("correct horse battery")
        password.press("Enter")
        looks_right(person, "Add One?", tenant["name"])
        press(person, "Add One")
        looks_right(person, "One is added", tenant["name"])
        # The next one is proved by the one before.
        person.page.goto(f"{person.base}/t/{tenant['slug']}/sign-in")
        press(person, "Continue with Two")
        looks_right(person, "Is this your account?", tenant["name"])
        press(person, "Continue with One")
        looks_right(person, "Add Two?", tenant["name"])
        press(person, "Add Two")
        looks_right(person, "Two is added", tenant["name"])
        [user] = operator.api("GET", f"/tenants/{tenant['id']}/users")["items"]
        assert len(user["identities"]) == 3, user
