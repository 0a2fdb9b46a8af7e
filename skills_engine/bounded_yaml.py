"""YAML whose size, depth and meaning are bounded: texts, numbers, true, false, null, lists and mappings, with their lines.

Words are read as YAML 1.2 does: `no`, `on`, `14:05` and `2026-11-22` are texts. Anchors, aliases and tags are refused.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from skills_engine.front_matter import yaml_problem

MAX_DEPTH = 16

Place = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?(\d{1,18}\.\d{0,18}|\.\d{1,18}|\d{1,18}(?=[eE]))([eE][-+]?\d{1,3})?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class YamlError(Exception):
    """The text is not YAML that can be read; the message names the line and the problem."""


@dataclass
class YamlDocument:
    """A value and the line of each place in it, counted from 1."""

    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)


def read_yaml(text: str) -> YamlDocument:
    """Read one document. Raises YamlError."""
    document = YamlDocument()
    events = iter(yaml.parse(text, Loader=_LOADER))
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if document.lines:
                    raise YamlError(f"{_at(event)}: expected one document; remove this line of ---")
                document.value = _read(next(events), (), events, document.lines)
    except yaml.YAMLError as error:
        raise YamlError(yaml_problem(error)) from error
    except UnicodeError as error:
        raise YamlError("it holds half of a surrogate pair") from error
    return document


def path_of(place: Place) -> str:
    """Return the place as a JSON path."""
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in place)


def _read(event: Any, place: Place, events: Iterator[Any], lines: dict[Place, int]) -> Any:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None or event.tag is not None:
        raise YamlError(f"{_at(event)}: anchors, aliases and tags (& * !) are not allowed; put such a text in quotes")
    if len(place) > MAX_DEPTH:
        raise YamlError(f"{_at(event)}: nested more than {MAX_DEPTH} deep")
    lines.setdefault(place, _line(event))
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_read(item, (*place, len(items)), events, lines))
        return items
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(place, events, lines)
    return _scalar(event.value) if event.implicit[0] else event.value


def _mapping(place: Place, events: Iterator[Any], lines: dict[Place, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise YamlError(f"{_at(key)}: a key must be a text")
        if key.value in found:
            raise YamlError(f"{_at(key)}: `{key.value}` occurs here a second time")
        inner = (*place, key.value)
        lines[inner] = _line(key)
        found[key.value] = _read(next(events), inner, events, lines)
    return found


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _at(event: Any) -> str:
    return f"line {_line(event)}"


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1
