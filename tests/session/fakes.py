"""A scripted agent and a client without a socket."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Self

from server import config
from server.accounts.principal import Principal
from server.agent.agent_client import TurnOptions
from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven, ToolStarted, TraceEvent
from server.approval.broker import ApprovalBroker
from server.llm.language_model import Message, ModelInfo, Usage
from server.metrics import Metrics
from server.session.chat_handler import ChatHandler
from server.session.outbox import Kind, Outbox
from server.session.services import Services
from server.session.session import Session
from server.session.turn_limits import TurnGate
from server.speech.service import SpeechService
from server.speech.stt import NoRecognizer
from server.speech.tts import NoSynthesizer
from server.tools.tool_calls import ToolOutcome
from skills_engine import HookInfo, HookState, Signer, SkillsSnapshot
from skills_engine.diagnostics import SkillTestReport
from tests.support.approvals import memory_broker

Frame = dict[str, Any]
SIGNER = Signer([b"one key of these tests"])


class Pause:
    """The agent stops here until `resume`; `reached` tells that it has come so far."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.resume = asyncio.Event()


class Yield:
    """Others run once."""


Step = LLMChunk | BaseException | Pause | Yield


@dataclass
class AskedTurn:
    messages: list[Message]
    hooks: list[HookInfo]
    options: TurnOptions
    is_closed: bool = False


@dataclass
class FakeAgent:
    """Plays one list of steps for each turn; the last list is played again and again."""

    turns: list[list[Step]] = field(default_factory=list)
    asked: list[AskedTurn] = field(default_factory=list)
    catalog_budget_tokens: int = 100
    does_prefill: bool = True
    tool_names: Sequence[str] = ("read_file",)
    read: list[tuple[list[Message], str]] = field(default_factory=list)
    """The prefills it was asked for: history and words."""

    def prefill(self, messages: Sequence[Message], question: str, *, options: TurnOptions) -> None:
        self.read.append((list(messages), question))

    async def answer(
        self,
        messages: Sequence[Message],
        hooks: Sequence[HookInfo],
        *,
        out: ChunkChannel,
        options: TurnOptions,
    ) -> None:
        async with aclosing(self.chat_stream(messages, hooks, options=options)) as chunks:
            async for chunk in chunks:
                await out.put(chunk)

    async def chat_stream(
        self, messages: Sequence[Message], hooks: Sequence[HookInfo], *, options: TurnOptions
    ) -> AsyncGenerator[LLMChunk, None]:
        asked = AskedTurn(list(messages), list(hooks), options)
        self.asked.append(asked)
        steps = self.turns[min(len(self.asked), len(self.turns)) - 1]
        try:
            for step in steps:
                match step:
                    case LLMChunk():
                        yield step
                    case Pause():
                        step.reached.set()
                        await step.resume.wait()
                    case Yield():
                        await asyncio.sleep(0)
                    case BaseException():
                        raise step
        finally:
            asked.is_closed = True


SOUND = "(sound)"
"""The type that a binary message gets in the list of frames."""


