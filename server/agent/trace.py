"""Trace events for the inspector: each model call as it was sent, and which hooks did not fire.

It only watches: before each call it compares the turn's list with what it saw
before, so the agent's own path holds no bookkeeping for it. Switched off, it
costs one comparison a call.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, count
from typing import Any

from server.agent.chunks import LLMChunk, TraceEvent
from server.agent.costs import PROCESS_HOOK, CallCost, CostMeter, HookName, PromptPart
from server.agent.messages import Conversation
from server.agent.prompt_fit import Fitted, head_length, sent_order, sent_role
from server.hooks.layers import TurnHooks
from server.llm.language_model import Finished, LateSystem, Message, ModelRequest
from skills_engine import CallFacts, HookFacts, HookInfo
from skills_engine.hook_manager import VariableChange
from skills_engine.token_estimate import estimate_tokens
from skills_engine.turn_sequence import SilentHook

MAX_FRAME_BYTES = 256 << 10
MAX_PLANNED_CHARS = 4000
_ROOM_BYTES = MAX_FRAME_BYTES - 1024  # the frame around it takes the rest
_LONG_BYTES = 64 << 10
_CUT_CHARS = 24_000  # even as \uXXXX escapes far below the limit of a frame


class Tracer:
    def __init__(
        self,
        conversation: Conversation,
        hooks: TurnHooks,
        *,
        is_on: bool,
        hooks_off: Sequence[HookInfo] = (),
        costs: CostMeter,
    ) -> None:
        """Begin the trace. `hooks_off`: hooks of skills that are switched off, only named with that reason."""
        self._conversation = conversation
        self._hooks_off = tuple(hooks_off)
        self._hooks = hooks
        self.is_on = is_on
        self._costs = costs
        self._numbers = count()
        self._ids: dict[int, str] = {}
        self._injected: dict[int, Message] = {}
        self._shown: dict[int, Message] = {}  # in place of those that hold secrets
        self._has_told_reasons = False
        self._reported_changes = 0
        self._calls = 0

    def show_instead(self, message: Message, shown: Message) -> None:
        """Show `shown` in place of `message`, which holds secrets and is, or will be, in the conversation."""
        self._shown[id(message)] = shown

    def before_call(
        self,
        request: ModelRequest,
        fitted: Fitted,
        *,
        mode: LateSystem,
        mark: str,
        round_number: int | None,
        attempt: int,
    ) -> Iterator[LLMChunk]:
        """Report the call as it is sent; `mark` stands around late system messages in the mode `user`."""
        if not self.is_on:
            return
        if attempt == 1:
            self._calls += 1
        yield from self._changes([*fitted.messages, *fitted.left_out], fitted.shortened)
        call = self._call(request, fitted, mode, round_number, attempt)
        yield _event("model_call", call | _cost_facts(self._cost(fitted, mode, mark)))

    def after_call(
        self, finished: Finished, first_token_ms: float | None, total_ms: float, *, planned: str
    ) -> Iterator[LLMChunk]:
        """Report the end of a call. `planned`: the reply to the planning prompt, tag and all."""
        if not self.is_on:
            return
        done = {
            "call": self._calls,
            "finish": finished.reason,
            "usage": asdict(finished.usage),
            "first_token_ms": first_token_ms,
            "total_ms": total_ms,
        }
        yield _event("model_done", done | ({"reply": planned[:MAX_PLANNED_CHARS]} if planned else {}))

    def hook_reports(self) -> Iterator[LLMChunk]:
        if self.is_on:
            for report in self._hooks.pipeline.take_reports():
                # before_llm belongs to the call that is about to be made
                yield _event(
                    report.event, {"call": self._calls + (report.data["stage"] == "before_llm"), **report.data}
                )

    def end(self, silent_hooks: Iterable[SilentHook]) -> Iterator[LLMChunk]:
        """Report what left the list since the last call, and why hooks stayed out of it; for a completed turn."""
        if not self.is_on:
            return
        yield from self._changes()
        yield from (LLMChunk(trace=event) for event in self.not_fired(silent_hooks))

    def not_fired(self, silent_hooks: Iterable[SilentHook]) -> Iterator[TraceEvent]:
        """Report why hooks stayed out, those that are off included; once."""
        if not self.is_on or self._has_told_reasons:
            return
        self._has_told_reasons = True
        yield from not_fired_events(silent_hooks, self._hooks_off)

    def begin(self, facts: HookFacts, values: Mapping[str, Any]) -> Iterator[LLMChunk]:
        """Report what is known of the turn since its start, under the keys that tests of skills have; then its `values`."""
        if self.is_on:
            said = {key: getattr(facts, key) for key in ("channel", "language", "spoken", "interrupted", "hook_tokens")}
            said |= {key: sorted(getattr(facts, key)) for key in ("skills", "tools", "attachments")}
            said |= {"user_name": facts.user, "operator": facts.user is not None and facts.is_operator}
            said |= {
                "model": "local" if facts.is_local else facts.model,
                "time": facts.started_at.isoformat(" ", "minutes"),
            }
            yield _event("facts", said)
            if any(values.values()):
                yield _event("values", dict(values))

    def ran(self, calls: Sequence[CallFacts]) -> Iterator[LLMChunk]:
        """Report the calls of a batch as hooks see them, under the keys of tests; secrets and long ends are left out."""
        for batch in _batches(map(_ran_facts, calls)) if self.is_on else ():
            yield _event("ran", {"call": self._calls, "calls": batch})

    def changed(self, changes: Sequence[VariableChange]) -> Iterator[TraceEvent]:
        """Report the changes of variables since the last time; `changes` are all of the turn."""
        new, self._reported_changes = changes[self._reported_changes :], len(changes)
        if self.is_on and new:
            listed = [
                {"skill": c.hook.skill, "hook": c.hook.name, "name": c.name, "before": c.before, "value": c.value}
                for c in new
            ]
            yield TraceEvent("variables", {"changes": listed})

    def _changes(self, sent: Sequence[Message] = (), shortened: Sequence[Message] = ()) -> Iterator[LLMChunk]:
        """List what changed. `sent` may hold messages a hook wrote for this call; a shortened one is shown as new."""
        present = {id(m) for m in self._conversation.messages}
        for key in [key for key in self._injected if key not in present]:
            yield _event("removed", self._hook_facts(self._injected.pop(key)))
        fresh = [m for m in self._conversation.messages if id(m) not in self._ids]
        fresh += [m for m in sent if self._conversation.origin(m).kind == "process_hook" and id(m) not in self._ids]
        fresh += [m for m in shortened if id(m) in self._ids]
        for message in fresh:
            self._ids[id(message)] = f"m{next(self._numbers)}"
        for batch in _batches(map(self._message_facts, fresh)):
            yield _event("messages", {"messages": batch})
        for message in fresh:
            origin = self._conversation.origin(message)
            if origin.kind == "hook" and origin.timing is not None:
                self._injected[id(message)] = message
                yield _event("injected", self._hook_facts(message))

    def _message_facts(self, message: Message) -> dict[str, Any]:
        text = _content_text(message)
        origin = self._conversation.origin(message).facts()
        shown = self._shown.get(id(message), message)
        facts = {"id": self._ids[id(message)], **shown, "content": text, "origin": origin}
        if "hook" in origin:
            facts["tokens"] = estimate_tokens(_prompt_text(message))
        if _size_bytes(facts) <= _LONG_BYTES:
            return facts
        facts |= {"content": text[:_CUT_CHARS], "cut": True}
        if _size_bytes(facts) <= _ROOM_BYTES:
            return facts
        return {key: facts[key] for key in ("id", "role", "content", "cut", "origin")}

    def _call(
        self, request: ModelRequest, fitted: Fitted, mode: LateSystem, round_number: int | None, attempt: int
    ) -> dict[str, Any]:
        late = fitted.messages[head_length(fitted.messages) :]
        roles = {self._ids[id(m)]: role for m in late if (role := sent_role(m, mode)) != m["role"]}
        return {
            "call": self._calls,
            "purpose": request.purpose,
            "round": round_number,
            "attempt": attempt,
            "messages": [self._ids[id(m)] for m in fitted.messages],
            "sent_roles": roles,
            "trimmed": [self._ids[id(m)] for m in fitted.left_out],
            "shortened": [self._ids[id(m)] for m in fitted.shortened],
            "tools": [tool.name for tool in request.tools],
            "tool_choice": request.tool_choice,
            "late_system": mode,
        }

    def _cost(self, fitted: Fitted, mode: LateSystem, mark: str) -> CallCost:
        head, rest = sent_order(fitted.messages, mode)
        late = f"user {mark}" if mode == "user" else "system"  # wrapped: unlike in other turns
        prompt = [self._prompt_part(message, "system") for message in head]
        prompt += [self._prompt_part(m, late if m["role"] == "system" else m["role"]) for m in rest]
        return self._costs.measure(prompt)

    def _prompt_part(self, message: Message, kind: str) -> PromptPart:
        origin = self._conversation.origin(message)
        if isinstance(content := message.get("content"), list):
            kind += f" {hash(str(content))}"  # tells pictures apart
        name = HookName(origin.skill or "", origin.hook) if origin.hook else None
        return PromptPart(kind, _prompt_text(message), PROCESS_HOOK if origin.kind == "process_hook" else name)

    def _hook_facts(self, message: Message) -> dict[str, Any]:
        origin = self._conversation.origin(message)
        return {
            "skill": origin.skill,
            "hook": origin.hook,
            "timing": origin.timing,
            "message": self._ids[id(message)],
            "persistent": origin.persistent,
        }


def _ran_facts(call: CallFacts) -> dict[str, Any]:
    end = "result" if call.status == "ok" else call.status
    facts = {"tool": call.name, "arguments": call.shown_arguments, end: call.result}
    return facts if _size_bytes(facts) <= _LONG_BYTES else facts | {"arguments": {}, end: call.result[:_CUT_CHARS]}


def not_fired_events(silent_hooks: Iterable[SilentHook], hooks_off: Iterable[HookInfo]) -> Iterator[TraceEvent]:
    """Report why hooks stayed out of a turn. `hooks_off`: those of skills that are switched off."""
    off = (SilentHook(hook, "skill_off") for hook in hooks_off)
    for batch in _batches(silent.facts() for silent in chain(silent_hooks, off)):
        yield TraceEvent("not_fired", {"hooks": batch})


def _cost_facts(cost: CallCost) -> dict[str, Any]:
    if cost.common is None:
        return {"tokens": cost.tokens, "common": None}
    common = asdict(cost.common)
    common["hooks"] = [{**hook._asdict(), "tokens": tokens} for hook, tokens in cost.common.hooks]
    if hook := cost.common.ended_by:
        common["ended_by"] = {"skill": hook.skill or None, "hook": hook.hook or None}
    return {"tokens": cost.tokens, "common": common}


def _event(event: str, data: dict[str, Any]) -> LLMChunk:
    return LLMChunk(trace=TraceEvent(event, data))


def _batches(items: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Group the items, as many together as a frame has room for."""
    batch: list[dict[str, Any]] = []
    size = 0
    for item in items:
        cost = _size_bytes(item) + 2
        if batch and size + cost > _ROOM_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += cost
    if batch:
        yield batch


def _size_bytes(facts: dict[str, Any]) -> int:
    """Return the most bytes that the item takes in a frame: every character outside ASCII counts as an escape."""
    return len(json.dumps(facts))


def _prompt_text(message: Message) -> str:
    """Return the text of the message, with its tool calls."""
    text = _content_text(message)
    return text + json.dumps(calls) if (calls := message.get("tool_calls")) else text


def _content_text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part.get("type") == "text" else "[image]" for part in content)
