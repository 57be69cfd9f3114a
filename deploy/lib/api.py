#!/usr/bin/env python3
"""Prints a digest of each operation, schema and header field of the API. Their texts do not count.

    deploy/lib/api.py http://localhost:8080/openapi.json > deploy/lib/api.json     when a version is released

deploy/lib/api.json is the last version's. A test compares it with the server's own: what differs is named in the newest
chapter of deploy/docs/api-changes.md.
"""
import hashlib, json, pathlib, re, sys, urllib.request

LAST = pathlib.Path(__file__).resolve().parent / "api.json"
CHANGES = pathlib.Path(__file__).resolve().parents[1] / "docs/api-changes.md"
TEXTS = {"summary", "description", "title", "example"}
# The names in these objects are the API's own.
NAMES = {"properties", "paths", "schemas", "responses", "parameters", "headers", "content", "callbacks", "links",
         "requestBodies", "securitySchemes", "examples", "webhooks", "mapping", "scopes"}


def contract(node, are_names=False):
    """The document without its texts."""
    if isinstance(node, list):
        return [contract(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {name: contract(value, not are_names and name in NAMES)
            for name, value in node.items() if are_names or name not in TEXTS}


def units(document):
    """The digests of the parts of a contract by the names that the changelog uses: operations, schemas, header fields."""
    whole = contract(document)
    found = {}
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            found[operation.pop("operationId")] = {"path": path, "method": method, **operation}
    for kind in whole["components"].values():
        found.update(kind)
    return {name: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
            for name, part in sorted(found.items())}


def unnamed(old, new, changes):
    """The parts that differ, and that the newest chapter of the changelog does not name in backquotes."""
    newest = changes.split("\n## ")[1] if "\n## " in changes else ""
    names = set(re.findall(r"`([^`]+)`", newest))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name) and name not in names)


if __name__ == "__main__":
    print(json.dumps(units(json.load(urllib.request.urlopen(sys.argv[1]))), indent=0))
