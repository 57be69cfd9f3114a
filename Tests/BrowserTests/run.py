"""Runs every `test_…` of this folder in real Chromium: run.py [PART OF A NAME].

Two runners take from one queue, each with a browser and a server of its own. Each test gets a fresh
signed-in page; whatever the page complains about fails the test.
"""
import importlib
import os
import pathlib
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

from console import Console, Server, chromium  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

RUNNERS = 2
# The first owner's, chosen after the sign-in by the link.
PASSWORD = "the keeper's own password"
# What takes longest begins first, so that both end together.
LONG = ["test_looks", "test_languages", "test_frame"]


def tests(wanted):
    found = []
    for path in sorted(HERE.glob("test_*.py"), key=lambda one: (one.stem not in LONG, one.stem)):
        module = importlib.import_module(path.stem)
        found += [(f"{path.stem}.{name}", function) for name, function in vars(module).items()
                  if name.startswith("test_") and function.__module__ == path.stem]
    return [one for one in found if wanted in one[0]]


def run(queue):
    passed = failed = 0
    with Server() as server, sync_playwright() as playwright:
        browser = chromium(playwright)
        keeper = Console(server, browser)
        keeper.sign_in_by_link(server.token)
        keeper.api("PUT", "/me/password", {"password": PASSWORD})
        proved = time.monotonic()
        for name, function in queue:
            before = time.monotonic()
            # What is hard to take back needs a proof of the last ten minutes.
            if before - proved > 240:
                keeper.api("POST", "/session/step-up", {"password": PASSWORD})
                proved = before
            console = Console(server, browser, keeper.cookies())
            try:
                function(console)
                console.check_silence()
                passed += 1
                print(f"ok      {name} ({time.monotonic() - before:.1f} s)", flush=True)
            except Exception as error:
                failed += 1
                text = "".join(traceback.format_exception(error)[-2:])
                said = "\n".join(server.log.read_text(errors="replace").splitlines()[-10:])
                print(f"FAILED  {name}\n{text[:4000]}\n{console.faults[:5]}\n{console.seen()}\nThe server's log ends:\n{said}", flush=True)
                console.picture(name)
            finally:
                console.close()
        browser.close()
    print(f"{passed} passed, {failed} failed", flush=True)


def both(wanted):
    started = time.monotonic()
    take, give = os.pipe()
    # Two bytes a test: a read of two is never torn.
    os.write(give, b"".join(number.to_bytes(2) for number in range(len(tests(wanted)))))
    os.close(give)
    runners = [subprocess.Popen([sys.executable, __file__, wanted, str(take)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=[take])
               for _ in range(RUNNERS)]
    passed = failed = 0
    for runner in runners:
        *lines, last = runner.communicate()[0].rstrip().splitlines()
        print("\n".join(lines), flush=True)
        words = last.split()
        if len(words) == 4 and words[1] == "passed,":
            passed, failed = passed + int(words[0]), failed + int(words[2])
        else:
            print(last)
            failed += 1
    print(f"{time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if len(sys.argv) > 2:
        all_of_them = tests(name)
        run(all_of_them[int.from_bytes(number)] for number in iter(lambda: os.read(int(sys.argv[2]), 2), b""))
    else:
        sys.exit(both(name))
