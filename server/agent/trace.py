"""What the inspector is told: each model call as it was sent, and which hooks did not fire.

It only watches: before each call it compares the turn's list with what it saw
before, so the agent's own path holds no bookkeeping for it. Switched off, it
costs one comparison a call.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from server.agent.chunks import LLMChunk, TraceEvent
from server.agent.fitting import Fitted
from server.agent.messages import Conversation, Origin
from server.agent.roles import head_length, sent_role
from server.llm.types import Finished, LateSystem, Message, ModelRequest
from skills_engine import HookInfo

MAX_FRAME_BYTES = 256 << 10
_MAX_CONTENT_CHARS = 48_000  # even as \uXXXX escapes under the limit of a frame
_LOOP_TIMINGS = ("before_each_agent", "before_first_agent", "after_tool_call")


class Tracer:
    def __init__(self, conversation: Conversation, hooks: Sequence[HookInfo], *, is_on: bool) -> None:
        self._conversation = conversation
        self._hooks = hooks
        self._is_on = is_on
        self._ids: dict[int, str] = {}
        self._injected: dict[int, Message] = {}
        self._fired: set[tuple[str | None, str | None]] = set()
        self._calls = 0
        self.tools_ran: list[str] = []
        """Names of the tools that ran, for the reasons why hooks did not fire."""

    def before_call(
        self, request: ModelRequest, fitted: Fitted, *, mode: LateSystem, round_number: int | None, attempt: int
    ) -> Iterator[LLMChunk]:
        if not self._is_on:
            return
        if attempt == 1:
            self._calls += 1
        yield from self._changes()
        yield _event("model_call", self._call(request, fitted, mode, round_number, attempt))

    def after_call(self, finished: Finished, *, first_token_ms: float | None, total_ms: float) -> Iterator[LLMChunk]:
        if not self._is_on:
            return
        usage = finished.usage
        yield _event(
            "model_done",
            {
                "call": self._calls,
                "finish": finished.reason,
                "usage": {
                    "input_tokens": usage.input_tokens,
                    "output_tokens": usage.output_tokens,
                    "cached_tokens": usage.cached_tokens,
                },
                "first_token_ms": first_token_ms,
                "total_ms": total_ms,
            },
        )

    def end(self, *, loop_ran: bool, capped: bool) -> Iterator[LLMChunk]:
        """What left the list since the last call, and the hooks that never entered it."""
        if not self._is_on:
            return
        yield from self._changes()
        not_fired = [
            {"skill": h.skill, "hook": h.name, "timing": h.timing, "reason": self._why_not(h, loop_ran, capped)}
            for h in self._hooks
            if (h.skill, h.name) not in self._fired
        ]
        if not_fired:
            yield _event("not_fired", {"hooks": not_fired})

    def _changes(self) -> Iterator[LLMChunk]:
        present = {id(m) for m in self._conversation.messages}
        for key in [key for key in self._injected if key not in present]:
            message = self._injected.pop(key)
            yield _event("removed", self._hook_facts(message))
        fresh = [m for m in self._conversation.messages if id(m) not in self._ids]
        for message in fresh:
            self._ids[id(message)] = f"m{len(self._ids)}"
        yield from self._message_frames(fresh)
        for message in fresh:
            origin = self._conversation.origin(message)
            if origin.kind == "hook" and origin.timing is not None:
                self._injected[id(message)] = message
                self._fired.add((origin.skill, origin.hook))
                yield _event("injected", {**self._hook_facts(message), "persistent": origin.persistent})

    def _message_frames(self, messages: Sequence[Message]) -> Iterator[LLMChunk]:
        batch: list[dict[str, Any]] = []
        size = 0
        for message in messages:
            facts, cost = self._message_facts(message)
            if batch and size + cost > MAX_FRAME_BYTES - 1024:
                yield _event("messages", {"messages": batch})
                batch, size = [], 0
            batch.append(facts)
            size += cost
        if batch:
            yield _event("messages", {"messages": batch})

    def _message_facts(self, message: Message) -> tuple[dict[str, Any], int]:
        facts: dict[str, Any] = {"id": self._ids[id(message)], **message}
        content = message.get("content")
        text = content if isinstance(content, str) else _parts_text(content)
        facts["content"] = text
        calls = message.get("tool_calls")
        size = len(text.encode("utf-8", "surrogatepass")) + (len(str(calls)) if calls else 0)
        if size > _MAX_CONTENT_CHARS:
            facts["content"] = text[: _MAX_CONTENT_CHARS // 2]
            facts["cut"] = True
            size = _MAX_CONTENT_CHARS
            if calls and len(str(calls)) > _MAX_CONTENT_CHARS:
                facts.pop("tool_calls")
        origin = self._conversation.origin(message)
        facts["origin"] = {key: value for key, value in _origin_facts(origin).items() if value is not None}
        return facts, 2 * size + 300  # twice: JSON escapes

    def _call(
        self, request: ModelRequest, fitted: Fitted, mode: LateSystem, round_number: int | None, attempt: int
    ) -> dict[str, Any]:
        head = head_length(fitted.messages)
        roles = {
            self._ids[id(m)]: role
            for i, m in enumerate(fitted.messages)
            if (role := sent_role(m, is_head=i < head, mode=mode)) != m["role"]
        }
        return {
            "call": self._calls,
            "purpose": request.purpose,
            "round": round_number,
            "attempt": attempt,
            "messages": [self._ids[id(m)] for m in fitted.messages],
            "sent_roles": roles,
            "trimmed": [self._ids[id(m)] for m in fitted.left_out],
            "tools": [tool.name for tool in request.tools],
            "tool_choice": request.tool_choice,
            "late_system": mode,
        }

    def _hook_facts(self, message: Message) -> dict[str, Any]:
        origin = self._conversation.origin(message)
        return {
            "skill": origin.skill,
            "hook": origin.hook,
            "timing": origin.timing,
            "message": self._ids[id(message)],
        }

    def _why_not(self, hook: HookInfo, loop_ran: bool, capped: bool) -> str:
        if capped and hook.persistent:
            return "the turn's limit of persistent hooks was reached"
        if hook.timing in _LOOP_TIMINGS and not loop_ran:
            return "not reached: no agent loop"
        if hook.timing == "before_planning":
            return "not reached: no planning round"
        if hook.timing == "after_tool_call":
            if not self.tools_ran:
                return "no tool ran"
            return f"tool_filter names none of: {', '.join(dict.fromkeys(self.tools_ran))}"
        return "the turn ended before it"


def _event(event: str, data: dict[str, Any]) -> LLMChunk:
    return LLMChunk(trace=TraceEvent(event, data))


def _origin_facts(origin: Origin) -> dict[str, Any]:
    return {
        "kind": origin.kind,
        "name": origin.name,
        "skill": origin.skill,
        "hook": origin.hook,
        "timing": origin.timing,
        "persistent": origin.persistent or None,
    }


def _parts_text(parts: Any) -> str:
    """Content parts as text; of a picture only that there is one."""
    return "\n".join(part["text"] if part.get("type") == "text" else "[image]" for part in parts or ())
