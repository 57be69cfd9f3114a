"""One-time links as mail programs hand them on: without what stands behind the `#`, wrapped, encoded, with a full stop."""
import contextlib
import email
import email.policy
import re
import socketserver
import threading
import urllib.parse

from console import Console, Server
from playwright.sync_api import expect
from test_looks import look


class Mailbox(socketserver.ThreadingTCPServer):
    """An SMTP server that keeps what it is given."""

    daemon_threads = allow_reuse_address = True

    def __init__(self):
        self.mails, self.came = [], threading.Condition()
        super().__init__(("127.0.0.1", 0), Mailbox.Talk)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Talk(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"220 mailbox\r\n")
            while line := self.rfile.readline():
                if line[:4].upper() == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    data = b""
                    while (part := self.rfile.readline()) != b".\r\n":
                        data += part[1:] if part.startswith(b"..") else part
                    with self.server.came:
                        self.server.mails.append(email.message_from_bytes(data, policy=email.policy.default))
                        self.server.came.notify_all()
                if line[:4].upper() == b"QUIT":
                    return self.wfile.write(b"221 bye\r\n")
                self.wfile.write(b"250 mailbox\r\n")

    def plain(self, to):
        """The plain text of the newest mail to the address, once it is there."""
        with self.came:
            assert self.came.wait_for(lambda: any(to in one["To"] for one in self.mails), 30), self.mails
            found = [one for one in self.mails if to in one["To"]][-1]
        return found.get_body(("plain",)).get_content()


class MailingServer(Server):
    def environment(self):
        return super().environment() | {
            "GATEHOUSE_SMTP_URL": f"smtp://127.0.0.1:{self.mailbox.server_address[1]}", "GATEHOUSE_MAIL_FROM": "gate@mail.example"}

    def __enter__(self):
        self.mailbox = Mailbox()
        return super().__enter__()

    def __exit__(self, *fault):
        super().__exit__(*fault)
        self.mailbox.shutdown()
        self.mailbox.server_close()


@contextlib.contextmanager
def scene(console):
    with MailingServer() as server, contextlib.ExitStack() as stack:
        operator = stack.enter_context(contextlib.closing(Console(server, console.browser)))
        operator.sign_in_by_link(server.token)
        person = stack.enter_context(contextlib.closing(Console(server, console.browser)))
        yield operator, person, server.mailbox
        person.check_silence()


def paste(page, text):
    page.get_by_label("Link or code").fill(text)
    page.get_by_role("button", name="Continue").click()


def test_a_mail_whose_link_lost_its_fragment_still_lets_the_person_in(console):
    with scene(console) as (operator, person, mailbox):
        tenant = operator.tenant()
        operator.api("POST", f"/tenants/{tenant['id']}/invites", {"email": "ann@acme.example"})
        text = mailbox.plain("ann@acme.example")
        link = re.search(r"http\S+", text).group()
        code = re.search(r"this is it:\s+(\S+)", text).group(1)
        assert link.endswith(f"#token={code}")
        page = person.page
        page.goto(link.split("#")[0])
        expect(page.get_by_role("heading", name="No invite here")).to_be_visible()
        wrong = look(person, "an invite without its code")
        assert not wrong, "\n".join(wrong)
        paste(page, "no code")
        expect(page.get_by_text("This contains no code.")).to_be_visible()
        paste(page, f"  {code[:20]}\n{code[20:]}.")
        expect(page.get_by_role("heading", name=f"Join {tenant['name']}")).to_be_visible()
        page.get_by_label("Your name").fill("Ann")
        page.get_by_label("Choose a password").fill("correct horse battery staple")
        page.get_by_role("button", name="Accept the invite").click()
        expect(page.get_by_role("heading", name=f"Welcome to {tenant['name']}")).to_be_visible()


def test_each_page_accepts_a_link_in_the_forms_in_which_people_pass_it_on(console):
    with scene(console) as (operator, person, _):
        tenant = operator.tenant()
        page = person.page
        made = operator.api("POST", f"/tenants/{tenant['id']}/invites", {"email": "bo@acme.example", "delivery": "link"})
        url, joins = made["accept_url"], re.compile("^Join ")
        # In the address: a full stop, an encoded sign, an encoded equals sign.
        for given in [f"{url}.", url.replace("#", "%23"), url.replace("token=", "token%3D")]:
            page.goto("about:blank")
            page.goto(given)
            expect(page.get_by_role("heading", name=joins)).to_be_visible()
        # Pasted at another page than its own.
        for given in [f"<{url}>", urllib.parse.quote(url, safe=""), f"Here: {url}, see you"]:
            for place in ["/join", "/email", "/not-me"]:
                page.goto(person.base + place)
                paste(page, given)
                expect(page.get_by_role("heading", name=joins)).to_be_visible()
        reset = made["accept_url"].replace("/invite", "/reset")
        for place, given, heading in [
                ("/reset", reset, "Set a new password"), ("/console/sign-in", reset, "Set a new password"),
                ("/console/sign-in", made["token"], "You have a one-time link"),
                ("/not-me", made["token"], "This was not you?"), ("/email", made["token"], "Confirm your new address")]:
            page.goto(person.base + place)
            if page.get_by_text("I have a link or a code").count():
                page.get_by_text("I have a link or a code").click()
            paste_in = page.locator("details") if page.locator("details").count() else page
            paste_in.get_by_label("Link or code").fill(given)
            paste_in.get_by_role("button", name="Continue").click()
            expect(page.get_by_role("heading", name=heading)).to_be_visible()


def test_a_link_grant_names_its_account_and_waits_for_a_press(console):
    with scene(console) as (operator, person, _):
        tenant = operator.tenant()
        invited = operator.api("POST", f"/tenants/{tenant['id']}/invites", {"email": "dora@acme.example", "delivery": "link"})
        person.page.goto(invited["accept_url"])
        person.page.get_by_label("Your name").fill("Dora")
        person.page.get_by_label("Choose a password").fill("correct horse battery staple")
        person.page.get_by_role("button", name="Accept the invite").click()
        expect(person.page.get_by_role("heading", name="Welcome")).to_be_visible()
        [user] = operator.api("GET", f"/tenants/{tenant['id']}/users")["items"]
        grant = operator.api("POST", f"/tenants/{tenant['id']}/users/{user['id']}/link-grants", {})
        page = person.page
        sent = []
        page.on("request", lambda one: one.method == "POST" and sent.append(one.url))
        page.goto("about:blank")
        page.goto(grant["url"])
        expect(page.get_by_text("This link adds a sign-in to an account.")).to_be_visible()
        assert grant["token"] not in page.url and not sent
        wrong = look(person, "a link grant")
        assert not wrong, "\n".join(wrong)
        page.get_by_role("button", name="Continue", exact=True).click()
        expect(page.locator("h1")).to_have_text("Add a sign-in")
        expect(page.locator("main")).to_contain_text("the account d…@acme.example")
        # The same by hand, where the fragment was cut.
        person.context.clear_cookies()
        page.goto(grant["url"].split("#")[0])
        page.get_by_text("I have a link or a code").click()
        page.get_by_label("The whole link, or its code").fill(f"{grant['token']}).")
        page.get_by_role("button", name="Continue", exact=True).click()
        expect(page.locator("h1")).to_have_text("Add a sign-in")
