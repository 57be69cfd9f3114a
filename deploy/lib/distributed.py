"""The servers of a distributed database for the scripts that load release servers: CITUS is the conninfo of its
coordinator, whose database `gatehouse` has Citus and its workers, and no table of ours."""
import os, subprocess, tempfile, time

import bench
from rig import BINARY, ROOT, Rig, crash

CITUS = os.environ.get("CITUS", "")
# Citus sets up TLS with certificates that it makes. Our connections do without; its own do what Citus says.
TLS = "sslmode=disable"
WORKER = "postgresql://gatehouse_app@{host}:{port}/gatehouse?" + TLS


def rig(*packages, **more):
    """A rig on the database of CITUS, or with a private PostgreSQL."""
    return DistributedRig(*packages, **more) if CITUS else Rig(*packages, **more)


class DistributedRig(Rig):
    """A rig on a coordinator and its workers, which are there before and after it. PostgreSQL's own user is the
    owner of their folders."""

    def __init__(self, *packages, threads=None, distributes=True, workers=True, spare=False):
        """`distributes` False: the tables stay on the coordinator, until `distribute`. `workers` False: the
        coordinator is asked for every read. `spare`: the last worker is none before `rebalance`."""
        os.chdir(ROOT)
        subprocess.run(["deploy/tools/packages", *packages], check=True, stdout=subprocess.DEVNULL)
        self.threads, self.servers, self.workers = threads, [], workers
        self.home = tempfile.mkdtemp(prefix="gh.", dir="/tmp")
        self.log = open(self.home + ".log", "wb")
        self.nodes = [line.split("|") for line in self.sql(
            "SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid <> 0, nodeport").splitlines()]
        # While a node is away it cannot be asked for its folder.
        self.folders = [self.at(node, "SHOW data_directory") for node in range(len(self.nodes))]
        if spare:
            self.sql(f"SELECT citus_remove_node('{self.nodes[-1][0]}', {self.nodes[-1][1]})")
        self.migrate(*(["--distribute"] if distributes else []))

    def migrate(self, *options):
        subprocess.run([BINARY, "migrate", *options], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "GATEHOUSE_MIGRATION_DATABASE_URL": self.url("gatehouse_owner")})

    def url(self, role, node=0):
        host, port = self.nodes[node]
        return f"postgresql://{role}@{host}:{port}/gatehouse?connect_timeout=2&{TLS}"

    def psql(self, database="gatehouse"):
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", f"{CITUS} user=postgres dbname={database}"]

    def at(self, node, text, role="postgres"):
        """The output of the statements at one server, 0 the coordinator; None if it refuses them."""
        done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(role, node)],
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    def serve(self, port, **more):
        if self.workers:
            more.setdefault("GATEHOUSE_WORKER_DATABASE_URL", WORKER)
        return super().serve(port, **more)

    def postgres(self, command, node=0):
        """Starts a server, or stops it at once."""
        program = subprocess.run(["pg_config", "--bindir"], stdout=subprocess.PIPE, text=True).stdout.strip() + "/pg_ctl"
        owner = os.stat(self.folders[node])
        line = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", program, command,
                "-w", "-s", "-D", self.folders[node], "-l", self.folders[node] + ".log"]
        if command == "stop":
            line += ["-m", "immediate"]
        # A killed postmaster may be there for a moment, until its parent has seen its end.
        for _ in range(50):
            # Without our HOME, in which a server would look for certificates.
            if subprocess.run(line, cwd="/", env={"PATH": os.environ["PATH"]}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit(f"server {node} does not {command}")

    def postmaster(self, node=0):
        with open(self.folders[node] + "/postmaster.pid") as file:
            return int(file.readline())

    def crash(self, node=0):
        crash(self.postmaster(node))

    def rebalance(self):
        """Adds the spare worker and starts to move tenants to it; returns the process that waits for the end. Logical
        replication, which would not block their writes meanwhile, writes to no table with row-level security."""
        host, port = self.nodes[-1]
        return subprocess.Popen(self.psql() + [
            "-c", f"SELECT citus_add_node('{host}', {port})", "-c", "SELECT citus_rebalance_start(shard_transfer_mode => 'block_writes')",
            "-c", "SELECT citus_rebalance_wait()"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def spent(self):
        """Microseconds of processor that the coordinator, and all workers, have used."""
        each = [bench.spent_by_postmaster(str(self.postmaster(node))) for node in range(len(self.nodes))]
        return each[0], sum(each[1:])

    def close(self):
        for server in list(self.servers):
            self.end(server)
        self.log.close()
        os.rmdir(self.home)
        for suffix in (".log", ".keys"):
            if os.path.exists(self.home + suffix):
                os.remove(self.home + suffix)
