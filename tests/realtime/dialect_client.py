"""A client of the Realtime dialect before a session without sockets and engines."""

import json
from typing import Any

from server.accounts.principal import Principal
from server.gateway.dialect import ConnectionContext
from server.realtime.realtime_dialect import RealtimeDialect
from server.realtime.translator import RealtimeTranslator
from server.session.outbox import OutboxLimits
from tests.session.fakes import FakeAgent, SessionHarness, say
from tests.session.speech_fakes import FakeRecognizer, speech
from tests.support.realtime_types import Event


class DialectClient(SessionHarness):
    """A client of the Realtime dialect before a session without engines."""

    def __init__(
        self, agent: FakeAgent | None = None, *, recognizer: FakeRecognizer | None = None, **options: Any
    ) -> None:
        self.agent = agent or FakeAgent([say("Well.")])
        super().__init__(self.agent, speech=speech(recognizer or FakeRecognizer("Yes.")), **options)
        context = ConnectionContext(
            socket=self.socket,
            services=self.services,
            principal=Principal("127.0.0.1", is_local=True, is_operator=True),
            outbox_limits=OutboxLimits(),
            on_slow=lambda: None,
            on_turn_over=lambda: self.ended.append("over"),
        )
        self.dialect = RealtimeDialect(context, RealtimeTranslator())
        self.outbox, self.session = self.dialect.outbox, self.dialect.session
        self.session.greet()

    async def say(self, type_: str, **fields: Any) -> None:
        await self.dialect.receive(json.dumps({"type": type_, **fields}).encode(), is_text=True)

    async def respond(self, **wishes: Any) -> Event:
        """Ask for a response and wait for its end."""
        await self.say("response.create", response=wishes)
        return await self.until("response.done", self.count("response.done") + 1)

    def count(self, type_: str) -> int:
        return sum(event["type"] == type_ for event in self.frames)
