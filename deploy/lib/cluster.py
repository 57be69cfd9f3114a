"""The cluster of deploy/install/cluster on one machine: three members, each with etcd, Patroni and PostgreSQL on an
address of its own, so that the ports and the files are those of three machines; and a haproxy for each replica
of Gatehouse. The addresses are of loopback, or of a network that can be cut."""
import json, os, random, secrets, shutil, signal, string, subprocess, time, urllib.request

from network import Network
from rig import ROOT, Rig, children, crash

FOLDER = ROOT + "/deploy/install/cluster"
NAMES = "abc"
REPLICAS = 3
FORMED = 60.0  # seconds until a cluster that was started or disturbed has a leader and two standbys
LAG = 16 << 20  # bytes of WAL that a standby of a whole cluster may be behind
STOPPED = 20.0  # seconds for a process to end by SIGTERM


def values(path):
    """The settings of an environment file."""
    with open(path) as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if line[:1].isalpha())


def wait(what, found, seconds=FORMED):
    """The first true value that `found` returns."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"not within {seconds:.0f} s: {what}")


def end(process, seconds=STOPPED):
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pids = [process.pid, *children(process.pid)]  # a fence cannot end Patroni once it is killed
        signal_all(pids, signal.SIGKILL)
        process.wait()


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Member:
    """One of the three: etcd, and the fence with Patroni and PostgreSQL."""

    def __init__(self, cluster, name, host):
        self.cluster, self.name, self.host = cluster, name, host
        self.home = f"{cluster.home}/{name}"
        self.data = self.home + "/postgres"
        self.etcd = self.fence = None
        cluster.folder(self.home)
        more = {"NAME": name, "HOST": host, "ETCD_DATA": self.home + "/etcd",
                "POSTGRES_DATA": self.data, "POSTGRES_SOCKETS": self.home}
        self.etcd_file = cluster.write("etcd.yml", self.home, more)
        self.patroni_file = cluster.write("patroni.yml", self.home, more)

    def start_etcd(self):
        self.etcd = self.run("etcd", "--config-file", self.etcd_file)

    def start_patroni(self):
        self.fence = self.run(FOLDER + "/fence", self.patroni_file)

    def run(self, *command):
        network = self.cluster.network
        return self.cluster.run(*command, within=network.within(self.name) if network else ())

    @property
    def patroni(self):
        def command(pid):
            with open(f"/proc/{pid}/cmdline") as file:
                return file.read()
        return next(pid for pid in children(self.fence.pid) if "/patroni" in command(pid))

    @property
    def postmaster(self):
        with open(self.data + "/postmaster.pid") as file:
            return int(file.readline())

    def all(self):
        """Every process of this member; the postmaster before those that it starts."""
        return [self.fence.pid, self.patroni, self.postmaster, *children(self.postmaster), self.etcd.pid]

    def ask(self, path, port=8008):
        """The JSON of Patroni's REST interface, or of another port, or None."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{port}{path}", timeout=3) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def kill_whole(self):
        """Fence, Patroni and PostgreSQL at once; etcd stays."""
        patroni = self.patroni
        signal_all([self.fence.pid, patroni], signal.SIGKILL)
        crash(self.postmaster)
        self.fence.wait()

    def wake(self):
        """Undoes a SIGSTOP of any of its processes."""
        for process in (self.etcd, self.fence):
            if process and process.poll() is None:
                signal_all([process.pid, *children(process.pid)], signal.SIGCONT)
        if self.serves():
            signal_all([self.postmaster, *children(self.postmaster)], signal.SIGCONT)

    def serves(self):
        try:
            return os.path.samefile(f"/proc/{self.postmaster}/cwd", self.data)
        except (OSError, ValueError):
            return False

    def end_orphan(self):
        if self.serves():
            crash(self.postmaster)


