"""How a process hook fares, as its operator reads it."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

State = Literal["starting", "up", "down", "closed"]
"""starting: begun, hook.hello not yet answered. down: not there, and tried again later. closed: ended by us."""

_KEPT_CALLS: Final = 512
_MAX_WARNINGS: Final = 64
_MAX_TEXT: Final = 500


class HookHealth(Struct, frozen=True, kw_only=True):
    """One hook at one moment."""

    name: str
    state: State
    modes: list[str]
    pid: int | None
    last_error: str
    """Of the last start, life or failed call; stays when the hook is up again."""
    restarts: int
    retry_in_s: float | None
    """While it is down: until it is tried again."""
    gates: list[str]
    """The stages at which it is a gate: what it does not let pass, also because it is down, is denied."""
    armed: bool | None
    """Of a gate: whether it answered its canary call as a gate has to. None: no gate, or not yet asked."""
    armed_reason: str
    calls: int
    failures: int
    p50_ms: float | None
    p99_ms: float | None
    dropped_events: int
    ignored: dict[str, int]
    """Lines of its output that counted for nothing, by reason (server/hooks/process/jsonrpc.py)."""
    warnings: dict[str, int]
    """What its author should know, and how often it happened."""


class Tally:
    """Counts over all lives of a hook. Bounded: the last 512 durations, 64 different warnings."""

    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self.restarts = 0
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
