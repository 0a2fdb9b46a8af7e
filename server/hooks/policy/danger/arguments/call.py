"""One tool call, as the rules look at it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from server.hooks.policy.redaction.words import words_of

_MAX_LEAVES: Final = 200


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    words: tuple[str, ...]
    """Of the tool's name."""
    given: Mapping[str, Any]
    leaves: tuple[tuple[str, Any], ...]
    """Every text, number and list of texts with the name it stands under; a bounded number of them."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """The leaves that are texts, those of lists too."""
        for key, value in self.leaves:
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, str):
                    yield key, item


def call_of(tool: str, arguments: Any) -> Call:
    given = arguments if isinstance(arguments, Mapping) else {"input": arguments}
    return Call(tool, words_of(tool), given, tuple(_leaves(given)))


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    count = 0
    stack: list[tuple[str, Any]] = [("", value)]
    while stack and count < _MAX_LEAVES:
        name, item = stack.pop()
        count += 1
        if isinstance(item, Mapping):
            stack.extend(reversed([(str(k), v) for k, v in item.items()]))
        elif isinstance(item, list) and any(isinstance(v, (Mapping, list)) for v in item):
            stack.extend(reversed([(name, v) for v in item]))
        else:
            yield name, item
