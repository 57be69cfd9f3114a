"""The operator's own account: the second factor, the step-up, the sessions."""
import base64
import contextlib
import hashlib
import hmac
import re
import struct
import time
import uuid

from console import Console
from playwright.sync_api import expect
from test_looks import look

PASSWORD = "a sentence that is long enough"


def code(seed, at=None):
    """A code of the authenticator app (RFC 6238), by another implementation than the server's."""
    key = base64.b32decode(seed + "=" * (-len(seed) % 8))
    digest = hmac.new(key, struct.pack(">Q", int((at or time.time()) // 30)), hashlib.sha1).digest()
    start = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[start:start + 4])[0] & 0x7FFFFFFF) % 1000000:06}"


@contextlib.contextmanager
def operator(console, role="owner"):
    """Another operator, with a password, at the page of the own account."""
    other = console.as_operator(role)
    try:
        other.api("PUT", "/me/password", {"password": PASSWORD})
        other.go("/console/me")
        yield other
    finally:
        other.close()


def email_of(other):
    return other.api("GET", "/session")["operator"]["email"]


def sign_in(console, email):
    """Another browser, at the sign-in page, after the password."""
    third = Console(console.server, console.browser)
    third.expects_refusals = True
    third.page.goto(f"{console.base}/console/sign-in")
    third.field("Email").fill(email)
    third.field("Password").fill(PASSWORD)
    third.page.get_by_role("button", name="Sign in", exact=True).click()
    return third


def set_up(other):
    """An authenticator app by the page; its seed, and the recovery codes."""
    page = other.page
    page.get_by_role("button", name="Set up the authenticator app").click()
    dialog = page.get_by_role("dialog", name="Set up an authenticator app")
    expect(dialog.get_by_role("img", name=re.compile("QR code"))).to_be_visible()
    assert dialog.locator("img").evaluate("one => one.complete && one.naturalWidth > 0")
    dialog.get_by_text("Type the key instead").click()
    seed = dialog.locator("code").inner_text().replace(" ", "")
    dialog.get_by_label("Code", exact=True).fill(code(seed))
    wrong = look(other, "dialog of the app")
    assert not wrong, "\n".join(wrong)
    dialog.get_by_role("button", name="Confirm").click()
    shown = page.get_by_role("dialog", name="Recovery codes")
    codes = shown.locator("code.secret").inner_text().split()
    assert len(codes) == 10
    shown.get_by_label("I have stored it").check()
    shown.get_by_role("button", name="Done").click()
    expect(page.get_by_text("10 left")).to_be_visible()
    return seed, codes


def test_an_authenticator_app_is_set_up_and_requested_at_the_next_sign_in(console):
    with operator(console) as other:
        seed, codes = set_up(other)
        email = email_of(other)
        with contextlib.closing(sign_in(console, email)) as third:
            expect(third.page.locator("h1")).to_have_text("One more step")
            expect(third.field("Code")).to_be_focused()
            third.field("Code").fill("000000")
            third.page.get_by_role("button", name="Sign in", exact=True).click()
            expect(third.page.get_by_role("alert")).to_contain_text("is not valid")
            # The code that set the app up is used; the next step's is not.
            third.field("Code").fill(code(seed, time.time() + 30))
            third.page.get_by_role("button", name="Sign in", exact=True).click()
            third.page.wait_for_url(f"{console.base}/console/")
            third.check_silence()
        with contextlib.closing(sign_in(console, email)) as third:
            third.page.get_by_role("button", name="Use a recovery code").click()
            third.field("Recovery code").fill(codes[0].lower())
            third.page.get_by_role("button", name="Sign in", exact=True).click()
            third.page.wait_for_url(f"{console.base}/console/")
            # A recovery code steps nothing up.
            third.go("/console/me")
            third.page.get_by_role("button", name="Remove the authenticator app").click()
            third.page.get_by_role("button", name="Remove the app").click()
            asked = third.page.get_by_role("dialog", name="Is it still you?")
            expect(asked.get_by_label("Code of your authenticator app")).to_be_focused()
            third.check_silence()
        other.page.reload()
        expect(other.page.get_by_text("9 left")).to_be_visible()
        other.check_silence()


