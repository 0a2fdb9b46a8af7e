"""One tool call, as the rules look at it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from server.policy.danger.lexicon.meanings import key_of, meanings

_MAX_LEAVES: Final = 200
_CONDITIONS: Final = frozenset("filter where match projection sort".split())
"""What stands below these says which ones are meant, not what is done."""


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    words: tuple[str, ...]
    """Of the tool's name, in English."""
    given: Mapping[str, Any]
    """The arguments; names of other languages in English."""
    leaves: tuple[tuple[str, Any], ...]
    """Every text, number and list of texts with the name it stands under; a bounded number of them."""

    texts: tuple[tuple[str, str], ...]
    """The leaves that are texts, those of lists too."""


def call_of(tool: str, arguments: Any) -> Call:
    given = _in_english(arguments) if isinstance(arguments, Mapping) else {"input": arguments}
    leaves = tuple(_leaves(given))
    return Call(tool, meanings(tool), given, leaves, tuple(_texts(leaves)))


def _in_english(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Where two names mean the same, the second stays as it is."""
    read: dict[str, Any] = {}
    for name, value in given.items():
        key = key_of(str(name))
        read[key if key not in read else str(name)] = value
    return read


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    count = 0
    stack: list[tuple[str, Any]] = [("", value)]
    while stack and count < _MAX_LEAVES:
        name, item = stack.pop()
        count += 1
        if isinstance(item, str):
            yield name, item
        elif isinstance(item, Mapping):
            inner = [(key_of(str(k)), v) for k, v in item.items()]
            stack.extend(reversed([(k, v) for k, v in inner if k not in _CONDITIONS or not isinstance(v, Mapping)]))
        elif isinstance(item, list) and any(isinstance(v, (Mapping, list)) for v in item):
            stack.extend(reversed([(name, v) for v in item]))
        else:
            yield name, item


def _texts(leaves: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    for key, value in leaves:
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, list):
            yield from ((key, item) for item in value if isinstance(item, str))
