"""The budgets of the console, measured with a tenant of many users; see deploy/checks/budgets."""
import hashlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import urllib.request

from console import Console, Server, chromium
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).parents[2]
# What goes over the wire, brotli as the server sends it, in bytes: the first view of a page, a lazily loaded page's own
# code, a language's catalogue, which comes once and beside the first view, and every other file of the console together.
FIRST_VIEW, A_PAGE, A_LANGUAGE, ALL_OF_IT = 50_000, 8_000, 40_000, 120_000
ROWS = int(os.environ.get("BUDGET_ROWS", "1000000"))
PAINTS = """() => new Promise((done) => {
    const seen = {cls: 0, fcp: performance.getEntriesByName("first-contentful-paint")[0]?.startTime};
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (seen.lcp = one.startTime))).observe({type: "largest-contentful-paint", buffered: true});
    new PerformanceObserver((list) => list.getEntries().forEach((one) => (seen.cls += one.hadRecentInput ? 0 : one.value))).observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(seen), 100);
})"""
# The longest of the interactions so far, from the event to the next paint.
WATCH = """globalThis.slowest = 0;
new PerformanceObserver((list) => list.getEntries().forEach((one) => (slowest = Math.max(slowest, one.duration)))).observe({type: "event", durationThreshold: 16, buffered: true})"""


def packed_sizes(server):
    """The size of each file of the console as it is sent to a browser, by its path below Public."""
    def sent(path):
        asked = urllib.request.Request(server.base + path, headers={"Accept-Encoding": "br"})
        return urllib.request.urlopen(asked).read()

    shell = urllib.request.urlopen(f"{server.base}/console/").read().decode()
    version = re.search(r"/console/assets/(\w+)/", shell)[1]
    sizes = {"index.html": len(sent("/console/"))}
    for path in sorted((ROOT / "Public").rglob("*")):
        name = str(path.relative_to(ROOT / "Public"))
        if path.is_dir() or name == "index.html":
            continue
        sizes[name] = len(sent(f"/console/assets/{version}/{name}"))
    return sizes


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def database(server):
    """The conninfo of the superuser for the cluster of a `gatehouse dev`."""
    # Where the server's own cluster stands, and its socket by that: as in PrivateCluster.swift.
    data = f"{server.home}/data"
    clusters = f"{data}/postgres", f"/var/lib/gatehouse/{digest(data)[:16]}"
    folder, = (path for path in (f"/tmp/gatehouse-{digest(one)[:12]}" for one in clusters) if os.path.exists(path))
    return f"host={folder} user=postgres dbname=gatehouse"


def seed(console):
    """A tenant `grown` with ROWS users, each with a key, an invite, an event and a decision."""
    tenant = console.api("POST", "/tenants", {"slug": "grown", "name": "Grown"})["id"]
    subprocess.run(["psql", "-X", "-q", "-d", database(console.server), "-v", f"tenant={tenant}",
                    "-v", "first=1", "-v", f"last={ROWS}", "-f", ROOT / "deploy/lib/growth.sql"], check=True)


def first_view(browser, server, cookies, path):
    rounds = []
    for _ in range(5):
        console = Console(server, browser, cookies, reduced_motion="no-preference")
        weights = []
        console.page.on("requestfinished", lambda one: weights.append(one.sizes()["responseBodySize"]))
        console.go(path)
        console.idle()
        rounds.append({**console.page.evaluate(PAINTS), "requests": len(weights), "bytes": sum(weights)})
        console.check_silence()
        console.close()
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def find_one(console):
    """From the last letter to the drawn row, the requests of one search, and the server's time of each, in ms."""
    took, served, asked = [], [], []
    for number in range(3, 43):
        email = console.emails[number % len(console.emails)]
        page = console.go("/console/t/grown/users")
        page.get_by_role("searchbox").press_sequentially(email[:-1], delay=15)
        before = len(console.asked("/users?"))
        page.keyboard.press(email[-1])
        start = page.evaluate("performance.now()")
        page.locator("tbody tr", has_text=email).first.wait_for()
        page.locator("tbody tr").nth(1).wait_for(state="detached")
        took.append(page.evaluate("performance.now()") - start)
        served.append(page.evaluate("performance.getEntriesByType('resource').filter(one => one.name.includes('q=')).map(one => one.responseStart - one.requestStart).at(-1)"))
        asked.append(len(console.asked("/users?")) - before)
    return statistics.median(took), sorted(served)[int(len(served) * 0.95)], max(asked)


def interactions(console):
    """Typing, sorting, selecting, the palette, a dialog, tabs: the longest of them, in ms."""
    page = console.go("/console/t/grown/users")
    page.evaluate(WATCH)
    page.get_by_role("searchbox").press_sequentially("grace", delay=60)
    page.get_by_role("button", name="User", exact=True).click()
    page.locator("tbody input").first.click()
    page.locator("thead input").click()
    page.keyboard.press("Control+k")
    page.keyboard.type("ada", delay=60)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add user").click()
    page.keyboard.type("someone@example.org", delay=30)
    page.keyboard.press("Escape")
    for tab in ("Invites", "API keys", "Audit", "Users"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=tab).click()
        page.locator("tbody tr").first.wait_for()
    return page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(slowest), 100)))")


def main():
    over = []

    def row(name, value, budget, unit="", firm=False):
        good = budget is None or value <= budget
        if firm and not good:
            over.append(name)
        print(f"| {name} | {value:,.0f}{unit} | {'–' if budget is None else f'{budget:,}{unit}'} | {'yes' if good else 'no'} |", flush=True)

    with Server() as server, sync_playwright() as engine:
        browser = chromium(engine)
        console = Console(server, browser)
        console.sign_in_by_link(server.token)
        seed(console)
        console.emails = [one["email"] for one in console.api("GET", "/tenants/grown/users?limit=100&q=grace.h")["items"]]
        print(f"{ROWS:,} users in one tenant, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}\n\n| | measured | budget | kept |\n|---|---|---|---|")
        packed = packed_sizes(server)
        languages = {name: size for name, size in packed.items() if name.startswith("lang/")}
        row("all files but the languages, as brotli", sum(packed.values()) - sum(languages.values()), ALL_OF_IT, " bytes", True)
        row("the largest language, as brotli", max(languages.values()), A_LANGUAGE, " bytes", True)
        row("the largest page, as brotli", max(size for name, size in packed.items() if name.startswith("pages/")), A_PAGE, " bytes", True)
        for name, path in (("overview", "/console/"), ("users", "/console/t/grown/users")):
            seen = first_view(browser, server, console.cookies(), path)
            row(f"{name}, opened cold: over the wire", seen["bytes"], FIRST_VIEW, " bytes", True)
            row(f"{name}: requests", seen["requests"], 12, "", True)
            row(f"{name}: first paint", seen["fcp"], 500, " ms")
            row(f"{name}: largest paint", seen["lcp"], 800, " ms")
            row(f"{name}: layout shift", seen["cls"], 0, "", True)
        row("longest interaction", interactions(console), 100, " ms")
        took, served, asked = find_one(console)
        row("find one user: requests after the last letter", asked, 1, "", True)
        row("find one user: from the last letter to the row", took, 250, " ms")
        row("find one user: the server's p95", served, 50, " ms")
        console.check_silence()
        browser.close()
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
