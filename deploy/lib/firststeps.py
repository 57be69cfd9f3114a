"""The first steps with a server that was just installed, over HTTP: the owner, a tenant, a key, its verification."""
import http.client, json, re

from room import need

PASSWORD = "a long sentence for the first owner"
CONSOLE = {"X-Gatehouse-Console": "1", "Sec-Fetch-Site": "same-origin"}


def ask(port, method, path, body=None, fields=None, connection=None):
    """The status, the document, the cookie that was set."""
    used = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    data = None if body is None else json.dumps(body)
    kind = {"Content-Type": "application/json"} if data else {}
    used.request(method, path, data, {**kind, **(fields or {})})
    answer = used.getresponse()
    text = answer.read()
    if connection is None:
        used.close()
    document = json.loads(text) if text[:1] == b"{" else None
    return answer.status, document, (answer.headers.get("Set-Cookie") or "").split(";")[0]


def first_key(port, log):
    """The key of a new tenant, which the first owner makes; they come by the link in the server's log."""
    token = re.search(r"/console/setup#token=([^\"\s]+)", log)
    need(token, f"the log has no set-up link: {log}")
    status, _, _ = ask(port, "GET", "/console/")
    need(status == 200, f"the console answers {status}")
    status, answer, cookie = ask(port, "POST", "/v1/setup", {
        "token": token[1], "name": "Ada", "email": "ada@example.org", "password": PASSWORD}, CONSOLE)
    need(status == 201 and cookie, f"set-up: {status} {answer}")
    fields = {**CONSOLE, "Cookie": cookie}
    status, answer, _ = ask(port, "POST", "/v1/tenants", {"slug": "acme", "name": "Acme"}, fields)
    need(status == 201, f"a tenant: {status} {answer}")
    status, answer, _ = ask(port, "POST", "/v1/tenants/acme/api-keys", {"name": "Mail", "scopes": ["smtp"]},
                            fields)
    need(status == 201, f"a key: {status} {answer}")
    return answer["key"]


def verifies(port, key, caller, connection=None):
    """The caller, with a key of its own, asks whether the key is good."""
    status, answer, _ = ask(port, "POST", "/v1/api-keys/verify", {"key": key},
                            {"Authorization": f"Bearer {caller}"}, connection)
    need(status == 200 and answer["valid"] is True, f"verification: {status} {answer}")
