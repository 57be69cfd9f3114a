"""What the server side of PyPI's fido2 says of an answer: None if it accepts, else its words."""
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.webauthn import AttestedCredentialData, PublicKeyCredentialRpEntity
from fido2.features import webauthn_json_mapping

webauthn_json_mapping.enabled = True


def _server(origin, host):
    # The exact origin, where the default takes hosts below as well.
    return Fido2Server(PublicKeyCredentialRpEntity(name="Gatehouse", id=host), verify_origin=lambda one: one == origin)


def _said(act):
    try:
        act()
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}" or "refused"


def registration(origin, host, challenge, answer):
    server = _server(origin, host)
    _, state = server.register_begin({"id": b"1", "name": "a"}, user_verification="required", challenge=challenge)
    return _said(lambda: server.register_complete(state, answer))


def assertion(origin, host, challenge, device, answer):
    server = _server(origin, host)
    known = AttestedCredentialData.create(bytes(16), device.id, CoseKey.parse(device.key.cose()))
    _, state = server.authenticate_begin([known], user_verification="required", challenge=challenge)
    return _said(lambda: server.authenticate_complete(state, [known], answer))


def compare(name, reason, fido2, verdict):
    """`reason` is ours. What we accept, fido2 must accept; what we refuse, it refuses, or the case says so."""
    wanted = fido2 or ("accepts" if reason is None else "refuses")
    got = "accepts" if verdict is None else "refuses"
    if got != wanted:
        raise SystemExit(f"{name}: fido2 {got} ({verdict}), the case says {wanted}; ours: {reason}")