def test_a_step_up_does_the_refused_act_afterwards(console):
    with operator(console) as other:
        other.expects_refusals = True
        page = other.page
        asked = []

        def refuse(route):
            """The server's own refusal of an old session, once."""
            asked.append(route.request)
            if len(asked) > 1:
                return route.fallback()
            return route.fulfill(status=403, content_type="application/problem+json", json={
                "title": "Step up required", "status": 403, "code": "step_up_required", "max_age": 600,
                "methods": ["password"], "detail": "A new operator needs a proof from the last 10 minutes that it is you."})

        page.route(re.compile("/v1/operators$"), lambda route: refuse(route) if route.request.method == "POST" else route.fallback())
        other.go("/console/operators")
        page.get_by_role("button", name="Add operator").click()
        name = f"{uuid.uuid4().hex[:8]}@gatehouse.test"
        other.field("Email").fill(name)
        page.locator("dialog").get_by_role("button", name="Add operator").click()
        dialog = page.get_by_role("dialog", name="Is it still you?")
        expect(dialog).to_contain_text("A new operator needs a proof")
        expect(dialog.get_by_label("Your password")).to_be_focused()
        assert look(other, "dialog of the step-up") == []
        before = next(one["value"] for one in other.cookies() if one["name"].endswith("gatehouse"))
        dialog.get_by_label("Your password").fill("wrong")
        dialog.get_by_role("button", name="Continue").click()
        expect(dialog.get_by_role("alert")).to_contain_text("is not valid")
        dialog.get_by_label("Your password").fill(PASSWORD)
        dialog.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("dialog", name="One-time sign-in link")).to_be_visible()
        assert len(asked) == 2 and asked[0].post_data == asked[1].post_data
        assert before != next(one["value"] for one in other.cookies() if one["name"].endswith("gatehouse"))
        assert [one["email"] for one in other.api("GET", f"/operators?q={name}")["items"]] == [name]
        other.check_silence()


def test_a_cancelled_step_up_leaves_the_form_as_it_was(console):
    with operator(console) as other:
        other.expects_refusals = True
        page = other.page
        page.route(re.compile("/v1/me/password$"), lambda route: route.fulfill(
            status=403, content_type="application/problem+json", json={
                "title": "Step up required", "status": 403, "code": "step_up_required", "methods": ["password"],
                "detail": "A new password needs a proof from the last 10 minutes that it is you."}))
        page.get_by_role("button", name="Change the password").click()
        other.field("New password").fill("another sentence that is long")
        page.get_by_role("button", name="Set the password").click()
        page.get_by_role("dialog", name="Is it still you?").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog", name="A new password").get_by_role("alert")).to_contain_text("needs a proof")
        expect(other.field("New password")).to_have_value("another sentence that is long")
        other.check_silence()


def test_an_operator_who_signs_in_after_anothers_session_is_shown_as_themselves(console):
    with operator(console) as other, operator(console, "support") as third:
        email = email_of(third)
        other.expects_refusals = True
        page = other.page
        other.go("/console/tenants")
        for _ in range(2):
            other.context.clear_cookies()
            page.locator("nav a[href$='/decisions']").click()
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            other.field("Email").fill(email)
            other.field("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in", exact=True).click()
            expect(page.locator(".top")).to_be_visible()
            page.get_by_role("button", name="Operator menu").click()
            expect(page.locator(".menu")).to_contain_text(email)
            page.keyboard.press("Escape")
        other.check_silence()


def test_name_and_sessions_of_the_own_account(console):
    with operator(console, "support") as other:
        page = other.page
        page.get_by_role("button", name="Change name").click()
        other.field("Name").fill("Grace Hopper")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("main dd", has_text="Grace Hopper")).to_be_visible()
        with contextlib.closing(sign_in(console, email_of(other))) as third:
            third.page.wait_for_url(f"{console.base}/console/")
            page.reload()
            table = page.get_by_role("region", name="Your sessions")
            expect(table.locator("tbody tr")).to_have_count(2)
            expect(table.get_by_text("Chrome on Linux")).to_have_count(2)
            page.get_by_role("button", name="End all others").click()
            page.get_by_role("button", name="End them").click()
            expect(table.locator("tbody tr")).to_have_count(1)
            assert third.context.request.get(f"{console.base}/v1/session").status == 401
        expect(page.get_by_role("region", name="Your last sign-ins").locator("tbody tr")).to_have_count(2)
        other.check_silence()
