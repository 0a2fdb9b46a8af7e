"""JSON-RPC 2.0 with a hook, one line a message. No I/O: bytes in any cuts go in, replies come out.

A hook is code that we did not write: whatever it prints costs at most the call
that it belongs to. A line that is too long, garbled or answers no call is dropped,
counted by reason, and the next one is read as if nothing had been.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from server.bounded.limits import BoundedDict
from server.subprocesses.lines import MAX_LINE_BYTES, MAX_PARTS, Line, Overlong, is_overfull

IgnoredLine = Literal[
    "blank", "stray", "garbled", "overlong", "no_id", "odd_id", "request", "unknown_id", "duplicate", "late"
]
"""The reason why a line counts for nothing: white space; not a JSON object; one that is no JSON-RPC reply; longer than the limit;
without an id, or 0 (what answers a notification); with the id of a call as "7" or 7.0; a call of the hook to us; an id that was never given; a second
reply; the reply to a call that was given up."""

_MAX_ABANDONED: Final = 256  # calls whose late reply is still told from a second one
_MAX_REPAIRED_BYTES: Final = 1 << 20  # the standard library's parser is slow, and so is replacing what is no UTF-8
_FIRST_BYTES: Final = 256

_HEAD = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"\\]*"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*[,}]', re.IGNORECASE)
"""Beginning of a line that is a reply to this id, whatever follows; elsewhere an id may be part of a result."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_KEYS = frozenset(("jsonrpc", "id", "method", "result", "error"))

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


class RpcReply(NamedTuple):
    """The end of call `id`: `error` says why it failed, or is None if `result` counts."""

    id: int
    result: Any
    error: str | None


class RpcCalls:
    """The calls to one process: ids 1, 2, 3 …, replies in any order. A call that gets no reply has to be abandoned."""

    def __init__(self) -> None:
        self._last_id = 0
        self._open = set[int]()
        self._abandoned = BoundedDict[int, None](_MAX_ABANDONED)  # in the order of giving up
        self.ignored = Counter[str]()
        """Number of lines that count for nothing, by IgnoredLine."""

    def open(self, method: str, params: Mapping[str, Any]) -> tuple[int, bytearray]:
        """Return the id of a new call, and its line. Raises TypeError or ValueError for what is no JSON, or too long."""
        line = _line(b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":' % (self._last_id + 1, method.encode()), params)
        self._last_id += 1
        self._open.add(self._last_id)
        return self._last_id, line

    def abandon(self, call_id: int) -> None:
        """Give a call up; nothing changes if it already has its reply."""
        if call_id in self._open:
            self._open.remove(call_id)
            self._abandoned[call_id] = None

    def read(self, line: Line) -> RpcReply | None:
        """Return the reply that the line holds, or None for a line that is none, which `ignored` counts."""
        if isinstance(line, Overlong):
            return self._spoilt("overlong", line.head, f"a line of more than {MAX_LINE_BYTES >> 20} MiB")
        if line[:1] != b"{" and (why := _no_object(line)):
            return self._ignore(why)
        try:
            message = _decode(line)
        except (ValueError, RecursionError) as error:
            return self._spoilt("garbled", line, f"not valid JSON: {error}")
        if not isinstance(message, dict):
            return self._ignore("stray")
        return self._match(message)

    def _match(self, message: dict[str, Any]) -> RpcReply | None:
        if not message.keys() <= _KEYS:
            message = _fold(message)
        call_id = message.get("id")
        if call_id is None or (call_id == 0 and type(call_id) is int):
            return self._ignore("no_id")
        if type(call_id) is not int or call_id < 0:  # True is an int, and no id
            return self._ignore("odd_id" if self._is_known(call_id) else "garbled")
        if message.get("method") is not None and "result" not in message and "error" not in message:
            return self._ignore("request")
        if call_id not in self._open:
            return self._ignore(self._why_unwanted(call_id))
        self._open.remove(call_id)
        if problem := _problem(message):
            self._ignore("garbled")
            return RpcReply(call_id, None, f"its reply was {problem}")
        error = message.get("error")
        if error is None:
            return RpcReply(call_id, message.get("result"), None)
        return RpcReply(call_id, None, str(_fold(error).get("message") or ""))

    def _is_known(self, call_id: Any) -> bool:
        """Return whether a string or a float holds the id of a call."""
        try:
            number = float(call_id) if type(call_id) in (str, float) else 0.0
        except ValueError:
            return False
        return number.is_integer() and 1 <= number <= self._last_id

    def _spoilt(self, why: IgnoredLine, line: bytes | bytearray, problem: str) -> RpcReply | None:
        """Fail the call of a line that cannot be read, where it can be known which."""
        self._ignore(why)
        head = _HEAD.match(line)
        if head is None or (call_id := int(head[1])) not in self._open:
            return None
        self._open.remove(call_id)
        return RpcReply(call_id, None, f"its reply was {problem}")

    def _ignore(self, why: IgnoredLine) -> RpcReply | None:
        """Count a line that is no reply, and return None."""
        self.ignored[why] += 1
        return None

    def _why_unwanted(self, call_id: int) -> IgnoredLine:
        if call_id in self._abandoned:
            del self._abandoned[call_id]
            return "late"
        return "duplicate" if call_id <= self._last_id else "unknown_id"


def notification(method: str, params: Mapping[str, Any]) -> bytearray:
    """Return a line without an id: nothing answers it. Raises as `RpcCalls.open`."""
    return _line(b'{"jsonrpc":"2.0","method":"%s","params":' % method.encode(), params)


def _line(head: bytes, params: Mapping[str, Any]) -> bytearray:
    line = bytearray(head)
    try:
        _encoder.encode_into(params, line, -1)
    except UnicodeEncodeError:  # half a surrogate pair, which models and file names may hold
        line[len(head) :] = json.dumps(msgspec.to_builtins(params), separators=(",", ":")).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    line += b"}\n"
    if b"\xe2\x80" in line:  # Node's readline ends a line at these two characters
        line = line.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"{len(line)} bytes, at most {MAX_LINE_BYTES} are sent")
    return line


