"""The Python part of deploy/measure/growth.

    growth.py keys LOCATOR FIRST LAST                                  prints numbers and hashes of keys for growth.sql
    growth.py measure BASE TENANT KEY LOCATOR FIRST LAST SPENT-FILE    prints the cost of each operation as JSON
    growth.py table SMALL LARGE                                        prints the table of two such files
"""
import hashlib, http.client, json, os, pathlib, random, re, sys, time, urllib.parse, uuid, zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import usage  # noqa: E402

usage.answer(__doc__)
from bench import base62  # noqa: E402

LISTS = [
    ("users, newest", "users?"), ("users, oldest", "users?sort=created_at"),
    ("users, by email", "users?sort=email"), ("users, by email, last first", "users?sort=-email"),
    ("users, suspended", "users?status=suspended"), ("users, admins", "users?role=admin"),
    ("users, by a rare provider", "users?provider=github"),
    ("users, never signed in", "users?never_signed_in=true"),
    ("users, signed in since", "users?last_sign_in_since=2023-06-01T00:00:00Z"),
    ("users, signed in of late", "users?last_sign_in_since=2026-08-25T00:00:00Z"),
    ("users, by an attribute of one", "users?attributes.customer=c%d"),
    ("users, by an attribute of 1,000", "users?attributes.team=team 7"),
    ("users, by a frequent attribute", "users?attributes.plan=free"),
    ("users, by attribute and status", "users?attributes.plan=team&status=suspended"),
    ("users, by two attributes", "users?attributes.plan=team&attributes.team=team 13"),
    ("search: attribute and last name", "users?q=lovelace&attributes.plan=free"),
    ("search: attribute and full name", "users?q=grace hopper&attributes.plan=enterprise"),
    ("search: one user", "users?q=%d@"), ("search: a full name", "users?q=grace hopper"),
    ("search: a last name", "users?q=lovelace"), ("search: three letters", "users?q=ada"),
    ("search: all users", "users?q=exa"), ("search: no user", "users?q=zzqx"),
    ("search: users created together, long ago", "users?q=oldcorp"),
    ("search: a beginning", "users?q=gr"), ("search: one letter", "users?q=a"),
    ("search and filter", "users?q=lovelace&status=suspended"),
    ("search by email order", "users?q=hopper&sort=email"),
    ("keys", "api-keys?"), ("keys, revoked", "api-keys?status=revoked"),
    ("keys, by name", "api-keys?q=Lovelace"), ("keys, a full name", "api-keys?q=grace hopper"),
    ("keys, a beginning", "api-keys?q=gr"), ("keys, in order of name", "api-keys?sort=name"),
    ("keys, by name in order", "api-keys?q=Lovelace&sort=-name"),
    ("invites", "invites?"), ("invites, pending", "invites?status=pending"),
    ("invites, by text", "invites?q=lovelace"), ("invites, one address", "invites?q=%d@"),
    ("invites, long ago", "invites?q=oldcorp"),
    ("invites, pending, by text", "invites?q=lovelace&status=pending"),
    ("decisions", "provisioning/decisions?"),
    ("decisions, refused", "provisioning/decisions?outcome=refused"),
    ("audit", "audit-events?"), ("audit, one actor", "audit-events?actor=growth 7"),
    ("audit, an actor's name", "audit-events?actor=Growth"),
    ("audit, one target", "audit-events?target=ada.lovelace1@oldcorp.example"),
    ("audit, one action", "audit-events?action=invite.created"),
    ("audit, a rare action", "audit-events?action=policy.updated"),
    ("audit, a rare group", "audit-events?action=policy."),
    ("audit, a group of actions", "audit-events?action=api_key."),
]
DEEP = ["users?", "users?sort=email", "users?status=suspended", "users?q=lovelace", "api-keys?",
        "invites?", "provisioning/decisions?", "audit-events?"]

