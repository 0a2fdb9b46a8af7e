"""A reply of the model: read from its stream (reasoning, the tag at the head, text, calls), then let through to the user.

How much waits for the hooks that may change it is `hooks.stream_gate`'s to say.
"""

import asyncio
import string
from collections.abc import Sequence
from typing import Final, Literal

import regex

from server.agent.chunks import ChunkChannel, LLMChunk, NoticeGiven
from server.hooks.layers import TurnHooks
from server.hooks.stages import LlmAnswer
from server.llm.language_model import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage
from server.speech.sentences import SentenceSplitter

MAX_HEAD_CHARS = 64

_THINK = "<think>"
_THINK_END = "</think>"
_SPACE = r"[\s\x1c-\x1f]*"  # as str.strip sees it
_HEAD = regex.compile(rf"{_SPACE}(?P<fence>```[^\n`]*\n{_SPACE})?<(?P<tag>need_tool|no_tool)>", regex.IGNORECASE)
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""Table for lower case in tags; unlike `lower`, it makes no text longer (İ would be)."""
REPLY_SEPARATOR: Final = "\n\n"
PIECE_CHARS: Final = 512
"""The longest piece of a text that was held, or that a hook made long: each is handled at one go."""


class ThinkReader:
    """Separates a `<think>` block at the head of a reply from the reply."""

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["head", "thinking", "gap", "text"] = "head"

    def feed(self, delta: str) -> tuple[str, str]:
        """Return (reasoning, text), each as far as it is certain."""
        if self._state == "gap" and (delta := delta.lstrip()):
            self._state = "text"
        if self._state in ("gap", "text"):
            return "", delta
        self._held += delta
        if self._state == "head":
            head = self._held.lstrip()
            if not head.startswith(_THINK):
                return ("", "") if _THINK.startswith(head) else self._release()
            self._state, self._held = "thinking", head[len(_THINK) :]
        thought, found, text = self._held.partition(_THINK_END)
        if found:
            self._held, text = "", text.lstrip()
            self._state = "text" if text else "gap"
            return thought, text
        certain = len(thought) - _overlap(thought, _THINK_END)
        self._held = thought[certain:]
        return thought[:certain], ""

    def end(self) -> tuple[str, str]:
        """Return what was withheld; an unclosed block stays reasoning."""
        return (self._held, "") if self._state == "thinking" else ("", self._held)

    def _release(self) -> tuple[str, str]:
        text, self._held, self._state = self._held, "", "text"
        return "", text


class TagReader:
    """Finds `<need_tool>` or `<no_tool>` at the head of the planning reply.

    The head (docs/hooks.md, "How the model asks for tools") is white space, an
    optional code-fence line, the tag (any case) and, optionally, its closing tag.
    At most 64 characters are withheld to decide; a tag later on is text. A closing tag, or the closing fence, that ends the
    reply belongs to the head too and is withheld until the end decides.
    """

    def __init__(self) -> None:
        self.tag: str | None = None
        """The tag that was found, `need_tool` or `no_tool`; absent until then."""
        self.has_text = False
        """Whether anything but white space stood beside the tag."""
        self._held = ""
        self._decided = False
        self._is_closed = False  # the tag has its closing tag: another is text
        self._trailers: tuple[str, ...] = ()

    @property
    def needs_tools(self) -> bool:
        """Return whether tools are needed; valid after `end`. An empty reply and a bare tag mean yes."""
        return self.tag == "need_tool" or not self.has_text

    def feed(self, delta: str) -> str:
        self._held += delta
        if not self._decided and not self._decide():
            return ""
        return self._show(self._certain())

    def end(self) -> str:
        kept = self._held
        for trailer in self._trailers:
            kept = kept.rstrip()
            if kept.translate(_SMALL).endswith(trailer):
                kept = kept[: -len(trailer)]
        return self._show(len(kept)) if kept.strip() else ""

    def _decide(self) -> bool:
        """Look for the tag; return whether it was found or cannot come any more."""
        match = _HEAD.match(self._held[:MAX_HEAD_CHARS], partial=True)  # partial: it may become one
        if match is not None and not match.partial:
            self.tag = match["tag"].lower()
            closing = f"</{self.tag}>"
            self._trailers = ("```", closing) if match["fence"] else (closing,)
            self._held = self._held[match.end() :]
            self._decided = True
        elif match is None or len(self._held) >= MAX_HEAD_CHARS:
            self._decided = True
        return self._decided

    def _certain(self) -> int:
        if self.tag is None:
            return len(self._held)
        if not self.has_text:
            self._drop_closing_tag()
        certain = self._held.translate(_SMALL)
        # a trailer may be followed by white space and by the other trailer
        while True:
            certain = certain.rstrip()
            overlap = max(_overlap(certain, trailer) for trailer in self._trailers)
            if not overlap:
                return len(certain)
            certain = certain[:-overlap]

    def _drop_closing_tag(self) -> None:
        self._held = self._held.lstrip()
        closing = self._trailers[-1]
        if not self._is_closed and self._held[: len(closing)].translate(_SMALL) == closing:
            self._is_closed = True
            self._held = self._held[len(closing) :].lstrip()

    def _show(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        self.has_text = self.has_text or bool(text.strip())
        return text


def _overlap(text: str, tag: str) -> int:
    """Count the characters at the end of `text` that are the beginning of `tag`, or all of it."""
    for length in range(min(len(tag), len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0


class ModelReply:
    def __init__(self, head: TagReader | None = None) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        self.content = ""
        """The text that later calls of the turn see as what the user has read."""
        self.finish_reason = "stop"
        self.usage: Usage | None = None
        self.has_reasoning = False
        self._think = ThinkReader()
        self._head = head

    def read(self, event: ModelEvent) -> tuple[str, Sequence[LLMChunk]]:
        """Return the text for the user, and the chunks that go before it."""
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
                    notice = "the model's reply was cut off at its token limit"
                    chunks.append(LLMChunk(notice=NoticeGiven("reply_cut", "warning", notice)))
                return "", chunks

    def end(self) -> tuple[str, Sequence[LLMChunk]]:
        """Return what was withheld until now."""
        reasoning, text = self._think.end()
        if self._head:
            text = self._head.feed(text) + self._head.end()
        return text, self._reason(reasoning)

    def _reason(self, text: str) -> Sequence[LLMChunk]:
        if not text:
            return ()
        self.has_reasoning = True
        return (LLMChunk(reasoning=text),)


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
