"""The Python part of deploy/bench, of which other scripts import functions.

    python3 deploy/lib/bench.py COMMAND ARGUMENT…     the commands and their arguments are the functions below

Makes keys, reads statements out of PostgreSQL's log, measures idle connections, processor time and the time to
start, and prints the table.
"""
import hashlib, http.client, json, os, re, socket, ssl, statistics, subprocess, sys, time, zlib

import usage

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def base62(value, width):
    text = ""
    for _ in range(width):
        text, value = DIGITS[value % 62] + text, value // 62
    return text


def keys(count, texts):
    """Writes well-formed keys of the seeded tenants to the file `texts`, their hashes to standard output."""
    with open(texts, "w") as out:
        for n in range(int(count)):
            body = f"gate_live_B{1 + n % 1000:05d}{base62(n, 30)}"
            key = body + base62(zlib.crc32(body.encode()), 6)
            out.write(key + "\n")
            print(f"{n}\t{hashlib.sha256(key.encode()).hexdigest()}")


def platform_key():
    """A well-formed key of the platform for benchmarks; no installation uses it."""
    body = "gate_live_000000" + "B" * 30
    print(body + base62(zlib.crc32(body.encode()), 6))


def executed(log):
    """Each session's statements with their parameters, in order."""
    entries, last = [], {}
    with open(log, errors="replace") as lines:
        for line in lines:
            head = re.match(r"\S+ \S+ \S+ \[(\d+)\] (\w+):  (.*)", line, re.S)
            if not head:
                if entries and line.startswith("\t"):
                    entries[-1][-1] += " " + line.strip()
                continue
            entries.append([head[1], head[2], head[3].strip()])
    for session, kind, text in entries:
        if kind == "LOG" and text.startswith("execute "):
            last.setdefault(session, []).append([text.split(": ", 1)[1], []])
        elif kind == "DETAIL" and text.startswith("parameters: ") and session in last:
            values = re.findall(r"\$\d+ = (NULL|'(?:[^']|'')*')", text)
            last[session][-1][1] = values
    return last


def filled(sql, values):
    """The statement with each $n replaced by what values(n) gives."""
    return re.sub(r"\$(\d+)", lambda mark: values(int(mark[1])), sql)


def list_statement(log, tenant, script, text):
    """pgbench's script of the list that the server ran, and its text for another program."""
    found = [one for session in executed(log).values() for one in session
             if "FROM users" in one[0] and "FROM identities" in one[0]][-1]
    sql, values = found

    def of_tenant(expression):
        return filled(sql, lambda n: expression if tenant in values[n - 1] else values[n - 1])

    with open(script, "w") as out:
        out.write("\\set n random(1, 1000)\n" + of_tenant("bench_tenant(:n::bigint)") + ";\n")
    with open(text, "w") as out:
        out.write(of_tenant("$1::uuid"))


