"""The arguments of a call, as models write them."""

from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True)
class Arguments:
    """The model's text, read. `problem` says why it is not JSON; then `value` is that text."""

    text: str
    value: Any
    problem: str | None = None

    @property
    def as_json(self) -> str:
        """What a message list may hold: many chat templates fail on anything but an object."""
        return self.text if isinstance(self.value, dict) and self.text.strip() else "{}"


def parse_arguments(text: str) -> Arguments:
    """An empty text means no arguments."""
    if not text.strip():
        return Arguments(text, {})
    try:
        return Arguments(text, msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Arguments(text, text, str(error))
