"""From JSON to the dataclasses of `documents`."""
from __future__ import annotations

import dataclasses
import json
import os
import typing
from functools import lru_cache
from typing import Any, Union

from .documents import DOCUMENTS


def read(source: Union[bytes, str, "os.PathLike[str]"]) -> Any:
    """Reads a document of firstbyte: its bytes, or the path of its file.

    The `kind` of the document chooses its class. A document of a kind without a class stays as it is, a dictionary.
    Fields of newer versions are left out; what an older version did not write yet is `None`.
    """
    if isinstance(source, bytes):
        value = json.loads(source)
    else:
        with open(source, "rb") as file:
            value = json.load(file)
    if not isinstance(value, dict) or value.get("kind", "bench") not in DOCUMENTS:
        return value
    return _converted(DOCUMENTS[value.get("kind", "bench")], value)


def _converted(to: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(to), typing.get_args(to)
    if value is None or to is Any:
        return value
    if dataclasses.is_dataclass(to):
        return _filled(to, value)
    if origin is list:
        return [_converted(arguments[0], each) for each in value]
    if origin is dict:
        return {key: _converted(arguments[1], each) for key, each in value.items()}
    if origin is tuple:
        return tuple(_converted(one, each) for one, each in zip(arguments, value))
    if origin is Union and len(arguments) == 2 and arguments[1] is type(None):
        return _converted(arguments[0], value)
    return value


def _filled(to: Any, value: dict[str, Any]) -> Any:
    # A name that Python reserves, such as `from`, ends in an underscore.
    keys = {name: name.rstrip("_") for name in _types(to)}
    filled = {name: _converted(_types(to)[name], value[key]) for name, key in keys.items() if key in value}
    unknown = {one.name: None for one in dataclasses.fields(to) if _is_required(one)}
    return to(**{**unknown, **filled})


def _is_required(one: "dataclasses.Field[Any]") -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


@lru_cache(maxsize=None)
def _types(of: Any) -> dict[str, Any]:
    return typing.get_type_hints(of)
