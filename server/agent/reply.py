"""What one model call answers, sorted as it arrives: text for the user, reasoning, calls. Pure."""

from collections.abc import Iterator

from server.agent.chunks import LLMChunk, NoticeGiven
from server.agent.tags import TagReader, ThinkReader
from server.llm.types import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage


class Reply:
    """`read` each event, then `end`; both yield the text that is for the user (str) and chunks beside it."""

    def __init__(self, head: TagReader | None = None) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self.content = ""
        """What later calls of the turn are told that the user has read."""
        self.finish_reason = "stop"
        self.usage: Usage | None = None
        self.has_reasoning = False
        self._think = ThinkReader()
        self._head = head

    def read(self, event: ModelEvent | LLMChunk) -> Iterator[str | LLMChunk]:
        match event:
            case TextDelta(text):
                reasoning, text = self._think.feed(text)
                yield from self._reason(reasoning)
                if text and (shown := self._head.feed(text) if self._head else text):
                    yield shown
            case ReasoningDelta(text):
                yield from self._reason(text)
            case ToolCall():
                self.calls = (*self.calls, event)
            case Finished():
                self.finish_reason, self.usage = event.reason, event.usage
                yield LLMChunk(usage=event.usage)
                if event.reason == "length":
                    text = "the model's reply was cut off at its limit of tokens"
                    yield LLMChunk(notice=NoticeGiven("reply_cut", "warning", text))
            case LLMChunk():
                yield event

    def end(self) -> Iterator[str | LLMChunk]:
        reasoning, text = self._think.end()
        yield from self._reason(reasoning)
        if self._head:
            text = self._head.feed(text) + self._head.end()
        if text:
            yield text

    def _reason(self, text: str) -> Iterator[LLMChunk]:
        if text:
            self.has_reasoning = True
            yield LLMChunk(reasoning=text)
