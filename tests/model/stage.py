"""Plays one turn: a model that follows the script, tools that take their time, a record of both."""

import asyncio
import copy
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from server.agent.agent_client import AgentClient, TurnOptions
from server.agent.chunks import LLMChunk
from server.config import AgentSettings as AgentConfig
from server.config import LlmSettings as LlmConfig
from server.config import ToolsSettings as ToolsConfig
from server.errors import ProviderUnreachable, ToolError
from server.llm.language_model import (
    Finished,
    LateSystem,
    Message,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from server.tools.executor import ToolExecutor
from server.tools.registry import Tool, ToolRegistry
from skills_engine import HookInfo
from tests.model.rules import Call, Line, ToolUse, Turn, foresee
from tests.model.scenarios import TOOLS


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """How the model brings one reply: what must make no difference to what is read."""

    is_refused_once: bool = False
    breaks: bool = False
    """After the first event the connection is lost."""
    reasoning: str = ""
    thinks_aloud: bool = False
    need_tag: str = "<need_tool>"
    no_tag: str = ""
    piece: int = 1000
    tool_failure: str = "error"
    """How tools fail that the script lets fail: error, crash or garbled (the arguments are no JSON)."""
    waits: tuple[int, ...] = (0,)
    """How often each tool of a batch gives way before it ends."""


class Broken(AssertionError):
    """The agent asks the model for more than the script foresees."""


@dataclass
class ScriptedModel:
    """Answers call after call as foreseen; says what it was asked, and whether all streams are closed."""

    turn: Turn
    calls: Sequence[Call]
    deliveries: Sequence[Delivery]
    requests: list[ModelRequest] = field(default_factory=list)
    open_streams: int = 0
    _was_refused: bool = False

    info = ModelInfo(name="scripted", host="nowhere", location="local")
    late_system: LateSystem | None = None
    is_compact = False
    sees_images: bool | None = None

    async def start(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def context_tokens(self) -> int | None:
        return None

    async def problem(self) -> str:
        return ""

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        raise Broken("no prefill comes during a turn")

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.open_streams += 1
        try:
            await asyncio.sleep(0)
            if len(self.requests) == len(self.calls):
                raise Broken(f"call {len(self.requests) + 1} of {len(self.calls)}: {request}")
            delivery = self.delivery(len(self.requests))
            if delivery.is_refused_once and not self._was_refused:
                self._was_refused = True
                self._compare_later = copy.deepcopy(request)
                raise ProviderUnreachable("nobody is there")
            if self._was_refused:
                assert request == self._compare_later, "a retry changes nothing (L1-32)"
            self._was_refused = False
            number = len(self.requests)
            self.requests.append(copy.deepcopy(request))
            for place, event in enumerate(self._events(self.calls[number], delivery)):
                yield event
                await asyncio.sleep(0)
                if delivery.breaks and place == 0:
                    raise ProviderUnreachable("the connection is gone")
        finally:
            self.open_streams -= 1

    def delivery(self, number: int) -> Delivery:
        return self.deliveries[number % len(self.deliveries)]

    def _events(self, call: Call, delivery: Delivery) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        if delivery.reasoning:
            events.append(ReasoningDelta(delivery.reasoning))
        text = self._head(call, delivery) + call.reply.text
        if text and delivery.thinks_aloud:
            text = f"<think>\n§one <need_tool> or not?\n</think>\n\n{text}"
        events += [TextDelta(text[at : at + delivery.piece]) for at in range(0, len(text), delivery.piece)]
        for place, use in enumerate(call.reply.uses):
            key = f"{len(self.requests) - 1} {place}"
            events.append(ToolCall(use.id, use.name, _arguments(key, use, delivery)))
        events.append(Finished("tool_calls" if call.reply.uses else "stop", Usage(3, 2)))
        return events

    def _head(self, call: Call, delivery: Delivery) -> str:
        if call.purpose != "planning":
            return ""
        return delivery.need_tag if self.turn.needs_tools else delivery.no_tag


def _arguments(key: str, use: ToolUse, delivery: Delivery) -> str:
    if use.result is None and delivery.tool_failure == "garbled":
        return '{"key": '
    return json.dumps({"key": key})


@dataclass
class Tools:
    """Three tools that end as the script says, after as many passes of the loop as it says."""

    model: ScriptedModel
    started: list[str] = field(default_factory=list)
    running: int = 0

    def registry(self) -> ToolRegistry:
        schema = {"type": "object", "properties": {"key": {"type": "string"}}}
        return ToolRegistry(
            [
                Tool(
                    spec=ToolSpec(name=name, description=f"the tool {name}", parameters=schema),
                    permission="READ",
                    run=self.run,
                )
                for name in TOOLS
            ]
        )

    async def run(self, arguments: dict[str, Any]) -> str:
        number, place = map(int, arguments["key"].split())
        use, delivery = self.model.calls[number].runs[place], self.model.delivery(number)
        self.started.append(arguments["key"])
        self.running += 1
        try:
            for _ in range(delivery.waits[place % len(delivery.waits)]):
                await asyncio.sleep(0)
        finally:
            self.running -= 1
        if use.result is not None:
            return use.result
        raise ToolError("refused") if delivery.tool_failure == "error" else RuntimeError("crashed")


@dataclass
class Stage:
    """One AgentClient, and the turns played on it one after the other."""

    turn: Turn
    deliveries: Sequence[Delivery] = (Delivery(),)

    def __post_init__(self) -> None:
        self.set_up(self.turn, self.deliveries)
        executor = ToolExecutor(self._tools_or_none(), ToolsConfig())
        config = AgentConfig(planning=self.turn.planning, max_rounds=self.turn.max_rounds)
        self.agent = AgentClient(self.model, executor, config=config, llm=LlmConfig(late_system="native"))

    def set_up(self, turn: Turn, deliveries: Sequence[Delivery]) -> None:
        """Give the same model and tools the script of the next turn."""
        calls = foresee(turn)
        if not hasattr(self, "model"):
            self.model = ScriptedModel(turn, calls, deliveries)
            self.tools = Tools(self.model)
        self.turn = self.model.turn = turn
        self.calls = self.model.calls = calls
        self.model.deliveries = deliveries
        self.model.requests.clear()
        self.model._was_refused = False
        self.tools.started.clear()
        self.chunks: list[LLMChunk] = []

    async def play(self, *, stop_after: int | None = None) -> None:
        """Read the turn to its end, or close it after so many chunks."""
        messages = [_as_message(line) for line in self.turn.history]
        hooks = [_as_info(hook) for hook in self.turn.hooks]
        before = copy.deepcopy((messages, hooks))
        options = TurnOptions(max_persistent=self.turn.max_persistent)
        stream = self.agent.chat_stream(messages, hooks, self.turn.enable_tools, options=options)
        try:
            async with aclosing(stream):
                async for chunk in stream:
                    self.chunks.append(chunk)
                    if len(self.chunks) == stop_after:
                        break
        finally:
            assert (messages, hooks) == before, "the turn has a list of its own"

    def calls_that_reach_a_tool(self) -> list[str]:
        """Not those of unknown tools and of arguments that are no JSON."""
        return [
            f"{number} {place}"
            for number, call in enumerate(self.calls)
            for place, use in enumerate(call.runs)
            if use.name in TOOLS and (use.result is not None or self.model.delivery(number).tool_failure != "garbled")
        ]

    def assert_nothing_is_left(self) -> None:
        assert self.model.open_streams == 0
        assert self.tools.running == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    def _tools_or_none(self) -> ToolRegistry:
        return self.tools.registry() if self.turn.has_tools else ToolRegistry([])


def _as_message(line: Line) -> Message:
    if line.role == "tool":
        return {"role": "tool", "content": line.content, "tool_call_id": line.calls[0]}
    message: Message = {"role": line.role, "content": line.content}
    if line.calls:
        function = {"name": "alpha", "arguments": "{}"}
        message["tool_calls"] = [{"id": call, "type": "function", "function": function} for call in line.calls]
    return message


def _as_info(hook: object) -> HookInfo:
    assert isinstance(hook, HookInfo)
    return hook
