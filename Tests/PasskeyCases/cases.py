"""What an authenticator or a browser may send: good answers, and lies with the reason why each is refused.

A case is (name, lies, reason, fido2): `reason` is WebAuthnFault's code, None for a good one; `fido2` says what
the server side of PyPI's fido2 does with the same answer, where that is not the same: it is no stricter anywhere.
"""
from authenticator import AT, BE, BS, ED, P256_ORDER, UP, UV, Key, text
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from fido2 import cbor

ACCEPTS = "accepts"


def client(challenge, members, kind, origin, tail=""):
    return (f'{{"type":"{kind}","challenge":"{text(challenge)}","origin":"{origin}"{members}}}{tail}').encode()


def head(kind, length, width):
    """The first bytes of a value whose length is written in so many bytes."""
    return bytes([kind << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[width]]) + length.to_bytes(width, "big")


def attestation(data, front=b"\xa3", body=None, tail=b""):
    parts = [b"\x63fmt\x64none", b"\x67attStmt\xa0", b"\x68authData" + cbor.encode(data)]
    return front + b"".join(body(parts) if body else parts) + tail


def shared(kind, origin, host, port):
    """What both ceremonies must hold."""
    other = "webauthn.get" if kind == "webauthn.create" else "webauthn.create"
    plain = "http" if origin.startswith("https") else "https"
    raw = lambda members, tail="": {"raw_client": lambda one: client(one, members, kind, origin, tail)}
    return [
        ("another host", {"client": {"origin": f"https://evil.test:{port}"}}, "origin_mismatch", None),
        ("another port", {"client": {"origin": origin.replace(str(port), str(port + 1))}}, "origin_mismatch", None),
        ("no port", {"client": {"origin": origin.rsplit(":", 1)[0]}}, "origin_mismatch", None),
        ("another scheme", {"client": {"origin": origin.replace("https" if plain == "http" else "http", plain, 1)}}, "origin_mismatch", None),
        ("a host below", {"client": {"origin": origin.replace("//", "//x.")}}, "origin_mismatch", None),
        ("a host that ends alike", {"client": {"origin": origin.replace("//", "//x")}}, "origin_mismatch", None),
        ("a slash after the origin", {"client": {"origin": origin + "/"}}, "origin_mismatch", None),
        ("an origin in capitals", {"client": {"origin": origin.upper()}}, "origin_mismatch", None),
        ("no origin", {"client": {"origin": None}}, "client_data_malformed", None),
        ("the other ceremony", {"client": {"type": other}}, "type_mismatch", None),
        ("no type", {"client": {"type": None}}, "client_data_malformed", None),
        ("another challenge", {"client": {"challenge": text(bytes(32))}}, "challenge_mismatch", None),
        ("an empty challenge", {"client": {"challenge": ""}}, "challenge_mismatch", None),
        ("a padded challenge", {"raw_client": lambda one: client(one, "", kind, origin).replace(
            text(one).encode(), text(one).encode() + b"=")}, "client_data_malformed", ACCEPTS),
        ("a foreign frame", {"client": {"crossOrigin": True}}, "cross_origin", ACCEPTS),
        ("a frame with a foreign top", {"client": {"topOrigin": "https://evil.test"}}, "cross_origin", ACCEPTS),
        ("crossOrigin as text", {"client": {"crossOrigin": "false"}}, "client_data_malformed", ACCEPTS),
        ("a member twice", raw(',"origin":"https://evil.test"'), "client_data_malformed", None),
        ("the true member second", {"raw_client": lambda one: client(one, f',"origin":"{origin}"', kind, "https://evil.test")},
         "client_data_malformed", ACCEPTS),
        ("bytes after the client data", raw("", "}"), "client_data_malformed", None),
        ("client data that ends early", {"raw_client": lambda one: client(one, "", kind, origin)[:-1]}, "client_data_malformed", None),
        ("client data that is no object", {"raw_client": lambda one: b"[]"}, "client_data_malformed", None),
        ("client data of 8 KiB", raw(',"x":"' + "x" * 8192 + '"'), "client_data_malformed", ACCEPTS),
        ("the RP id of another", {"relying_party": "evil.test"}, "relying_party_mismatch", None),
        ("the RP id of a host below", {"relying_party": "x." + host}, "relying_party_mismatch", None),
        ("the origin as RP id", {"relying_party": origin}, "relying_party_mismatch", None),
        ("nobody present", {"clear": UP}, "user_absent", None),
        ("user not verified", {"clear": UV}, "user_not_verified", None),
        ("backed up and not fit for it", {"set": BS}, "backup_flags", ACCEPTS),
        ("bytes after the data", {"after": b"\0"}, "authenticator_data_malformed", None),
        ("data that ends early", {"cut": 36}, "authenticator_data_malformed", None),
        ("extensions without bytes", {"set": ED}, "cbor_truncated", None),
        ("extensions that are no map", {"set": ED, "extensions": b"\x80"}, "authenticator_data_malformed", ACCEPTS),
        ("extensions without their flag", {"extensions": b"\xa0"}, "authenticator_data_malformed", None),
    ]


