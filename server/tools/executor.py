"""The one way by which a tool is run.

A call passes the stages in order: parsed → before_tool → found → checked against
the schema → policy → approve_tool → run, or a hook's answer → after_tool →
policy's last word → cut to size → observers. Whatever a stage, a tool or a time
limit makes of it, each call has exactly one outcome, and the model reads it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final, TypeVar

from server import config
from server.hooks.layers import TurnHooks
from server.llm.types import ToolCall
from server.tool_calls import ToolOutcome
from server.tools.course import Course
from server.tools.gates import Gates
from server.tools.registry import ToolRegistry, ToolShelf
from server.tools.results import Results

logger = logging.getLogger(__name__)
T = TypeVar("T")

MAX_CALLS_PER_BATCH: Final = 32
MAX_AT_ONCE: Final = 8
_LAST_WORD_S: Final = 1.0
"""For policy to note the calls of a turn that was stopped."""


class ToolExecutor:
    """Over the tools as they are; `pinned` gives the one of a turn."""

    def __init__(
        self, tools: ToolRegistry | ToolShelf, settings: config.ToolsSettings, *, hooks: TurnHooks | None = None
    ) -> None:
        self._shelf = tools if isinstance(tools, ToolShelf) else ToolShelf(tools)
        self.registry = self._shelf.current
        self._settings = settings
        self._hooks = hooks
        self._gates = Gates(self.registry, hooks)
        self._results = Results(settings, hooks)

    def pinned(self, hooks: TurnHooks | None = None) -> "ToolExecutor":
        """For one turn: over the tools as they are now, whatever comes and goes on the shelf meanwhile."""
        if hooks is None and self.registry is self._shelf.current:
            return self
        return ToolExecutor(self._shelf, self._settings, hooks=hooks)

    async def run_batch(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolOutcome, None]:
        """Let the calls pass the gates one after the other, run them side by side, yield outcomes in call order.

        At most 8 run at once; of more than 32 calls the rest are refused. Raises
        TurnAborted. Closing the generator, or cancelling it, cancels what still
        runs, waits for it to unwind and lets policy note what has no outcome.
        """
        courses = [Course(call) for call in calls[:MAX_CALLS_PER_BATCH]]
        room = asyncio.Semaphore(MAX_AT_ONCE)
        tasks: list[asyncio.Task[ToolOutcome]] = []
        yielded = 0
        try:
            for course in courses:
                refusal = await self._pass_gates(course, tasks)
                work = self._run(course, room) if refusal is None else self._refuse(course, refusal)
                tasks.append(asyncio.create_task(work, name=f"tool {course.call.name} {course.call.id}"))
            for task in tasks:
                outcome = await _settled(task, tasks)
                yielded += 1
                yield outcome
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if yielded < len(courses):
                await self._note_unfinished(courses, tasks)
        for call in calls[MAX_CALLS_PER_BATCH:]:
            text = f"not run: at most {MAX_CALLS_PER_BATCH} calls are taken at once"
            course = Course(call)
            yield await self._refuse(course, course.refused(text))

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Take one call through the chain. Raises nothing but TurnAborted and CancelledError."""
        course = Course(call)
        refusal = await self._gates.pass_through(course)
        return await (self._results.run(course) if refusal is None else self._refuse(course, refusal))

    async def _pass_gates(self, course: Course, running: Sequence[asyncio.Task[ToolOutcome]]) -> ToolOutcome | None:
        """A gate may wait for a human; a turn that ends under a call before this one does not wait for it."""
        if self._hooks is None or not running:
            return await self._gates.pass_through(course)
        for task in running:
            if task.done():
                task.result()
        passing = asyncio.create_task(self._gates.pass_through(course), name=f"gates of {course.call.name}")
        try:
            return await _settled(passing, [*running, passing])
        finally:
            passing.cancel()
            await asyncio.gather(passing, return_exceptions=True)

    async def _run(self, course: Course, room: asyncio.Semaphore) -> ToolOutcome:
        async with room:
            return await self._results.run(course)

    async def _refuse(self, course: Course, refusal: ToolOutcome) -> ToolOutcome:
        outcome = await self._results.finish(course, refusal)
        self._results.tell_skipped(course, outcome)
        return outcome

    async def _note_unfinished(self, courses: Sequence[Course], tasks: Sequence[asyncio.Task[ToolOutcome]]) -> None:
        """The turn stopped under these calls: policy and observers learn that they have no result."""
        if self._hooks is None:
            return
        done = {id(course) for course, task in zip(courses, tasks, strict=False) if _has_outcome(task)}
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                for course in courses:
                    if id(course) not in done:
                        course.name = course.name or course.call.name
                        await self._refuse(course, course.refused("not finished: the turn was stopped"))
        except TimeoutError:
            logger.warning("the policy was not told of every call of a turn that was stopped")


async def _settled(task: asyncio.Task[T], tasks: Sequence[asyncio.Task[Any]]) -> T:
    """This task's result; or, at once, what any of them raises: a hook may end the turn under them all."""
    while not task.done():
        running = [other for other in tasks if not other.done()]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for other in running:
            if other.done():
                other.result()
    return task.result()


def _has_outcome(task: asyncio.Task[ToolOutcome]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
