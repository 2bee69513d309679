#!/usr/bin/env python3
"""Rewrites result files compactly: one line for each key and for each element of a list at the top. `measurements`,
which has the samples of `phases` once more for the scripts of hyperfine, is left out."""
import json
import sys


def line(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def member(key, value):
    if isinstance(value, list) and value:
        rows = ",\n".join(line(element) for element in value)
        return f"{line(key)}:[\n{rows}\n]"
    return f"{line(key)}:{line(value)}"


def compact(document):
    if isinstance(document, list):
        return "[\n" + ",\n".join(map(line, document)) + "\n]\n"
    return "{\n" + ",\n".join(member(key, value) for key, value in document.items()) + "\n}\n"


def without_measurements(document):
    results = document.get("results", []) if isinstance(document, dict) else []
    for result in results:
        if isinstance(result, dict) and "phases" in result:
            result.pop("measurements", None)
    return document


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        document = without_measurements(json.load(file))
    text = compact(document)
    assert json.loads(text) == document, path
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
