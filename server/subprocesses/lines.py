"""Cuts bytes into lines. No I/O; bounded, whatever comes."""

from dataclasses import dataclass
from typing import Final

MAX_LINE_BYTES: Final = 16 << 20
"""Limit of a line without its end, in both directions."""
MAX_PARTS: Final = 100_000
"""Limit of objects and lists in a line of JSON: no other code runs while they are made."""

_HEAD_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class Overlong:
    head: bytes


Line = bytes | bytearray | Overlong


class Lines:
    """Lines without their ends (`\\n`, `\\r\\n`), from bytes in any cuts.

    Holds at most one cut and `max_bytes` of a line that has not ended.
    """

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._cut = b""
        self._at = 0  # of the cut, what lies before it has been given out
        self._held = bytearray()  # of the line that has not ended; empty while is_skipping
        self.is_skipping = False
        """Whether the line that has not ended is over the limit."""

    @property
    def held_bytes(self) -> int:
        return len(self._held) + len(self._cut) - self._at

    def feed(self, cut: bytes) -> None:
        """Take a cut; only after `next` has returned None, so that nothing piles up here."""
        assert self._at == len(self._cut), "lines are still to be taken"
        self._cut, self._at = cut, 0

    def next(self) -> bytes | bytearray | Overlong | None:
        """Return the next line once it is complete. An Overlong comes as soon as the limit is passed."""
        while self._at < len(self._cut):
            start = self._at
            end = self._cut.find(b"\n", start)
            self._at = len(self._cut) if end < 0 else end + 1
            if self.is_skipping:
                self.is_skipping = end < 0
            elif len(self._held) + (self._at if end < 0 else end) - start > self._max_bytes:
                self.is_skipping = end < 0
                return self._overlong(start, self._at if end < 0 else end)
            elif end < 0:
                self._held += memoryview(self._cut)[start:]
            else:
                return self._complete(start, end)
        return None

    def end(self) -> bytes | bytearray | None:
        """Return what stands behind the last line end, at the end of the stream."""
        line, self._held = self._held, bytearray()
        return _chomp(line) if line else None

    def _complete(self, start: int, end: int) -> bytes | bytearray:
        if not self._held:
            return _chomp(self._cut[start:end])
        line, self._held = self._held, bytearray()
        line += self._cut[start:end]
        return _chomp(line)

    def _overlong(self, start: int, end: int) -> Overlong:
        missing = max(0, _HEAD_BYTES - len(self._held))
        head = bytes(self._held[:_HEAD_BYTES]) + self._cut[start : min(end, start + missing)]
        self._held = bytearray()
        return Overlong(head)


def is_overfull(line: bytes | bytearray) -> bool:
    """Return whether a line of JSON may hold more than MAX_PARTS; brackets inside of texts count, too."""
    return len(line) > MAX_PARTS and line.count(b"{") + line.count(b"[") > MAX_PARTS


def _chomp(line: bytes | bytearray) -> bytes | bytearray:
    return line[:-1] if line.endswith(b"\r") else line