class RecordingSocket:
    """Takes everything at once and reads the frames."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.closed: tuple[int, str] | None = None
        self.news = asyncio.Event()

    async def send(self, kind: Kind, data: bytes) -> None:
        assert kind in (Kind.TEXT, Kind.BINARY)
        self.frames.append(json.loads(data) if kind is Kind.TEXT else {"type": SOUND, "bytes": len(data)})
        self.news.set()

    def unsent_bytes(self) -> int:
        return 0

    async def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)


class SessionHarness:
    """A session on one side, a client's voice on the other."""

    def __init__(
        self,
        agent: FakeAgent,
        *,
        snapshot: SkillsSnapshot | None = None,
        limits: config.LimitsSettings | None = None,
        security: config.SecuritySettings | None = None,
        is_local: bool = True,
        principal: Principal | None = None,
        gate: TurnGate | None = None,
        model_ready: asyncio.Event | None = None,
        speech: SpeechService | None = None,
        approvals: ApprovalBroker | None = None,
        handler: type[ChatHandler] = ChatHandler,
        skill_tests: Mapping[str, SkillTestReport] | None = None,
    ) -> None:
        self.limits = limits or config.LimitsSettings()
        self.metrics = Metrics()
        self.gate = gate or TurnGate(self.limits.turns, self.metrics)
        self.snapshot = snapshot or SkillsSnapshot()
        self.model_ready = model_ready
        self.ended: list[str] = []
        self.skipped_s = 0.0  # time that nobody has waited for
        answering = handler(
            agent,
            verify=lambda sig, *_: sig == "genuine",
            limits=self.limits,
            model_ready=self._wait_for_model,
        )
        self.services = Services(
            handler=answering,
            skills=self,
            sign_state=lambda state: state.signed(SIGNER),
            read_state=lambda text: HookState.read(text, SIGNER),
            sign=lambda skill, name, _role, _content: f"sig of {skill}/{name}",
            gate=self.gate,
            metrics=self.metrics,
            limits=self.limits,
            security=security or config.SecuritySettings(),
            model=lambda: ModelInfo(name="fake", host="nowhere", location="local"),
            speech=speech or SpeechService(NoRecognizer(), NoSynthesizer(), None),
            broker=approvals or memory_broker(),
            skill_tests=lambda: skill_tests or {},
            now_s=lambda: asyncio.get_running_loop().time() + self.skipped_s,
        )
        self.socket = RecordingSocket()
        self.outbox = Outbox(self.socket, self.metrics)
        self.session = Session(
            self.services,
            self.outbox,
            principal=principal or Principal("127.0.0.1", is_local, is_operator=is_local),
            on_turn_over=lambda: self.ended.append("over"),
        )
        self._writer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self.outbox.run(), name="writer")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()
        self.outbox.abandon()
        assert self._writer is not None
        await self._writer

    @property
    def current(self) -> SkillsSnapshot:
        """The skills in force (Skills)."""
        return self.snapshot

    @property
    def frames(self) -> list[Frame]:
        return self.socket.frames

    def send(self, type_: str, **fields: Any) -> None:
        self.session.receive_text(json.dumps({"type": type_, **fields}).encode())

    def chat(self, text: str = "hi", *, history: list[Frame] | None = None, **fields: Any) -> None:
        self.send("chat", messages=[*(history or []), {"role": "user", "content": text}], **fields)

    async def until(self, type_: str, count: int = 1) -> Frame:
        """The frame of this type that comes as number `count`, from the beginning."""
        while True:
            found = [frame for frame in self.frames if frame["type"] == type_]
            if len(found) >= count:
                return found[count - 1]
            self.socket.news.clear()
            await self.socket.news.wait()

    async def flushed(self) -> list[Frame]:
        """Everything that was said until now."""
        self.send("ping", t="flush")
        await self.until("pong", sum(frame["type"] == "pong" for frame in self.frames) + 1)
        return [frame for frame in self.frames if frame["type"] != "pong"]

    async def _wait_for_model(self) -> None:
        if self.model_ready is not None:
            await self.model_ready.wait()


def say(*texts: str) -> list[Step]:
    """A plain reply."""
    return [LLMChunk(model_request=True), *(LLMChunk(text=text) for text in texts), LLMChunk(reply_end=True)]


def call(id_: str, name: str = "read_file", arguments: Any = None) -> LLMChunk:
    return LLMChunk(tool_call=ToolStarted(id_, name, arguments or {}))


def result(id_: str, name: str = "read_file", content: str = "ok") -> LLMChunk:
    return LLMChunk(tool_result=ToolOutcome(id=id_, name=name, content=content, is_error=False, duration_ms=1.5))


def hook(name: str = "h") -> LLMChunk:
    fired = {"name": name, "role": "system", "content": "Be brief.", "skill": "s", "timing": "after_user_input"}
    return LLMChunk(hook=fired)


def notice(code: str = "c") -> LLMChunk:
    return LLMChunk(notice=NoticeGiven(code, "info", "text"))


def trace(event: str = "model_call") -> LLMChunk:
    return LLMChunk(trace=TraceEvent(event, {"call": 1}))


def used(tokens: int) -> LLMChunk:
    return LLMChunk(usage=Usage(tokens, tokens, tokens))


def kinds(frames: list[Frame]) -> list[str]:
    return [frame["type"] for frame in frames]
