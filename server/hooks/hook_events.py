"""Runtime events for observers, named as on the reference host."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from server.hooks.stages import Hook, HookEvent, Severity, StageContext
from server.tool_calls import TurnFacts

_IN_TURNS: Final = """
    agent.turn.start agent.turn.end agent.error
    agent.llm.request agent.llm.delta agent.llm.response agent.llm.retry
    agent.tool.exec_start agent.tool.exec_end agent.tool.exec_skipped
    agent.context.compress agent.session.summarize
    agent.steering.injected agent.follow_up.queued agent.interrupt.received
    agent.subturn.spawn agent.subturn.end agent.subturn.result_delivered agent.subturn.orphan
""".split()
_OUTSIDE_TURNS: Final = """
    channel.lifecycle.initialized channel.lifecycle.started channel.lifecycle.start_failed channel.lifecycle.stopped
    channel.webhook.registered channel.webhook.unregistered channel.rate_limited
    channel.message.outbound_queued channel.message.outbound_sent channel.message.outbound_failed
    bus.publish.failed bus.close.started bus.close.drained bus.close.completed
    gateway.start gateway.ready gateway.shutdown
    gateway.reload.started gateway.reload.completed gateway.reload.failed
    mcp.server.connecting mcp.server.connected mcp.server.failed
    mcp.tool.discovered mcp.tool.call.start mcp.tool.call.end
""".split()

KINDS: Final = frozenset((*_IN_TURNS, *_OUTSIDE_TURNS))
"""Every kind that a configuration may name; docs/process-hooks.md says which are ever sent here."""

ALIAS_OF: Final = {kind: kind.removeprefix("agent.").replace(".", "_") for kind in _IN_TURNS}
"""Kind → its name in configurations and hooks written against `hook.event`, such as `turn_end`."""

LEGACY: Final = {alias: kind for kind, alias in ALIAS_OF.items()}


class UnknownEvent(ValueError):
    """An event in `observe` that there is not; the text is its name."""


def observed_kinds(names: Iterable[str]) -> frozenset[str]:
    """Return the kinds that `observe` asks for, aliases resolved; all for `*`, `all` or an empty name.

    Read from left to right: what stands behind a `*` is not looked at. Raises UnknownEvent.
    """
    kinds = set[str]()
    for name in names:
        if name in ("", "*", "all"):
            return KINDS
        kind = LEGACY.get(name, name)
        if kind not in KINDS:
            raise UnknownEvent(name)
        kinds.add(kind)
    return frozenset(kinds)


class HookEvents:
    """Sends the events of one turn to the hooks that observe them; without any of them, nothing is built."""

    def __init__(self, hooks: Sequence[Hook], facts: TurnFacts) -> None:
        self._observers = tuple(hook for hook in hooks if hook.kinds)
        self._facts = facts
        self.iteration = 0
        """The round of the agent loop, kept up to date by the code that counts it."""

    def wants(self, kind: str) -> bool:
        """Whether anybody observes this kind: asked before a payload is built."""
        return any(kind in hook.kinds for hook in self._observers)

    def emit(
        self, kind: str, payload: Mapping[str, Any], *, trace_path: str = "turn", severity: Severity = "info"
    ) -> None:
        """Send an event to those that observe its kind."""
        if not self.wants(kind):
            return
        at = StageContext(facts=self._facts, iteration=self.iteration)
        event = HookEvent(kind=kind, payload=payload, at=at, trace_path=trace_path, severity=severity)
        for hook in self._observers:
            if kind in hook.kinds:
                hook.send_event(event)
