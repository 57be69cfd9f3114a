"""Canaille with everything in memory, and a person who signs in there.
serve          listens on a free port of 127.0.0.1 and prints the issuer
token ISSUER   prints an id token of alice for the client gatehouse-test"""
import base64
import datetime
import hashlib
import html
import re
import secrets
import socket
import sys
import urllib.parse

CLIENT, SECRET, CALLBACK = "gatehouse-test", "test-secret", "http://127.0.0.1:9/callback"


def serve():
    from canaille import create_app
    from canaille.app import models
    from canaille.backends import Backend
    from joserfc.jwk import JWKRegistry
    from werkzeug.serving import make_server

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
        backend.save(models.Client(
            client_id=CLIENT, client_secret=SECRET, client_name="Test",
            client_uri=f"http://127.0.0.1:{port}", redirect_uris=[CALLBACK],
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


def token(issuer):
    import httpx

    http = httpx.Client(follow_redirects=False, timeout=10)
    document = http.get(issuer + "/.well-known/openid-configuration").json()
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(8)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
    url = document["authorization_endpoint"] + "?" + urllib.parse.urlencode({
        "client_id": CLIENT, "response_type": "code", "redirect_uri": CALLBACK,
        "scope": "openid profile email", "state": state, "nonce": secrets.token_urlsafe(8),
        "code_challenge": challenge.rstrip(b"=").decode(), "code_challenge_method": "S256"})
    page = http.get(url)
    for _ in range(12):
        if page.status_code in (301, 302, 303, 307):
            url = urllib.parse.urljoin(url, page.headers["location"])
            if url.startswith(CALLBACK):
                break
            page = http.get(url)
            continue
        data = {name: html.unescape(value) for name, value in re.findall(
            r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text)}
        data |= {name: html.unescape(value) for value, name in re.findall(
            r'<input[^>]*value="([^"]*)"[^>]*name="([^"]+)"', page.text)}
        names = set(re.findall(r'name="([^"]+)"', page.text))
        for name in names & {"login", "sub", "username"}:
            data[name] = "alice"
        if "password" in names:
            data["password"] = "alice-password"
        if "answer" in names:
            data["answer"] = "accept"
        page = http.post(url, data=data)
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert answer["state"] == state, answer
    tokens = http.post(document["token_endpoint"], auth=(CLIENT, SECRET), data={
        "grant_type": "authorization_code", "code": answer["code"], "redirect_uri": CALLBACK,
        "code_verifier": verifier}).json()
    print(tokens["id_token"])


if sys.argv[1] == "serve":
    serve()
else:
    token(sys.argv[2])
