"""The parts of one turn that all steps of its reply work with."""

from dataclasses import dataclass

from server.agent.chunks import ChunkChannel
from server.agent.messages import Conversation
from server.agent.runtime_events import RuntimeEvents
from server.agent.trace import Tracer
from server.hooks.layers import TurnHooks
from server.wire.frames import TurnSettings


@dataclass(frozen=True, kw_only=True)
class TurnContext:
    settings: TurnSettings = TurnSettings()  # noqa: RUF009  # frozen
    out: ChunkChannel
    conversation: Conversation
    hooks: TurnHooks
    tracer: Tracer
    events: RuntimeEvents
