"""The parts that both halves of deploy/checks/replicas use: things that replicas accept until they are revoked,
clients that ask about all of them without pause, and the record of what was accepted or refused when."""
import collections, multiprocessing, os, random, signal, threading, time

from rig import AUTH, Wire, call, request

CLIENTS = int(os.environ.get("CLIENTS", 24))
PORT = int(os.environ.get("PORT", 18900))
PORTS = [PORT, PORT + 1, PORT + 2]
PROCESSES = 6
PAUSE = float(os.environ.get("PAUSE", 0))  # seconds between two requests of a client
LEASE = 3.0  # seconds
KEYS, OTHERS = ("revoke", "rotate"), ("person", "tenant", "origin", "session")
TENANT, APP = "/v1/tenants/acme", "/t/acme/immich/api"
PASSWORD = "correct horse battery"
REFUSED = {"person": (401, 403), "origin": (403,), "session": (401,)}
DEPTH = 16  # requests that a client sends at once in the first phase
# The phases that the clients count by; in all but the first they send one request at a time.
CALM, ALONE, DARK, CUT, MOVE = range(5)

Thing = collections.namedtuple("Thing", "kind check end")


class Maker:
    """Makes things that are accepted until they are revoked."""

    def __init__(self, rig):
        self.rig, self.number = rig, 0
        call(PORT, "POST", "/v1/tenants", {"slug": "acme", "name": "Acme"})
        provider = call(PORT, "POST", "/v1/providers", {
            "kind": "oidc", "name": "P", "issuer": "https://issuer.example", "client_id": "web",
            "email_trust": "authoritative", "domains": ["example.com"]})
        call(PORT, "PUT", f"{TENANT}/clients/immich", {
            "enabled": True, "redirect_uris": [], "settings": {"provider": provider["id"]}},
            ("If-Match: *",))
        self.ann, _ = self.person()

    def person(self):
        """A user with a password: address and id."""
        self.number += 1
        email = f"person{self.number}@acme.example"
        invite = call(PORT, "POST", f"{TENANT}/invites", {"email": email, "delivery": "link"})
        accepted = call(PORT, "POST", "/v1/invites/accept", {
            "token": invite["token"], "name": "Ann", "password": PASSWORD})
        return email, accepted["user"]["id"]

    def session(self, email):
        """The header field of a new session."""
        begun = call(PORT, "POST", f"{APP}/auth/login", {"email": email, "password": PASSWORD})
        return (f"x-immich-user-token: {begun['accessToken']}",)

    def key(self, tenant, **more):
        """A key and the request that verifies it: every second one alone, the others in a batch."""
        made = call(PORT, "POST", f"{tenant}/api-keys", {"name": "k", "scopes": ["smtp"], **more})
        self.number += 1
        if self.number % 2:
            return made, request("POST", "/v1/api-keys/verify", {"key": made["key"]}, AUTH)
        return made, request("POST", "/v1/api-keys/verify-batch",
                             {"keys": [{"key": "nonsense"}, {"key": made["key"]}]}, AUTH)

    def thing(self, kind):
        post = lambda target: request("POST", target, {}, AUTH)
        if kind in KEYS:
            made, check = self.key(TENANT)
            return Thing(kind, check, post(f"{TENANT}/api-keys/{made['id']}/{kind}"))
        if kind == "person":  # checked by a key of the user or by a session
            email, user = self.person()
            end = post(f"{TENANT}/users/{user}/suspend")
            if self.number % 3:
                return Thing(kind, self.key(TENANT, owner={"type": "user", "id": user})[1], end)
            return Thing(kind, request("GET", f"{APP}/users/me", None, self.session(email)), end)
        if kind == "tenant":
            self.number += 1
            tenant = f"/v1/tenants/t{self.number}"
            call(PORT, "POST", "/v1/tenants", {"slug": f"t{self.number}", "name": "T"})
            return Thing(kind, self.key(tenant)[1], post(f"{tenant}/suspend"))
        if kind == "origin":
            self.number += 1
            origin = f"https://o{self.number}.example"
            made = call(PORT, "POST", f"{TENANT}/cors-origins", {"origin": origin})
            check = request("OPTIONS", f"{TENANT}/users", None,
                            (f"Origin: {origin}", "Access-Control-Request-Method: GET"))
            return Thing(kind, check, request(
                "DELETE", f"{TENANT}/cors-origins/{made['id']}", None, AUTH))
        # All of one user: the end of one session must not end another.
        head = self.session(self.ann)
        return Thing(kind, request("GET", f"{APP}/users/me", None, head),
                     request("POST", f"{APP}/auth/logout", None, head))

    def things(self, kinds, count):
        return [self.thing(kinds[index % len(kinds)]) for index in range(count)]


