"""What a program as text may hand to a shell."""

from collections.abc import Sequence
from typing import Protocol


class Runner(Protocol):
    """Judges what a program has a shell run: why somebody should be asked, or None."""

    def line(self, text: str) -> str | None: ...

    def argv(self, words: Sequence[str]) -> str | None: ...
