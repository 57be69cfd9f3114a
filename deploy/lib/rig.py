"""The parts that the scripts share which load release servers over loopback: a key, a connection that is kept
open, a private PostgreSQL with servers on it, and the descriptors and threads of a process."""
import glob, json, os, pathlib, random, shutil, signal, socket, subprocess, tempfile, time, zlib

from bench import DIGITS, base62

ROOT = str(pathlib.Path(__file__).resolve().parents[2])
BINARY = os.path.abspath(os.environ.get("GATEHOUSE", ROOT + "/.build/release/gatehouse"))

def unrecorded(table, action, which="true"):
    """The query that counts the rows of a table without an audit row of the action."""
    return f"""
        SELECT count(*) FROM {table} t WHERE {which} AND NOT EXISTS (SELECT FROM audit_events a
            WHERE a.tenant_id = t.tenant_id AND a.target_id = t.id::text
                AND a.action = '{action}')"""


# Writes that were done in part, by kind; every count must be 0, for one tenant or all.
HALVES = {
    "users without an audit row of their making": unrecorded("users", "user.created"),
    "invites without an audit row of their making": unrecorded("invites", "invite.created"),
    "invites accepted without an audit row": unrecorded(
        "invites", "invite.accepted", "t.status = 'accepted'"),
    "keys without an audit row of their making": unrecorded("api_keys", "api_key.created"),
    "origins without an audit row of their making": unrecorded(
        "cors_origins", "cors_origin.created"),
    "identities without an audit row of their making": unrecorded(
        "identities", "identity.linked"),
    "accepted invites without their user": """
        SELECT count(*) FROM invites i WHERE i.status = 'accepted' AND NOT EXISTS (
            SELECT FROM users u WHERE u.tenant_id = i.tenant_id AND u.id = i.accepted_user_id
                AND u.status <> 'pending')""",
    "decisions that made a user who is not there": """
        SELECT count(*) FROM decisions d WHERE d.outcome IN ('created', 'linked') AND NOT EXISTS (
            SELECT FROM users u WHERE u.tenant_id = d.tenant_id AND u.id = d.user_id)""",
    "decisions whose identity is not there": """
        SELECT count(*) FROM decisions d WHERE d.identity_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM identities i WHERE i.tenant_id = d.tenant_id AND i.id = d.identity_id)""",
    "identities without a user": """
        SELECT count(*) FROM identities i WHERE NOT EXISTS (SELECT FROM users u
            WHERE u.tenant_id = i.tenant_id AND u.id = i.user_id)""",
    "users twice for one address": """
        SELECT count(*) FROM (SELECT 1 FROM users WHERE status <> 'deleted'
            GROUP BY tenant_id, email_key HAVING count(*) > 1) AS twice""",
    "users missing from the search": """
        SELECT count(*) FROM users u WHERE status <> 'deleted' AND NOT EXISTS (
            SELECT FROM user_search s WHERE s.tenant_id = u.tenant_id AND s.user_id = u.id)""",
}


def platform_key():
    text = "gate_live_000000" + "".join(random.choices(DIGITS, k=30))
    return text + base62(zlib.crc32(text.encode()), 6)


KEY = platform_key()
AUTH = (f"Authorization: Bearer {KEY}",)


