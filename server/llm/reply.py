"""Chunks of one reply → model events, in the order that `LanguageModel` promises. No I/O."""

from typing import Any, Final

from server.llm.sse import CallAssembler, Chunk, ContentPart, Delta
from server.llm.surrogates import TextJoiner
from server.llm.types import Finished, ModelEvent, ReasoningDelta, TextDelta, Usage

MAX_TOKENS_TOLD: Final = 1 << 53
"""A larger number is none that a client could read."""


class ReplyReader:
    """Text and reasoning are given at once, tool calls and `Finished` by `finish`."""

    def __init__(self) -> None:
        self.has_begun = False  # a piece of text, reasoning or a call has come
        self.is_finished = False  # a finish_reason has come
        self._reason = ""
        self._usage = Usage()
        self._calls = CallAssembler()
        self._text = TextJoiner()
        self._reasoning = TextJoiner()

    def error_of(self, chunk: Chunk) -> Any:
        """What an endpoint says in mid-stream that went wrong; None: nothing."""
        if chunk.object == "error" and chunk.message:
            return {"message": chunk.message}
        return chunk.error

    def feed(self, chunk: Chunk) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            if (delta := choice.delta or choice.message) is not None:
                events += self._read(delta)
            if choice.finish_reason:
                self.is_finished, self._reason = True, choice.finish_reason
        return events

    def finish(self) -> list[ModelEvent]:
        """The calls and the end. Raises StreamError for a call that is none."""
        calls = self._calls.finish()
        reason = self._reason or ("tool_calls" if calls else "stop")
        events: list[ModelEvent] = []
        if half := self._reasoning.finish():
            events.append(ReasoningDelta(half))
        if half := self._text.finish():
            events.append(TextDelta(half))
        return [*events, *calls, Finished(reason=reason, usage=self._usage)]

    def _read(self, delta: Delta) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        if reasoning := delta.reasoning_content or delta.reasoning:
            events += self._reasoned(reasoning)
        if isinstance(delta.content, str):
            events += self._said(delta.content)
        elif delta.content:
            events += self._parts(delta.content)
        if delta.refusal:
            events += self._said(delta.refusal)
        if delta.tool_calls:
            self._calls.feed(delta.tool_calls)
        self.has_begun = self.has_begun or bool(events or delta.tool_calls)
        return events

    def _parts(self, parts: list[ContentPart]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for part in parts:
            if part.text:
                events += self._said(part.text)
            for inner in part.thinking or ():
                events += self._reasoned(inner.text or "")
        return events

    def _said(self, delta: str) -> list[ModelEvent]:
        text = self._text.feed(delta)
        return [TextDelta(text)] if text else []

    def _reasoned(self, delta: str) -> list[ModelEvent]:
        text = self._reasoning.feed(delta)
        return [ReasoningDelta(text)] if text else []


def _usage(usage: Any) -> Usage:
    """What cannot be understood of it counts as nothing."""
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
        cached_tokens=cached or _count(counts.get("prompt_cache_hit_tokens")),
    )


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value <= MAX_TOKENS_TOLD else 0
