"""Chunks of one reply → model events, in the order that `LanguageModel` promises. No I/O."""

from typing import Any

from server.llm.sse import CallAssembler, Chunk, ContentPart, Delta, UsageChunk
from server.llm.surrogates import TextJoiner
from server.llm.types import Finished, ModelEvent, ReasoningDelta, TextDelta, Usage


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


def _usage(usage: UsageChunk) -> Usage:
    details = usage.prompt_tokens_details
    cached = (details.cached_tokens if details else None) or usage.prompt_cache_hit_tokens
    return Usage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=cached or 0,
    )
