"""Counts of how hooks fare, and their health as an operator reads it over REST."""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from server.hooks.stages import Stage

HookState = Literal["starting", "up", "down", "closed"]
"""State of a hook; starting: hook.hello not yet answered; down: not there, tried again later; closed: ended by us."""

_KEPT_CALLS: Final = 512
_MAX_WARNINGS: Final = 64
_MAX_TEXT: Final = 500


class HookCounts(Struct, frozen=True, kw_only=True):
    """Counts of any hook since it was begun."""

    calls: int
    failures: int
    p50_ms: float | None
    """Median of the calls it answered, without the time that humans took."""
    p99_ms: float | None
    events: int
    """Events that it observes, dropped ones included."""
    dropped_events: int
    last_error: str
    """The reason why a start, process or call failed last; it stays when the hook is up again."""
    warnings: dict[str, int]
    """Texts for its author, and how often each was due."""


class HookHealth(HookCounts, frozen=True, kw_only=True):
    """A process hook at one moment."""

    name: str
    state: HookState
    modes: list[str]
    pid: int | None
    restarts: int
    retry_in_s: float | None
    """Time until the hook is tried again, while it is down."""
    gates: list[str]
    """The stages at which it is a gate: what it does not let pass, also because it is down, is denied."""
    armed: bool | None
    """Whether it answered its test calls, or first question, as a gate has to; absent if not yet asked, or no gate."""
    armed_reason: str
    ignored: dict[str, int]
    """Lines of its output that counted for nothing, by reason (server/hooks/process/jsonrpc.py)."""


class BuiltinHealth(HookCounts, frozen=True, kw_only=True):
    """A hook in this process at one moment."""

    name: str
    stages: list[Stage]


class HookStats:
    """Counts since the hook was begun, across restarts. Bounded: the last 512 durations, 64 different warnings."""

    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self.events = 0
        self.dropped_events = 0
        self.ignored = Counter[str]()
        self.warnings = dict[str, int]()
        self.last_error = ""
        self._durations_ms = deque[float](maxlen=_KEPT_CALLS)

    def add_answer(self, took_ms: float) -> None:
        self._durations_ms.append(took_ms)

    def add_failure(self, why: str) -> None:
        self.failures += 1
        self.set_error(why)

    def set_error(self, why: str) -> None:
        """Keep the reason, without counting a failed call."""
        self.last_error = why[:_MAX_TEXT]

    def add_warning(self, text: str) -> bool:
        """Count a warning and return whether its text is new; beyond 64 texts the rest counts as one."""
        text = text[:_MAX_TEXT]
        if text not in self.warnings and len(self.warnings) >= _MAX_WARNINGS:
            text = "further warnings"
        self.warnings[text] = self.warnings.get(text, 0) + 1
        return self.warnings[text] == 1

    def counts(self) -> dict[str, Any]:
        """Return the fields of HookCounts."""
        values = vars(self) | {
            "p50_ms": self.percentile_ms(0.5),
            "p99_ms": self.percentile_ms(0.99),
            "warnings": dict(self.warnings),
        }
        return {name: values[name] for name in HookCounts.__struct_fields__}

    def percentile_ms(self, share: float) -> float | None:
        if not self._durations_ms:
            return None
        ordered = sorted(self._durations_ms)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3)

    def all_ignored(self, now: Mapping[str, int]) -> dict[str, int]:
        return dict(self.ignored + Counter(now))
