"""What becomes of a call that may run: its result, through the hooks and the policy behind it."""

import asyncio
import logging
import time
import traceback
from dataclasses import replace
from typing import Final

from server import config
from server.errors import ToolError, is_cancelled
from server.hooks.interception.stages import ToolRan
from server.hooks.layers import TurnHooks
from server.media.references import MediaError
from server.media.store import MediaItem
from server.tool_calls import Ending, ToolAnswer, ToolOutcome
from server.tools.course import Course, cut_to

logger = logging.getLogger(__name__)

MAX_MEDIA: Final = 16
"""References of one result that are looked at."""
_UNSEEN: Final = "[withheld: it could not be scanned for secrets]"


class Results:
    """Runs the calls of one turn."""

    def __init__(self, settings: config.ToolsSettings, hooks: TurnHooks | None) -> None:
        self._settings = settings
        self._hooks = hooks
        self._has_after = hooks is not None and hooks.pipeline.has("after_tool")

    async def run(self, course: Course) -> ToolOutcome:
        """Execute, or take the hook's answer; then after_tool, media, policy. Raises TurnAborted."""
        started_s = time.perf_counter()
        await self._tell_start(course)
        answer, ending = await self._answer(course)
        duration_ms = 0.0 if ending == "answered" else _ms_since(started_s)
        if self._has_after and ending != "answered":
            answer = await self._after_tool(course, answer, duration_ms)
        media, answer = await self._register(answer)
        outcome = ToolOutcome(
            id=course.call.id,
            name=course.name,
            content=answer.for_llm,
            is_error=answer.is_error,
            duration_ms=duration_ms,
            ending=ending,
            for_user="" if answer.is_silent else answer.for_user,
            media=media,
            is_handled=answer.is_handled,
        )
        outcome = await self.finish(course, outcome)
        self._tell_end(outcome, is_async=answer.is_async)
        return outcome

    async def finish(self, course: Course, outcome: ToolOutcome) -> ToolOutcome:
        """What every outcome passes, whatever it came from: policy, whose scan is last, then cut to size."""
        hooks = self._hooks
        if hooks is not None:
            if outcome.ending in ("ran", "failed") and course.arguments != course.given:
                outcome = replace(outcome, arguments=await hooks.conceal(course.arguments))
            if outcome.ending in ("skipped", "denied"):  # may quote the arguments, and need no scan to be configured
                outcome = replace(outcome, content=await self._concealed(outcome.content))
            if hooks.policy is not None:
                outcome = await hooks.policy.after(course.invocation(), outcome)
        limit = self._settings.max_result_bytes
        content, for_user = cut_to(outcome.content, limit), outcome.for_user and cut_to(outcome.for_user, limit)
        if content == outcome.content and for_user == outcome.for_user:
            return outcome
        return replace(outcome, content=content, for_user=for_user)

    def tell_skipped(self, course: Course, outcome: ToolOutcome) -> None:
        if self._hooks is not None:
            payload = {"Tool": course.call.name, "Reason": outcome.content}
            self._hooks.events.emit("agent.tool.exec_skipped", payload, trace_path="turn.tool.skipped", severity="warn")

    async def _answer(self, course: Course) -> tuple[ToolAnswer, Ending]:
        if course.answer is not None:
            return course.answer.answer, "answered"
        tool = course.tool
        assert tool is not None, "the gates found it"
        limit_s = tool.timeout_s or self._settings.timeout_s
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                result = await tool.run(course.arguments)
        except ToolError as error:
            return _failure(course, str(error)), "failed"
        except (Exception, asyncio.CancelledError) as error:  # the boundary to a tool's code
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            if limit.expired():
                return _failure(course, f"{tool.name} took longer than {limit_s:g} s and was stopped"), "failed"
            await self._log_failure(tool.name, error)
            return _failure(course, f"{tool.name} failed: {type(error).__name__}"), "failed"
        answer = ToolAnswer(for_llm=result) if isinstance(result, str) else result
        return answer, "ran"

    async def _log_failure(self, name: str, error: BaseException) -> None:
        """Where there is a policy, without the secrets that an exception may quote."""
        if self._hooks is None or self._hooks.policy is None:
            logger.warning("tool %s failed", name, exc_info=error)
            return
        told = "".join(traceback.format_exception(error)).rstrip()
        logger.warning("tool %s failed\n%s", name, await self._concealed(told))

    async def _concealed(self, text: str) -> str:
        shown = text if self._hooks is None else await self._hooks.conceal(text)
        return shown if isinstance(shown, str) else _UNSEEN

    async def _after_tool(self, course: Course, answer: ToolAnswer, duration_ms: float) -> ToolAnswer:
        assert self._hooks is not None
        ran = ToolRan(name=course.name, arguments=course.arguments, answer=answer, duration_ms=duration_ms)
        return await self._hooks.pipeline.after_tool(ran)

    async def _register(self, answer: ToolAnswer) -> tuple[tuple[MediaItem, ...], ToolAnswer]:
        """The files that the answer names; what cannot be shown is told to the model."""
        if not answer.media:
            return (), answer
        items: list[MediaItem] = []
        problems: list[str] = []
        store = None if self._hooks is None else self._hooks.layers.media
        for reference in answer.media[:MAX_MEDIA]:
            if store is None or self._hooks is None:
                problems.append("this server keeps no media")
                break
            facts = self._hooks.facts
            try:
                items.append(await store.register(reference, user_id=facts.user_id, session_id=facts.session_id))
            except MediaError as error:
                problems.append(str(error))
        if problems and answer.is_handled:
            text = f"failed to deliver attachment: {'; '.join(problems)}"
            return tuple(items), replace(answer, for_llm=text, is_error=True, is_handled=False)
        notes = [f"[file: {item.name}, {item.content_type}, {item.ref}]" for item in items]
        notes += [f"(attachment not available: {problem})" for problem in problems]
        return tuple(items), replace(answer, for_llm="\n".join([answer.for_llm, *notes]).strip())

    async def _tell_start(self, course: Course) -> None:
        hooks = self._hooks
        if hooks is not None and hooks.events.wants("agent.tool.exec_start"):
            payload = {"Tool": course.name, "Arguments": await hooks.conceal(course.arguments)}
            hooks.events.emit("agent.tool.exec_start", payload, trace_path="turn.tool.start")

    def _tell_end(self, outcome: ToolOutcome, *, is_async: bool) -> None:
        hooks = self._hooks
        if hooks is not None and hooks.events.wants("agent.tool.exec_end"):
            payload = {
                "Tool": outcome.name,
                "Duration": int(outcome.duration_ms * 1_000_000),
                "ForLLMLen": len(outcome.content),
                "ForUserLen": len(outcome.for_user),
                "IsError": outcome.is_error,
                "Async": is_async,
            }
            hooks.events.emit(
                "agent.tool.exec_end",
                payload,
                trace_path="turn.tool.end",
                severity="warn" if outcome.is_error else "info",
            )


def _failure(course: Course, text: str) -> ToolAnswer:
    return ToolAnswer(for_llm=course.refused(text).content, is_error=True)


def _ms_since(started_s: float) -> float:
    return round((time.perf_counter() - started_s) * 1000, 3)
