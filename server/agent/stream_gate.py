"""Between a reply and the user: how much of it waits for the hooks that may change it (`hooks.stream_gate`)."""

from collections.abc import Iterator
from typing import Final

from server.agent.chunks import LLMChunk, NoticeGiven
from server.agent.reply import Reply
from server.hooks.interception.stages import LlmAnswer
from server.hooks.layers import TurnHooks
from server.speech.sentences import SentenceSplitter

REPLY_SEPARATOR: Final = "\n\n"
PIECE_CHARS: Final = 512
"""Of a text that was held, or that a hook made long: what follows works on each piece at one go."""


class StreamGate:
    """One per model call: `pass_on` the text as it comes, then `close`.

    off: text passes at once; what a hook makes of it, later calls of the turn
    read. sentence: each sentence is a question of its own to the hooks; the last
    one goes with the tool calls. full: all of it waits.
    """

    def __init__(self, hooks: TurnHooks | None, *, model: str, has_spoken: bool) -> None:
        self._hooks = hooks
        self._mode = "off" if hooks is None else hooks.stream_gate
        self._model = model
        self._has_spoken = has_spoken
        self._splitter = SentenceSplitter()
        self._waiting = ""  # full: the text so far
        self._shown: list[str] = []

    @property
    def is_held(self) -> bool:
        """Whether `close` waits for hooks before it shows the rest."""
        return self._mode != "off"

    @property
    def has_shown(self) -> bool:
        return bool(self._shown)

    async def pass_on(self, text: str) -> list[LLMChunk]:
        """What may be shown now. Raises TurnAborted."""
        if self._mode == "full":
            self._waiting += text
            return []
        if self._mode == "sentence":
            text = "".join([await self._changed(sentence) for sentence in self._splitter.feed(text)])
        return list(self._show(text))

    async def close(self, reply: Reply) -> list[LLMChunk]:
        """The rest of it; `reply` gets the calls and the text that later calls read. Raises TurnAborted."""
        if self._hooks is None or not self._hooks.pipeline.has("after_llm"):
            reply.content = "".join(self._shown)
            return self._end()
        if self._mode == "off":
            return await self._correct(reply)
        text = self._waiting if self._mode == "full" else self._splitter.flush() or ""
        words = text.lstrip()  # the white space before them is no hook's business
        answer = await self._hooks.pipeline.after_llm(self._answer(words, reply))
        reply.calls = answer.tool_calls
        chunks = list(self._show(text.removesuffix(words) + answer.content if answer.content else ""))
        reply.content = "".join(self._shown)
        return chunks + self._end()

    async def _correct(self, reply: Reply) -> list[LLMChunk]:
        assert self._hooks is not None
        shown = "".join(self._shown)
        answer = await self._hooks.pipeline.after_llm(self._answer(shown, reply))
        reply.calls, reply.content = answer.tool_calls, answer.content
        chunks = self._end()
        if answer.content != shown:
            text = "a hook changed a reply that was said already; only what follows knows the change"
            chunks.append(LLMChunk(notice=NoticeGiven("reply_changed_late", "info", text)))
        return chunks

    async def _changed(self, sentence: str) -> str:
        """White space around a sentence is no hook's business; it goes where the words go."""
        assert self._hooks is not None
        words = sentence.strip()
        answer = LlmAnswer(model=self._model, content=words, finish_reason="")
        changed = (await self._hooks.pipeline.after_llm(answer)).content
        return sentence.replace(words, changed) if changed else ""

    def _answer(self, text: str, reply: Reply) -> LlmAnswer:
        return LlmAnswer(
            model=self._model,
            content=text,
            tool_calls=reply.calls,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
        )

    def _show(self, text: str) -> Iterator[LLMChunk]:
        if not self._shown:
            text = text.lstrip()  # white space alone, as some models put it before their calls, is no reply
        if not text:
            return
        if not self._shown and self._has_spoken:
            yield LLMChunk(text=REPLY_SEPARATOR)
        for start in range(0, len(text), PIECE_CHARS):
            self._shown.append(text[start : start + PIECE_CHARS])
            yield LLMChunk(text=self._shown[-1])

    def _end(self) -> list[LLMChunk]:
        return [LLMChunk(reply_end=True)] if self._shown else []
