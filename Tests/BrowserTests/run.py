"""Runs every `test_…` of this folder in one Chromium against one server of its own.

Each test gets a fresh signed-in page; whatever the page complains about fails the test.
"""
import importlib
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

from console import Console, Server  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402


def tests(wanted):
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        for name, function in vars(module).items():
            if name.startswith("test_") and function.__module__ == path.stem and wanted in f"{path.stem}.{name}":
                yield path.stem, name, function


def main(wanted=""):
    passed = failed = 0
    started = time.monotonic()
    with Server() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        keeper = Console(server, browser)
        keeper.sign_in_by_link(server.token)
        for module, name, function in tests(wanted):
            before = time.monotonic()
            console = Console(server, browser, keeper.cookies())
            try:
                function(console)
                console.check_silence()
                passed += 1
                print(f"ok      {module}.{name} ({time.monotonic() - before:.1f} s)", flush=True)
            except Exception as error:
                failed += 1
                text = "".join(traceback.format_exception(error)[-4:])
                print(f"FAILED  {module}.{name}\n{text[:3000]}\n{console.faults[:5]}", flush=True)
                console.picture(f"{module}.{name}")
            finally:
                console.close()
        browser.close()
    print(f"{time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
