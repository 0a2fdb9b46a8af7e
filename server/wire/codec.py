"""Bytes ↔ frames. An error names the JSON path and loses nothing but its own frame."""

import json
import re
from array import array
from collections.abc import Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any

import msgspec

from server.errors import FrameError
from server.wire.frames import (
    AnyClientFrame,
    Chat,
    ContextValue,
    History,
    ImagePart,
    Message,
    Ref,
    TextPart,
    ToolItem,
    TurnChoices,
    TurnFrame,
)
from server.wire.schema_hints import problem_and_path, wrong_key

MAX_IMAGE_BYTES = 5 << 20
MAX_VALUES = 100_000
"""Limit of values in a frame: the event loop stands still while they are made, and a list of 3 bytes takes 60."""
MAX_TOOLS_BYTES = 65_536
"""The tools of a client, as JSON: the model reads them with every call."""
MAX_DEPTH = 64
"""Lists and objects within one another. The decoder's own limit is that of Python, which others may change."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\xff\xff")  # 1 and -1 as signed bytes


class _FrameHead(msgspec.Struct):
    ref: Ref | msgspec.UnsetType = msgspec.UNSET


class _FrameContext(msgspec.Struct):
    """The context of a frame that is wrong in it."""

    context: dict[str, Any]


_decoder = msgspec.json.Decoder(AnyClientFrame)
_head_decoder = msgspec.json.Decoder(_FrameHead)
_context_decoder = msgspec.json.Decoder(_FrameContext)
_encoder = msgspec.json.Encoder()
_OF_CONTEXT = ".context[...]"
_MISSING = re.compile(r"^Object missing required field `(?P<field>[^`]+)`$")


def encode(frame: msgspec.Struct | Mapping[str, Any]) -> bytes:
    """Return compact JSON in UTF-8. Half a surrogate pair, which the name of a file may hold, becomes `?`."""
    try:
        return _encoder.encode(frame)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(frame), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def decode(data: bytes | str, *, max_messages: int) -> AnyClientFrame:
    """Read one text message of a client.

    Raises FrameError: `frame_malformed` (not JSON, not UTF-8, nested too deep),
    `frame_type_unknown`, `frame_invalid` (a wrong field) or `message_too_large`
    (too many values or messages, an image over 5 MiB), each with the JSON path.
    """
    check_size(data)
    try:
        frame: AnyClientFrame = _decoder.decode(data)
    except msgspec.ValidationError as error:
        raise _explain(str(error), data) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FrameError("frame_malformed", f"not a JSON text message: {error}", path="$") from None
    except RecursionError:
        raise FrameError("frame_malformed", "not a JSON text message: nested too deeply", path="$") from None
    match frame:
        case TurnFrame() | History():
            _check_messages(frame.messages, max_messages)
    if isinstance(frame, Chat) and frame.nudge is None:
        _check_last(frame.messages)
    if isinstance(frame, TurnChoices):
        _check_tools(frame.tools)
    return frame


def ref_of(data: bytes | str) -> str | msgspec.UnsetType:
    """Return the `ref` of a frame that is wrong elsewhere, if it has one that can be read."""
    try:
        return _head_decoder.decode(data).ref
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return msgspec.UNSET


def check_size(data: bytes | str, *, max_values: int = MAX_VALUES) -> None:
    """Refuse JSON of too many values or too deep. Makes none of them: takes milliseconds for megabytes. Raises FrameError."""
    text = data.encode("utf-8", "replace") if isinstance(data, str) else data
    depth = text.count(b"[") + text.count(b"{")  # at most
    if depth <= MAX_DEPTH and (len(text) <= max_values or depth + text.count(b",") <= max_values):
        return  # too few and too flat, whatever is inside strings: as most frames are
    text = text.replace(rb"\\", b"").replace(rb"\"", b"")  # so that the quotes that are left are the ends of strings
    is_full = text.count(b'"') > 4 * max_values  # a key and a string for each value
    outside = b"" if is_full else b"".join(text.split(b'"')[::2])
    opening = outside.count(b"[") + outside.count(b"{")
    if is_full or opening + outside.count(b",") > max_values:
        raise FrameError("message_too_large", f"more than {max_values} values in one frame", path="$")
    if opening > MAX_DEPTH:
        brackets = outside.translate(_STEPS, delete=_NO_BRACKETS)[: 2 * max_values]
        if max(accumulate(array("b", brackets))) > MAX_DEPTH:
            raise FrameError("frame_malformed", f"not a JSON text message: nested more than {MAX_DEPTH} deep", path="$")


def _explain(text: str, data: bytes | str) -> FrameError:
    problem, inner = problem_and_path(text)
    if inner.startswith(_OF_CONTEXT):
        with suppress(msgspec.MsgspecError, UnicodeError, RecursionError, LookupError):  # the rest is not read yet
            key = wrong_key(_context_decoder.decode(data).context, dict[str, ContextValue | None])
            inner = f".context.{key}{inner.removeprefix(_OF_CONTEXT)}"
    path = f"${inner}"
    if missing := _MISSING.match(problem):
        path = f"{path}.{missing['field']}"
        problem = "required field is missing"
    if path == "$.type" and problem.startswith("Invalid value"):
        return FrameError("frame_type_unknown", "unknown frame type; docs/protocol.md lists them", path=path)
    return FrameError("frame_invalid", problem[:300], path=path[:300])  # both can quote the client at length


def _check_messages(messages: list[Message], max_messages: int) -> None:
    if len(messages) > max_messages:
        raise FrameError(
            "message_too_large",
            f"{len(messages)} messages, at most {max_messages} are allowed; leave out the oldest turns",
            path="$.messages",
        )
    for index, message in enumerate(messages):
        path = f"$.messages[{index}]"
        if message.role == "tool" and not message.tool_call_id:
            raise FrameError("frame_invalid", "a tool message needs its `tool_call_id`", path=f"{path}.tool_call_id")
        if message.tool_calls is not None and message.role != "assistant":
            raise FrameError("frame_invalid", "only an assistant message has `tool_calls`", path=f"{path}.tool_calls")
        if message.content is None and not message.tool_calls:
            raise FrameError(
                "frame_invalid", "only a message with `tool_calls` may lack `content`", path=f"{path}.content"
            )
        if isinstance(message.content, list):
            _check_images(message.content, f"{path}.content")


def _check_images(parts: list[TextPart | ImagePart], path: str) -> None:
    for index, part in enumerate(parts):
        if not isinstance(part, ImagePart):
            continue
        encoded_bytes = len(part.image_url.url) - part.image_url.url.index(",") - 1
        if encoded_bytes * 3 // 4 > MAX_IMAGE_BYTES:
            raise FrameError(
                "message_too_large", "an image of more than 5 MiB; scale it down", path=f"{path}[{index}].image_url.url"
            )


def _check_tools(tools: list[ToolItem] | msgspec.UnsetType) -> None:
    names: set[str] = set()
    for index, tool in enumerate(tools or ()):
        path = f"$.tools[{index}]"
        if tool.name in names:
            raise FrameError("frame_invalid", f"two tools are named {tool.name}", path=f"{path}.name")
        names.add(tool.name)
        if tool.parameters.get("type", "object") != "object":
            raise FrameError(
                "frame_invalid", "a JSON Schema of type object is expected", path=f"{path}.parameters.type"
            )
    if tools and (size := len(_encoder.encode(tools))) > MAX_TOOLS_BYTES:
        raise FrameError(
            "frame_invalid", f"the tools take {size} bytes, at most {MAX_TOOLS_BYTES} are allowed", path="$.tools"
        )


def _check_last(messages: list[Message]) -> None:
    """Refuse a history with nothing to answer: neither a user message at its end nor results of the calls before them."""
    if not messages:
        raise FrameError("frame_invalid", "the history is empty; the new user message comes last", path="$.messages")
    if messages[-1].role not in ("user", "tool"):
        raise FrameError(
            "frame_invalid", "the new user message comes last", path=f"$.messages[{len(messages) - 1}].role"
        )
    first = len(messages)
    while first and messages[first - 1].role == "tool":
        first -= 1
    if first == len(messages):
        return
    asked = {call.id for call in messages[first - 1].tool_calls or ()} if first else set()
    if not any(message.tool_call_id in asked for message in messages[first:]):
        raise FrameError(
            "frame_invalid",
            "results come last, but the message before them has no such calls",
            path=f"$.messages[{first}].tool_call_id",
        )
