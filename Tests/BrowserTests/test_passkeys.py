"""Passkeys by Chromium's own virtual authenticator: added, used, by the browser's list, and where there are none."""
import contextlib
import types

from console import Console, FreshServer
from playwright.sync_api import expect
from test_looks import look


class Authenticator:
    """A device of the page's browser. `kind`: internal, or usb."""

    def __init__(self, console, kind="internal", **options):
        self.cdp = console.context.new_cdp_session(console.page)
        self.cdp.send("WebAuthn.enable")
        self.id = self.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": {
            "protocol": "ctap2", "transport": kind, "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True, **options}})["authenticatorId"]

    def set(self, act, **options):
        self.cdp.send(f"WebAuthn.{act}", {"authenticatorId": self.id, **options})

    def credentials(self):
        return self.cdp.send("WebAuthn.getCredentials", {"authenticatorId": self.id})["credentials"]


@contextlib.contextmanager
def operator(console, role="admin"):
    """Another operator's console, signed in by a link; without a password."""
    with contextlib.closing(console.as_operator(role)) as other:
        yield other
        other.check_silence()


def add(console, name):
    page = console.go("/console/me")
    page.get_by_role("button", name="Add a passkey").click()
    console.field("Name").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Go on").click()


def added(console, name):
    add(console, name)
    row = console.page.get_by_role("listitem").filter(has_text=name)
    expect(row).to_be_visible()
    return row


def by_button(console):
    """The sign-in page, where the browser's own list does not come first."""
    console.page.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
    page = console.page
    page.goto(f"{console.base}/console/sign-in")
    page.get_by_role("button", name="Sign in with a passkey").click()
    return page


def signed_in(console):
    console.page.wait_for_url(f"{console.base}/console/")
    expect(console.page.locator(".top")).to_be_visible()


def test_a_passkey_is_added_signs_in_is_renamed_and_removed(console):
    with operator(console) as one:
        device = Authenticator(one)
        row = added(one, "Laptop")
        expect(row).to_contain_text("never used")
        expect(row).to_contain_text("on one device")
        assert device.credentials()[0]["rpId"] == "localhost"
        assert device.credentials()[0]["isResidentCredential"]
        wrong = look(one, "passkeys")
        assert not wrong, "\n".join(wrong)
        one.context.clear_cookies()
        by_button(one)
        signed_in(one)
        one.go("/console/me")
        expect(one.page.get_by_role("listitem").filter(has_text="Laptop")).not_to_contain_text("never used")
        # The device has one already; another one takes another.
        add(one, "Twice")
        expect(one.page.get_by_role("dialog")).to_contain_text("has a passkey of yours already")
        one.page.get_by_role("button", name="Cancel").click()
        device.set("removeVirtualAuthenticator")
        Authenticator(one, "usb")
        added(one, "Key ring")
        one.page.get_by_role("button", name="Rename Laptop").click()
        one.field("Name").fill("Old laptop")
        one.page.get_by_role("dialog").get_by_role("button", name="Save").click()
        one.page.get_by_role("button", name="Remove Old laptop").click()
        dialog = one.page.get_by_role("dialog")
        expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
        dialog.get_by_role("button", name="Remove").click()
        expect(one.page.get_by_role("listitem").filter(has_text="Old laptop")).to_have_count(0)
        # The only way in stays, and says why.
        one.expects_refusals = True
        one.page.get_by_role("button", name="Remove Key ring").click()
        dialog.get_by_role("button", name="Remove").click()
        expect(dialog).to_contain_text("your only way to sign in")


def test_the_browser_offers_passkeys_where_the_address_is_typed(console):
    with operator(console) as one:
        device = Authenticator(one)
        added(one, "Laptop")
        one.context.clear_cookies()
        # Nobody touches a device yet: the page waits, and the fields are there.
        device.set("setUserVerified", isUserVerified=False)
        one.page.goto(f"{one.base}/console/sign-in?next=/console/audit")
        field = one.page.get_by_label("Email", exact=True)
        expect(field).to_have_attribute("autocomplete", "username webauthn")
        expect(field).to_be_focused()
        device.set("setUserVerified", isUserVerified=True)
        # The person chooses it in the browser's list, which this device does at once.
        one.page.reload()
        one.page.wait_for_url(f"{one.base}/console/audit")


def test_a_passkey_device_that_does_not_verify_the_user_is_refused(console):
    with operator(console) as one:
        device = Authenticator(one, isUserVerified=False)
        add(one, "Careless")
        expect(one.page.get_by_role("dialog")).to_contain_text("No passkey was used")
        one.page.get_by_role("button", name="Cancel").click()
        device.set("setUserVerified", isUserVerified=True)
        added(one, "Careful")
        device.set("setUserVerified", isUserVerified=False)
        one.context.clear_cookies()
        page = by_button(one)
        expect(page.get_by_role("alert").filter(has_text="No passkey was used")).to_be_visible()
        device.set("setUserVerified", isUserVerified=True)
        page.get_by_role("button", name="Sign in with a passkey").click()
        signed_in(one)


def test_a_passkey_that_was_removed_signs_nobody_in(console):
    with operator(console) as one:
        Authenticator(one)
        added(one, "Laptop")
        gone = one.api("GET", "/me/passkeys")["items"][0]["id"]
        # Another way in, so that this one may go.
        other = Authenticator(one, "usb")
        added(one, "Key ring")
        other.set("removeVirtualAuthenticator")
        one.api("DELETE", f"/me/passkeys/{gone}")
        one.context.clear_cookies()
        one.expects_refusals = True
        page = by_button(one)
        expect(page.get_by_role("alert").filter(has_text="The passkey is not valid.")).to_be_visible()


