"""The gate between a reply and the user: how much waits for the hooks that may change it (`hooks.stream_gate`)."""

import asyncio
from typing import Final

from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven
from server.agent.reply_parser import ModelReply
from server.hooks.layers import TurnHooks
from server.hooks.stages import LlmAnswer
from server.speech.sentences import SentenceSplitter

REPLY_SEPARATOR: Final = "\n\n"
PIECE_CHARS: Final = 512
"""The longest piece of a text that was held, or that a hook made long: each is handled at one go."""


class StreamGate:
    """Gate of one model call: `pass_on` the text as it comes, then `close`.

    off: text passes at once; what a hook makes of it, later calls of the turn
    read. sentence: each sentence is a question of its own to the hooks; the last
    one goes with the tool calls. full: all of it waits.
    """

    def __init__(self, hooks: TurnHooks, out: ChunkChannel, *, model: str, has_spoken: bool) -> None:
        self._hooks = hooks
        self._out = out
        self._mode = hooks.stream_gate
        self._model = model
        self._has_spoken = has_spoken
        self._splitter = SentenceSplitter()
        self._waiting = ""  # full: the text so far
        self._shown: list[str] = []

    @property
    def has_shown(self) -> bool:
        return bool(self._shown)

    async def pass_on(self, text: str) -> None:
        """Show what may be shown now. Raises TurnAborted."""
        if self._mode == "full":
            self._waiting += text
            return
        if self._mode == "sentence":
            text = "".join([await self._rewrite_sentence(sentence) for sentence in self._splitter.feed(text)])
        await self._show(text)

    async def close(self, reply: ModelReply) -> None:
        """Show the rest; `reply` gets the calls and the text that later calls read. Raises TurnAborted."""
        if self._mode == "off":
            await self._close_open_gate(reply)
        else:
            await self._out.put(LLMChunk(held=True))
            text = self._waiting if self._mode == "full" else self._splitter.flush() or ""
            words = text.lstrip()  # the white space before them is no hook's business
            answer = await self._rewrite(words, reply)
            reply.calls = answer.tool_calls
            await self._show(text.removesuffix(words) + answer.content if answer.content else "")
            reply.content = "".join(self._shown)
            await self._show_end()

    async def _close_open_gate(self, reply: ModelReply) -> None:
        shown = reply.content = "".join(self._shown)
        if self._hooks.pipeline.has("after_llm"):
            answer = await self._rewrite(shown, reply)
            reply.calls, reply.content = answer.tool_calls, answer.content
        await self._show_end()
        if reply.content != shown:
            text = "a hook changed a reply that had already been shown; only later steps see the change"
            await self._out.put(LLMChunk(notice=NoticeGiven("reply_changed_late", "info", text)))

    async def _rewrite_sentence(self, sentence: str) -> str:
        """Let hooks rewrite the sentence without the white space around it, which goes where the words go."""
        words = sentence.strip()
        answer = LlmAnswer(model=self._model, content=words, finish_reason="")
        changed = (await self._hooks.pipeline.after_llm(answer)).content
        return sentence.replace(words, changed) if changed else ""

    async def _rewrite(self, text: str, reply: ModelReply) -> LlmAnswer:
        answer = LlmAnswer(
            model=self._model,
            content=text,
            tool_calls=reply.calls,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
        )
        return await self._hooks.pipeline.after_llm(answer)

    async def _show(self, text: str) -> None:
        if not self._shown:
            text = text.lstrip()  # white space alone, as some models put it before their calls, is no reply
        if not text:
            return
        if not self._shown and self._has_spoken:
            await self._out.put(LLMChunk(text=REPLY_SEPARATOR))
        for start in range(0, len(text), PIECE_CHARS):
            if start:
                await asyncio.sleep(0)  # what was held comes all at once: let others run in between
            self._shown.append(text[start : start + PIECE_CHARS])
            await self._out.put(LLMChunk(text=self._shown[-1]))

    async def _show_end(self) -> None:
        if self._shown:
            await self._out.put(LLMChunk(reply_end=True))