class Wire:
    """One connection that is kept open."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def send(self, request):
        self.socket.sendall(request)

    def receive(self):
        data = self.rest
        while b"\r\n\r\n" not in data:
            data += self.more()
        self.head, data = data.split(b"\r\n\r\n", 1)
        lower = self.head.lower()
        at = lower.find(b"content-length:")
        length = int(lower[at + 15:].split(b"\r\n", 1)[0]) if at >= 0 else 0
        while len(data) < length:
            data += self.more()
        self.rest = data[length:]
        return int(self.head[9:12]), data[:length]

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError
        return data

    def ask(self, request):
        self.send(request)
        return self.receive()


def request(method, target, body=None, fields=()):
    body = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *fields]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def call(port, method, target, body=None, fields=()):
    status, answer = Wire(port).ask(request(method, target, body, (*AUTH, *fields)))
    if status not in (200, 201, 204):
        raise SystemExit(f"{method} {target}: {status} {answer.decode()}")
    return json.loads(answer or b"null")


class Rig:
    """A private PostgreSQL, migrated, and the servers that were started on it."""

    program = BINARY

    def __init__(self, *packages, threads=None, settings=(), home=None, program=BINARY):
        """`home`: an empty folder for all its files, whose name is also the beginning of others'.
        `program`: whose migrations the database gets, and which serves."""
        os.chdir(ROOT)
        subprocess.run(["deploy/tools/packages", *packages], check=True, stdout=subprocess.DEVNULL)
        self.program = program
        if program == BINARY and not os.path.exists(BINARY):
            subprocess.run(["swift", "build", "-c", "release", "--product", "gatehouse"], check=True)
        self.threads, self.servers = threads, []
        self.home = home or tempfile.mkdtemp(prefix="gh.", dir="/tmp")
        # The folders of the primary and of its standby, if there is one.
        self.cluster, self.standby = self.home, None
        self.log = open(self.home + ".log", "wb")
        try:
            self.postgres("start")
            for one in settings:
                self.sql(f"ALTER SYSTEM SET {one}", "postgres")
            if settings:  # some take effect only at a start
                self.postgres("stop")
                self.postgres("start")
            self.sql("CREATE DATABASE gatehouse OWNER gatehouse_owner", "postgres")
            self.migrate()
        except BaseException:
            self.close()
            raise

    def migrate(self):
        subprocess.run(
            [self.program, "migrate"], check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "GATEHOUSE_MIGRATION_DATABASE_URL": self.url("gatehouse_owner")})

    def url(self, role):
        hosts = self.cluster
        if self.standby:
            hosts += f",{self.standby}&target_session_attrs=read-write"
        return f"postgresql://{role}@/gatehouse?host={hosts}"

    def postgres(self, command):
        subprocess.run(["deploy/tools/postgres", command, self.cluster], check=True, stdout=subprocess.DEVNULL)

    def follow(self):
        """Starts a synchronous standby: from now on it has every commit that is acknowledged."""
        self.standby = self.standby or self.home + ".b"
        shutil.rmtree(self.standby, ignore_errors=True)
        subprocess.run(["deploy/tools/postgres", "standby", self.standby, self.cluster], check=True,
                       stdout=subprocess.DEVNULL)
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "postgres")
        self.sql("SELECT pg_reload_conf()", "postgres")
        for _ in range(200):
            if self.sql("SELECT sync_state FROM pg_stat_replication", "postgres") == "sync":
                return
            time.sleep(0.05)
        raise SystemExit("the standby does not follow")

    def crash(self):
        """Kills all processes of the primary at once."""
        crash(self.postmaster())

    def promote(self):
        """Makes the standby the primary."""
        subprocess.run(["deploy/tools/postgres", "promote", self.standby], check=True)
        self.cluster, self.standby = self.standby, self.cluster

    def sql(self, text, database="gatehouse"):
        """The output of the statements, with `|` between fields."""
        return subprocess.run(
            self.psql(database), input=text, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def psql(self, database="gatehouse"):
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                "-d", f"host={self.cluster} user=postgres dbname={database}"]

    def seed(self, keys):
        """Writes 1,000 tenants of 100 users each, and `keys` keys; returns the file of the keys."""
        texts = self.home + ".keys"
        with subprocess.Popen(["python3", "deploy/lib/bench.py", "keys", str(keys), texts],
                              stdout=subprocess.PIPE) as hashes:
            subprocess.run(self.psql() + ["-f", "deploy/lib/bench.sql"], check=True,
                           stdin=hashes.stdout, stdout=subprocess.DEVNULL)
        return texts

    def postmaster(self):
        with open(self.cluster + "/data/postmaster.pid") as file:
            return int(file.readline())

    def settings(self, port, **more):
        """The environment of a server, or of another command for it."""
        settings = {
            "GATEHOUSE_DATABASE_URL": self.url("gatehouse_app"),
            "GATEHOUSE_PLATFORM_DATABASE_URL": self.url("gatehouse_platform"),
            "GATEHOUSE_SECRET_KEY": "a-secret-of-nobody-for-measurements",
            "GATEHOUSE_LISTEN": f"127.0.0.1:{port}", "GATEHOUSE_SETUP_API_KEY": KEY,
            # The host of the requests: for another one, the server would look for a client each time.
            "GATEHOUSE_PUBLIC_URL": "http://localhost",
            # No balancer has to notice the stop, except in the scripts that set another value.
            "GATEHOUSE_DRAIN": "0s", **more,
        }
        if self.threads:
            settings["GATEHOUSE_THREADS"] = str(self.threads)
        return {**os.environ, **settings}

    def launch(self, port, **more):
        """Starts a server, and does not wait."""
        server = subprocess.Popen([self.program, "serve"], env=self.settings(port, **more), stdout=self.log,
                                  stderr=self.log)
        self.servers.append(server)
        return server

    def serve(self, port, **more):
        """Starts a server and waits until it is ready; `more` are settings for its environment."""
        server = self.launch(port, **more)
        for _ in range(200):
            if server.poll() is not None:
                raise SystemExit(f"a server ended at its start: {self.tail()}")
            try:
                if Wire(port).ask(request("GET", "/readyz"))[0] == 200:
                    return server
            except OSError:
                pass
            time.sleep(0.05)
        raise SystemExit(f"a server does not start: {self.tail()}")

    def tail(self):
        with open(self.log.name, errors="replace") as file:
            return file.read()[-2000:]

    def end(self, server):
        server.send_signal(signal.SIGCONT)
        server.terminate()
        server.wait()
        self.servers.remove(server)

    def close(self):
        for server in list(self.servers):
            self.end(server)
        for cluster in filter(None, (self.cluster, self.standby)):
            subprocess.run(["deploy/tools/postgres", "stop", cluster], stderr=subprocess.DEVNULL)
            shutil.rmtree(cluster)
        self.log.close()
        for path in glob.glob(self.home + ".*"):
            if os.path.isfile(path):
                os.remove(path)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def crash(postmaster):
    """Kills all processes of a PostgreSQL at once."""
    with open(f"/proc/{postmaster}/maps") as maps:
        shared = {line.split(maxsplit=5)[5].strip() for line in maps if "/dev/shm/PostgreSQL." in line}
    os.kill(postmaster, signal.SIGSTOP)  # else it would react to the end of its children
    for process in [*children(postmaster), postmaster]:
        os.kill(process, signal.SIGKILL)
    for name in shared:
        os.remove(name)


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))