PASSWORD = "a sentence that is long enough"


def with_recovery_code(console, code):
    """A sign-in that proves no presence: by the password and a recovery code."""
    email = console.api("GET", "/session")["operator"]["email"]
    console.context.clear_cookies()
    page = console.page
    page.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
    page.goto(f"{console.base}/console/sign-in")
    console.field("Email").fill(email)
    console.field("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("h1")).to_have_text("One more step")
    expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_visible()
    assert look(console, "one more step") == []
    console.field("Recovery code").fill(code)
    page.get_by_role("button", name="Sign in", exact=True).click()
    signed_in(console)


def test_a_step_up_asks_for_the_passkey_of_this_operator_and_goes_on(console):
    with operator(console) as one, operator(console) as stranger:
        one.api("PUT", "/me/password", {"password": PASSWORD})
        device = Authenticator(one)
        added(one, "Laptop")
        foreign = Authenticator(stranger)
        added(stranger, "Foreign")
        code = one.api("POST", "/me/recovery-codes", {})["codes"][0]
        one.expects_refusals = True
        with_recovery_code(one, code)
        page = one.go("/console/me")
        page.get_by_role("button", name="Remove Laptop").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        dialog = page.get_by_role("dialog", name="Is it still you?")
        assert look(one, "step-up") == []
        # A device with another operator's passkey, which the page is made to ask for.
        own = device.credentials()[0]
        device.set("clearCredentials")
        device.set("addCredential", credential=foreign.credentials()[0])

        def of_anyone(route):
            answer = route.fetch()
            route.fulfill(response=answer, json=answer.json() | {"allowCredentials": []})
        page.route("**/v1/me/passkeys/options", of_anyone)
        dialog.get_by_role("button", name="Use your passkey").click()
        expect(dialog.get_by_role("alert")).to_contain_text("The passkey is not valid.")
        page.unroute("**/v1/me/passkeys/options")
        device.set("clearCredentials")
        device.set("addCredential", credential=own)
        dialog.get_by_role("button", name="Use your passkey").click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("listitem").filter(has_text="Laptop")).to_have_count(0)
        # The last second factor took the recovery codes with it.
        assert one.api("GET", "/session")["operator"]["factors"] == {
            "passkeys": 0, "passkeys_unusable": 0, "totp": False, "recovery_codes_left": 0, "provider": False}


def test_a_password_alone_is_not_enough_if_there_is_a_passkey(console):
    with operator(console) as one:
        one.api("PUT", "/me/password", {"password": PASSWORD})
        email = one.api("GET", "/session")["operator"]["email"]
        Authenticator(one)
        added(one, "Laptop")
        one.context.clear_cookies()
        one.expects_refusals = True
        page = one.page
        page.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
        page.goto(f"{one.base}/console/sign-in")
        one.field("Email").fill(email)
        one.field("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_text("Your account asks for your passkey, too.")).to_be_visible()
        page.get_by_role("button", name="Sign in with a passkey").click()
        signed_in(one)


def test_a_server_reached_by_an_address_says_why_there_are_no_passkeys(console):
    link = console.api("POST", "/operators", {"email": "address@gatehouse.test", "role": "support", "scope": {"platform": True}})["sign_in_url"]
    server = types.SimpleNamespace(base=console.base.replace("localhost", "127.0.0.1"))
    with contextlib.closing(Console(server, console.browser)) as one:
        page = one.page
        page.goto(f"{one.base}/console/sign-in")
        expect(page.get_by_text("this page was opened by an address")).to_be_visible()
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
        page.goto(f"{one.base}/console/sign-in#{link.split('#')[1]}")
        page.reload()
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Not now").click()
        signed_in(one)
        one.go("/console/me")
        expect(page.get_by_text("this page was opened by an address")).to_be_visible()
        expect(page.get_by_role("button", name="Add a passkey")).to_have_count(0)
        one.check_silence()


class AddressServer(FreshServer):
    """A server whose public URL has an address, and is opened by a name."""

    def environment(self):
        return super().environment() | {"GATEHOUSE_PUBLIC_URL": self.base.replace("localhost", "127.0.0.1")}


def test_a_server_without_a_host_name_offers_no_passkeys(console):
    with AddressServer() as server, contextlib.closing(Console(server, console.browser)) as one:
        one.page.goto(f"{server.base}/console/sign-in")
        expect(one.page.get_by_text("This server's public address has no passkeys")).to_be_visible()
        expect(one.page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
        # Not even a refusal stands in the browser's console.
        one.check_silence()


def test_the_button_alone_explains_what_the_browsers_own_list_cannot_do(console):
    page = console.page
    console.context.clear_cookies()
    page.add_init_script("""
        PublicKeyCredential.isConditionalMediationAvailable = async () => true
        CredentialsContainer.prototype.get = async () => {
            document.documentElement.dataset.asked = ""
            throw new DOMException("Not supported here.", "NotSupportedError")
        }
    """)
    page.goto(f"{console.base}/console/sign-in")
    expect(page.locator("html[data-asked]")).to_be_attached()
    console.settle()
    expect(page.locator(".note.danger")).to_have_count(0)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator(".note.danger")).to_have_text("This device cannot sign in with passkeys.")
