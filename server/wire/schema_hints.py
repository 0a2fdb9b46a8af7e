"""What msgspec says of a wrong document, and hints from its schema: the keys and values that may stand there. Pure."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec import inspect

_AT = re.compile(r"^(?P<problem>.*) - at `(?:key in )?\$(?P<path>.*)`$", re.DOTALL)  # greedy: the problem may quote one
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.?([^.\[\]]+)")


def problem_and_path(error: str) -> tuple[str, str]:
    """Split the text of a ValidationError into what is wrong, and where below `$`. Both may quote the document at length."""
    at = _AT.search(error)
    return (at["problem"], at["path"]) if at else (error, "")


def keys_at(kind: Any, path: str) -> list[str]:
    """Return the keys of the object at `path` (as msgspec writes it, without the `$`); [] where any key may stand."""
    return sorted(
        {field.encode_name for node in _at(kind, path) if isinstance(node, inspect.StructType) for field in node.fields}
    )


def values_at(kind: Any, path: str) -> list[str]:
    return [str(value) for node in _at(kind, path) if isinstance(node, inspect.LiteralType) for value in node.values]


def has_keys_at(kind: Any, keys: Sequence[str]) -> bool:
    """Return whether an object may stand where `keys` lead (list indexes too); False where anything may stand."""
    steps = [(key, key) for key in keys]
    return any(isinstance(node, inspect.StructType | inspect.DictType) for node in _behind(kind, steps))


def has_type_at(kind: Any, keys: Sequence[str], wanted: type) -> bool:
    """Return whether an object of that class, unknown to msgspec, may stand where `keys` lead."""
    steps = [(key, key) for key in keys]
    return any(isinstance(node, inspect.CustomType) and node.cls is wanted for node in _behind(kind, steps))


def _at(kind: Any, path: str) -> list[inspect.Type]:
    return _behind(kind, _STEP.findall(path))


def _behind(kind: Any, steps: Sequence[tuple[str, str]]) -> list[inspect.Type]:
    """Return the types that may stand behind these steps, each the index in a list, the key of an object, or both."""
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
