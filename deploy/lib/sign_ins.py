"""The Python part of deploy/checks/sign-ins: the requests of each app, and the replicas that are killed meanwhile."""
import base64, collections, http.client, json, os, random, re, secrets, shutil, subprocess, sys
import tempfile, time, urllib.parse, zlib

import provider

COUNT = int(os.environ.get("SIGN_INS", "50"))
PORT = int(os.environ.get("SIGN_INS_PORT", "18950"))
PROGRAM = os.environ.get("GATEHOUSE", ".build/release/gatehouse")
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HOST = f"127.0.0.1:{PORT}"
BASE = f"http://{HOST}"
IMMICH, TIMETRACKER = "app.immich:///oauth-callback", "timetracker://oauth/callback"
RELATE, GOOGLE = "relate-mail://auth/callback", "com.googleusercontent.apps.1:/oauth2redirect"
WEB, PAGE = f"{BASE}/t/acme/timetracker/auth/callback", "http://127.0.0.1:9"


def platform_key():
    text = "gate_live_000000" + "".join(secrets.choice(DIGITS) for _ in range(30))
    value, tail = zlib.crc32(text.encode()), ""
    for _ in range(6):
        tail, value = DIGITS[value % 62] + tail, value // 62
    return text + tail


KEY = platform_key()


class Answer:
    def __init__(self, status, head, body):
        self.status, self.head, self.body = status, head, body

    def json(self):
        return json.loads(self.body)


