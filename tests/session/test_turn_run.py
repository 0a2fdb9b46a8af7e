"""server/session/turn_run.py as the channel of its agent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from server.accounts.principal import Principal
from server.agent.chunks import ChunkChannel, LLMChunk
from server.session.outbox import Outbox, OutboxLimits
from server.session.session import Session
from tests.session.fakes import FakeAgent, SessionHarness

LONG = 600
"""Characters: more than are written at once."""


class WorkingAgent(FakeAgent):
    """An agent that does some work with its channel; `is_done` when that has returned."""

    def __init__(self, work: Callable[[ChunkChannel], Awaitable[None]]) -> None:
        super().__init__()
        self._work = work
        self.is_done = asyncio.Event()

    async def answer(self, *_: Any, out: ChunkChannel, **__: Any) -> None:
        await self._work(out)
        self.is_done.set()


async def test_a_time_limit_around_a_put_strikes_in_the_agent_while_its_client_does_not_read() -> None:
    log = []

    async def work(out: ChunkChannel) -> None:
        try:
            async with asyncio.timeout(0):
                await out.put(LLMChunk(text="Hi."))
        except TimeoutError:
            log.append("too late")

    agent = WorkingAgent(work)
    harness = SessionHarness(agent)
    full = Outbox(harness.socket, harness.metrics, OutboxLimits(high_frames=1))  # nothing empties it
    session = Session(harness.services, full, principal=Principal("127.0.0.1", is_local=True))
    session.receive_text(b'{"type":"chat","messages":[{"role":"user","content":"hi"}]}')

    await agent.is_done.wait()
    await session.aclose()

    assert log == ["too late"]


async def test_what_a_task_of_the_agent_puts_leaves_together() -> None:
    async def work(out: ChunkChannel) -> None:
        async with asyncio.TaskGroup() as tasks:
            for letter in "ab":
                tasks.create_task(out.put(LLMChunk(text=letter * LONG)))

    async with SessionHarness(WorkingAgent(work)) as harness:
        harness.chat()
        end = await harness.until("turn_end")

    shown = "".join(frame["delta"] for frame in harness.frames if frame["type"] == "text")
    assert (end["reason"], shown) == ("completed", "a" * LONG + "b" * LONG)
