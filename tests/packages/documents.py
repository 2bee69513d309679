"""Every field of each document is in its dataclass, with the same value. Argument: the folder with the documents."""
import dataclasses
import json
import pathlib
import sys

import firstbyte


def same(read, value, place):
    if dataclasses.is_dataclass(read):
        for key, inner in value.items():
            name = key if hasattr(read, key) else f"{key}_"
            assert hasattr(read, name), f"{place}: {type(read).__name__} has no `{key}`"
            same(getattr(read, name), inner, f"{place}.{key}")
    elif isinstance(value, dict):
        assert read.keys() == value.keys(), place
        for key, inner in value.items():
            same(read[key], inner, f"{place}.{key}")
    elif isinstance(value, list):
        assert len(read) == len(value), place
        for number, inner in enumerate(value):
            same(read[number], inner, f"{place}[{number}]")
    else:
        assert read == value and type(read) is type(value), f"{place}: {read!r}, {value!r}"


for path in pathlib.Path(sys.argv[1]).glob("*.json"):
    document = firstbyte.read(path)
    assert dataclasses.is_dataclass(document), path
    same(document, json.loads(path.read_text()), path.name)
    print(document.kind)