def verdict(thing, status, body):
    """True accepted, False refused, None if the replica answered 503."""
    if status == 503:
        return None
    if thing.check.startswith(b"POST"):
        if status == 200 and b'"valid":' in body:
            return b'"valid":true' in body
    elif status == (204 if thing.kind == "origin" else 200):
        return True
    elif status in REFUSED[thing.kind]:
        return False
    raise ValueError(f"{thing.kind}: {status} {body[:200]}")


def clients(things, shared, results, count, turn):
    """The clients of one process; records when the last accepted request was sent and the first refusal came."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the clients
    stop, total, phase, seen = shared
    kept, strange = [], []

    def run(replica):
        last, first = [0.0] * len(things), [float("inf")] * len(things)
        counts = collections.Counter()
        kept.append((last, first, counts))
        wire = None
        while not stop.is_set():
            before = phase.value
            chosen = random.choices(range(len(things)), k=DEPTH if before == CALM else 1)
            answers = []
            try:
                wire = wire or Wire(PORTS[replica])
                sent = time.monotonic()
                wire.send(b"".join([things[index].check for index in chosen]))
                for index in chosen:
                    answers.append(verdict(things[index], *wire.receive()))
                    if answers[-1] is False and first[index] == float("inf"):
                        first[index] = time.monotonic()
            except OSError:
                wire = None
                time.sleep(0.05)
            except ValueError as fault:
                wire = None
                strange.append(str(fault))
            if phase.value == before:
                counts.update((before, replica, found) for found in answers)
            for index, found in zip(chosen, answers):
                if found:
                    last[index] = sent
                    seen[index * 3 + replica] = 1
            with total.get_lock():
                total.value += len(answers)
            if PAUSE:
                time.sleep(PAUSE)

    threads = [threading.Thread(target=run, args=((turn + i) % 3,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((kept, strange))


class Load:
    """The clients that ask about all things, and what was revoked when."""

    def __init__(self, things):
        self.things, self.times, self.repeated = things, {}, 0
        self.stop, self.total = multiprocessing.Event(), multiprocessing.Value("q", 0)
        self.phase = multiprocessing.Value("i", CALM, lock=False)
        self.seen = multiprocessing.RawArray("b", len(things) * 3)
        self.results = multiprocessing.Queue()
        shared = (self.stop, self.total, self.phase, self.seen)
        self.workers = [multiprocessing.Process(target=clients, args=(
            things, shared, self.results, CLIENTS // PROCESSES, turn)) for turn in range(PROCESSES)]
        for worker in self.workers:
            worker.start()
        until = time.monotonic() + 60
        while not all(self.seen):
            if time.monotonic() > until:
                self.stop.set()
                missing = {things[i // 3].kind for i, one in enumerate(self.seen) if not one}
                raise SystemExit(f"never accepted by some replica: {missing}")
            time.sleep(0.01)

    def reach(self, checks):
        while self.total.value < checks:
            time.sleep(0.002)

    def revoke(self, port, index):
        """Repeats the call while it is answered 503; returns the seconds of the last one."""
        begun = None
        for _ in range(200):
            called = time.monotonic()
            begun = begun or called
            status, body = Wire(port).ask(self.things[index].end)
            returned = time.monotonic()
            # An earlier attempt that was answered 503 may have been carried out.
            if 200 <= status < 300 or begun != called and status in (401, 404, 409):
                self.times[index] = (begun, returned)
                return returned - called
            if status != 503:
                raise SystemExit(f"{self.things[index].kind} is not revoked: {status} {body}")
            self.repeated += 1
            time.sleep(0.1)
        raise SystemExit(f"{self.things[index].kind} is not revoked")

    def finish(self):
        self.stop.set()
        found = [self.results.get() for _ in self.workers]
        for worker in self.workers:
            worker.join()
        last, first, counts = zip(*(one for kept, _ in found for one in kept))
        self.last = [max(column) for column in zip(*last)]
        self.first = [min(column) for column in zip(*first)]
        self.counts = sum(counts, collections.Counter())
        self.strange = sum((strange for _, strange in found), [])

    def stale(self):
        """Kinds of what was accepted though the call that revokes it had returned before it was asked."""
        return [self.things[i].kind for i, (_, end) in self.times.items() if self.last[i] > end]

    def early(self):
        """Kinds of what was refused before the call that revokes it was made."""
        return [self.things[i].kind for i, (begin, _) in self.times.items() if self.first[i] < begin]

    def seen_in(self, phase, what, replicas=(0, 1, 2)):
        return [self.counts[phase, replica, what] for replica in replicas]


def show(name, seconds):
    seconds = sorted(seconds)
    p = lambda q: seconds[min(len(seconds) - 1, int(len(seconds) * q))] * 1000
    print(f"  {name:36} {len(seconds):4} calls   p50 {p(0.5):8.1f} ms   p99 {p(0.99):8.1f} ms",
          flush=True)
