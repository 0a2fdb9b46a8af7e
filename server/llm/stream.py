"""A chat-completions stream: bytes of a response → model events, in the order that `LanguageModel` promises. No I/O.

Read leniently, as endpoints differ: each `data:` line is an event of its own
(a JSON text never spans two, and some servers leave the blank line out).
"""

import json
import re
import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from server.llm.language_model import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCall, Usage

MAX_LINE_BYTES: Final = 4 << 20
MAX_CALLS: Final = 128
MAX_ARGUMENTS_CHARS: Final = 1 << 20
MAX_COUNTED_TOKENS: Final = 1 << 53
"""A larger count cannot be read by clients and counts as nothing."""

_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class StreamError(Exception):
    """A response that is not a chat-completions stream; the text says what it is."""


class EventReader:
    """Bytes in, the data of whole events out; characters and lines may be torn anywhere.

    `is_done` is set by `[DONE]`, after which everything is ignored. `is_whole`: the
    body is one JSON text, as an endpoint that ignores `stream` answers, and one event.
    A line (or body) over `max_line_bytes` raises StreamError: nothing grows without a bound.
    """

    def __init__(self, *, is_whole: bool = False, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.is_done = False
        self._is_whole = is_whole
        self._max_line_bytes = max_line_bytes
        self._rest = b""
        self._is_first = True

    def feed(self, data: bytes) -> list[bytes]:
        """Return the data of each event that is now complete; comments and other fields give nothing."""
        *lines, rest = (self._rest + data).split(b"\n") if not self._is_whole else (self._rest + data,)
        if len(rest) > self._max_line_bytes:
            raise StreamError(f"a {'reply' if self._is_whole else 'line'} of over {self._max_line_bytes} bytes")
        self._rest = rest
        return [event for line in lines if (event := self._read_line(line))]

    def finish(self) -> list[bytes]:
        """Return what is left at the end of the stream: the body, or a last line without its newline."""
        rest, self._rest = self._rest, b""
        event = rest if self._is_whole else self._read_line(rest)
        return [event] if event else []

    def _read_line(self, line: bytes) -> bytes:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.startswith(b"data:") or self.is_done:
            return b""
        data = line[5:].strip()  # the \r of CRLF with it
        self.is_done = data == b"[DONE]"
        return b"" if self.is_done else data


class ContentPart(Struct):
    """Part of a content that an endpoint streams in parts (`thinking` holds parts again)."""

    type: str = "text"
    text: str | None = None
    thinking: list["ContentPart"] | None = None


class FunctionPart(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallPart(Struct):
    index: int | None = None
    id: str | None = None
    function: FunctionPart | None = None


class Delta(Struct):
    content: str | list[ContentPart] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallPart] | None = None


class Choice(Struct):
    delta: Delta | None = None
    message: Delta | None = None
    """Whole reply in place of `delta`, from an endpoint that ignores `stream`."""
    finish_reason: str | None = None


class Chunk(Struct):
    choices: list[Choice] | None = None
    usage: Any = None
    """Token counts in the endpoint's own form; one that makes no sense does not fail the reply."""
    error: str | dict[str, Any] | None = None
    object: str | None = None
    message: str | None = None
    """Text of an error that older vLLM sends in mid-stream, with `object: "error"`."""

    @property
    def failure(self) -> Any:
        return {"message": self.message} if self.object == "error" and self.message else self.error


_decode_chunk = msgspec.json.Decoder(Chunk).decode


def parse_chunk(data: bytes) -> Chunk:
    """Parse one event's data; raises StreamError with the path of what does not fit.

    Texts may hold halves of surrogate pairs, which JSON escapes can tear apart (`"\\ud83d"` in one delta, `"\\ude00"`
    in the next); `ReplyReader` joins them.
    """
    try:
        try:
            return _decode_chunk(data)
        except msgspec.DecodeError:
            if not _ESCAPED_SURROGATE.search(data):
                raise
            return msgspec.convert(json.loads(data.decode()), Chunk)
    except UnicodeDecodeError as error:
        raise StreamError("an event that is not UTF-8") from error
    except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors, too
        raise StreamError(f"an event that is not a chat-completions chunk ({error})") from error


def join_halves(text: str) -> str:
    """Make halves of surrogate pairs that stand side by side their character, and others U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _TextJoiner:
    """The deltas of one text in, the same text out: half a character at the end waits for its other half."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, delta: str) -> str:
        text = self._half + delta
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return join_halves(text[: len(text) - len(self._half)])

    def finish(self) -> str:
        """Return U+FFFD for a half that waited in vain."""
        return "\ufffd" if self._half else ""


class ReplyReader:
    """Chunks of one reply in, events out: text and reasoning at once, tool calls and `Finished` by `finish`."""

    def __init__(self) -> None:
        self.has_begun = False  # a piece of text, reasoning or a call has come
        self.is_finished = False  # a finish_reason has come
        self._reason = ""
        self._usage = Usage()
        self._calls = CallAssembler()
        self._text = _TextJoiner()
        self._reasoning = _TextJoiner()

    def feed(self, chunk: Chunk) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            if (delta := choice.delta or choice.message) is not None:
                self._read(delta, events)
                self.has_begun = self.has_begun or bool(events or delta.tool_calls)
            if choice.finish_reason:
                self.is_finished, self._reason = True, join_halves(choice.finish_reason)
        return events

    def finish(self) -> list[ModelEvent]:
        """Return the calls and the end. Raises StreamError for a call without a name."""
        calls = self._calls.finish()
        reason = self._reason or ("tool_calls" if calls else "stop")
        events: list[ModelEvent] = []
        _add(events, ReasoningDelta, self._reasoning.finish())
        _add(events, TextDelta, self._text.finish())
        return [*events, *calls, Finished(reason=reason, usage=self._usage)]

    def _read(self, delta: Delta, events: list[ModelEvent]) -> None:
        if reasoning := delta.reasoning_content or delta.reasoning:
            _add(events, ReasoningDelta, self._reasoning.feed(reasoning))
        if isinstance(delta.content, str):
            _add(events, TextDelta, self._text.feed(delta.content))
        for part in delta.content if isinstance(delta.content, list) else ():
            _add(events, TextDelta, self._text.feed(part.text or ""))
            for inner in part.thinking or ():
                _add(events, ReasoningDelta, self._reasoning.feed(inner.text or ""))
        if delta.refusal:
            _add(events, TextDelta, self._text.feed(delta.refusal))
        if delta.tool_calls:
            self._calls.feed(delta.tool_calls)


def _add(events: list[ModelEvent], kind: type[TextDelta] | type[ReasoningDelta], text: str) -> None:
    if text:
        events.append(kind(text))


def _usage(usage: Any) -> Usage:
    """Read the counts; what cannot be understood of them counts as nothing."""
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
        cached_tokens=cached or _count(counts.get("prompt_cache_hit_tokens")),
    )


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value <= MAX_COUNTED_TOKENS else 0


