"""The names of runtime events: as they stand on the wire, and their older aliases."""

from collections.abc import Iterable
from typing import Final

LEGACY: Final = {
    "turn_start": "agent.turn.start",
    "turn_end": "agent.turn.end",
    "llm_request": "agent.llm.request",
    "llm_delta": "agent.llm.delta",
    "llm_response": "agent.llm.response",
    "llm_retry": "agent.llm.retry",
    "context_compress": "agent.context.compress",
    "session_summarize": "agent.session.summarize",
    "tool_exec_start": "agent.tool.exec_start",
    "tool_exec_end": "agent.tool.exec_end",
    "tool_exec_skipped": "agent.tool.exec_skipped",
    "steering_injected": "agent.steering.injected",
    "follow_up_queued": "agent.follow_up.queued",
    "interrupt_received": "agent.interrupt.received",
    "subturn_spawn": "agent.subturn.spawn",
    "subturn_end": "agent.subturn.end",
    "subturn_result_delivered": "agent.subturn.result_delivered",
    "subturn_orphan": "agent.subturn.orphan",
    "error": "agent.error",
}
"""Alias → kind, for configurations and hooks written against `hook.event`."""

ALIAS_OF: Final = {kind: alias for alias, kind in LEGACY.items()}

_OF_OTHER_PARTS: Final = (
    "channel.lifecycle.initialized",
    "channel.lifecycle.started",
    "channel.lifecycle.start_failed",
    "channel.lifecycle.stopped",
    "channel.webhook.registered",
    "channel.webhook.unregistered",
    "channel.message.outbound_queued",
    "channel.message.outbound_sent",
    "channel.message.outbound_failed",
    "channel.rate_limited",
    "bus.publish.failed",
    "bus.close.started",
    "bus.close.drained",
    "bus.close.completed",
    "gateway.start",
    "gateway.ready",
    "gateway.shutdown",
    "gateway.reload.started",
    "gateway.reload.completed",
    "gateway.reload.failed",
    "mcp.server.connecting",
    "mcp.server.connected",
    "mcp.server.failed",
    "mcp.tool.discovered",
    "mcp.tool.call.start",
    "mcp.tool.call.end",
)

KINDS: Final = frozenset((*LEGACY.values(), *_OF_OTHER_PARTS))
"""Every kind that a configuration may name; which of them are ever sent here, docs/process-hooks.md says."""

_EVERYTHING: Final = frozenset(("", "*", "all"))


class UnknownEvent(ValueError):
    """`observe` names an event that there is not."""


def observed(names: Iterable[str]) -> frozenset[str]:
    """The kinds that `observe` asks for, aliases resolved; KINDS for `*`, `all` or an empty name.

    Read from left to right: what stands behind a `*` is not looked at. Raises
    UnknownEvent, whose text is the name.
    """
    kinds = set[str]()
    for name in names:
        if name in _EVERYTHING:
            return KINDS
        kind = LEGACY.get(name, name)
        if kind not in KINDS:
            raise UnknownEvent(name)
        kinds.add(kind)
    return frozenset(kinds)
