"""Executor of tool calls: the only code that runs tools, a batch at a time."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final, TypeVar

from server import config
from server.hooks.layers import NO_LAYERS, TurnHooks
from server.llm.language_model import ToolCall
from server.tools.client_tools import ClientTool
from server.tools.registry import DynamicToolRegistry, ToolRegistry
from server.tools.tool_calls import ToolOutcome, TurnAborted
from server.tools.tool_run import ToolRun

logger = logging.getLogger(__name__)
T = TypeVar("T")

MAX_CALLS_PER_BATCH: Final = 32
MAX_AT_ONCE: Final = 8
_LAST_WORD_S: Final = 1.0
"""Time for the policy to note the calls of a turn that was stopped."""


class ToolExecutor:
    """Runs calls with the tools as they are; `pinned` gives the executor of one turn."""

    def __init__(
        self,
        tools: ToolRegistry | DynamicToolRegistry,
        settings: config.ToolsSettings,
        *,
        hooks: TurnHooks | None = None,
        client_tools: Sequence[ClientTool] = (),
    ) -> None:
        self._tools = tools if isinstance(tools, DynamicToolRegistry) else DynamicToolRegistry(tools)
        current = self._tools.current
        self.registry = ToolRegistry([*current, *client_tools]) if client_tools else current
        self._settings = settings
        self._hooks = hooks or TurnHooks(NO_LAYERS)

    @property
    def tool_names(self) -> list[str]:
        """Names of the server's tools as they are now."""
        return self._tools.current.names

    @property
    def instructions(self) -> str:
        """Instructions of the servers of tools as they are now."""
        return self._tools.instructions

    def pinned(self, hooks: TurnHooks | None = None, *, client_tools: Sequence[ClientTool] = ()) -> "ToolExecutor":
        """Return an executor over the tools as they are now, whatever comes and goes meanwhile, and those of the client.

        Of one name, the server's tool stands.
        """
        if hooks is None and not client_tools and self.registry is self._tools.current:
            return self
        return ToolExecutor(self._tools, self._settings, hooks=hooks, client_tools=client_tools)

    async def run_batch(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolOutcome, None]:
        """Prepare the calls one after the other, run them side by side, yield outcomes in call order.

        With a process hook at the tool stages each call ends before the next is
        prepared (`tools.parallel`): the hook may judge one by what another did.
        At most 8 run at once; of more than 32 calls the rest are refused. Calls that
        are left to the client are announced to it last. Closing the generator, or
        cancelling it, cancels what still runs, waits for it to unwind and lets
        policy note what has no outcome. Raises TurnAborted.
        """
        parallel = self._settings.parallel
        is_parallel = parallel == "always" or (parallel == "auto" and not self._hooks.pipeline.has_process_at_tools)
        runs = [self._tool_run(call) for call in calls[:MAX_CALLS_PER_BATCH]]
        room = asyncio.Semaphore(MAX_AT_ONCE)
        tasks: list[asyncio.Task[ToolOutcome]] = []
        yielded = 0
        try:
            for run in runs:
                refusal = await self._prepare(run, tasks)
                work = run.refuse(refusal) if refusal is not None else _execute(run, room)
                # awaited below, as no generator yields inside a TaskGroup
                tasks.append(asyncio.create_task(work, name=f"tool {run.call.name} {run.call.id}"))
                if not is_parallel:
                    outcome = await tasks[-1]
                    yielded += 1
                    yield outcome
            for task in tasks[yielded:]:
                outcome = await _settled(task, tasks)
                yielded += 1
                yield outcome
        except TurnAborted as aborted:
            aborted.outcomes = [run.outcome for run in runs[yielded:] if run.outcome is not None]
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if yielded < len(runs):
                await self._report_unfinished(runs)
        for call in calls[MAX_CALLS_PER_BATCH:]:
            run = self._tool_run(call)
            yield await run.refuse(run.refusal(f"not run: at most {MAX_CALLS_PER_BATCH} calls are accepted at once"))
        for run in runs:
            run.announce()

    async def take_output(self, call: ToolCall, content: str) -> ToolOutcome | None:
        """Pass the stages after the run with what a client's tool gave before this turn; None for any other tool."""
        if not isinstance(self.registry.get(call.name), ClientTool):
            return None
        return await self._tool_run(call).take_output(content)

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Take one call through the stages. Raises nothing but TurnAborted and CancelledError."""
        run = self._tool_run(call)
        refusal = await run.prepare()
        return await (run.execute() if refusal is None else run.refuse(refusal))

    def _tool_run(self, call: ToolCall) -> ToolRun:
        return ToolRun(call, registry=self.registry, settings=self._settings, hooks=self._hooks)

    async def _prepare(self, run: ToolRun, running: Sequence[asyncio.Task[ToolOutcome]]) -> ToolOutcome | None:
        """Prepare a call, which may wait for a human, unless the turn ends under a call before it."""
        layers = self._hooks.layers
        if not running or not (layers.hooks or layers.policy):  # preparing asks nothing, and takes no time
            return await run.prepare()
        for task in running:
            if task.done():
                task.result()
        preparing = asyncio.create_task(run.prepare(), name=f"preparing {run.call.name}")  # awaited below
        try:
            return await _settled(preparing, [*running, preparing])
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)

    async def _report_unfinished(self, runs: Sequence[ToolRun]) -> None:
        """Report to policy and observers the calls that have no result, because the turn was stopped."""
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                for run in runs:
                    if run.outcome is None:
                        await run.refuse(run.refusal("not finished: the turn was stopped"))
        except TimeoutError:
            logger.warning("not every call of a stopped turn was reported to the policy")


async def _execute(run: ToolRun, room: asyncio.Semaphore) -> ToolOutcome:
    if run.open_tool is not None:
        return run.leave_open()
    async with room:
        return await run.execute()


async def _settled(task: asyncio.Task[T], tasks: Sequence[asyncio.Task[Any]]) -> T:
    """Return this task's result; or raise, at once, what any of them raises: a hook may end the turn under them all."""
    while not task.done():
        running = [other for other in tasks if not other.done()]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for other in running:
            if other.done():
                other.result()
    return task.result()
