"""Server-sent events of a chat-completions stream → chunks, tool calls → whole calls. No I/O.

Read leniently, as endpoints differ: each `data:` line is an event of its own
(a JSON text never spans two, and some servers leave the blank line out).
"""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from server.llm.surrogates import has_surrogates, joined, parse_torn
from server.llm.types import ToolCall

MAX_LINE_BYTES = 4 << 20
MAX_CALLS = 128
MAX_ARGUMENTS_CHARS = 1 << 20


class StreamError(Exception):
    """What came is no chat-completions stream; the text says what it is."""


class ContentPart(Struct):
    """Some endpoints stream content in parts (`thinking` holds parts again)."""

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
    """Instead of `delta`, from an endpoint that ignores `stream`."""
    finish_reason: str | None = None


class Chunk(Struct):
    choices: list[Choice] | None = None
    usage: Any = None
    """Read by `reply`: what an endpoint counts in its own way does not fail what it has said."""
    error: str | dict[str, Any] | None = None
    object: str | None = None
    message: str | None = None
    """With `object: "error"`: what older vLLM sends in mid-stream."""


_decode_chunk = msgspec.json.Decoder(Chunk).decode


def parse_chunk(data: bytes) -> Chunk:
    """One event's data; raises StreamError with the path of what does not fit.

    Texts of a delta may begin or end with half a surrogate pair; a TextJoiner joins them.
    """
    try:
        try:
            return _decode_chunk(data)
        except msgspec.DecodeError:
            if not has_surrogates(data):
                raise
            return msgspec.convert(parse_torn(data), Chunk)
    except UnicodeDecodeError as error:
        raise StreamError("an event that is not UTF-8") from error
    except ValueError as error:  # msgspec's are, too
        raise StreamError(f"an event that is no chat-completions chunk ({error})") from error


class Reader(Protocol):
    """Bytes of a response's body in, the data of its events out. `is_done`: nothing of meaning follows."""

    is_done: bool

    def feed(self, data: bytes) -> Iterable[bytes]: ...

    def finish(self) -> Iterable[bytes]: ...


class WholeReader:
    """One JSON body as one event: what an endpoint that ignores `stream` answers."""

    is_done = False

    def __init__(self, max_body_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_body_bytes = max_body_bytes
        self._body = bytearray()

    def feed(self, data: bytes) -> Iterable[bytes]:
        self._body += data
        if len(self._body) > self._max_body_bytes:
            raise StreamError(f"a reply of over {self._max_body_bytes} bytes")
        return ()

    def finish(self) -> Iterable[bytes]:
        return (bytes(self._body),)


class SseReader:
    """Bytes in, the data of whole events out; characters and lines may be torn anywhere.

    `is_done` is set by `[DONE]`, after which everything is ignored. A line over
    `max_line_bytes` raises StreamError: nothing grows without a bound.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.is_done = False
        self._max_line_bytes = max_line_bytes
        self._rest = b""
        self._is_first = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The data of each event that is now complete; comments and other fields give nothing."""
        *lines, rest = (self._rest + data).split(b"\n")
        if len(rest) > self._max_line_bytes:
            raise StreamError(f"a line of over {self._max_line_bytes} bytes")
        self._rest = rest
        for line in lines:
            if (event := self._read_line(line)) is not None:
                yield event

    def finish(self) -> Iterator[bytes]:
        """The stream has ended: a last line without its newline counts."""
        rest, self._rest = self._rest, b""
        if (event := self._read_line(rest)) is not None:
            yield event

    def _read_line(self, line: bytes) -> bytes | None:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.startswith(b"data:") or self.is_done:
            return None
        data = line[5:].strip()  # the \r of CRLF with it
        if data == b"[DONE]":
            self.is_done = True
            return None
        return data or None


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
            call.id = call.id or part.id or ""
            call.name = call.name or function.name or ""
            arguments = function.arguments or ""
            piece = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            self._arguments_chars += len(piece)
            if self._arguments_chars > MAX_ARGUMENTS_CHARS:
                raise StreamError(f"tool arguments of over {MAX_ARGUMENTS_CHARS} characters")
            call.pieces.append(piece)

    def finish(self) -> list[ToolCall]:
        """Every call that began; a tool without parameters has `{}`. Raises StreamError for one without a name."""
        seen: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.name:
                raise StreamError("a tool call without a name")
            id_ = call.id if call.id and call.id not in seen else self._new_id()
            seen.add(id_)
            calls.append(ToolCall(id=id_, name=call.name, arguments=joined("".join(call.pieces)).strip() or "{}"))
        return calls

    def _find(self, part: CallPart, function: FunctionPart) -> "_OpenCall":
        call = self._calls[-1] if part.index is None and self._calls else self._by_index.get(part.index or 0)
        if call is None or _begins_another(call, part, function):
            if len(self._calls) == MAX_CALLS:
                raise StreamError(f"over {MAX_CALLS} tool calls in one reply")
            call = _OpenCall()
            self._calls.append(call)
            self._by_index[len(self._calls) - 1 if part.index is None else part.index] = call
        return call


class _OpenCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []


def _begins_another(call: _OpenCall, part: CallPart, function: FunctionPart) -> bool:
    """Whether this fragment is a new call although its index (or lack of one) says `call`."""
    if not function.name or not call.name:
        return False
    if part.id and call.id:
        return part.id != call.id
    return part.index is None  # neither index nor ids to go by: a name begins a call
