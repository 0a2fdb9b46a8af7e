"""LLMChunk → TTSResult: the agent's chunks as they are said and shown. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, assert_never, get_args

import msgspec

from server.agent.chunks import LLMChunk, NoticeGiven, ToolStarted, TraceEvent
from server.media.store import MediaItem
from server.speech.sentences import SentenceSplitter
from server.speech.speakable import SpokenText, VoiceTags
from server.tools.tool_calls import ToolOutcome

MAX_PIECE_CHARS: Final = 256
"""Longest text that is split at once: the most hostile take 2 ms to be made sentences of."""


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """An exact slice of the reply; `spoken`, unless it is None, is said instead ("" is silence).

    approval: id of the question that is said aloud here; `text` is "" then.
    """

    text: str
    spoken: str | None = None
    approval: str | None = None

    @property
    def words(self) -> str:
        """Words that are said of it."""
        return (self.text if self.spoken is None else self.spoken).strip()


ResultKind = Literal["text", "sentence", "hook", "tool_call", "tool_result", "media", "notice", "reasoning", "trace"]
_KINDS: Final[tuple[ResultKind, ...]] = get_args(ResultKind)


class TTSResult(msgspec.Struct, frozen=True, kw_only=True):  # cheaper to build than a dataclass, as LLMChunk
    """One thing that leaves the turn; exactly one field is set (seed 004 §9).

    sentence, hook, tool_call, tool_result and media are handled by the client in
    the order of playback, the others as they arrive.
    """

    text: str | None = None
    sentence: SpokenSentence | None = None
    hook: dict[str, str] | None = None
    tool_call: ToolStarted | None = None
    tool_result: ToolOutcome | None = None
    media: MediaItem | None = None
    notice: NoticeGiven | None = None
    reasoning: str | None = None
    trace: TraceEvent | None = None

    @property
    def kind(self) -> ResultKind:
        """Name of the field that is set, for a `match` that has to handle each."""
        for kind in _KINDS:
            if getattr(self, kind) is not None:
                return kind
        raise ValueError("a TTSResult with no field set")


def in_pieces(chunk: LLMChunk) -> Iterator[LLMChunk]:
    """Cut a long text into short ones, each of which is soon split into sentences."""
    if chunk.text is None or len(chunk.text) <= MAX_PIECE_CHARS:
        yield chunk
        return
    for at in range(0, len(chunk.text), MAX_PIECE_CHARS):
        yield LLMChunk(text=chunk.text[at : at + MAX_PIECE_CHARS])


class SentenceAssembler:
    """Makes sentences of the agent's text, and keeps the order: an open sentence leaves before a hook or a tool call.

    With `is_spoken` the first sentence of the turn may be a clause, to be heard early. `language` (BCP 47): the turn's.
    """

    def __init__(self, *, is_spoken: bool = False, language: str | None = None) -> None:
        self._splitter = SentenceSplitter(first_clause=is_spoken)
        self._tags = VoiceTags()
        self._spoken = SpokenText(language)

    def feed(self, chunk: LLMChunk) -> Iterator[TTSResult]:
        kind = chunk.kind
        match kind:
            case "text":
                yield from self._show(self._tags.feed(chunk.text or ""))
            case "hook" | "tool_call" | "tool_result" | "media":
                yield from self.flush()
                yield TTSResult(**{kind: getattr(chunk, kind)})
            case "reply_end":
                yield from self.flush()
                self._tags.begin_reply()
                self._spoken.begin_reply()
            case "notice" | "reasoning" | "trace":
                yield TTSResult(**{kind: getattr(chunk, kind)})
            case "usage" | "hook_record" | "model_request" | "held":
                pass  # neither said nor shown
            case _:
                assert_never(kind)

    def flush(self) -> Iterator[TTSResult]:
        """Yield the sentence still open, if there is one."""
        yield from self._show(self._tags.flush())
        rest = self._splitter.flush()
        if rest is not None:
            yield self._sentence(rest)

    def _show(self, text: str) -> Iterator[TTSResult]:
        if text:
            yield TTSResult(text=text)
            for sentence in self._splitter.feed(text):
                yield self._sentence(sentence)

    def _sentence(self, text: str) -> TTSResult:
        voiced = self._tags.voiced(text)
        spoken = self._spoken.spoken(text if voiced is None else voiced)
        if spoken is None and voiced is not None:
            spoken = voiced.strip()
        return TTSResult(sentence=SpokenSentence(text, spoken))