def _no_object(line: bytes | bytearray) -> IgnoredLine | None:
    """Look at a line before it is parsed: a flood of debug output must cost next to nothing."""
    start = line[:_FIRST_BYTES].lstrip()
    if not start and not line.strip():
        return "blank"
    return None if not start or start[:1] == b"{" else "stray"


def _decode(line: bytes | bytearray) -> Any:
    """Decode JSON; bytes that are no UTF-8, and halves of surrogate pairs, become replacement characters.

    Raises ValueError where that would hold the event loop for too long.
    """
    if is_overfull(line):
        raise ValueError(f"more than {MAX_PARTS} objects and lists")
    try:
        return _decoder.decode(line)
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        if len(line) > _MAX_REPAIRED_BYTES or (is_text and not _SURROGATE.search(line)):
            raise
    text = line if is_text else line.decode("utf-8", "replace").encode()
    if _SURROGATE.search(text):
        value = json.loads(text, parse_constant=_refuse)
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return _decoder.decode(text)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _fold(message: dict[str, Any]) -> dict[str, Any]:
    """Lower the keys, which count in any case; one that is written as it should be wins."""
    return {key.lower(): value for key, value in message.items()} | {
        key: value for key, value in message.items() if key.islower()
    }


def _problem(message: dict[str, Any]) -> str | None:
    """Return what keeps an object with an id from being a reply."""
    error = message.get("error")
    if not isinstance(message.get("jsonrpc") or "", str):
        return "not JSON-RPC: `jsonrpc` must be a string"
    if error is None:
        return None
    if not isinstance(error, dict):
        return "not JSON-RPC: `error` must be an object with `code` and `message`"
    error = _fold(error)
    if not isinstance(error.get("message") or "", str):
        return "not JSON-RPC: `error.message` must be a string"
    if type(error.get("code") or 0) is not int:
        return "not JSON-RPC: `error.code` must be an integer"
    return None