class Replicas:
    """Three servers; the one that answers a step is killed and started again while the others go on."""

    def __init__(self, home, **settings):
        self.home, self.kills = home, 0
        self.log = open(home + "/log", "ab")
        base = f"postgresql://%s@/gatehouse?host={home}/pg"
        self.environment = {
            "PATH": os.environ["PATH"], "GATEHOUSE_PUBLIC_URL": BASE,
            "GATEHOUSE_DATABASE_URL": base % "gatehouse_app",
            "GATEHOUSE_PLATFORM_DATABASE_URL": base % "gatehouse_platform",
            "GATEHOUSE_MIGRATION_DATABASE_URL": base % "gatehouse_owner",
            "GATEHOUSE_SECRET_KEY": secrets.token_hex(32), "GATEHOUSE_THREADS": "1", "GATEHOUSE_DRAIN": "0s",
            "GATEHOUSE_SETUP_API_KEY": KEY, "GATEHOUSE_ALLOW_LOOPBACK_PROVIDERS": "true",
        } | settings
        conninfo = subprocess.check_output(
            ["deploy/tools/postgres", "start", home + "/pg"], text=True).strip()
        psql(conninfo, "CREATE DATABASE gatehouse OWNER gatehouse_owner")
        subprocess.run([PROGRAM, "migrate"], env=self.environment, check=True, stdout=self.log)
        self.servers = [None, None, None]
        for index in range(3):
            self.start(index)
            self.wait(index)
        self.last = 0

    def start(self, index):
        self.servers[index] = subprocess.Popen(
            [PROGRAM, "serve"], stdout=self.log, stderr=self.log,
            env=self.environment | {"GATEHOUSE_LISTEN": f"127.0.0.1:{PORT + index}"})

    def wait(self, index):
        for _ in range(600):
            if self.servers[index].poll() is not None:
                raise SystemExit("a replica ended by itself; see " + self.log.name)
            try:
                if self.ask(index, "GET", "/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise SystemExit("a replica does not start; see " + self.log.name)

    def ask(self, index, method, target, body=None, head=None):
        connection = http.client.HTTPConnection("127.0.0.1", PORT + index, timeout=20)
        try:
            fields = {"Host": HOST} | (head or {})
            if body is not None:
                fields |= {"Content-Type": "application/json"}
            connection.request(
                method, target, json.dumps(body) if body is not None else None, fields)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def manage(self, method, target, body):
        """One call with the platform's key."""
        answer = self.ask(0, method, target, body, {"Authorization": "Bearer " + KEY})
        if answer.status not in (200, 201):
            raise SystemExit(f"{method} {target}: {answer.status} {answer.body.decode()}")
        return answer.json()

    def step(self, method, target, body=None, head=None, expect=200):
        """One request of an app, at another server than the last one; that server is killed afterwards."""
        index = (self.last + random.choice((1, 2))) % 3
        self.wait(index)
        answer = self.ask(index, method, target, body, head)
        self.servers[index].kill()
        self.servers[index].wait()
        self.kills += 1
        self.start(index)
        self.last = index
        if answer.status != expect:
            raise Failed(f"{method} {target}: {answer.status} {answer.body.decode()[:300]}")
        return answer

    def stop(self):
        for server in self.servers:
            if server:
                server.terminate()
                server.wait()
        subprocess.run(["deploy/tools/postgres", "stop", self.home + "/pg"], check=False)


class Failed(Exception):
    pass


def psql(conninfo, text):
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", text]
    if os.getuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + command
    return subprocess.check_output(command, text=True, cwd="/").strip()


def returned(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


def cookies(answer):
    found = [line.split(";")[0] for line in answer.head.get_all("Set-Cookie") or []]
    return {"Cookie": "; ".join(pair for pair in found if not pair.endswith("="))}


def bearer(token):
    return {"Authorization": "Bearer " + token, "Accept": "application/json"}


# Each app's sign-in: returns the address of the person who signed in, and ends the session.

def immich(step, person, issuer):
    mount = "/t/acme/immich"
    endpoint = step("GET", mount + "/.well-known/immich").json()["api"]["endpoint"]
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    begun = step("POST", f"{mount}{endpoint}/oauth/authorize", {
        "redirectUri": IMMICH, "state": state, "codeChallenge": provider.challenge(verifier)},
        expect=201).json()
    url = provider.authorize(begun["url"], person)
    token = step("POST", f"{mount}{endpoint}/oauth/callback", {
        "url": url, "state": state, "codeVerifier": verifier}, expect=201).json()["accessToken"]
    head = {"x-immich-user-token": token}
    email = step("GET", f"{mount}{endpoint}/users/me", head=head).json()["email"]
    step("POST", f"{mount}{endpoint}/auth/logout", head=head)
    step("GET", f"{mount}{endpoint}/users/me", head=head, expect=401)
    return email


def signed_out(step, mount, head):
    """Ends the session and checks that it has ended; returns its address."""
    email = step("GET", f"{mount}/auth/me", head=head).json()["email"]
    step("POST", f"{mount}/auth/logout", head=head)
    step("GET", f"{mount}/auth/me", head=head, expect=401)
    return email


def timetracker(step, person, issuer):
    mount = "/t/acme/timetracker"
    begun = step("GET", f"{mount}/auth/login?redirect_uri={TIMETRACKER}", expect=302)
    back = returned(provider.authorize(begun.head["Location"], person))
    token = step("POST", f"{mount}/auth/token", {
        "code": back["code"], "state": back["state"], "redirect_uri": TIMETRACKER}).json()
    head = bearer(token["access_token"])
    return signed_out(step, mount, head)


def timetracker_web(step, person, issuer):
    mount = "/t/acme/timetracker"
    begun = step("GET", f"{mount}/auth/login", expect=302)
    url = provider.authorize(begun.head["Location"], person)
    ended = step("GET", url.removeprefix(BASE), head=cookies(begun), expect=302)
    if ended.head["Location"] != PAGE + "/auth/callback?success=true":
        raise Failed("sent to " + ended.head["Location"])
    head = cookies(ended)
    return signed_out(step, mount, head)


def relate(step, person, issuer):
    mount = "/t/acme/relate"
    if not step("GET", f"{mount}/api/discovery").json()["oidcEnabled"]:
        raise Failed("discovery offers no OIDC")
    config = step("GET", f"{mount}/config/config.json").json()
    tokens = provider.tokens(config["oidcAuthority"], config["oidcRedirectUri"], person)
    head = bearer(tokens["access_token"])
    email = step("GET", f"{mount}/api/profile", head=head).json()["email"]
    made = step("POST", f"{mount}/api/smtp-credentials/mobile", {
        "deviceName": "Pixel", "platform": "android"}, head).json()
    head = {"Authorization": "ApiKey " + made["apiKey"]}
    listed = step("GET", f"{mount}/api/smtp-credentials", head=head).json()
    if listed["connectionInfo"]["username"] != email:
        raise Failed("the key is of " + listed["connectionInfo"]["username"])
    step("DELETE", f"{mount}/api/smtp-credentials/{made['id']}", head=head, expect=204)
    step("GET", f"{mount}/api/smtp-credentials", head=head, expect=401)
    return email


def deeprecall(step, person, issuer):
    mount = "/t/acme/deeprecall"
    tokens = provider.tokens(issuer, GOOGLE, person)
    begun = step("POST", f"{mount}/api/auth/exchange/google", {
        "id_token": tokens["id_token"], "device_id": "mobile-1-" + person}).json()
    head = bearer(begun["app_jwt"])
    email = step("GET", f"{mount}/api/profile", head=head).json()["user"]["email"]
    replication = step("POST", f"{mount}/api/replication/token", {}, head).json()
    if replication["expires_in"] != 900:
        raise Failed("a replication token of another length")
    return email


APPS = [immich, timetracker, timetracker_web, relate, deeprecall]


def prepare(replicas, issuer):
    call = replicas.manage
    call("POST", "/v1/tenants", {"slug": "acme", "name": "Acme"})
    ids = {kind: call("POST", "/v1/providers", {
        "kind": kind, "name": "Canaille", "issuer": issuer, "client_id": provider.CLIENT,
        "secret": provider.SECRET, "email_trust": "authoritative", "domains": ["example.com"],
    })["id"] for kind in ("oidc", "google")}
    for client, kind, redirects, more in (
        ("immich", "oidc", [IMMICH], {}),
        ("timetracker", "oidc", [TIMETRACKER, WEB], {"app_url": PAGE}),
        ("relate", "oidc", [RELATE], {}), ("deeprecall", "google", [], {}),
    ):
        call("PUT", f"/v1/tenants/acme/clients/{client}", {
            "enabled": True, "redirect_uris": redirects,
            "settings": {"provider": ids[kind]} | more})
    for number in range(1, COUNT + 1):
        call("POST", "/v1/tenants/acme/invites", {"email": f"person{number}@example.com"})


def main(home):
    started = subprocess.run(
        ["deploy/tools/provider", "start", home + "/provider", IMMICH, TIMETRACKER, WEB, RELATE, GOOGLE],
        env=os.environ | {"PROVIDER_PEOPLE": str(COUNT)}, check=True, stdout=subprocess.PIPE,
        text=True)
    issuer = started.stdout.split()[-1]
    replicas = Replicas(home)
    done, failed = collections.Counter(), []
    try:
        prepare(replicas, issuer)
        for number in range(1, COUNT + 1):
            app, person = APPS[number % len(APPS)], f"person{number}"
            try:
                email = app(replicas.step, person, issuer)
                if email != f"{person}@example.com":
                    raise Failed(f"{person} was signed in as {email}")
                done[app.__name__] += 1
            except (Failed, OSError) as failure:
                failed.append((app.__name__, person, failure))
        conninfo = f"host={home}/pg user=postgres dbname=gatehouse"
        found = psql(conninfo, """
            SELECT (SELECT count(*) FROM users WHERE status = 'active'), (SELECT count(*) FROM users),
                (SELECT count(*) FROM identities), (SELECT count(*) FROM invites
                    WHERE status = 'accepted')""").split("|")
    finally:
        replicas.stop()
    for failure in failed:
        print("failed: %s as %s: %s" % failure)
    print("  " + ", ".join(f"{count} {name}" for name, count in sorted(done.items()))
          + f"; {replicas.kills} kills; {found[0]} users active of {found[1]}, "
          f"{found[2]} identities, {found[3]} invites accepted")
    print(f"{sum(done.values())} of {COUNT}")
    if sum(done.values()) != COUNT or found != [str(COUNT)] * 4:
        raise SystemExit(1)


if __name__ == "__main__":
    HOME = tempfile.mkdtemp(prefix="gs.", dir="/tmp")
    os.chmod(HOME, 0o711)
    try:
        main(HOME)
    finally:
        subprocess.run(["deploy/tools/provider", "stop", HOME + "/provider"], check=False)
        shutil.rmtree(HOME)
