"""What is counted of a hook, wherever it runs. No clock: durations come in."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final

_KEPT_CALLS: Final = 512
_MAX_WARNINGS: Final = 64
_MAX_TEXT: Final = 500


class Tally:
    """Counts over all that a hook has lived through. Bounded: the last 512 durations, 64 different warnings."""

    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self.dropped_events = 0
        self.ignored = Counter[str]()
        self.warnings = dict[str, int]()
        self.last_error = ""
        self._took_ms = deque[float](maxlen=_KEPT_CALLS)

    def answered(self, took_ms: float) -> None:
        self._took_ms.append(took_ms)

    def failed(self, why: str) -> None:
        """A call; what keeps the process from living is only noted as `last_error`."""
        self.failures += 1
        self.note(why)

    def note(self, why: str) -> None:
        self.last_error = why[:_MAX_TEXT]

    def warn(self, text: str) -> bool:
        """True: this text is new. Beyond 64 texts the rest is one."""
        text = text[:_MAX_TEXT]
        if text not in self.warnings and len(self.warnings) >= _MAX_WARNINGS:
            text = "further warnings"
        self.warnings[text] = self.warnings.get(text, 0) + 1
        return self.warnings[text] == 1

    def took_ms(self, share: float) -> float | None:
        """The duration that this share of the latest calls did not exceed."""
        if not self._took_ms:
            return None
        ordered = sorted(self._took_ms)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3)

    def all_ignored(self, now: Mapping[str, int]) -> dict[str, int]:
        """Of earlier lives, and of the present one."""
        return dict(self.ignored + Counter(now))
