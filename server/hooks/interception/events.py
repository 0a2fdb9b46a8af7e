"""What observers are told: runtime events with the names, casing and envelope of the reference host."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, Literal, Protocol

from server.hooks.interception.event_kinds import ALIAS_OF
from server.hooks.interception.shapes import AGENT_ID, CHANNEL, SOURCE, chat_id_of, context, meta
from server.hooks.interception.stages import Moment
from server.tool_calls import TurnFacts

EventMethod = Literal["hook.runtime_event", "hook.event"]
Severity = Literal["info", "warn", "error"]

_numbers: Final = count(1)  # of the events of this process


@dataclass(frozen=True, kw_only=True, slots=True)
class HookEvent:
    """Something has happened in a turn. Nothing in it may be changed: all observers share it."""

    kind: str
    """Dotted, as in `agent.tool.exec_start`."""
    payload: Mapping[str, Any]
    """With the reference host's field names; durations are whole nanoseconds."""
    at: Moment
    trace_path: str = "turn"
    severity: Severity = "info"
    number: int = field(default_factory=lambda: next(_numbers))
    time_ns: int = field(default_factory=time.time_ns)


class EventTaker(Protocol):
    """A hook as far as events go."""

    @property
    def kinds(self) -> frozenset[str]: ...

    def tell(self, event: HookEvent) -> None:
        """Returns at once."""
        ...


class Events:
    """The events of one turn, for those who observe; without any of them, nothing is built."""

    def __init__(self, takers: Sequence[EventTaker], facts: TurnFacts) -> None:
        self._takers = tuple(taker for taker in takers if taker.kinds)
        self._facts = facts
        self.iteration = 0
        """The round of the agent loop, kept up to date by whoever counts it."""

    def wants(self, kind: str) -> bool:
        """Whether anybody observes this kind: asked before a payload is built."""
        return any(kind in taker.kinds for taker in self._takers)

    def emit(
        self, kind: str, payload: Mapping[str, Any], *, trace_path: str = "turn", severity: Severity = "info"
    ) -> None:
        if not self.wants(kind):
            return
        at = Moment(facts=self._facts, iteration=self.iteration)
        event = HookEvent(kind=kind, payload=payload, at=at, trace_path=trace_path, severity=severity)
        for taker in self._takers:
            if kind in taker.kinds:
                taker.tell(event)


def notification(event: HookEvent, method: EventMethod) -> dict[str, Any]:
    """The `params` of the notification by which a process hook learns of it."""
    return _legacy(event) if method == "hook.event" else _envelope(event)


def _envelope(event: HookEvent) -> dict[str, Any]:
    facts = event.at.facts
    attrs: dict[str, Any] = {"agent_source": SOURCE}
    if event.at.iteration:
        attrs["iteration"] = event.at.iteration
    return {
        "id": f"evt-{event.number}",
        "kind": event.kind,
        "time": _rfc3339(event.time_ns),
        "source": {"component": "agent", "name": AGENT_ID},
        "scope": {
            "agent_id": AGENT_ID,
            "session_key": facts.session_id,
            "turn_id": facts.turn_id,
            "channel": CHANNEL,
            "chat_id": chat_id_of(facts),
            "chat_type": "direct",
            "sender_id": facts.user_id,
        },
        "correlation": {"trace_id": event.trace_path},
        "severity": event.severity,
        "payload": event.payload,
        "attrs": attrs,
    }


def _legacy(event: HookEvent) -> dict[str, Any]:
    """As scripts written before `hook.runtime_event` expect it; `Kind` is the alias, a string."""
    return {
        "Kind": ALIAS_OF.get(event.kind, event.kind),
        "Time": _rfc3339(event.time_ns),
        "Meta": meta(event.at, event.trace_path),
        "Context": context(event.at.facts),
        "Payload": event.payload,
    }


def _rfc3339(time_ns: int) -> str:
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