class Cluster:
    def __init__(self, home, log, apart):
        """`apart`: each member in a network namespace, so that it can be cut off."""
        self.home, self.log = home, log
        self.network = network = Network(NAMES) if apart else None
        net = f"127.{random.randint(64, 250)}.{random.randint(0, 255)}"
        hosts = network.hosts if network else {name: f"{net}.{i}" for i, name in enumerate(NAMES, 1)}
        self.balancers = [f"{net}.{11 + number}" for number in range(REPLICAS)]
        self.settings = {
            **values(FOLDER + "/cluster.env"), **{"HOST_" + name.upper(): hosts[name] for name in NAMES},
            "NETWORK": "198.18.0.0/15" if network else "127.0.0.0/8",
            **{name + "_PASSWORD": secrets.token_hex(24) for name in ("SUPERUSER", "REPLICATION", "REST")}}
        self.folder(home)
        self.members = [Member(self, name, hosts[name]) for name in NAMES]
        self.haproxies = [None] * REPLICAS

    def folder(self, path):
        os.makedirs(path, mode=0o700, exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(path, "postgres", "postgres")

    def write(self, template, folder, more):
        """Fills in a file of deploy/install/cluster; returns its path."""
        with open(f"{FOLDER}/{template}") as file:
            text = string.Template(file.read()).substitute({**self.settings, **more})
        path = f"{folder}/{template}"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        if os.getuid() == 0:
            shutil.chown(path, "postgres", "postgres")
        return path

    def run(self, *command, within=()):
        """Starts a process, as `postgres` for root; Ctrl-C is not for it but for its parent."""
        if os.getuid() == 0:
            command = ("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command)
        return subprocess.Popen([*within, *command], cwd="/", stdin=subprocess.DEVNULL, stdout=self.log,
                                stderr=self.log, start_new_session=True)

    def start(self):
        for member in self.members:
            member.start_etcd()
        for member in self.members:
            member.start_patroni()
        for number in range(REPLICAS):
            self.start_haproxy(number)
        wait("a leader, a synchronous standby and another", self.formed, 2 * FORMED)

    def start_haproxy(self, number):
        folder = f"{self.home}/haproxy-{number}"
        self.folder(folder)
        file = self.write("haproxy.cfg", folder, {"BALANCER": self.balancers[number]})
        self.haproxies[number] = self.run("haproxy", "-db", "-f", file)

    def listed(self, without=None):
        """The members as etcd has them, from the first Patroni that answers; one that is cut off from
        etcd answers what it knew last."""
        asked = (one.ask("/cluster") for one in self.members if one is not without)
        return next((said["members"] for said in asked if said), [])

    def roles(self, without=None):
        """The members by their roles: leader, sync_standby, replica."""
        by_name = {member.name: member for member in self.members}
        return {one["role"]: by_name[one["name"]] for one in self.listed(without)}

    def formed(self):
        """True while there are a leader, a synchronous standby and another, all on one timeline, and three
        etcd. etcd may still have a member whose PostgreSQL is gone, so each is asked too."""
        found = self.listed()
        healthy = lambda member: (
            member.ask("/health") and (member.ask("/health", 2379) or {}).get("health") == "true")
        return (all(map(healthy, self.members))
                and sorted(one["role"] for one in found) == ["leader", "replica", "sync_standby"]
                and all(one["state"] in ("running", "streaming") for one in found)
                and len({one.get("timeline") for one in found}) == 1
                and all(one["lag"] != "unknown" and one["lag"] < LAG
                        for one in found if one["role"] != "leader"))

    def patronictl(self, *words):
        return subprocess.run(["patronictl", "-c", self.members[0].patroni_file, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def stop(self):
        for member in self.members:
            member.wake()
            if self.network:
                self.network.heal(member.name)
        fences = [member.fence for member in self.members if member.fence]
        for fence in fences:  # at the same time: a leader waits for the standbys to have its last WAL
            fence.send_signal(signal.SIGTERM)
        for process in [*fences, *self.haproxies, *(member.etcd for member in self.members)]:
            if process:
                end(process)
        for member in self.members:
            member.end_orphan()
        if self.network:
            self.network.close()


class ClusterRig(Rig):
    """Gatehouse's replicas on the cluster, each through its own haproxy."""

    def __init__(self, port, home=None, apart=False):
        self.port, self.apart, self.patroni, self.passwords = port, apart, None, {}
        more = ("iproute2", "nftables") if apart else ()
        super().__init__("patroni", "etcd-server", "haproxy", *more, threads=1, home=home)

    def postgres(self, command):
        if command != "start":
            raise ValueError(command)
        os.chmod(self.home, 0o711)
        self.patroni = Cluster(self.home + "/cluster", self.log, self.apart)
        self.patroni.start()
        for number in range(REPLICAS):
            wait("haproxy leads to the primary", lambda: subprocess.run(
                [*self.psql("postgres", number), "-c", "SELECT"], stderr=subprocess.DEVNULL).returncode == 0)
        with open(ROOT + "/deploy/install/roles.sql") as file:
            self.sql(file.read(), "postgres")
        for role in ("gatehouse_owner", "gatehouse_app", "gatehouse_platform"):
            self.passwords[role] = secrets.token_hex(24)
            self.sql(f"ALTER ROLE {role} PASSWORD '{self.passwords[role]}'", "postgres")

    def url(self, role, replica=0):
        return (f"postgresql://{role}:{self.passwords[role]}@{self.patroni.balancers[replica]}:5000/gatehouse"
                "?target_session_attrs=read-write")

    def psql(self, database="gatehouse", replica=0):
        password = self.patroni.settings["SUPERUSER_PASSWORD"]
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d",
                f"host={self.patroni.balancers[replica]} port=5000 user=postgres dbname={database} "
                f"password={password}"]

    def replica(self, number, **more):
        """Starts one replica on its own haproxy."""
        return self.serve(self.port + number, **{
            "GATEHOUSE_DATABASE_URL": self.url("gatehouse_app", number),
            "GATEHOUSE_PLATFORM_DATABASE_URL": self.url("gatehouse_platform", number), **more})

    def close(self):
        for server in list(self.servers):
            self.end(server)
        if self.patroni:
            self.patroni.stop()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)
        os.remove(self.log.name)
