"""The parts of one turn that all steps of its reply work with, among them its runtime events for observers.

Runtime events are in the reference host's words; what takes time is built for observers only.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven, NoticeLevel
from server.agent.messages import Conversation
from server.agent.prompt_fit import count_images
from server.agent.reply import ModelReply
from server.agent.trace import Tracer
from server.hooks.layers import TurnHooks
from server.llm.language_model import Message, ModelRequest
from server.tools.tool_calls import ToolOutcome
from server.wire.frames import TurnSettings

Status = Literal["completed", "error", "aborted"]
_SEVERITIES: dict[Status, Literal["info", "warn", "error"]] = {"completed": "info", "error": "error", "aborted": "warn"}


class RuntimeEvents:
    """Emits the agent's events of one turn; tool calls emit their own."""

    def __init__(self, hooks: TurnHooks, *, clock_s: Callable[[], float] = time.perf_counter) -> None:
        self._events = hooks.events
        self._question = hooks.facts.user_message
        self._clock_s = clock_s
        self._started_s = clock_s()
        self._final = ""
        self._ran: list[ToolOutcome] = []

    def begin_round(self, number: int) -> None:
        self._events.iteration = number

    def turn_start(self, question: str, messages: Sequence[Message]) -> None:
        self._question = self._question or question
        payload = {"UserMessage": self._question, "MediaCount": sum(map(count_images, messages[-1:]))}
        self._events.emit("agent.turn.start", payload)

    def turn_end(self, status: Status) -> None:
        if not self._events.wants("agent.turn.end"):
            return
        executions = [
            {"name": o.name, "success": not o.is_error, **({"error_summary": o.content[:200]} if o.is_error else {})}
            for o in self._ran
        ]
        payload = {
            "Status": status,
            "Workspace": "",
            "Iterations": self._events.iteration,
            "Duration": int((self._clock_s() - self._started_s) * 1_000_000_000),
            "FinalContentLen": len(self._final),
            "UserMessage": self._question,
            "FinalContent": self._final,
            "ActiveSkills": None,
            "AttemptedSkills": None,
            "FinalSuccessfulPath": None,
            "SkillContextSnapshots": None,
            "ToolKinds": sorted({o.name for o in self._ran}) or None,
            "ToolExecutions": executions or None,
        }
        self._events.emit("agent.turn.end", payload, severity=_SEVERITIES[status])

    def llm_request(
        self, request: ModelRequest, *, model: str, max_tokens: int | None, options: dict[str, Any]
    ) -> None:
        if self._events.wants("agent.llm.request"):
            merged = {**options, **request.options}
            payload = {
                "Model": request.model or model,
                "MessagesCount": len(request.messages),
                "ToolsCount": len(request.tools),
                "MaxTokens": merged.get("max_tokens", max_tokens or 0),
                "Temperature": merged.get("temperature", 0),
            }
            self._events.emit("agent.llm.request", payload, trace_path="turn.llm.request")

    def llm_retry(self, *, attempt: int, most: int, code: str, error: str, wait_s: float) -> None:
        payload = {
            "Attempt": attempt,
            "MaxRetries": most - 1,
            "Reason": code,
            "Error": error,
            "Backoff": int(wait_s * 1_000_000_000),
        }
        self._events.emit("agent.llm.retry", payload, trace_path="turn.llm.retry", severity="warn")

    def compressed(self, *, dropped: int, remaining: int, is_retry: bool) -> None:
        reason = "llm_retry" if is_retry else "proactive_budget"
        payload = {"Reason": reason, "DroppedMessages": dropped, "RemainingMessages": remaining}
        self._events.emit("agent.context.compress", payload, severity="warn")

    def llm_response(self, reply: ModelReply) -> None:
        self._final = reply.content or self._final
        payload = {
            "ContentLen": len(reply.content),
            "ToolCalls": len(reply.calls),
            "HasReasoning": reply.has_reasoning,
        }
        self._events.emit("agent.llm.response", payload, trace_path="turn.llm.response")

    def tool_ran(self, outcome: ToolOutcome) -> None:
        self._ran.append(outcome)

    def failed(self, stage: str, message: str) -> None:
        self._events.emit("agent.error", {"Stage": stage, "Message": message}, severity="error")


@dataclass(frozen=True, kw_only=True)
class TurnContext:
    settings: TurnSettings = TurnSettings()  # noqa: RUF009  # frozen
    out: ChunkChannel
    conversation: Conversation
    hooks: TurnHooks
    tracer: Tracer
    events: RuntimeEvents
    given_once: set[str] = field(default_factory=set)
    """Codes of the notices that the turn gives once."""
    given_for_good: set[str] = field(default_factory=set)
    """Codes of those that the connection has been given, which gets each once."""

    async def notify(
        self, code: str, level: NoticeLevel, message: str, *, once: bool = False, for_good: bool = False
    ) -> None:
        given = self.given_for_good if for_good else self.given_once
        if code in given:
            return
        if once or for_good:
            given.add(code)
        await self.out.put(LLMChunk(notice=NoticeGiven(code, level, message)))
