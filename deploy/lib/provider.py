"""The Python part of deploy/tools/provider: Canaille with everything in memory, and people who sign in there.

    provider.py serve REDIRECT…                    listens on 127.0.0.1 and prints the issuer; PROVIDER_PORT picks
                                                   the port, PROVIDER_PEOPLE=0 adds person1@example.com and so on
    provider.py authorize URL [PERSON]             opens an authorization URL as the person, prints the redirect
    provider.py tokens ISSUER [REDIRECT [PERSON]]  prints the tokens of an app that is the provider's own client
"""
import base64
import datetime
import hashlib
import html
import json
import os
import re
import secrets
import socket
import sys
import urllib.parse

import usage

CLIENT, SECRET, CALLBACK = "gatehouse-test", "test-secret", "http://127.0.0.1:9/callback"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(redirects):
    from canaille import create_app
    from canaille.app import models
    from canaille.backends import Backend
    from canaille.backends.memory.backend import MemoryBackend
    from joserfc.jwk import JWKRegistry
    from werkzeug.serving import make_server

    loose = MemoryBackend.do_query

    def strict(self, model, *args, **wanted):
        """The memory backend matches any one attribute, so it would return another code of the same client."""
        found = loose(self, model, *args, **wanted)
        if "code" in wanted:
            found = [item for item in found if item.code == wanted["code"]]
        return found

    MemoryBackend.do_query = strict
    port = int(os.environ.get("PROVIDER_PORT") or free_port())
    key = JWKRegistry.generate_key("RSA", 2048)
    key.ensure_kid()
    app = create_app(
        config={
            "SECRET_KEY": secrets.token_hex(16), "ENV_FILE": None, "PREFERRED_URL_SCHEME": "http",
            "SERVER_NAME": f"127.0.0.1:{port}",
            "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False, "HTMX": False,
                         "CAPTCHA_ENABLED": False, "SMTP": None,
                         "ACL": {"DEFAULT": {"PERMISSIONS": ["use_oidc", "edit_self"]}}},
            "CANAILLE_OIDC": {"ACTIVE_JWKS": [key.as_dict(private=True)], "REQUIRE_NONCE": False},
        },
        init_backend=True)
    with app.app_context():
        backend = Backend.instance
        backend.save(models.User(
            user_name="alice", given_name="Alice", family_name="Liddell",
            formatted_name="Alice Liddell", emails=["alice@example.com"],
            password="alice-password"))
        for number in range(1, int(os.environ.get("PROVIDER_PEOPLE", "0")) + 1):
            name = f"person{number}"
            backend.save(models.User(
                user_name=name, given_name="Person", family_name=str(number),
                formatted_name=f"Person {number}", emails=[f"{name}@example.com"],
                password=f"{name}-password"))
        backend.save(models.Client(
            client_id=CLIENT, client_secret=SECRET, client_name="Test",
            client_uri=f"http://127.0.0.1:{port}", redirect_uris=[CALLBACK, *redirects],
            grant_types=["authorization_code"], response_types=["code"],
            scope=["openid", "profile", "email"], token_endpoint_auth_method="client_secret_basic",
            id_token_signed_response_alg="RS256",
            client_id_issued_at=datetime.datetime.now(datetime.timezone.utc)))
        client = backend.query(models.Client, client_id=CLIENT)[0]
        backend.update(client, audience=[client])
        backend.save(client)
    server = make_server("127.0.0.1", port, app, threaded=True)
    print(f"http://127.0.0.1:{port}", flush=True)
    server.serve_forever()


def authorize(url, person="alice"):
    """Signs the person in and consents; returns the address of the redirect."""
    import httpx

    http = httpx.Client(follow_redirects=False, timeout=20, trust_env=False)
    callback = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))["redirect_uri"]
    page = http.get(url)
    for _ in range(12):
        if page.status_code in (301, 302, 303, 307):
            # The scheme alone identifies an app; some write app:///x as app:/x.
            way = callback if callback.startswith("http") else callback.split(":")[0] + ":"
            if page.headers["location"].startswith(way):
                return page.headers["location"]
            url = urllib.parse.urljoin(url, page.headers["location"])
            page = http.get(url)
            continue
        data = {name: html.unescape(value) for name, value in re.findall(
            r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text)}
        data |= {name: html.unescape(value) for value, name in re.findall(
            r'<input[^>]*value="([^"]*)"[^>]*name="([^"]+)"', page.text)}
        names = set(re.findall(r'name="([^"]+)"', page.text))
        for name in names & {"login", "sub", "username"}:
            data[name] = person
        if "password" in names:
            data["password"] = f"{person}-password"
        if "answer" in names:
            data["answer"] = "accept"
        page = http.post(url, data=data)
    raise SystemExit(f"{page.status_code} {page.text[:2000]}")


def redeem(issuer, code, redirect, verifier):
    import httpx

    document = httpx.get(issuer + "/.well-known/openid-configuration").json()
    return httpx.post(document["token_endpoint"], auth=(CLIENT, SECRET), timeout=20, data={
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
        "code_verifier": verifier}).json()


def challenge(verifier):
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def request(issuer, redirect, state, verifier):
    """The authorization URL of an app that is the provider's own client."""
    import httpx

    document = httpx.get(issuer + "/.well-known/openid-configuration").json()
    return document["authorization_endpoint"] + "?" + urllib.parse.urlencode({
        "client_id": CLIENT, "response_type": "code", "redirect_uri": redirect,
        "scope": "openid profile email", "state": state, "nonce": secrets.token_urlsafe(8),
        "code_challenge": challenge(verifier), "code_challenge_method": "S256"})


def tokens(issuer, redirect=CALLBACK, person="alice"):
    """The tokens of an app that signs its user in without Gatehouse."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(8)
    url = authorize(request(issuer, redirect, state, verifier), person)
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert answer["state"] == state, answer
    return redeem(issuer, answer["code"], redirect, verifier)


if __name__ == "__main__":
    usage.answer(__doc__)
    if sys.argv[1] == "serve":
        serve(sys.argv[2:])
    elif sys.argv[1] == "authorize":
        print(authorize(*sys.argv[2:]))
    else:
        print(json.dumps(tokens(*sys.argv[2:])))
