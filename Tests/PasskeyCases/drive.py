"""Registers, signs in and steps up at a running server, and sends it every case: deploy/checks/passkeys.

The server's verdict on each case is the one that the case names, and PyPI's fido2, asked about the same bytes with the
same challenge, accepts whatever the server accepts.
"""
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import referee
import soft_webauthn
from authenticator import Authenticator, text
from cases import assertions, registrations
from fido2.utils import websafe_decode

PROGRAM = os.environ["GATEHOUSE_PROGRAM"]


class Server:
    """`gatehouse dev`, which serves localhost."""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="gatehouse-passkeys.")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = pathlib.Path(self.home, "log")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GATEHOUSE_")}
        environment |= {"GATEHOUSE_LISTEN": f"127.0.0.1:{self.port}", "GATEHOUSE_DATA_DIR": f"{self.home}/data",
                        "GATEHOUSE_TRUSTED_PROXIES": "127.0.0.1"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([PROGRAM, "dev"], stdout=log, stderr=log, env=environment)
        end = time.monotonic() + 120
        while not (found := re.search(r"(http://\S+)/console/sign-in#token=(\S+)", self.log.read_text())):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(self.log.read_text()[-2000:])
            time.sleep(0.1)
        self.origin, self.token = found.groups()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        shutil.rmtree(self.home, ignore_errors=True)
        # Where root's cluster stands instead, as in PrivateCluster.swift.
        digest = hashlib.sha256(f"{self.home}/data".encode()).hexdigest()
        shutil.rmtree(f"/var/lib/gatehouse/{digest[:16]}", ignore_errors=True)


class Browser:
    """Cookies, and an address of its own for each request, so that no count of failures ends the run."""

    count = 0

    def __init__(self, server):
        self.server, self.cookies = server, {}

    def ask(self, method, path, body=None):
        Browser.count += 1
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.request(method, f"/v1{path}", body=json.dumps(body or {}) if method != "GET" else None, headers={
            "host": f"localhost:{self.server.port}", "content-type": "application/json", "x-gatehouse-console": "1",
            "sec-fetch-site": "same-origin", "x-forwarded-for": f"192.0.2.{Browser.count % 250 + 1}",
            "cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())})
        answer = connection.getresponse()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.split(";")[0]
        said = answer.read().decode()
        return answer.status, json.loads(said) if said else {}


def expect(what, wanted, answer):
    """What was said, of an answer that has the wanted status."""
    status, said = answer
    if status != wanted:
        raise SystemExit(f"{what}: {status} and not {wanted}: {json.dumps(said)[:400]}")
    return said


def registration_cases(server, owner):
    reasons = set()
    listed = registrations(server.origin, "localhost", server.port)
    for name, lies, reason, fido2 in listed:
        options = expect(name, 200, owner.ask("POST", "/me/passkeys/options"))
        challenge = websafe_decode(options["challenge"])
        answer = Authenticator(server.origin, "localhost").register(challenge, **lies)
        said = expect(name, 201 if reason is None else 422, owner.ask("POST", "/me/passkeys", {"name": name, "passkey": answer}))
        referee.compare(name, reason, fido2, referee.registration(server.origin, "localhost", challenge, answer))
        if reason is None:
            expect(name, 204, owner.ask("DELETE", f"/me/passkeys/{said['id']}"))
        elif said["errors"][0]["pointer"] == "/passkey":
            assert said["errors"][0]["detail"].startswith(f"is not a valid new passkey ({reason});"), (name, reason, said)
            reasons.add(reason)
        else:
            # No passkey is so long or so short: its shape is refused before it is looked at.
            assert re.search("bytes|empty|KiB", name), (name, said)
    return len(listed), len(reasons)


def registered(server, owner, algorithm):
    device = Authenticator(server.origin, "localhost", algorithm)
    device.counter = 7
    options = expect("options", 200, owner.ask("POST", "/me/passkeys/options"))
    device.handle = websafe_decode(options["user"]["id"])
    answer = device.register(websafe_decode(options["challenge"]))
    expect("registration", 201, owner.ask("POST", "/me/passkeys", {"name": f"device {algorithm}", "passkey": answer}))
    return device


def sign_in(server, device, lies):
    browser = Browser(server)
    options = expect("options", 200, browser.ask("POST", "/session/passkey-options"))
    challenge = websafe_decode(options["challenge"])
    answer = device.sign(challenge, **lies)
    return browser, challenge, answer, browser.ask("POST", "/session", {"passkey": answer})


def assertion_cases(server, owner):
    device = registered(server, owner, -7)
    listed = assertions(server.origin, "localhost", server.port)
    for name, lies, reason, fido2 in listed:
        _, challenge, answer, (status, said) = sign_in(server, device, lies)
        # One text for every failure; what no passkey can be by its shape is 422.
        if status == 422:
            assert reason and re.search("bytes|empty|KiB", name), (name, said)
        elif reason:
            assert status == 401 and said["detail"] == "The passkey is not valid.", (name, status, said)
        else:
            assert status == 201, (name, status, said)
        referee.compare(name, reason, fido2, referee.assertion(server.origin, "localhost", challenge, device, answer))
    return len(listed)


def whole_way(server, owner, algorithm):
    """Sign-in, the same answer again, step-up and sign-out by one algorithm."""
    device = registered(server, owner, algorithm)
    browser, challenge, answer, said = sign_in(server, device, {})
    expect("sign-in", 201, said)
    assert referee.assertion(server.origin, "localhost", challenge, device, answer) is None
    expect("the same again", 401, browser.ask("POST", "/session", {"passkey": answer}))
    before = browser.cookies["gatehouse"]
    options = expect("options", 200, browser.ask("POST", "/me/passkeys/options", {"purpose": "step_up"}))
    expect("step-up", 200, browser.ask("POST", "/session/step-up", {"passkey": device.sign(websafe_decode(options["challenge"]))}))
    assert browser.cookies["gatehouse"] != before
    expect("sign-out", 204, browser.ask("DELETE", "/session"))


def without_verification(server, owner):
    """PyPI's soft-webauthn, which verifies no user: refused for that alone."""
    options = expect("options", 200, owner.ask("POST", "/me/passkeys/options"))
    device = soft_webauthn.SoftWebauthnDevice()
    made = device.create({"publicKey": options | {
        "challenge": websafe_decode(options["challenge"]),
        "user": options["user"] | {"id": websafe_decode(options["user"]["id"])}}}, server.origin)
    answer = {"id": text(made["rawId"]), "type": "public-key", "response": {
        name: text(value) for name, value in made["response"].items()}}
    said = expect("soft-webauthn", 422, owner.ask("POST", "/me/passkeys", {"name": "soft", "passkey": answer}))
    assert said["errors"][0]["detail"].startswith("is not a valid new passkey (user_not_verified);"), said


def main():
    with Server() as server:
        assert server.origin == f"http://localhost:{server.port}", server.origin
        owner = Browser(server)
        expect("link", 201, owner.ask("POST", "/session", {"token": server.token}))
        # The owner came by a link and has no password: the last passkey would stay.
        registered(server, owner, -7)
        made, reasons = registration_cases(server, owner)
        print(f"{made} registrations, refused for {reasons} reasons; fido2 refuses none that is accepted")
        without_verification(server, owner)
        for algorithm in (-7, -8, -257):
            whole_way(server, owner, algorithm)
        print("sign-in, replay, step-up and sign-out by ES256, EdDSA and RS256")
        print(f"{assertion_cases(server, owner)} sign-ins; fido2 refuses none that is accepted")


if __name__ == "__main__":
    main()
