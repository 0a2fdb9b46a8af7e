"""The one way by which a tool is run.

A call passes the stages in order: parsed → found → checked against the schema
→ run → cut to size. A stage before the run gives the invocation on, perhaps
changed, or ends it with an outcome; a stage after the run gives the outcome
on. Whatever a stage, a tool or a time limit makes of it, each call has exactly
one outcome, and the model reads it.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server import config
from server.errors import ToolError
from server.llm.types import ToolCall
from server.tools.arguments import parse_arguments
from server.tools.registry import Tool, ToolRegistry, ToolShelf

logger = logging.getLogger(__name__)

MAX_CALLS_PER_BATCH = 32
MAX_AT_ONCE = 8
MAX_ERROR_BYTES = 8192


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """A call on its way to its tool."""

    id: str
    name: str
    arguments: Any
    """Parsed JSON; until the first stage, the model's text."""
    tool: Tool | None = None


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """What became of a call; `name` is the tool that really ran (L1-27)."""

    id: str
    name: str
    content: str
    is_error: bool = False
    duration_ms: float = 0.0
    media: tuple[str, ...] = ()
    """What the tool gave to be shown: `data:` URLs."""


BeforeStage = Callable[[Invocation], Awaitable[Invocation | ToolOutcome]]
AfterStage = Callable[[Invocation, ToolOutcome], Awaitable[ToolOutcome]]


class ToolExecutor:
    def __init__(self, tools: ToolRegistry | ToolShelf, settings: config.Tools) -> None:
        self._shelf = tools if isinstance(tools, ToolShelf) else ToolShelf(tools)
        self.registry = self._shelf.current
        self._settings = settings
        self._before: tuple[BeforeStage, ...] = (_parse, self._find, _check_schema)
        self._after: tuple[AfterStage, ...] = (self._cut,)

    def pinned(self) -> "ToolExecutor":
        """For one turn: over the tools as they are now, whatever comes and goes on the shelf meanwhile."""
        return self if self.registry is self._shelf.current else ToolExecutor(self._shelf, self._settings)

    async def run_batch(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolOutcome, None]:
        """Run the calls side by side, at most 8 at once; yield the outcomes in call order.

        Of more than 32 calls the rest are refused. Closing the generator, or
        cancelling it, cancels what still runs and waits for it to unwind.
        """
        gate = asyncio.Semaphore(MAX_AT_ONCE)
        tasks = [
            asyncio.create_task(self._run_gated(call, gate), name=f"tool {call.name} {call.id}")
            for call in calls[:MAX_CALLS_PER_BATCH]
        ]
        try:
            for task in tasks:
                yield await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for call in calls[MAX_CALLS_PER_BATCH:]:
            text = f"not run: at most {MAX_CALLS_PER_BATCH} calls are taken at once"
            yield ToolOutcome(id=call.id, name=call.name, content=text, is_error=True)

    async def _run_gated(self, call: ToolCall, gate: asyncio.Semaphore) -> ToolOutcome:
        async with gate:
            return await self.run(call)

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Take one call through the chain. Raises nothing but CancelledError."""
        started = time.perf_counter()
        invocation = Invocation(id=call.id, name=call.name, arguments=call.arguments)
        for stage in self._before:
            result = await stage(invocation)
            if isinstance(result, ToolOutcome):
                return replace(result, duration_ms=_ms_since(started))
            invocation = result
        outcome = replace(await self._execute(invocation), duration_ms=_ms_since(started))
        for after in self._after:
            outcome = await after(invocation, outcome)
        return outcome

    async def _find(self, invocation: Invocation) -> Invocation | ToolOutcome:
        tool = self.registry.get(invocation.name)
        if tool is None:
            return _failed(
                invocation, f"there is no tool {invocation.name}; there are: {', '.join(self.registry.names)}"
            )
        return replace(invocation, tool=tool)

    async def _execute(self, invocation: Invocation) -> ToolOutcome:
        tool = invocation.tool
        assert tool is not None, "the stage before found it"
        limit_s = tool.timeout_s or self._settings.timeout_s
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                answer = await tool.run(invocation.arguments)
        except ToolError as error:
            return _failed(invocation, str(error))
        except Exception as error:  # the boundary to a tool's code
            if limit.expired():
                return _failed(invocation, f"{tool.name} took longer than {limit_s:g} s and was stopped")
            logger.warning("tool %s failed", tool.name, exc_info=True)
            return _failed(invocation, f"{tool.name} failed: {type(error).__name__}")
        if isinstance(answer, str):
            return ToolOutcome(id=invocation.id, name=tool.name, content=answer)
        return ToolOutcome(
            id=invocation.id, name=tool.name, content=answer.for_llm, is_error=answer.is_error, media=answer.media
        )

    async def _cut(self, _invocation: Invocation, outcome: ToolOutcome) -> ToolOutcome:
        return replace(outcome, content=cut_to(outcome.content, self._settings.max_result_bytes))


async def _parse(invocation: Invocation) -> Invocation | ToolOutcome:
    parsed = parse_arguments(invocation.arguments)
    if parsed.problem is not None:
        return _failed(invocation, f"the arguments are not JSON ({parsed.problem}); call again with a JSON object")
    return replace(invocation, arguments=parsed.value)


async def _check_schema(invocation: Invocation) -> Invocation | ToolOutcome:
    assert invocation.tool is not None, "the stage before found it"
    misfit = invocation.tool.explain_misfit(invocation.arguments)
    return _failed(invocation, f"the arguments do not fit {invocation.name}: {misfit}") if misfit else invocation


def cut_to(text: str, max_bytes: int) -> str:
    """At most `max_bytes` of UTF-8, whole lines where there are any, and how many lines are missing."""
    data = text.encode("utf-8", "replace")  # a file name may hold half a surrogate pair, which nothing could send
    if len(data) <= max_bytes:
        return data.decode("utf-8")
    kept = data[:max_bytes].decode("utf-8", "ignore")
    head, newline, _ = kept.rpartition("\n")
    lines = text.count("\n") + (not text.endswith("\n"))
    if newline:
        return f"{head}\n(truncated, {lines - head.count(newline) - 1} lines left)"
    return f"{kept}\n(truncated, {lines} lines left)"


def _failed(invocation: Invocation, text: str) -> ToolOutcome:
    """`text` may quote the model at length."""
    return ToolOutcome(id=invocation.id, name=invocation.name, content=cut_to(text, MAX_ERROR_BYTES), is_error=True)


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
