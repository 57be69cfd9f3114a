"""Writes cases.json beside this file: every case as bytes, for the tests in Swift. Its verdicts are held against
the server side of PyPI's fido2 first: deploy/checks/passkeys cases."""
import json
import pathlib

import referee
from authenticator import Authenticator, text
from cases import assertions, registrations
from fido2 import cbor

HOST, PORT = "gatehouse.test", 8443
ORIGIN = f"https://{HOST}:{PORT}"
HERE = pathlib.Path(__file__).parent


def main():
    challenge = bytes(range(32))
    found = []
    for name, lies, reason, fido2 in registrations(ORIGIN, HOST, PORT):
        answer = Authenticator(ORIGIN, HOST).register(challenge, **lies)
        verdict = referee.registration(ORIGIN, HOST, challenge, answer)
        referee.compare(name, reason, fido2, verdict)
        found.append({"kind": "registration", "name": name, "reason": reason, "answer": answer})
    for algorithm in (-7, -8, -257):
        device = Authenticator(ORIGIN, HOST, algorithm)
        device.handle = bytes(range(64, 96))
        listed = assertions(ORIGIN, HOST, PORT)
        if algorithm != -7:
            listed = [one for one in listed if one[0] in ("good: the counter grows", "another's signature", "a counter that stays")]
        for name, lies, reason, fido2 in listed:
            answer = device.sign(challenge, **lies)
            stored = {"id": text(device.id), "key": text(cbor.encode(device.key.cose())), "counter": 7, "handle": text(device.handle)}
            referee.compare(name, reason, fido2, referee.assertion(ORIGIN, HOST, challenge, device, answer))
            found.append({"kind": "assertion", "name": f"{name} ({algorithm})", "reason": reason, "answer": answer, "stored": stored})
    lines = ",\n".join(json.dumps(one) for one in found)
    front = json.dumps({"origin": ORIGIN, "relying_party": HOST, "challenge": text(challenge)})[:-1]
    (HERE / "cases.json").write_text(f'{front}, "cases": [\n{lines}\n]}}\n')
    print(f"{len(found)} cases, of which {sum(one['reason'] is not None for one in found)} are refused")


if __name__ == "__main__":
    main()
