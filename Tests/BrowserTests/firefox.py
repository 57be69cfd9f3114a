"""Debian's Firefox ESR, driven by WebDriver BiDi, which it speaks itself: no driver stands between."""
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import websocket

QUIET = {
    "services.settings.server": "data:,", "app.normandy.enabled": False, "app.update.enabled": False, "toolkit.telemetry.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False, "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False, "browser.region.network.url": "", "extensions.systemAddon.update.enabled": False,
}
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Shift": "\ue008", "Space": " "}


class Firefox:
    """One window. `faults` holds the errors that the page logged, CSP reports among them."""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="gatehouse-firefox.")
        # Nothing is asked of the maker's servers.
        (pathlib.Path(self.home) / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in QUIET.items()))
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--profile", self.home, "--remote-debugging-port=0", "--width=1280", "--height=800"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": self.home})
        address = next(found[1] for line in self.process.stderr if (found := re.search(r"BiDi listening on (ws://\S+)", line)))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.socket = websocket.create_connection(address + "/session", timeout=30, suppress_origin=True)
        self.numbers = itertools.count(1)
        self.faults = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.window = self.ask("browsingContext.create", type="tab")["context"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.home, ignore_errors=True)

    def ask(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.faults.append(message["params"]["text"])
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]

    def run(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.ask("script.evaluate", expression=expression, target={"context": self.window}, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return answer["result"]

    def until(self, condition):
        """Waits, inside the page, for a condition of the next frames."""
        self.run(f"""new Promise((done, fail) => {{
            const end = performance.now() + 10000
            const look = () => ({condition}) ? done() : performance.now() > end ? fail(new Error({json.dumps(condition)})) : requestAnimationFrame(look)
            look()
        }})""")

    def seen(self, text, within="body"):
        self.until(f"document.querySelector({json.dumps(within)})?.innerText.includes({json.dumps(text)})")

    def go(self, url):
        self.ask("browsingContext.navigate", context=self.window, url=url, wait="complete")

    def click(self, selector, text=""):
        """A real click on the first such element that shows the text."""
        find = f"[...document.querySelectorAll({json.dumps(selector)})].find(node => node.innerText.includes({json.dumps(text)}) && node.checkVisibility())"
        self.until(find)
        for turn in range(5):
            node = self.run(f"({find}).scrollIntoView({{block: 'center'}}), {find}")
            try:
                return self.ask("input.performActions", context=self.window, actions=[{"type": "pointer", "id": "mouse", "actions": [
                    {"type": "pointerMove", "x": 0, "y": 0, "origin": {"type": "element", "element": {"sharedId": node["sharedId"]}}},
                    {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}])
            except AssertionError as error:
                # The browser scrolled once more by itself after a navigation: aim again, as a person does.
                if turn == 4 or error.args[0]["error"] != "move target out of bounds":
                    raise

    def press(self, *names):
        self._keys([KEYS.get(name, name) for name in names])

    def type(self, text):
        self._keys(text)

    def _keys(self, keys):
        self.ask("input.performActions", context=self.window, actions=[{"type": "key", "id": "keys", "actions": [
            {"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]}])
