"""Measures the lists of one tenant (measure) and prints what two sizes cost (table)."""
import http.client, json, os, re, sys, time, urllib.parse

LISTS = [
    ("users, newest", "users?"), ("users, oldest", "users?sort=created_at"),
    ("users, by email", "users?sort=email"), ("users, by email, last first", "users?sort=-email"),
    ("users, suspended", "users?status=suspended"), ("users, admins", "users?role=admin"),
    ("users, by a rare provider", "users?provider=github"),
    ("users, never signed in", "users?never_signed_in=true"),
    ("users, signed in since", "users?last_sign_in_since=2023-06-01T00:00:00Z"),
    ("users, signed in of late", "users?last_sign_in_since=2026-08-25T00:00:00Z"),
    ("search: one user", "users?q=%d@"), ("search: a full name", "users?q=grace hopper"),
    ("search: a last name", "users?q=lovelace"), ("search: three letters", "users?q=ada"),
    ("search: everybody", "users?q=exa"), ("search: nobody", "users?q=zzqx"),
    ("search: who came in together, long ago", "users?q=oldcorp"),
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


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def measure(base, tenant, key):
    connection = http.client.HTTPConnection(base.split("//")[1])

    def ask(path):
        began = time.perf_counter()
        connection.request("GET", urllib.parse.quote(path, safe="/?=&:@-._~%"),
                           headers={"Authorization": "Bearer " + key})
        answer = connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - began) * 1000
        if answer.status != 200:
            print(f"{path}: {answer.status} {body.decode()}", file=sys.stderr)
            return 9999.0, {"next_cursor": None}
        return took, json.loads(body)

    def sample(path, rounds=int(os.environ.get("GROWTH_SAMPLES", 40))):
        for _ in range(8):  # as a prepared statement stands after a while
            ask(path % 4711 if "%d" in path else path)
        return [ask(path % (1000 + 37 * n) if "%d" in path else path)[0] for n in range(rounds)]

    result = {}
    for name, path in LISTS:
        times = sample(f"/v1/tenants/{tenant}/{path}")
        result[name] = (percentile(times, 0.5), percentile(times, 0.95))
    for path in DEEP:
        url = f"/v1/tenants/{tenant}/{path}"
        first = percentile(sample(url), 0.5)
        cursor = None
        for _ in range(100):
            _, body = ask(url + (f"&cursor={cursor}" if cursor else ""))
            if not body["next_cursor"]:
                break
            cursor = body["next_cursor"]
        times = sample(f"{url}&cursor={cursor}") if cursor else [first]
        result[f"page 100: {path}"] = (percentile(times, 0.5), percentile(times, 0.95), first)
    print(json.dumps(result))


def table(small, large):
    a, b = (json.load(open(path)) for path in (small, large))
    sizes = [f"{int(re.search('[0-9]+$', path).group()):,}" for path in (small, large)]
    print(f"| list | {sizes[0]} rows | {sizes[1]} rows | growth | page 100 / page 1 |\n|---|---|---|---|---|")
    for name, big in b.items():
        little, deep = a[name], f"{big[0] / big[2]:.2f}" if len(big) > 2 else ""
        print(f"| {name} | {little[0]:.1f} / {little[1]:.1f} | {big[0]:.1f} / {big[1]:.1f} "
              f"| {big[0] / little[0]:.1f} | {deep} |")
    for limit, at, what in ((50, 0, "p50"), (50, 1, "p95"), (30, 1, "p95 of a search")):
        slow = [name for name in b if b[name][at] > limit and ("search" in name or limit > 30)]
        print(f"over {limit} ms at {what}: {', '.join(slow) or 'none'}")
    print("page 100 over 1.2 of page 1:",
          ", ".join(n for n in b if len(b[n]) > 2 and b[n][0] > 1.2 * b[n][2]) or "none")
    print("over 1.5 by growth:", ", ".join(n for n in b if b[n][0] > 1.5 * max(a[n][0], 1)) or "none")


if sys.argv[1] == "measure":
    measure(*sys.argv[2:5])
else:
    table(sys.argv[2], sys.argv[3])
