"""A passkey authenticator and its browser in software, which can be told to lie."""
import base64
import hashlib
import json
import os
import struct

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2 import cbor

UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sha256(data):
    return hashlib.sha256(data).digest()


class Key:
    """A key pair of one of the three algorithms."""

    def __init__(self, algorithm, bits=2048):
        self.algorithm = algorithm
        if algorithm == -7:
            self.private = ec.generate_private_key(ec.SECP256R1())
        elif algorithm == -8:
            self.private = ed25519.Ed25519PrivateKey.generate()
        else:
            self.private = rsa.generate_private_key(65537, bits)

    def cose(self):
        public = self.private.public_key()
        if self.algorithm == -7:
            point = public.public_numbers()
            return {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        if self.algorithm == -8:
            return {1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        return {1: 3, 3: -257, -1: numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big"), -2: b"\1\0\1"}

    def sign(self, data):
        if self.algorithm == -7:
            return self.private.sign(data, ec.ECDSA(hashes.SHA256()))
        if self.algorithm == -8:
            return self.private.sign(data)
        return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())


class Authenticator:
    """One credential. Every keyword replaces what an honest one would send."""

    def __init__(self, origin, relying_party, algorithm=-7, key=None):
        self.origin, self.relying_party = origin, relying_party
        self.key = key or Key(algorithm)
        self.id = os.urandom(32)
        self.handle = None
        self.counter = 0

    def client_data(self, kind, challenge, **lies):
        if "raw_client" in lies:
            return lies["raw_client"](challenge)
        data = {"type": kind, "challenge": text(challenge), "origin": self.origin, "crossOrigin": False}
        data |= lies.get("client", {})
        return json.dumps({name: value for name, value in data.items() if value is not None}).encode()

    def authenticator_data(self, flags, made, **lies):
        flags = (flags | lies.get("set", 0)) & ~lies.get("clear", 0)
        counter = lies.get("counter", self.counter)
        return (sha256(lies.get("relying_party", self.relying_party).encode()) + bytes([flags])
                + struct.pack(">I", counter) + made + lies.get("extensions", b"") + lies.get("after", b""))

    def register(self, challenge, **lies):
        """A RegistrationResponseJSON (WebAuthn Level 3, section 5.5)."""
        key = lies.get("key", cbor.encode(self.key.cose()))
        held = lies.get("held", self.id)
        credential = bytes(16) + struct.pack(">H", lies.get("length", len(held))) + held + key
        flags = UP | UV | AT
        if lies.get("clear", 0) & AT:
            credential = b""
        data = self.authenticator_data(flags, credential, **lies)
        data = data[:lies.get("cut", len(data))]
        attestation = {"fmt": "none", "attStmt": {}, "authData": data} | lies.get("attestation", {})
        encoded = lies["raw_attestation"](data) if "raw_attestation" in lies else cbor.encode(attestation)
        return self._answer(lies.get("id", self.id), {
            "clientDataJSON": text(self.client_data("webauthn.create", challenge, **lies)),
            "attestationObject": text(encoded), "transports": ["internal"]})

    def sign(self, challenge, **lies):
        """An AuthenticationResponseJSON."""
        if "counter" not in lies and self.counter:
            self.counter += 1
        data = self.authenticator_data(UP | UV, lies.get("credential", b""), **lies)
        data = data[:lies.get("cut", len(data))]
        client = self.client_data("webauthn.get", challenge, **lies)
        signature = lies.get("signer", self.key).sign(data + sha256(client))
        signature = lies.get("signature", lambda one: one)(signature)
        # After the signature was made.
        data = lies.get("altered", lambda one: one)(data)
        response = {"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature)}
        handle = lies.get("handle", self.handle)
        if handle is not None:
            response["userHandle"] = text(handle)
        return self._answer(lies.get("id", self.id), response)

    @staticmethod
    def _answer(identity, response):
        return {"id": text(identity), "rawId": text(identity), "type": "public-key", "response": response,
                "clientExtensionResults": {}}
