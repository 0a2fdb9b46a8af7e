"""Reads the time stamps that the benchmark's model speaks."""

import re
import time
from dataclasses import dataclass, field

_STAMP = re.compile(r"([rt])(\d+)[ .]")


@dataclass
class Stamps:
    """Milliseconds: from a turn's start to the model's having the request; from a token's writing to here."""

    request_ms: list[float] = field(default_factory=list)
    chunk_ms: list[float] = field(default_factory=list)

    def read(self, text: str, *, started_ns: int) -> None:
        """`text` holds whole stamps; called as soon as it has arrived."""
        now_ns = time.monotonic_ns()
        for kind, stamp in _STAMP.findall(text):
            if kind == "r":
                self.request_ms.append((int(stamp) - started_ns) / 1e6)
            else:
                self.chunk_ms.append((now_ns - int(stamp)) / 1e6)
