"""An agent that asks a human in mid turn, and clients that are asked."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from server import config
from server.agent.agent_client import TurnOptions
from server.agent.chunks import ChunkChannel, LLMChunk
from server.approval.asking import Answer, AskHuman, Question
from server.approval.broker import ApprovalBroker
from server.approval.remembered import RememberedApprovals
from server.llm.language_model import Message
from server.session.chat_handler import ChatHandler
from server.session.settings import TurnRequest
from server.toolguard import Permission
from server.tools.client_tools import ClientTool
from server.tools.tool_calls import TurnFacts
from skills_engine import HookInfo
from tests.session.fakes import FakeAgent, Frame, Pause, SessionHarness
from tests.support.approvals import memory_broker
from tests.support.virtual_loop import VirtualLoop

DONE = LLMChunk(text="Done.")

_ASKED: ContextVar[tuple[TurnRequest, AskHuman]] = ContextVar("asked")


class AskingHandler(ChatHandler):
    """Lets the agent of a turn know whom it may ask."""

    async def answer(
        self,
        request: TurnRequest,
        out: ChunkChannel,
        *,
        ask: AskHuman | None = None,
        tools: Sequence[ClientTool] = (),
    ) -> None:
        assert ask is not None
        _ASKED.set((request, ask))
        await super().answer(request, out, ask=ask, tools=tools)


def ask_human() -> AskHuman:
    """Of the turn that the caller runs in."""
    return _ASKED.get()[1]


def question(
    tool: str = "read_file",
    arguments: Any = None,
    *,
    message: str = "May I?",
    permission: Permission = "READ",
    timeout_s: float | None = None,
    real: Any = None,
) -> Question:
    return Question(
        tool=tool,
        arguments={"path": "a"} if arguments is None else arguments,
        message=message,
        origin="guard",
        permission=permission,
        timeout_s=timeout_s,
        real_arguments=real,
    )


AskStep = Question | list[Question] | LLMChunk | Pause


@dataclass
class AskingAgent(FakeAgent):
    """Asks where a question stands among its steps, a list of them at once, and goes on when all are answered."""

    plans: list[list[AskStep]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    requests: list[TurnRequest] = field(default_factory=list)
    asks: list[AskHuman] = field(default_factory=list)

    async def chat_stream(
        self, messages: Sequence[Message], hooks: Sequence[HookInfo], *, options: TurnOptions
    ) -> AsyncGenerator[LLMChunk, None]:
        request, ask = _ASKED.get()
        self.requests.append(request)
        self.asks.append(ask)
        yield LLMChunk(model_request=True)
        for step in self.plans[min(len(self.requests), len(self.plans)) - 1]:
            match step:
                case LLMChunk():
                    yield step
                case Pause():
                    step.reached.set()
                    await step.resume.wait()
                case Question():
                    self.answers.append(await ask_human().ask(step))
                case list():
                    async with asyncio.TaskGroup() as batch:
                        asked = [batch.create_task(ask_human().ask(each)) for each in step]
                    self.answers += [task.result() for task in asked]

    @property
    def facts(self) -> list[TurnFacts]:
        return [request.facts for request in self.requests]


class Client(SessionHarness):
    """A client whose agent asks. Those that share `broker` and `principal` are one user's."""

    def __init__(
        self,
        *plans: list[AskStep],
        broker: ApprovalBroker | None = None,
        approval: config.ApprovalSettings | None = None,
        remembered: RememberedApprovals | None = None,
        handler: type[ChatHandler] = AskingHandler,
        **options: Any,
    ) -> None:
        self.agent = AskingAgent(plans=[*plans])
        self.approvals = broker or memory_broker(approval, remembered)
        super().__init__(self.agent, approvals=self.approvals, handler=handler, **options)

    async def asked(self, count: int = 1) -> Frame:
        return await self.until("approval_request", count)

    def answer(self, id_: str, *, approved: bool = True, **fields: Any) -> None:
        self.send("approval", id=id_, approved=approved, **fields)

    def of(self, *types: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] in types]

    def resolved(self) -> list[tuple[bool, str]]:
        return [(frame["approved"], frame["by"]) for frame in self.of("approval_resolved")]


def in_virtual_time(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(work)
