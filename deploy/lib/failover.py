"""The part of deploy/checks/replicas in which the database fails over.

Two PostgreSQL, the second a synchronous standby of the first, and three replicas whose URL names both.
Clients ask without pause, four callers revoke, and at each replica one probe verifies a key and
another issues keys. The primary is killed with -9, all its processes, and stays away; the standby is
promoted once longer after that than a lease lasts and once at once, when the roles have changed.
"""
import json, random, threading, time

from revocations import (ALONE, CLIENTS, DARK, KEYS, LEASE, OTHERS, PAUSE, PORTS, TENANT, Load, Maker,
                         show, verdict)
from rig import AUTH, HALVES, Wire, request

CALLERS = 4
AWAYS = (7.0, 0.0)  # seconds from the kill to the promotion; a waiting request gets 503 after 1.5


class Probe:
    """One client of one replica: repeats a request and records the times of its good answers."""

    def __init__(self, port, ask, good):
        self.port, self.ask, self.good = port, ask, good
        self.answered, self.kept, self.unable, self.strange = [], [], 0, []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        wire = Wire(self.port)
        while not self.stop.wait(max(0.01, PAUSE)):
            status, body = wire.ask(self.ask)
            if self.good(status, body):
                self.answered.append(time.monotonic())
                self.kept.append(body)
            elif status == 503:
                self.unable += 1
            else:
                self.strange.append((status, body[:200]))

    def gap(self, since, until):
        """The longest time between two good answers: when it began and when it ended."""
        times = [at for at in self.answered if since < at < until]
        return max(zip(times, times[1:]), key=lambda pair: pair[1] - pair[0])

    def finish(self):
        self.stop.set()
        self.thread.join()


def revoke(load, mine):
    """Four callers revoke the things of the list; returns the function that waits for them."""
    took, faults, rest, lock = [], [], list(mine), threading.Lock()

    def run(turn):
        while True:
            with lock:
                if not rest or faults:
                    return
                index = rest.pop()
            try:
                took.append(load.revoke(PORTS[(index + turn) % 3], index))
            except BaseException as fault:
                faults.append(fault)
            time.sleep(0.05)

    threads = [threading.Thread(target=run, args=(turn,)) for turn in range(CALLERS)]
    for thread in threads:
        thread.start()

    def wait(left=0):
        while len(rest) > left and not faults:
            time.sleep(0.002)
        if not left:
            for thread in threads:
                thread.join()
        if faults:
            raise faults[0]
        return took

    return wait


def fail_over(rig, load, probes, mine, away):
    """Kills the primary when a third of the things are revoked and some calls are under way."""
    load.phase.value = ALONE
    began = time.monotonic()
    wait = revoke(load, mine)
    wait(left=len(mine) * 2 // 3)
    killed = time.monotonic()
    rig.crash()
    if away > LEASE:
        time.sleep(LEASE)
        load.phase.value = DARK
        time.sleep(away - LEASE - 0.5)
        load.phase.value = ALONE
        time.sleep(0.5)
    rig.promote()
    promoted = time.monotonic()
    took = wait()
    time.sleep(2 * LEASE)
    ended = time.monotonic()
    print(f"  the standby took writes {promoted - killed:.2f} s after the primary was killed; "
          "from the kill, by replica:", flush=True)
    for name, all in probes.items():
        gaps = [probe.gap(began, ended) for probe in all]
        print(f"    {name:18} last answer " + ", ".join(f"{a - killed:5.2f}" for a, _ in gaps)
              + " s; the next " + ", ".join(f"{b - killed:5.2f}" for _, b in gaps) + " s", flush=True)
    show(f"revoked, PostgreSQL away {away:.0f} s", took)


def lost(issued):
    """The ids of those issued keys that some replica does not know."""
    missing = []
    for at in range(0, len(issued), 100):
        part = issued[at:at + 100]
        ask = request("POST", "/v1/api-keys/verify-batch",
                      {"keys": [{"key": one["key"]} for one in part]}, AUTH)
        for port in PORTS:
            status, body = Wire(port).ask(ask)
            found = json.loads(body)["results"] if status == 200 else []
            missing += [one["id"] for one, was in zip(part, found) if not was["valid"]]
            missing += [one["id"] for one in part[len(found):]]
    return missing


def judge(rig, load, probes, servers):
    """After both: nothing that was acknowledged is missing, and nothing revoked is accepted."""
    issued = [json.loads(body) for probe in probes["issue a key"] for body in probe.kept]
    alive = [thing for index in load.times for thing in [load.things[index]]
             for port in PORTS if verdict(thing, *Wire(port).ask(thing.check)) is not False]
    missing = lost(issued)
    halves = {name: int(rig.sql(sql)) for name, sql in HALVES.items()}
    dark = [load.seen_in(DARK, what) for what in (True, False, None)]
    unable = sum(probe.unable for all in probes.values() for probe in all)
    stale, early = load.stale(), load.early()
    print(f"  {load.total.value:,} checks, {len(load.times)} revocations in two failovers: {len(stale)} "
          f"accepted after the return, {len(early)} refused before the call, {load.repeated} calls "
          f"repeated after 503; of {len(issued):,} keys issued {len(missing)} lost; "
          f"{unable:,} probes answered 503")
    print(f"  without PostgreSQL, leases over: {sum(dark[0])} accepted, {sum(dark[1])} refused, "
          + " + ".join(f"{n:,}" for n in dark[2]) + " answered 503")
    faults = [("accepted after the return", stale), ("refused before the call", early),
              ("accepted at the end", alive), ("issued and lost", missing[:5]),
              ("there by half", [name for name, count in halves.items() if count]),
              ("strange answers", load.strange[:5]
               + [one for all in probes.values() for probe in all for one in probe.strange][:5]),
              ("a server ended", any(server.poll() is not None for server in servers)),
              ("accepted or refused without PostgreSQL", sum(dark[0]) + sum(dark[1])),
              ("a replica that did not answer 503 without PostgreSQL", not all(dark[2])),
              ("not everything was revoked", len(load.times) != len(load.things))]
    wrong = [f"{name}: {what}" for name, what in faults if what]
    if wrong:
        raise SystemExit("wrong: " + "; ".join(wrong))
    print("nothing that was revoked was accepted, nothing acknowledged was lost")


def run(rig, keys, each):
    """Revokes `keys` keys and `each` things of every other kind, half of them in each failover."""
    rig.follow()
    servers = [rig.serve(port, GATEHOUSE_LEASE=f"{int(LEASE)}s") for port in PORTS]
    print(f"the database fails over: 3 replicas, lease {LEASE:.0f} s, {CLIENTS} clients", flush=True)
    maker = Maker(rig)
    things = maker.things(KEYS, keys) + maker.things(OTHERS, each * len(OTHERS))
    random.shuffle(things)
    verify = maker.thing("revoke").check
    issue = request("POST", f"{TENANT}/api-keys", {"name": "probe", "scopes": ["smtp"]}, AUTH)
    load, probes = Load(things), {}
    try:
        probes["verify a key"] = [
            Probe(port, verify, lambda status, body: status == 200 and b'"valid":true' in body)
            for port in PORTS]
        probes["issue a key"] = [Probe(port, issue, lambda status, _: status == 201) for port in PORTS]
        for turn, away in enumerate(AWAYS):
            if turn:
                rig.follow()
            fail_over(rig, load, probes, range(turn, len(things), len(AWAYS)), away)
    finally:
        for probe in sum(probes.values(), []):
            probe.finish()
        load.finish()
    judge(rig, load, probes, servers)
