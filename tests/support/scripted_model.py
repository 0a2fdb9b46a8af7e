"""A LanguageModel that answers by script, in process: for tests of what calls models.

    model = ScriptedModel([say("<need_tool>Let me look."), call("current_time"), say("Noon.")])
    ...
    assert [r.purpose for r in model.requests] == ["planning", "round", "round"]

An answer is a list of steps, taken in order: a model event is yielded, an
exception is raised, an `asyncio.Event` is waited for.
"""

import asyncio
import copy
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import replace
from typing import Any

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
    Usage,
)

Step = ModelEvent | BaseException | asyncio.Event
Answer = Sequence[Step]


def say(*deltas: str, reason: str = "stop") -> list[Step]:
    return [*(TextDelta(delta) for delta in deltas), Finished(reason, Usage(10, 2))]


def think(*deltas: str) -> list[Step]:
    return [ReasoningDelta(delta) for delta in deltas]


def call(*names: str, text: str = "", **arguments: Any) -> list[Step]:
    """One call of each tool named, all with the same arguments; ids `c1`, `c2`, …"""
    calls = [ToolCall(f"c{number}", name, json.dumps(arguments)) for number, name in enumerate(names, 1)]
    return [*([TextDelta(text)] if text else []), *calls, Finished("tool_calls")]


class ScriptedModel:
    def __init__(
        self,
        answers: Iterable[Answer] = (),
        *,
        late_system: LateSystem | None = None,
        is_compact: bool = False,
        sees_images: bool | None = None,
        context_tokens: int | None = None,
        host: str = "model.test",
    ) -> None:
        self.answers: list[Answer] = list(answers)
        self.requests: list[ModelRequest] = []
        """Deep copies, as they stood when the call was made."""
        self.read: list[tuple[list[Message], str, list[str]]] = []
        """The prefills it was asked for: messages, question, names of tools."""
        self.closed = 0
        """How many streams were left, for whatever reason."""
        self._late_system = late_system
        self._is_compact = is_compact
        self.sees_images = sees_images
        self._context_tokens = context_tokens
        self._host = host

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name="scripted", host=self._host, location="local", key_source="none")

    @property
    def late_system(self) -> LateSystem | None:
        return self._late_system

    @property
    def is_compact(self) -> bool:
        return self._is_compact

    async def context_tokens(self) -> int | None:
        return self._context_tokens

    async def problem(self) -> str:
        return ""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(replace(request, messages=copy.deepcopy(list(request.messages))))
        assert self.answers, "the script has no answer left"
        try:
            for step in self.answers.pop(0):
                if isinstance(step, BaseException):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    await asyncio.sleep(0)  # as a real stream, it lets others run
                    yield step
        finally:
            self.closed += 1

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        self.read.append((copy.deepcopy(list(messages)), question, list(tool_names)))

    async def start(self) -> None:
        """Nothing to load."""

    async def aclose(self) -> None:
        """Nothing to close."""

    def contents(self, index: int) -> list[tuple[str, Any]]:
        """Role and content of every message of call `index`."""
        return [(m["role"], m.get("content")) for m in self.messages(index)]

    def messages(self, index: int) -> Sequence[Message]:
        return self.requests[index].messages
