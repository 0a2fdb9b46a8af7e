"""Keys that are written as lists of numbers: `uint8_t app_key[16] = {0xA1, 0x5C, …}`, `network_key: [17, 204, …]`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from server.policy.redaction.page import Page
from server.policy.redaction.rules.names import Name
from server.policy.redaction.spans import Span

_BYTE: Final = r"(?:0[xX][0-9a-fA-F]{1,2}|\d{1,3}|\$[0-9A-Fa-f]{2})[uU]?"
_LIST: Final = re.compile(
    rf"[\"']?(?:\[\w{{0,16}}\])?\s?[:=]{{1,2}}\s?[\w\[\]<>:&]{{0,24}}[\[({{]\s{{0,16}}(?P<s>{_BYTE}(?:\s?,\s{{0,16}}{_BYTE}){{7,255}}),?\s{{0,16}}[\])}}]"
)
_ORDINARY: Final = re.compile(r"(?:0?[01],\s{0,16}){2}|1,\s{0,16}2,\s{0,16}3,|0,\s{0,16}[12],|\d(?:,\s{0,16}\d)*\Z")
"""Flags, places, counts: a key's first bytes are no 0 and 1 after each other."""
_BEGINS: Final = frozenset("\"'[ :=")


def byte_list_spans(page: Page, names: Sequence[Name]) -> Iterator[Span]:
    """Of at least eight numbers, behind a name."""
    for name in names:
        if (
            page.text[name.end : name.end + 1] in _BEGINS
            and (listed := _LIST.match(page.text, name.end))
            and not _ORDINARY.match(listed["s"])
        ):
            yield Span(listed.start("s"), listed.end("s"), "key_bytes")
