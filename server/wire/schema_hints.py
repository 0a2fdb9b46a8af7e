"""The problem that msgspec finds in a document, and hints from its schema: the keys and values that may stand there. Pure."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

_AT = re.compile(
    r"^(?P<problem>.*) - at (?:`key` in )?`\$(?P<path>.*)`$", re.DOTALL
)  # greedy: the problem may quote one
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.?([^.\[\]]+)")


def problem_and_path(error: str) -> tuple[str, str]:
    """Split the text of a ValidationError into what is wrong, and where below `$`. Both may quote the document at length."""
    at = _AT.search(error)
    return (at["problem"], at["path"]) if at else (error, "")


def wrong_key(values: Mapping[str, object], kind: Any) -> str:
    """Return the first key whose value is wrong in an object of this type: msgspec writes `[...]` in its place."""
    keys = list(values)
    while len(keys) > 1:  # as an object may have very many
        half = len(keys) // 2
        try:
            msgspec.convert({key: values[key] for key in keys[:half]}, kind)
            keys = keys[half:]
        except msgspec.ValidationError:
            keys = keys[:half]
    return keys[0]


def keys_at(kind: Any, path: str) -> list[str]:
    """Return the keys of the object at `path` (as msgspec writes it, without the `$`); [] where any key may stand."""
    structs = [node for node in types_at(kind, path) if isinstance(node, inspect.StructType)]
    return sorted({field.encode_name for node in structs for field in node.fields})


def values_at(kind: Any, path: str) -> list[str]:
    literals = [node for node in types_at(kind, path) if isinstance(node, inspect.LiteralType)]
    return [str(value) for node in literals for value in node.values]


def has_keys_at(kind: Any, keys: Sequence[str]) -> bool:
    """Return whether an object may stand where `keys` lead (list indexes too); False where anything may stand."""
    return any(isinstance(node, inspect.StructType | inspect.DictType) for node in types_at(kind, keys))


def types_at(kind: Any, path: str | Sequence[str]) -> list[inspect.Type]:
    """Return the types that may stand at `path`: msgspec's, without the `$`, or the keys and list indexes that lead there."""
    steps = _STEP.findall(path) if isinstance(path, str) else [(key, key) for key in path]
    nodes = _either(_type_info(kind))
    for index, key in steps:
        nodes = [inner for node in nodes for inner in _inside(node, index, key)]
    return nodes


_type_info = cache(inspect.type_info)


def _inside(node: inspect.Type, index: str, key: str) -> list[inspect.Type]:
    match node:
        case inspect.StructType() if key:
            return [inner for field in node.fields if field.encode_name == key for inner in _either(field.type)]
        case inspect.ListType() if index:
            return _either(node.item_type)
        case inspect.DictType() if key or index == "...":
            return _either(node.value_type)
    return []


def _either(node: inspect.Type) -> list[inspect.Type]:
    """Return the types that a type stands for, without the unions and constraints around them."""
    if isinstance(node, inspect.Metadata):
        return _either(node.type)
    if isinstance(node, inspect.UnionType):
        return [inner for each in node.types for inner in _either(each)]
    return [node]
