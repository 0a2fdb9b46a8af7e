"""What one model call answers, sorted as it arrives: text for the user, reasoning, calls. Pure."""

from collections.abc import Sequence

from server.agent.chunks import LLMChunk, NoticeGiven
from server.agent.tags import TagReader, ThinkReader
from server.llm.types import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage


class Reply:
    """One reply: `read` each event, then `end`."""

    def __init__(self, head: TagReader | None = None) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self.content = ""
        """What later calls of the turn are told that the user has read."""
        self.finish_reason = "stop"
        self.usage: Usage | None = None
        self.has_reasoning = False
        self._think = ThinkReader()
        self._head = head

    def read(self, event: ModelEvent) -> tuple[str, Sequence[LLMChunk]]:
        """Returns the text for the user, and what goes to the reader of the turn before it."""
        match event:
            case TextDelta(text):
                reasoning, text = self._think.feed(text)
                if text and self._head:
                    text = self._head.feed(text)
                return text, self._reason(reasoning) if reasoning else ()
            case ReasoningDelta(text):
                return "", self._reason(text)
            case ToolCall():
                self.calls = (*self.calls, event)
                return "", ()
            case Finished(reason, usage):
                self.finish_reason, self.usage = reason, usage
                chunks = [LLMChunk(usage=usage)]
                if reason == "length":
                    notice = "the model's reply was cut off at its limit of tokens"
                    chunks.append(LLMChunk(notice=NoticeGiven("reply_cut", "warning", notice)))
                return "", chunks

    def end(self) -> tuple[str, Sequence[LLMChunk]]:
        """Returns what was withheld until now."""
        reasoning, text = self._think.end()
        if self._head:
            text = self._head.feed(text) + self._head.end()
        return text, self._reason(reasoning)

    def _reason(self, text: str) -> Sequence[LLMChunk]:
        if not text:
            return ()
        self.has_reasoning = True
        return (LLMChunk(reasoning=text),)