def registrations(origin, host, port):
    key = Key(-7).cose()
    rsa, edwards = Key(-257), Key(-8).cose()
    off = key | {-3: bytes([key[-3][0] ^ 1]) + key[-3][1:]}
    modulus = rsa.cose()[-1]
    as_key = lambda cose: {"key": cbor.encode(cose)}
    raw = lambda **parts: {"raw_attestation": lambda data: attestation(data, **parts)}
    nested = {"fmt": "none", "attStmt": {"a": [[[[0]]]]}}
    return [
        ("good: ES256", {}, None, None),
        ("good: RS256", as_key(rsa.cose()), None, None),
        ("good: EdDSA", as_key(edwards), None, None),
        ("good: no crossOrigin", {"client": {"crossOrigin": None}}, None, None),
        ("good: a member that no one knows", {"client": {"other": {"a": [1]}}}, None, None),
        ("good: fit for a backup, and backed up", {"set": BE | BS}, None, None),
        ("good: extensions", {"set": ED, "extensions": cbor.encode({"credProtect": 2})}, None, None),
        ("good: an id of 1023 bytes", {"held": bytes(1023), "id": bytes(1023)}, None, None),
        *shared("webauthn.create", origin, host, port),
        ("packed attestation", {"attestation": {"fmt": "packed"}}, "attestation_format", ACCEPTS),
        ("a statement beside none", {"attestation": {"attStmt": {"alg": -7}}}, "attestation_statement", ACCEPTS),
        ("no statement", {"raw_attestation": lambda data: cbor.encode({"fmt": "none", "authData": data})}, "attestation_malformed", None),
        ("an attestation that is no map", {"raw_attestation": lambda data: cbor.encode([data])}, "attestation_malformed", None),
        ("a member more", {"attestation": {"x": 1}}, "attestation_malformed", ACCEPTS),
        ("no credential", {"clear": AT}, "credential_missing", None),
        ("another id", {"id": bytes(32)}, "credential_mismatch", ACCEPTS),
        ("an id of 1024 bytes", {"held": bytes(1024), "id": bytes(1024)}, "credential_length", ACCEPTS),
        ("an empty id", {"held": b"", "id": b""}, "credential_length", ACCEPTS),
        ("an id that reaches too far", {"length": 1000}, "authenticator_data_malformed", None),
        ("bytes after the attestation", raw(tail=b"\0"), "cbor_trailing_bytes", None),
        ("an attestation that ends early", {"raw_attestation": lambda data: attestation(data)[:-1]}, "cbor_truncated", ACCEPTS),
        ("a map without an end", raw(front=b"\xbf", tail=b"\xff"), "cbor_indefinite_length", None),
        ("bytes in pieces", {"raw_attestation": lambda data: b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x5f" + cbor.encode(data) + b"\xff"},
         "cbor_indefinite_length", None),
        ("a map of 2^64-1", raw(front=head(5, 2**64 - 1, 8)), "cbor_truncated", None),
        ("bytes of 2^63", {"raw_attestation": lambda data: b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData" + head(2, 2**63, 8) + data},
         "cbor_truncated", ACCEPTS),
        ("an array of 2^32", {"raw_attestation": lambda data: b"\xa1\x63fmt" + head(4, 2**32, 8)}, "cbor_truncated", None),
        ("a length in more bytes than it needs", raw(front=b"\xb8\x03"), "cbor_not_shortest", ACCEPTS),
        ("a member of the attestation twice", raw(front=b"\xa4", body=lambda parts: parts[:2] + parts[1:]), "cbor_duplicate_key", ACCEPTS),
        ("members in another order", raw(body=lambda parts: parts[::-1]), "cbor_unsorted_keys", ACCEPTS),
        ("deep nesting", {"attestation": nested}, "cbor_too_deep", ACCEPTS),
        ("endless nesting", {"raw_attestation": lambda data: b"\xa1\x63fmt" + b"\x81" * 2000 + b"\0"}, "cbor_too_deep", None),
        ("many values", {"attestation": {"attStmt": {"a": [0] * 300}}}, "cbor_too_many_values", ACCEPTS),
        ("a tag", {"raw_attestation": lambda data: b"\xc0" + attestation(data)}, "cbor_unsupported", None),
        ("text that is no UTF-8", {"raw_attestation": lambda data: b"\xa1\x63fmt\x61\xff"}, "cbor_not_utf8", None),
        ("a point off the curve", as_key(off), "key_refused", ACCEPTS),
        ("a coordinate too short", as_key(key | {-2: key[-2][:31]}), "key_refused", ACCEPTS),
        ("a compressed point", as_key(key | {-3: True}), "key_malformed", ACCEPTS),
        ("another curve", as_key(key | {-1: 2}), "key_malformed", ACCEPTS),
        ("an ES256 key as RS256", as_key(key | {3: -257}), "key_malformed", ACCEPTS),
        ("an RSA key as ES256", as_key(rsa.cose() | {3: -7}), "key_malformed", ACCEPTS),
        ("ES256 over another kind", as_key(key | {1: 1}), "key_malformed", ACCEPTS),
        ("a member of the key more", as_key(key | {4: [2]}), "key_malformed", ACCEPTS),
        ("a member of the key less", as_key({name: value for name, value in key.items() if name != -3}), "key_malformed", ACCEPTS),
        ("no algorithm", as_key({name: value for name, value in key.items() if name != 3}), "key_malformed", None),
        ("an algorithm that is not asked for", as_key(rsa.cose() | {3: -37}), "algorithm_refused", ACCEPTS),
        ("RS1", as_key(rsa.cose() | {3: -65535}), "algorithm_refused", ACCEPTS),
        ("a key that is no map", {"key": b"\x80"}, "key_malformed", None),
        ("a label of the key twice", {"key": b"\xa6" + cbor.encode(key)[1:] + cbor.encode(-3) + cbor.encode(key[-3])}, "cbor_duplicate_key", ACCEPTS),
        ("RSA of 1024 bits", as_key(rsa.cose() | {-1: b"\xff" * 128}), "key_refused", ACCEPTS),
        ("RSA with e of 1", as_key(rsa.cose() | {-2: b"\1"}), "key_refused", ACCEPTS),
        ("RSA with an even e", as_key(rsa.cose() | {-2: b"\1\0\0"}), "key_refused", ACCEPTS),
        ("RSA with zeros before 1024 bits", as_key(rsa.cose() | {-1: bytes(128) + modulus[:128]}), "key_refused", ACCEPTS),
        ("RSA of 16384 bits", as_key(rsa.cose() | {-1: b"\xff" * 2048}), "key_refused", ACCEPTS),
        ("Ed25519 of 31 bytes", as_key(edwards | {-2: edwards[-2][:31]}), "key_refused", ACCEPTS),
        ("Ed25519 of 33 bytes", as_key(edwards | {-2: edwards[-2] + b"\0"}), "key_refused", ACCEPTS),
        ("Ed25519 on another curve", as_key(edwards | {-1: 7}), "key_malformed", ACCEPTS),
    ]


def der(change):
    return lambda signature: encode_dss_signature(*change(*decode_dss_signature(signature)))


def assertions(origin, host, port):
    """Of an ES256 credential whose counter is 7."""
    return [
        ("good: the counter grows", {"counter": 8}, None, None),
        ("good: the other s", {"counter": 9, "signature": der(lambda r, s: (r, P256_ORDER - s))}, None, None),
        *[(name, {"counter": 100 + at} | lies, reason, fido2)
          for at, (name, lies, reason, fido2) in enumerate(shared("webauthn.get", origin, host, port))],
        ("another's signature", {"counter": 50, "signer": Key(-7)}, "signature_invalid", None),
        ("an Ed25519 signature", {"counter": 50, "signer": Key(-8)}, "signature_invalid", None),
        ("an RSA signature", {"counter": 50, "signer": Key(-257)}, "signature_invalid", None),
        ("an empty signature", {"counter": 50, "signature": lambda one: b""}, "signature_invalid", None),
        ("a signature that ends early", {"counter": 50, "signature": lambda one: one[:-1]}, "signature_invalid", None),
        ("bytes after the signature", {"counter": 50, "signature": lambda one: one + b"\0"}, "signature_invalid", None),
        ("r and s without DER", {"counter": 50, "signature": lambda one: b"".join(
            part.to_bytes(32, "big") for part in decode_dss_signature(one))}, "signature_invalid", None),
        ("a length of DER in more bytes", {"counter": 50, "signature": lambda one: b"\x30\x81" + one[1:]}, "signature_invalid", None),
        ("r and s of 0", {"counter": 50, "signature": der(lambda r, s: (0, 0))}, "signature_invalid", None),
        ("s beyond the order", {"counter": 50, "signature": der(lambda r, s: (r, s + P256_ORDER))}, "signature_invalid", None),
        ("data altered after it was signed", {"counter": 50, "altered": lambda data: data[:36] + bytes([data[36] ^ 1])}, "signature_invalid", None),
        ("a counter that stays", {"counter": 7}, "counter_fell_back", ACCEPTS),
        ("a counter that falls", {"counter": 6}, "counter_fell_back", ACCEPTS),
        ("a counter that ends", {"counter": 0}, "counter_fell_back", ACCEPTS),
        ("fit for a backup anew", {"counter": 50, "set": BE}, "backup_eligibility_changed", ACCEPTS),
        ("a new credential in it", {"counter": 50, "set": AT, "credential": bytes(16) + b"\0\x01a" + cbor.encode(Key(-7).cose())},
         "credential_unexpected", ACCEPTS),
        ("another's handle", {"counter": 50, "handle": bytes(32)}, "user_handle_mismatch", ACCEPTS),
        ("an empty handle", {"counter": 50, "handle": b""}, "user_handle_mismatch", ACCEPTS),
        ("another credential", {"counter": 50, "id": bytes(32)}, "credential_mismatch", None),
    ]