class _OpenCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []


class CallAssembler:
    """Fragments of tool calls → whole calls, in the order in which they began.

    Endpoints differ: whole calls in one chunk, no index, one index for all calls,
    empty names in later fragments, ids repeated or missing, arguments as an object.
    An id that is missing or not new is replaced by `new_id()`.
    """

    def __init__(self, new_id: Callable[[], str] = lambda: f"call_{secrets.token_hex(8)}") -> None:
        self._new_id = new_id
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._arguments_chars = 0

    def feed(self, parts: list[CallPart]) -> None:
        for part in parts:
            function = part.function or FunctionPart()
            call = self._find(part, function)
            call.id = call.id or join_halves(part.id or "")
            call.name = call.name or join_halves(function.name or "")
            arguments = function.arguments or ""
            piece = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            self._arguments_chars += len(piece)
            if self._arguments_chars > MAX_ARGUMENTS_CHARS:
                raise StreamError(f"tool arguments of over {MAX_ARGUMENTS_CHARS} characters")
            call.pieces.append(piece)

    def finish(self) -> list[ToolCall]:
        """Return every call that began; without parameters it has `{}`. Raises StreamError for one without a name."""
        seen: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.name:
                raise StreamError("a tool call without a name")
            id_ = call.id if call.id and call.id not in seen else self._new_id()
            seen.add(id_)
            arguments = join_halves("".join(call.pieces)).strip() or "{}"
            calls.append(ToolCall(id=id_, name=call.name, arguments=arguments))
        return calls

    def _find(self, part: CallPart, function: FunctionPart) -> _OpenCall:
        call = self._calls[-1] if part.index is None and self._calls else self._by_index.get(part.index or 0)
        if call is None or _begins_another(call, part, function):
            if len(self._calls) == MAX_CALLS:
                raise StreamError(f"over {MAX_CALLS} tool calls in one reply")
            call = _OpenCall()
            self._calls.append(call)
            self._by_index[len(self._calls) - 1 if part.index is None else part.index] = call
        return call


def _begins_another(call: _OpenCall, part: CallPart, function: FunctionPart) -> bool:
    """Return whether this fragment is a new call although its index (or lack of one) says `call`."""
    if not function.name or not call.name:
        return False
    if part.id and call.id:
        return part.id != call.id
    return part.index is None  # neither index nor ids to go by: a name begins a call
