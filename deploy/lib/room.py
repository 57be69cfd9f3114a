"""A Debian of its own for a check: a folder made by mmdebstrap, entered by chroot, in namespaces that take every
process and mount with them when the check ends, also after Ctrl-C. It has no init."""
import glob, hashlib, os, pathlib, shlex, signal, subprocess, sys, tempfile, time

ROOT = str(pathlib.Path(__file__).resolve().parents[2])
INSIDE = "GATEHOUSE_CHECK_FOLDER"


class Failed(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Failed(text)


def ok(text):
    print("ok     ", text, flush=True)


def run(*command, **more):
    """The output of a command that must succeed; what it printed, if not."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    need(done.returncode == 0, f"{shlex.join(map(str, command))} ended with {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def packaged(folder):
    """The path of a package that deploy/tools/package makes in the folder; its progress goes to the terminal."""
    done = subprocess.run([ROOT + "/deploy/tools/package", folder], stdout=subprocess.PIPE, text=True)
    need(done.returncode == 0, "deploy/tools/package failed")
    return done.stdout.strip()


def debian(root, folder, *options):
    """Makes a bare Debian of this machine's release in `root`; gives the release's number."""
    with open("/etc/os-release") as file:
        release = dict(line.strip().split("=", 1) for line in file if "=" in line)
    settings = folder + "/apt.conf"
    with open(settings, "w") as out:  # how this machine reaches its mirror
        out.writelines(line + "\n" for line in run("apt-config", "dump").splitlines()
                       if line.startswith("Acquire::"))
    # One form of the two: mmdebstrap does not take both together.
    files = sorted(glob.glob("/etc/apt/sources.list.d/debian.sources")) or ["/etc/apt/sources.list"]
    sources = [pathlib.Path(path).read_text() for path in files]
    run("mmdebstrap", "--quiet", "--mode=root", f"--aptopt={settings}", *options,
        release["VERSION_CODENAME"].strip('"'), root, "-", input="\n\n".join(sources) + "\n")
    return release["VERSION_ID"].strip('"')


class Room:
    """A Debian in a folder, with apt and what is essential."""

    def __init__(self, folder):
        self.root = folder + "/room"
        start = time.monotonic()
        number = debian(self.root, folder, "--variant=apt")
        for source, target, kind in (("proc", "proc", "proc"), ("sysfs", "sys", "sysfs")):
            run("mount", "-t", kind, source, f"{self.root}/{target}")
        run("mount", "--bind", "/dev", self.root + "/dev")
        run("mount", "-t", "tmpfs", "tmpfs", self.root + "/dev/shm")
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            self.write(name, open(name).read())
        # No package starts a service: there is no init, and the ports are this machine's.
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
        self.write("/etc/postgresql-common/createcluster.conf", "create_main_cluster = false\n")
        os.mkdir(self.root + "/packages")
        ok(f"a bare Debian {number}, made in {time.monotonic() - start:.0f} s")

    def path(self, name):
        return self.root + name

    def write(self, name, text, mode=0o644):
        path = pathlib.Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def command(self, words, user="root"):
        return ["chroot", f"--userspec={user}:{user}", self.root, *words]

    @staticmethod
    def environment(**more):
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                "HOME": "/", "DEBIAN_FRONTEND": "noninteractive", **more}

    def do(self, *words, user="root", env=None, **more):
        return run(*self.command(words, user), env=self.environment(**(env or {})), **more)

    def apt(self, *words):
        return self.do("apt-get", "-y", "--no-install-recommends", *words)

    def carry(self, package):
        """The package's path inside."""
        name = "/packages/" + os.path.basename(package)
        with open(package, "rb") as file, open(self.path(name), "wb") as out:
            out.write(file.read())
        return name

    def install(self, package):
        return self.apt("install", self.carry(package))


def contained(check, *packages):
    """Runs the calling script again in namespaces, where `check` gets a folder that is removed in the end."""
    script = os.path.abspath(sys.argv[0])
    if INSIDE in os.environ:
        try:
            check(os.environ.pop(INSIDE))
        except Failed as fault:
            print("FAILED ", fault, flush=True)
            sys.exit(1)
        print("all shown", flush=True)
        sys.exit()
    if os.geteuid() != 0:
        raise SystemExit(f"{os.path.basename(script)}: it needs root, for a chroot and mounts")
    subprocess.run([ROOT + "/deploy/tools/packages", "mmdebstrap", *packages], check=True)
    folder = tempfile.mkdtemp(prefix="gatehouse-check.")
    os.chmod(folder, 0o755)
    child = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
         sys.executable, script, *sys.argv[1:]], env={**os.environ, INSIDE: folder}, start_new_session=True)
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number, _):
        sys.exit(128 + number)

    for number in signals:
        signal.signal(number, end)
    try:
        code = child.wait()
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        try:
            with open(f"/proc/{child.pid}/task/{child.pid}/children") as file:
                first = file.read().split()
        except OSError:
            first = []
        child.kill()
        child.wait()
        # All processes of the namespace end with its first one, and its mounts with them.
        for pid in first:
            while os.path.exists(f"/proc/{pid}"):
                time.sleep(0.05)
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)
    sys.exit(code)
