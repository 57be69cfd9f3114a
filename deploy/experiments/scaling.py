#!/usr/bin/env python3
"""Computes how far one PostgreSQL carries Gatehouse.

    deploy/experiments/scaling.py [FIGURES]            the model, from costs that deploy/balance measured
"""
import heapq, math, os, random, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE) + "/lib")
import usage  # noqa: E402

usage.answer(__doc__)
WORKS = ["verify, from the cache", "verify, first use", "list of 50 users", "first sign-in", "key revoked"]
# Of 1,000,000 requests, in the order of WORKS.
MIXES = {
    "keys on every request": [970_000, 20_000, 9_000, 990, 10],
    "consoles and sign-ins": [500_000, 100_000, 350_000, 49_000, 1_000],
}
BUSY = 0.7
# What a process of 4 loops opens at most, unless GATEHOUSE_DATABASE_CONNECTIONS says otherwise.
CONNECTIONS = 4 * 4 + 4

def figures(path):
    """Microseconds of a request: of the replicas, of haproxy, of PostgreSQL; and its bytes of WAL.
    0 replicas means one without haproxy."""
    costs = {}
    with open(path) as file:
        for line in file:
            if not line.startswith("#"):
                work, replicas, _, *each = line.strip().split("|")
                costs[work, int(replicas)] = [float(value) for value in each]
    return costs


def revocation(costs, tier):
    """(a, b) of a + b (n - 1): n - 1 replicas answer the notices of a moment together."""
    points = [(n - 1, costs["key revoked", n][tier]) for n in (1, 2, 3)]
    x = sum(p[0] for p in points) / 3
    y = sum(p[1] for p in points) / 3
    b = sum((p[0] - x) * (p[1] - y) for p in points) / sum((p[0] - x) ** 2 for p in points)
    return (y - b * x, b) if b > 0 else (y, 0.0)


def demands(costs, mix, replicas):
    """(share, microseconds in each tier and bytes) of each work."""
    works = []
    for work, count in zip(WORKS, mix):
        # What else the machine does adds to a figure and never takes from it: the least is nearest.
        each = [min(costs[work, n][tier] for n in range(tier == 1, 4)) for tier in range(4)]
        if work == WORKS[0]:
            each[2] = each[3] = 0.0
        if work == "key revoked":
            for tier in (0, 2):
                a, b = revocation(costs, tier)
                each[tier] = a + b * (replicas - 1)
        works.append((count / 1_000_000, each))
    return works


def erlang(servers, load):
    """The share that waits, of M/M/c."""
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    use = load / servers
    return blocked / (1 - use + use * blocked)


def quantile(servers, use, service, q=0.99):
    """Of the time in an M/M/c queue and its service, in the unit of `service`."""
    load = servers * use
    waits, rest = erlang(servers, load), servers - load

    def over(t):
        if abs(rest - 1) < 1e-9:
            return math.exp(-t) * (1 + waits * t)
        return math.exp(-t) * (1 - waits / (1 - rest)) + waits / (1 - rest) * math.exp(-rest * t)

    low, high = 0.0, 1000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) > 1 - q else (low, middle)
    return high * service


def simulated(servers, use, works, q=0.99, count=200_000):
    """The same by a run of a queue whose requests differ as the mix does: `works` are (share, mean)."""
    dice = random.Random(1)
    mean = sum(share * service for share, service in works) / sum(share for share, _ in works)
    every = mean / (servers * use)
    free, now, times = [0.0] * servers, 0.0, []
    chosen = dice.choices([service for _, service in works], [share for share, _ in works], k=count)
    for service in chosen:
        now += dice.expovariate(1 / every)
        ends = max(now, free[0]) + dice.expovariate(1 / service)
        heapq.heapreplace(free, ends)
        times.append(ends - now)
    times = sorted(times[count // 10:])
    return times[int(len(times) * q)]


def model(path):
    costs = figures(path)
    print(f"PostgreSQL at {BUSY:.0%} of its cores, replicas of 4 cores at {BUSY:.0%} too:\n")
    for name, mix in MIXES.items():
        print("| " + name + " | requests/s | PostgreSQL, queries/s | replicas of 4 cores "
              "| their connections, at most | cores of haproxy | WAL MB/s |\n|---|---|---|---|---|---|---|")
        for cores in (2, 4, 8, 16, 32):
            replicas = 1
            for _ in range(20):  # what a revocation costs depends on how many there are
                works = demands(costs, mix, replicas)
                ours, front, database, wal = (sum(share * each[tier] for share, each in works)
                                              for tier in range(4))
                rate = cores * BUSY * 1_000_000 / database
                needed = max(1, math.ceil(rate * ours / 1_000_000 / BUSY / 4))
                if needed == replicas:
                    break
                replicas = needed
            asking = rate * (1 - mix[0] / 1_000_000)
            print(f"| PostgreSQL of {cores} cores | {rate:,.0f} | {asking:,.0f} | {replicas} "
                  f"| {replicas * CONNECTIONS:,} | {rate * front / 1_000_000 / BUSY:.1f} | {rate * wal / 1_000_000:,.1f} |")
        print()
    # What the cache answers does not go there.
    works = [(share, each[2]) for share, each in demands(costs, MIXES["keys on every request"], 3)[1:]]
    total = sum(share for share, _ in works)
    mean = sum(share * service for share, service in works) / total / 1000
    print(f"p99 of the time at PostgreSQL, ms, of what goes there in the first mix ({mean * 1000:.0f} µs "
          "each):\nM/M/c by formula; in brackets by a run of 200,000 requests, each of its kind\n")
    uses = (0.5, 0.7, 0.8, 0.9, 0.95)
    print("| cores | " + " | ".join(f"{use:.0%} busy" for use in uses) + " |\n|---" * 1
          + "|---" * len(uses) + "|")
    for cores in (4, 16, 64):
        cells = []
        for use in uses:
            run = simulated(cores, use, [(share, service / 1000) for share, service in works])
            cells.append(f"{quantile(cores, use, mean):.2f} ({run:.2f})")
        print(f"| {cores} | " + " | ".join(cells) + " |")
    print("\n| a revocation, replicas | µs of all replicas | µs of PostgreSQL |\n|---|---|---|")
    for n in (1, 2, 3, 8, 30, 100):
        ours, database = ((lambda a, b: a + b * (n - 1))(*revocation(costs, tier)) for tier in (0, 2))
        print(f"| {n} | {ours:,.0f} | {database:,.0f} |")


if __name__ == "__main__":
    model(sys.argv[1] if len(sys.argv) > 1 else HERE + "/scaling.figures")
