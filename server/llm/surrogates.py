r"""Halves of surrogate pairs, which JSON escapes may tear apart (`"\ud83d"` in one delta, `"\ude00"` in the next). Pure."""

import json
import re
from typing import Any, Final

_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TORN_KEYS: Final = frozenset(("content", "text", "reasoning", "reasoning_content", "refusal", "arguments"))
"""Whose texts go on in a later event."""


def has_surrogates(data: bytes) -> bool:
    """Whether this JSON escapes some, paired or not."""
    return _ESCAPE.search(data) is not None


def joined(text: str) -> str:
    """Halves side by side become their character, others U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def parse_torn(data: bytes) -> Any:
    """JSON that escapes lone halves: they stay at the ends of texts that go on, and are U+FFFD elsewhere.

    Raises ValueError for what is no JSON, and for what is nested too deep.
    """
    try:
        return _joined_within(json.loads(data.decode()), None)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _joined_within(value: Any, key: str | None) -> Any:
    match value:
        case str():
            return _inside_joined(value) if key in _TORN_KEYS else joined(value)
        case list():
            return [_joined_within(item, key) for item in value]
        case dict():
            return {joined(name): _joined_within(item, name) for name, item in value.items()}
    return value


def _inside_joined(text: str) -> str:
    low = text[:1] if _is_low(text[:1]) else ""
    high = text[-1:] if _is_high(text[-1:]) else ""
    return low + joined(text[len(low) : len(text) - len(high)]) + high


class TextJoiner:
    """The deltas of one text in, the same text out: half a character waits for its other half."""

    def __init__(self) -> None:
        self._high = ""

    def feed(self, delta: str) -> str:
        text = self._high + delta
        self._high = text[-1:] if _is_high(text[-1:]) else ""
        return joined(text[: len(text) - len(self._high)])

    def finish(self) -> str:
        """What waited in vain."""
        high, self._high = self._high, ""
        return joined(high)


def _is_high(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"


def _is_low(character: str) -> bool:
    return "\udc00" <= character <= "\udfff"
