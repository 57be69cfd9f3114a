"""An operator of one tenant whose address another tenant claims too: sign-in and reset name the tenant."""
import contextlib
import re
import uuid

from console import Console
from playwright.sync_api import expect
from test_looks import look

PASSWORD = "violet anchor meadow seventeen"


@contextlib.contextmanager
def anonymous(console):
    other = Console(console.server, console.browser)
    other.expects_refusals = True
    with contextlib.closing(other):
        yield other
        other.check_silence()


def claimed(console):
    """Makes an operator's address stand in two unconfirmed rows, of two tenants; one tenant, the address."""
    one, two = console.tenant("One Works"), console.tenant("Two Works")
    email = f"op-{uuid.uuid4().hex[:8]}@claimed.example"
    for tenant in (one, two):
        owner = console.as_operator("owner", tenant["id"])
        owner.api("POST", "/operators", {"email": email, "role": "auditor", "scope": {"tenant": tenant["id"]}})
        owner.close()
    return one, email


def bodies(console, path):
    """What is sent to the path from now on; each is answered as by a server that knows the operator."""
    seen = []

    def answer(route):
        body = route.request.post_data_json
        seen.append(body)
        if "tenant" in body or path != "/session":
            route.fulfill(status=201 if path == "/session" else 202, content_type="application/json", body="{}")
        else:
            route.continue_()

    console.page.route(re.compile(f"/v1{path}$"), answer)
    return seen


def test_a_person_refused_without_a_tenant_can_name_it_and_it_is_sent_along(console):
    one, email = claimed(console)
    with anonymous(console) as other:
        page = other.go("/console/sign-in")
        seen = bodies(other, "/session")
        tenant = page.get_by_label("Tenant")
        expect(tenant).to_be_hidden()
        page.get_by_label("Email").fill(email)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("form").get_by_role("alert")).to_contain_text("password is wrong")
        expect(tenant).to_be_visible()
        wrong = look(other, "a sign-in with a tenant")
        assert not wrong, "\n".join(wrong)
        tenant.fill(one["slug"])
        reset = page.get_by_role("link", name="Forgot your password?")
        expect(reset).to_have_attribute("href", f"/reset?tenant={one['slug']}")
        page.get_by_role("button", name="Sign in", exact=True).click()
        # The console is opened, which this test's answer gave no session for.
        expect(page).to_have_url(re.compile("sign-in.next="))
        assert [body.get("tenant") for body in seen] == [None, one["slug"]], seen


def test_the_tenant_of_the_address_is_kept_by_the_links_and_sent(console):
    one, email = claimed(console)
    with anonymous(console) as other:
        page = other.go(f"/console/sign-in?tenant={one['slug']}")
        expect(page.get_by_label("Tenant")).to_have_value(one["slug"])
        page.get_by_role("link", name="Forgot your password?").click()
        expect(page.get_by_role("heading", name="Forgot your password?")).to_be_visible()
        expect(page.get_by_label("Tenant")).to_have_value(one["slug"])
        wrong = look(other, "a reset with a tenant")
        assert not wrong, "\n".join(wrong)
        seen = bodies(other, "/password-resets")
        page.get_by_label("Email").fill(email)
        page.get_by_role("button", name="Mail me a link").click()
        expect(page.get_by_role("heading", name="Look into your mail")).to_be_visible()
        assert seen == [{"email": email, "tenant": one["slug"]}], seen
        page.goto(f"{other.base}/reset?tenant={one['slug']}")
        page.get_by_role("link", name="Back to sign-in").click()
        expect(page.get_by_label("Tenant")).to_have_value(one["slug"])


def test_a_sign_in_without_a_tenant_sends_no_tenant(console):
    with anonymous(console) as other:
        page = other.go("/reset")
        seen = bodies(other, "/password-resets")
        page.get_by_label("Email").fill("ann@claimed.example")
        page.get_by_role("button", name="Mail me a link").click()
        expect(page.get_by_role("heading", name="Look into your mail")).to_be_visible()
        assert seen == [{"email": "ann@claimed.example"}], seen
