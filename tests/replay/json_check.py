#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""json_check.py SCHEMA FILE: each line of FILE is an object that the schema of espy --json describes. Exit status 77 without jsonschema.
json_check.py SCHEMA -: requests come in lines of standard input, `valid FILE` or `value FILE EXPRESSION` with tabs between. The answer
is what the check prints, or the value of the expression on `events`, and a last line: a dot and the status.

Objects of one shape are checked once: the shape is what is left when text and numbers that the schema does not tell apart are put
out of sight. So thousands of calls take seconds.
"""
import json
import re
import sys

try:
    import jsonschema
except ImportError:
    print("SKIP: python3 has no module jsonschema (tools/deps compare)")
    sys.exit(77)

KEPT = {"kind", "$", "abi", "format", "why", "reason", "injected"}
NAMES = {"error", "signal", "killed", "stopped", "addr", "ip", "base64", "time"}


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key stands twice: " + ", ".join(sorted(k for k, _ in pairs)))
    return members


def shape(value, key=""):
    if isinstance(value, dict):
        return "{" + ",".join(k + ":" + shape(v, k) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(sorted({shape(v, key) for v in value})) + "]"
    if isinstance(value, str):
        if key in KEPT:
            return repr(value)
        if key in NAMES:
            return re.sub("[a-z0-9A-Z_]+", "x", value[:2]) + re.sub("[a-z0-9A-Z_]", "", value)
        return "digits" if re.fullmatch("-?[0-9]{16,20}", value) else "text"
    if isinstance(value, bool) or value is None:
        return str(value)
    return "-n" if value < 0 else "N" if value > 2**53 - 1 else "n"


def check(validator, path):
    seen, bad, count = set(), 0, 0
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            count += 1
            try:
                event = json.loads(line, object_pairs_hook=unique)
                s = shape(event)
                if s not in seen:
                    seen.add(s)
                    error = jsonschema.exceptions.best_match(validator.iter_errors(event))
                    if error:
                        raise ValueError("/".join(map(str, error.absolute_path)) + ": " + error.message)
            except ValueError as e:
                bad += 1
                if bad <= 5:
                    print(f"{path}:{number}: {str(e)[:300]}\n  {line[:300].rstrip()}")
    print(f"{count} lines, {len(seen)} shapes, {bad} bad")
    return 1 if bad or not count else 0


def value(path, expression):
    with open(path, encoding="utf-8") as f:
        events = [json.loads(line) for line in f]

    def kind(k):
        return [e for e in events if e["kind"] == k]

    def calls(name, **members):
        return [e for e in kind("call") if e["name"] == name and all(e[k] == v for k, v in members.items())]

    print(eval(expression, {"events": events, "kind": kind, "calls": calls}))
    return 0


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    if sys.argv[2] != "-":
        return check(validator, sys.argv[2])
    for line in sys.stdin:
        what, *words = line.rstrip("\n").split("\t")
        try:
            status = value(*words) if what == "value" else check(validator, *words)
        except Exception as e:
            print(f"{type(e).__name__}: {e}")
            status = 1
        print(f".{status}", flush=True)
    return 0


sys.exit(main())