def sign_in(base, key, first, last, outcome="created existing linked"):
    connection = http.client.HTTPConnection(base.split("//")[1])
    for n in range(int(first), int(last)):
        connection.request("POST", "/v1/hooks/pre-signup", json.dumps(attempt(n)), {
            "Authorization": "Bearer " + key, "Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        if answer.get("outcome") not in outcome.split():
            raise SystemExit(f"not provisioned: {answer}")


def attempt(n):
    return {"provider": "google", "subject": f"bench-{n}", "email": f"invited{n}@bench.example",
            "email_verified": True, "tenant": "bench-1"}


def invite(base, key, count):
    connection = http.client.HTTPConnection(base.split("//")[1])
    for first in range(0, int(count), 500):
        many = [{"email": f"invited{n}@bench.example", "role": "member", "delivery": "link"}
                for n in range(first, min(first + 500, int(count)))]
        connection.request("POST", "/v1/tenants/bench-1/invites", json.dumps({"invites": many}), {
            "Authorization": "Bearer " + key, "Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{answer.status} {body.decode()}")


def bodies(first, last, path):
    with open(path, "w") as out:
        for n in range(int(first), int(last)):
            out.write(json.dumps(attempt(n)) + "\n")


def replay(log, script, rows):
    """Writes pgbench's script of the transactions in the log. Values that differ from call to call go to a
    table (`rows` is the SQL that makes it); the others are in the statements."""
    calls = []
    for session in executed(log).values():
        call = []
        for sql, values in session:
            if sql == "BEGIN":
                call = []
            call.append((sql, values))
            if sql == "COMMIT" and any("INSERT INTO decisions" in one for one, _ in call):
                calls.append(call)
    shapes = {}
    for call in calls:
        shapes.setdefault(tuple(sql for sql, _ in call), []).append(call)
    shape, alike = max(shapes.items(), key=lambda item: len(item[1]))
    varying = {}
    for at in range(len(shape)):
        for n in range(len(alike[0][at][1])):
            if len({call[at][1][n] for call in alike}) > 1:
                varying[at, n] = len(varying)
    with open(rows, "w") as out:
        names = [f"v{n}" for n in range(len(varying))]
        out.write(f"CREATE TABLE bench_calls (n int PRIMARY KEY, {' text, '.join(names)} text);\n")
        out.write("GRANT SELECT ON bench_calls TO PUBLIC;\n")
        for n, call in enumerate(alike, 1):
            values = ", ".join(call[at][1][k] for at, k in varying)
            out.write(f"INSERT INTO bench_calls VALUES ({n}, {values});\n")
        out.write("VACUUM ANALYZE bench_calls;\n")
    with open(script, "w") as out:
        out.write("\\set i :i + 1\n\\set n :i * 16 + :client_id + 1\n")
        out.write(f"SELECT {', '.join(names)} FROM bench_calls WHERE n = :n \\gset\n")
        for at, sql in enumerate(shape):
            def value(n, at=at):
                if (at, n - 1) in varying:
                    return f":v{varying[at, n - 1]}"
                return alike[0][at][1][n - 1]
            out.write(filled(sql, value) + ";\n")
    print(len(alike), len(shape))


def hold(host, port, count, context=None, patience=20):
    """Opens connections, uses each once and keeps it open; returns those that were answered. All of them
    together wait at most `patience` seconds."""
    held = []
    for _ in range(count):
        one = socket.create_connection((host, port), 20)
        if context:
            one = context.wrap_socket(one)
        one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.settimeout(max(0.05, patience))
        began = time.monotonic()
        try:
            one.recv(4096)
            one.settimeout(20)
            held.append(one)
        except TimeoutError:
            patience -= time.monotonic() - began
            one.close()
    return held


def resident(pid):
    """Bytes of memory."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024


def idle(base, pid, count, tls=False):
    """Bytes that the server keeps for each connection that was used once and stays open."""
    host, port = base.split("//")[1].split(":")
    context = ssl.create_default_context() if tls else None
    if context:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    before = resident(pid)
    held = hold(host, int(port), int(count), context)
    if len(held) != int(count):
        raise SystemExit(f"of {count} connections {len(held)} were answered")
    time.sleep(1)
    print(round((resident(pid) - before) / len(held)))


def start(base, *command):
    """Milliseconds from the process's start to its first answer, the median of five."""
    host, port = base.split("//")[1].split(":")
    times = []
    for _ in range(5):
        began = time.perf_counter()
        server = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                with socket.create_connection((host, int(port))) as one:
                    one.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    if b" 200 " in one.recv(4096):
                        break
            except OSError:
                pass
            time.sleep(0.0005)
        times.append((time.perf_counter() - began) * 1000)
        server.terminate()
        server.wait()
    print(round(statistics.median(times)))


def ticks(pid, first, last):
    """Microseconds of processor by these fields of /proc/PID/stat, and the process's parent."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    tick = 1_000_000 // os.sysconf("SC_CLK_TCK")
    return sum(int(field) for field in fields[first:last]) * tick, fields[1]


def spent_by(pid):
    """Microseconds of processor that the process has used."""
    return ticks(pid, 11, 13)[0]


def spent_by_cluster(cluster):
    """Microseconds of processor that PostgreSQL with all its children has used."""
    with open(cluster + "/data/postmaster.pid") as file:
        return spent_by_postmaster(file.readline().strip())


def spent_by_postmaster(postmaster):
    """The same of the postmaster with this pid, as text."""
    database = ticks(postmaster, 11, 15)[0]
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                used, parent = ticks(pid, 11, 13)
            except OSError:
                continue
            if parent == postmaster:
                database += used
    return database


def spent(server, cluster):
    print(spent_by(server), spent_by_cluster(cluster))


LEAST = {"static": 0.95, "static, TLS": 0.9, "TLS handshakes": 0.95, "preflight": 0.95, "verify, cached": 0.9, "verify, first use": 1.5,
         "list of 50": 0.75, "first sign-in": 0.9}
# For one rival, where the others of the same work have another limit or none.
LEAST_AGAINST = {"Go, the same work": 2.3, "Go, the statement alone": ""}


def table(figures):
    rows = {}
    for line in open(figures):
        work, who, *values = line.strip().split("|")
        for n, value in enumerate(values):
            rows.setdefault(work, {}).setdefault(who, ([], [], []))[n].append(float(value or 0))
    print("| work | against | it, /s | Gatehouse, /s | ratio | at least | PostgreSQL's µs for one: it, we "
          "| our µs |\n|---|---|---|---|---|---|---|---|")
    for work, by in rows.items():
        ours = [statistics.median(values) for values in by.pop("Gatehouse")]
        for who, values in by.items():
            it = [statistics.median(one) for one in values]
            least = LEAST_AGAINST.get(who, LEAST.get(work, ""))
            print(f"| {work} | {who} | {it[0]:,.0f} | {ours[0]:,.0f} | {ours[0] / it[0]:.2f} | {least} "
                  f"| {it[2]:,.0f}, {ours[2]:,.0f} | {ours[1]:,.0f} |")


if __name__ == "__main__":
    usage.answer(__doc__)
    {"keys": keys, "platform-key": platform_key, "list": list_statement, "sign-in": sign_in, "invite": invite, "bodies": bodies,
     "replay": replay, "idle": idle, "idle-tls": lambda *a: idle(*a, tls=True), "start": start,
     "spent": spent,
     "table": table}[sys.argv[1]](*sys.argv[2:])
