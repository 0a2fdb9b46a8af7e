"""The parts of one turn that all steps of its reply work with."""

from dataclasses import dataclass, field

from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven, NoticeLevel
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
    given_once: set[str] = field(default_factory=set)
    """Codes of the notices that the turn gives once."""

    async def notify(self, code: str, level: NoticeLevel, message: str, *, once: bool = False) -> None:
        if code in self.given_once:
            return
        if once:
            self.given_once.add(code)
        await self.out.put(LLMChunk(notice=NoticeGiven(code, level, message)))
