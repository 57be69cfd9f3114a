"""The real server on a data directory of its own, and a page of its console that is watched."""
import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

from playwright.sync_api import TimeoutError, expect

# Ample, for a busy machine: no test waits for it unless it fails.
expect.set_options(timeout=30000)


class Server:
    """`gatehouse dev` on a free port of loopback; the first sign-in link is `token`."""

    command, first_link = "dev", r"sign-in#token=(\S+)"

    def environment(self):
        return {"GATEHOUSE_DATA_DIR": str(self.home / "data"), "GATEHOUSE_ALLOW_LOOPBACK_PROVIDERS": "true"}

    def __enter__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="gatehouse-browser."))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        # By name, as the server prints it: browsers offer passkeys to no address.
        self.base = f"http://localhost:{port}"
        self.log = self.home / "log"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GATEHOUSE_")}
        environment |= {"GATEHOUSE_LISTEN": f"127.0.0.1:{port}"} | self.environment()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([os.environ["GATEHOUSE_PROGRAM"], self.command], stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + 60
        # `serve` logs the link before its port is open.
        while not ((found := re.search(self.first_link, self.log.read_text(errors="replace"))) and self.is_open(port)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.log.read_text(errors="replace")[-2000:])
            time.sleep(0.1)
        self.token = found.group(1)
        if self.command == "dev":
            assert f"{self.base}/console/sign-in#token=" in self.log.read_text(), self.log.read_text()
        return self

    @staticmethod
    def is_open(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        shutil.rmtree(self.home, ignore_errors=True)
        # Where root's cluster stands instead, as in PrivateCluster.swift.
        digest = hashlib.sha256(f"{self.home}/data".encode()).hexdigest()
        shutil.rmtree(f"/var/lib/gatehouse/{digest[:16]}", ignore_errors=True)


class FreshServer(Server):
    """`gatehouse serve` over an empty database: nobody owns it yet, and `token` sets it up."""

    command, first_link = "serve", r"setup#token=([\w-]+)"
    postgres = str(pathlib.Path(__file__).parents[2] / "deploy/tools/postgres")

    def environment(self):
        # The path of a socket is short.
        self.cluster = tempfile.mkdtemp(prefix="gt.")
        subprocess.run([self.postgres, "start", self.cluster], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["psql", "-X", "-q", "-d", f"host={self.cluster} user=postgres dbname=postgres",
                        "-c", "CREATE DATABASE gatehouse OWNER gatehouse_owner"], check=True)
        urls = {f"GATEHOUSE_{name}DATABASE_URL": f"postgresql://gatehouse_{role}@/gatehouse?host={self.cluster}"
                for name, role in (("", "app"), ("PLATFORM_", "platform"), ("MIGRATION_", "owner"))}
        subprocess.run([os.environ["GATEHOUSE_PROGRAM"], "migrate"], check=True, stdout=subprocess.DEVNULL, env=urls)
        return {"GATEHOUSE_PUBLIC_URL": self.base, **urls, "GATEHOUSE_SECRET_KEY": uuid.uuid4().hex}

    def __exit__(self, *_):
        super().__exit__()
        subprocess.run([self.postgres, "stop", self.cluster], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.cluster, ignore_errors=True)


WATCH = """
addEventListener("securitypolicyviolation", (event) => console.error("CSP", event.violatedDirective, event.blockedURI));
"""


def chromium(playwright):
    """Debian's build of Chromium without a window: half the processor time of the one with a window."""
    return playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])