# Operations on one user or key each, which nothing touched before: name, the last two digits of the seeded
# numbers that it takes (growth.sql says what they are), method, path, body, answer.
ACTIVE = range(10, 100)
# Those of them with a key that is neither revoked nor expired; 11 may have another provider.
USED = [n for n in ACTIVE if n % 10 in (1, 2, 5, 7) and n != 11]
INVITED = (4, 6, 8)
EACH = [
    ("verify a key, first use", USED, "POST", "/v1/api-keys/verify",
     lambda n: {"key": n.key}, '"valid":true'),
    ("get one user", ACTIVE, "GET", "{tenant}/users/{user}", None, '"email"'),
    ("evaluate an invited person", INVITED, "POST", "/v1/provisioning/evaluate",
     lambda n: n.attempt(), '"outcome":"linked"'),
    ("evaluate an unknown person", INVITED, "POST", "/v1/provisioning/evaluate",
     lambda n: n.attempt(f"stranger{n}@nowhere.example"), '"outcome":"refused"'),
    ("first sign-in of an invited person", INVITED, "POST", "/v1/hooks/pre-signup",
     lambda n: n.attempt(), '"outcome":"linked"'),
    ("sign-in of an unknown person, refused", INVITED, "POST", "/v1/hooks/pre-signup",
     lambda n: n.attempt(f"stranger{n}@nowhere.example"), '"outcome":"refused"'),
    ("sign-in again", USED, "POST", "/v1/hooks/pre-signup",
     lambda n: n.attempt(), '"outcome":"existing"'),
    ("invite one person", USED, "POST", "{tenant}/invites",
     lambda n: {"email": f"guest{n}@firm.example", "delivery": "link"}, '"token"'),
    ("make a user", USED, "POST", "{tenant}/users",
     lambda n: {"email": f"made{n}@firm.example"}, '"id"'),
    ("change a user's name", ACTIVE, "PATCH", "{tenant}/users/{user}",
     lambda n: {"name": f"Renamed {n}"}, '"name":"Renamed'),
    ("issue a key", ACTIVE, "POST", "{tenant}/api-keys",
     lambda n: {"name": f"Mail {n}", "scopes": ["smtp"]}, '"key"'),
    ("rotate a key", USED, "POST", "{tenant}/api-keys/{id}/rotate",
     lambda n: {"grace_seconds": 3600}, '"key"'),
    ("revoke a key", USED, "POST", "{tenant}/api-keys/{id}/revoke", lambda n: {}, '"revoked'),
    ("suspend a user", ACTIVE, "POST", "{tenant}/users/{user}/suspend", lambda n: {}, '"suspended"'),
    ("resume a user", (1, 2, 3), "POST", "{tenant}/users/{user}/resume", lambda n: {}, '"active"'),
    ("delete a user", ACTIVE, "DELETE", "{tenant}/users/{user}", None, ""),
]


class Number(int):
    """One seeded row's number and what growth.sql made of it."""
    locator = tenant = ""
    ask = None  # GETs a path

    @property
    def email(self):
        """Asks the server, since growth.sql composes the address of names."""
        return self.ask(self.path("{tenant}/users/{user}"))[1]["email"]

    @property
    def key(self):
        body = f"gate_{'test' if self % 9 == 0 else 'live'}_{self.locator}{base62(self, 30)}"
        return body + base62(zlib.crc32(body.encode()), 6)

    def uuid(self, of):
        return uuid.UUID(hashlib.md5(f"{of} {int(self)}".encode()).hexdigest())

    def attempt(self, email=None):
        return {"provider": "google", "subject": f"new-{self}" if email else str(int(self)),
                "email": email or self.email, "email_verified": True, "tenant": "grown"}

    def path(self, pattern):
        return pattern.format(
            tenant=self.tenant, user=self.uuid("user"), id=self.uuid("key"))


class Numbers:
    """Gives each seeded number once, from anywhere in the table; a file records the used ones."""

    def __init__(self, first, last, spent):
        self.path = spent
        self.spent = set(json.load(open(spent))) if os.path.exists(spent) else set()
        self.rest = [n for n in range(first, last + 1) if n not in self.spent]
        random.shuffle(self.rest)

    def take(self, ends, count):
        found = [n for n in self.rest if n % 100 in ends and n not in self.spent][:count]
        if len(found) < count:
            raise SystemExit("too few rows are left that nothing touched")
        self.spent.update(found)
        with open(self.path, "w") as out:
            json.dump(sorted(self.spent), out)
        return [Number(n) for n in found]


def keys(locator, first, last):
    """Numbers and hashes of the keys, as growth.sql takes them."""
    Number.locator = locator
    for n in map(Number, range(int(first), int(last) + 1)):
        print(f"{int(n)}\t{hashlib.sha256(n.key.encode()).hexdigest()}")


