#!/usr/bin/env python3
"""Prints the types of the API's answers for the check of the console's types, from the description of a running server.

    deploy/lib/console/answers.py http://localhost:8080/openapi.json > deploy/lib/console/answers.d.ts

A browser test compares the file with the description.
"""
import json
import sys
import urllib.request

HEAD = "// The answers of the API. Written by answers.py from /openapi.json: do not edit.\n\ndeclare namespace API {\n"
WIDTH = 120


def named(schema):
    return schema["$ref"].rpartition("/")[2]


def type_of(schema):
    if "$ref" in schema:
        return named(schema)
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " | ".join(dict.fromkeys(map(type_of, schema[several])))
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(one) for one in schema.get("enum", [schema.get("const")]))
    kinds = schema.get("type", [])
    if "x-extensible-enum" in schema:
        texts = [json.dumps(one) for one in schema["x-extensible-enum"]]
        return " | ".join(texts + ["null"] * ("null" in kinds))
    return " | ".join(dict.fromkeys(of_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds))) or "any"


def of_kind(kind, schema):
    if kind == "object":
        if "properties" in schema:
            return "{ " + ", ".join(members(schema)) + " }"
        more = schema.get("additionalProperties")
        return f"Record<string, {type_of(more) if isinstance(more, dict) else 'any'}>"
    if kind == "array":
        one = type_of(schema.get("items", {}))
        return f"({one})[]" if "|" in one else f"{one}[]"
    return {"integer": "number"}.get(kind, kind)


def members(schema):
    required = schema.get("required", [])
    return [f"{name}{'' if name in required else '?'}: {type_of(one)}" for name, one in schema["properties"].items()]


def references(value):
    """The names of the schemas that a part of the description leads to."""
    if isinstance(value, dict):
        if "$ref" in value and "/schemas/" in value["$ref"]:
            yield named(value)
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def answered(description):
    """The schemas of all good answers, and those that they are made of."""
    schemas = description["components"]["schemas"]
    waiting = [name for path in description["paths"].values() for operation in path.values() if "responses" in operation
               for status, answer in operation["responses"].items() if status.startswith("2") for name in references(answer)]
    found = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += references(schemas[name])
    return {name: schemas[name] for name in sorted(found)}


def declared(name, schema):
    if "properties" not in schema:
        return f"    type {name} = {type_of(schema)}\n"
    lines, line = [], ""
    for member in members(schema):
        if line and len(line) + len(member) + 10 > WIDTH:
            lines.append(line)
            line = ""
        line += (", " if line else "") + member
    body = ",\n        ".join([*lines, line])
    one = f"    type {name} = {{ {body} }}\n"
    return one if "\n" not in body and len(one) <= WIDTH else f"    type {name} = {{\n        {body},\n    }}\n"


def types(description):
    return HEAD + "".join(declared(*one) for one in answered(description).items()) + "}\n"


if __name__ == "__main__":
    sys.stdout.write(types(json.load(urllib.request.urlopen(sys.argv[1]))))