class Console:
    """One browser context. `faults` holds what no test may see: errors, CSP reports, foreign requests."""

    def __init__(self, server, browser, cookies=(), **options):
        self.base = server.base
        self.server = server
        self.browser = browser
        self.faults = []
        self.requests = []
        # Those without their whole answer.
        self.open_requests = set()
        # Refusals that a test provokes; the browser reports each as an error of its own.
        self.expects_refusals = False
        options.setdefault("viewport", {"width": 1280, "height": 800})
        options.setdefault("reduced_motion", "reduce")
        self.context = browser.new_context(**options)
        self.context.add_cookies(list(cookies))
        self.context.add_init_script(WATCH)
        self.context.set_default_timeout(30000)
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("requestfinished", lambda request: self.open_requests.discard(request))
        self.page.on("requestfailed", lambda request: self.open_requests.discard(request))

    def _heard(self, message):
        if message.type not in ("error", "warning"):
            return
        if self.expects_refusals and "Failed to load resource" in message.text:
            return
        # A page that is not there is answered so, and says it in words.
        if "status of 404" in message.text and message.location.get("url") == self.page.url:
            return
        self.faults.append(f"{message.type}: {message.text} {message.location.get('url')}")

    def _asked(self, request):
        self.requests.append(request)
        self.open_requests.add(request)
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.faults.append(f"foreign request: {request.url}")

    def check_silence(self):
        assert not self.faults, self.faults

    def cookies(self):
        return self.context.cookies()

    def close(self):
        # A list may be asked again as a test ends: a route's answer that meets a closed page ends the runner.
        for page in self.context.pages:
            page.unroute_all(behavior="ignoreErrors")
        self.context.close()

    def seen(self):
        """What the page says, for a failure's text: a picture stays on the machine that took it."""
        try:
            return f"{self.page.url}\n{self.page.locator('body').inner_text(timeout=3000)[:2000]}"
        except Exception as error:
            return f"nothing to read: {error}"

    def picture(self, name):
        folder = pathlib.Path(".build/browser-failures")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self.page.screenshot(path=folder / f"{name}.png")
        except Exception as error:
            print(f"no picture: {error}")

    def sign_in_by_link(self, token):
        self.page.goto(f"{self.base}/console/sign-in#token={token}")
        self.page.get_by_role("button", name="Continue").click()
        self.page.get_by_role("button", name="Not now").click()
        self.page.wait_for_url(f"{self.base}/console/")
        expect(self.page.locator("h1")).to_have_text("Overview")

    def go(self, path):
        """Opens a page cold and waits for its data."""
        self.page.goto(self.base + path)
        expect(self.page.locator("main h1").last).to_be_attached()
        expect(self.page.locator("main .sk, main.busy, main .wait")).to_have_count(0)
        return self.page

    def idle(self):
        """Waits until nothing is asked any more, also by a timer of the page."""
        self.page.wait_for_load_state("networkidle")

    def settle(self):
        """Waits until each request has its answer and the page had its turn with it: sooner than `idle`."""
        turns = 0
        while turns < 2:
            self.page.evaluate("new Promise(done => requestIdleCallback(done))")
            turns = 0 if self.open_requests else turns + 1

    def api(self, method, path, body=None, ok=True):
        """The REST API with the session of this context."""
        answer = self.context.request.fetch(
            f"{self.base}/v1{path}", method=method, data=body,
            headers={"x-gatehouse-console": "1", "sec-fetch-site": "same-origin", "content-type": "application/json"} if method != "GET" else {})
        assert not ok or answer.ok, f"{method} {path}: {answer.status} {answer.text()[:400]}"
        return answer.json() if answer.text() else None

    def tenant(self, name="Acme"):
        """A tenant of the test's own."""
        return self.api("POST", "/tenants", {"slug": f"t-{uuid.uuid4().hex[:10]}", "name": name})

    def as_operator(self, role, tenant=None):
        """Another console, signed in as a new operator of that role."""
        body = {"email": f"{role}-{uuid.uuid4().hex[:8]}@gatehouse.test", "name": role.title(), "role": role}
        body["scope"] = {"tenant_id": tenant} if tenant else {"platform": True}
        link = self.api("POST", "/operators", body)["sign_in_url"]
        other = Console(self.server, self.browser)
        other.page.goto(f"{self.base}/console/sign-in#{link.split('#')[1]}")
        other.page.get_by_role("button", name="Continue").click()
        other.page.get_by_role("button", name="Not now").click()
        expect(other.page.locator(".top")).to_be_visible()
        return other

    def field(self, label):
        """A control of a form, not one of the bar above a list."""
        return self.page.locator("form").get_by_label(label, exact=True)

    def more(self, row, name):
        """Chooses what stands in a row's menu. A list that is read again, as after an act, closes it."""
        button, item = row.get_by_role("button", name=re.compile("^More for")), self.page.get_by_role("menuitem", name=re.compile(f"^{name}"))
        button.click()
        try:
            item.click(timeout=3000)
        except TimeoutError:
            button.click()
            item.click()

    def asked(self, part, method="GET"):
        """The API requests so far whose path holds `part`."""
        return [one for one in self.requests if one.method == method and "/v1/" in one.url and part in one.url]