# Requests before those that count: PostgreSQL needs some before it keeps a plan.
WARMING = 8


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def measure(base, tenant, key, locator, first, last, spent):
    connection = http.client.HTTPConnection(base.split("//")[1])
    rounds = int(os.environ.get("GROWTH_SAMPLES", 40))
    Number.locator, Number.tenant = locator, f"/v1/tenants/{tenant}"

    def send(method, path, body=None, **fields):
        began = time.perf_counter()
        connection.request(method, urllib.parse.quote(path, safe="/?=&:@-._~%"), body, {
            "Authorization": "Bearer " + key, "Content-Type": "application/json", **fields})
        answer = connection.getresponse()
        text = answer.read().decode()
        return (time.perf_counter() - began) * 1000, answer.status, text

    def ask(path):
        took, status, text = send("GET", path)
        if status != 200:
            raise SystemExit(f"{path}: {status} {text}")
        return took, json.loads(text)

    Number.ask = staticmethod(ask)

    def sample(path):
        for _ in range(WARMING):
            ask(path % 4711 if "%d" in path else path)
        return [ask(path % (1000 + 37 * n) if "%d" in path else path)[0] for n in range(rounds)]

    only, result = os.environ.get("ONLY", "lists,operations").split(","), {}
    for name, path in LISTS if "lists" in only else ():
        times = sample(f"/v1/tenants/{tenant}/{path}")
        result[name] = (percentile(times, 0.5), percentile(times, 0.95))
    for path in DEEP if "lists" in only else ():
        url = f"/v1/tenants/{tenant}/{path}"
        page = percentile(sample(url), 0.5)
        cursor = None
        for _ in range(100):
            _, body = ask(url + (f"&cursor={cursor}" if cursor else ""))
            if not body["next_cursor"]:
                break
            cursor = body["next_cursor"]
        times = sample(f"{url}&cursor={cursor}") if cursor else [page]
        result[f"page 100: {path}"] = (percentile(times, 0.5), percentile(times, 0.95), page)

    def each(method, pattern, body, wanted, numbers):
        times = []
        for n in numbers:
            text = json.dumps(body(n)) if body else None
            took, status, answer = send(method, n.path(pattern), text)
            if not 200 <= status < 300 or wanted not in answer:
                raise SystemExit(f"{method} {n.path(pattern)} {text}: {status} {answer}")
            times.append(took)
        return times[WARMING:]

    if "operations" not in only:
        return print(json.dumps(result))
    numbers = Numbers(int(first), int(last), spent)
    for name, ends, method, pattern, body, wanted in EACH:
        mine = numbers.take(ends, WARMING + rounds)
        if "evaluate" in pattern:  # a caller may send 60 dry runs a minute
            time.sleep(60 - time.time() % 60)
        times = each(method, pattern, body, wanted, mine)
        result[name] = (percentile(times, 0.5), percentile(times, 0.95))
    same = [numbers.take(USED, 1)[0]] * (WARMING + rounds)
    times = each("POST", "/v1/api-keys/verify", lambda n: {"key": n.key}, '"valid":true', same)
    result["verify a key, from the cache"] = (percentile(times, 0.5), percentile(times, 0.95))
    origin = "https://app.grown.example"
    send("POST", f"/v1/tenants/{tenant}/cors-origins", json.dumps({"origin": origin}))
    times = []
    for _ in range(WARMING + rounds):
        took, status, text = send("OPTIONS", f"/v1/tenants/{tenant}/users", Origin=origin,
                                  **{"Access-Control-Request-Method": "GET"})
        if status != 204:
            raise SystemExit(f"preflight: {status} {text}")
        times.append(took)
    result["preflight"] = (percentile(times[WARMING:], 0.5), percentile(times[WARMING:], 0.95))
    print(json.dumps(result))


def table(small, large):
    a, b = (json.load(open(path)) for path in (small, large))
    sizes = [f"{int(re.search('[0-9]+$', path).group()):,}" for path in (small, large)]
    form = lambda took: " / ".join(f"{ms:.1f}" if ms >= 1 else f"{ms:.2f}" for ms in took[:2])
    print(f"| operation | {sizes[0]} rows | {sizes[1]} rows | growth | page 100 / page 1 |\n|---|---|---|---|---|")
    b = {name: took for name, took in b.items() if name in a}
    for name, big in b.items():
        deep = f"{big[0] / big[2]:.2f}" if len(big) > 2 else ""
        print(f"| {name} | {form(a[name])} | {form(big)} | {big[0] / a[name][0]:.1f} | {deep} |")
    for limit, at, what in ((50, 0, "p50"), (50, 1, "p95"), (30, 1, "p95 of a search")):
        slow = [name for name in b if b[name][at] > limit and ("search" in name or limit > 30)]
        print(f"over {limit} ms at {what}: {', '.join(slow) or 'none'}")
    print("page 100 over 1.2 of page 1:",
          ", ".join(n for n in b if len(b[n]) > 2 and b[n][0] > 1.2 * b[n][2]) or "none")
    print("over 1.5 by growth:", ", ".join(n for n in b if b[n][0] > 1.5 * max(a[n][0], 1)) or "none")


if sys.argv[1] == "measure":
    measure(*sys.argv[2:])
elif sys.argv[1] == "keys":
    keys(*sys.argv[2:])
else:
    table(*sys.argv[2:])
