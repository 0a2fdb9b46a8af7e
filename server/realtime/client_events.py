"""Events that a Realtime client may send. An unknown `type` is refused by the decoder, most unknown fields are ignored."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from server.errors import FrameError
from server.realtime.field_names import check_names
from server.realtime.session_config import (
    ClientInstructions,
    Modalities,
    OutputTokens,
    ToolChoices,
    invalid,
)
from server.wire import codec
from server.wire.frames import ToolName

MAX_EVENT_ID: Final = 512
MAX_EVENT_BYTES: Final = 15 << 20
MAX_MESSAGE_BYTES: Final = 16 << 20
"""Message that is still read, to be answered by an error; a larger one ends the connection."""
ItemId = Annotated[str, Meta(min_length=1, max_length=128)]
CallId = Annotated[str, Meta(min_length=1, max_length=256)]
Metadata = Annotated[
    dict[Annotated[str, Meta(max_length=64)], Annotated[str, Meta(max_length=512)]], Meta(max_length=16)
]


class ItemPart(Struct, kw_only=True):
    """A piece of a message; which fields it has goes by `type`."""

    type: Literal["input_text", "input_audio", "input_image", "output_text", "output_audio"]
    text: str | None = None
    audio: bytes | None = None
    """Base64 in JSON, in the session's input format."""
    transcript: str | None = None
    image_url: str | None = None
    detail: Literal["auto", "low", "high"] | None = None


class MessageItem(Struct, tag_field="type", tag="message", kw_only=True):
    role: Literal["system", "user", "assistant"]
    content: Annotated[list[ItemPart], Meta(max_length=1000)]
    id: ItemId | None = None


class FunctionCallItem(Struct, tag_field="type", tag="function_call", kw_only=True):
    name: ToolName
    arguments: str
    call_id: CallId | None = None
    id: ItemId | None = None


class FunctionOutputItem(Struct, tag_field="type", tag="function_call_output", kw_only=True):
    call_id: CallId
    output: str
    id: ItemId | None = None


class ItemReference(Struct, tag_field="type", tag="item_reference", kw_only=True):
    """An item of the conversation, in `response.create`."""

    id: ItemId


NewItem = MessageItem | FunctionCallItem | FunctionOutputItem


class ResponseAudio(Struct, kw_only=True):
    output: dict[str, Any] | None = None


class ResponseWishes(Struct, kw_only=True):
    """Settings of `response.create` for its response alone; null: as the session has it."""

    conversation: str | None = None
    input: Annotated[list[NewItem | ItemReference], Meta(max_length=2000)] | None = None
    instructions: ClientInstructions | None = None
    output_modalities: Modalities | None = None
    audio: ResponseAudio | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: ToolChoices | None = None
    max_output_tokens: OutputTokens | None = None
    metadata: Metadata | None = None
    prompt: Any = None


class RealtimeClientEvent(Struct, tag_field="type", kw_only=True):
    """Base of all that a client may send."""

    event_id: Annotated[str, Meta(max_length=MAX_EVENT_ID)] | None = None


class SessionUpdate(RealtimeClientEvent, tag="session.update", kw_only=True):
    session: dict[str, Any]


class AudioAppend(RealtimeClientEvent, tag="input_audio_buffer.append", kw_only=True):
    audio: bytes
    """Base64 in JSON, in the session's input format."""


class AudioCommit(RealtimeClientEvent, tag="input_audio_buffer.commit", kw_only=True):
    pass


class AudioClear(RealtimeClientEvent, tag="input_audio_buffer.clear", kw_only=True):
    pass


class OutputClear(RealtimeClientEvent, tag="output_audio_buffer.clear", kw_only=True):
    pass


class ItemCreate(RealtimeClientEvent, tag="conversation.item.create", kw_only=True):
    item: NewItem
    previous_item_id: str | None = None


class ItemDelete(RealtimeClientEvent, tag="conversation.item.delete", kw_only=True):
    item_id: str


class ItemRetrieve(RealtimeClientEvent, tag="conversation.item.retrieve", kw_only=True):
    item_id: str


class ItemTruncate(RealtimeClientEvent, tag="conversation.item.truncate", kw_only=True):
    item_id: str
    content_index: int
    audio_end_ms: float


class ResponseCreate(RealtimeClientEvent, tag="response.create", kw_only=True):
    response: ResponseWishes | None = None


class ResponseCancel(RealtimeClientEvent, tag="response.cancel", kw_only=True):
    response_id: str | None = None


class ParleyApproval(RealtimeClientEvent, tag="parley.approval", kw_only=True):
    """Exists only where `session.include` has `parley.approval_request`."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]
    approved: bool
    reason: str | None = None


AnyRealtimeEvent = (
    SessionUpdate
    | AudioAppend
    | AudioCommit
    | AudioClear
    | OutputClear
    | ItemCreate
    | ItemDelete
    | ItemRetrieve
    | ItemTruncate
    | ResponseCreate
    | ResponseCancel
    | ParleyApproval
)


class _EventHead(Struct):
    event_id: Any = None


_decoder: msgspec.json.Decoder[AnyRealtimeEvent] = msgspec.json.Decoder(AnyRealtimeEvent)
_head_decoder = msgspec.json.Decoder(_EventHead)


def decode(data: bytes) -> AnyRealtimeEvent:
    """Read one event. Raises FrameError, whose path is the `param` of the error event."""
    if len(data) > MAX_EVENT_BYTES:
        text = f"an event has at most {MAX_EVENT_BYTES >> 20} MiB; send sound in several"
        raise FrameError("message_too_large", text)
    codec.check_size(data)
    try:
        event = _decoder.decode(data)
        if not isinstance(event, AudioAppend):  # the only one that is frequent or long
            check_names(msgspec.json.decode(data), event, at="")
        return event
    except msgspec.ValidationError as error:
        refusal = invalid(str(error))
        if not refusal.path:
            raise FrameError("invalid_value", "an event is a JSON object with a `type`") from None
        if refusal.path == "type":
            text = "unknown event type; docs/realtime.md lists those of this server"
            raise FrameError("unknown_event", text, path="type") from None
        raise refusal from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FrameError("invalid_json", f"not a JSON text message: {error}") from None


def event_id_of(data: bytes) -> str | None:
    """Return the `event_id` of an event that is wrong elsewhere, if it has one."""
    try:
        event_id = _head_decoder.decode(data).event_id
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return event_id if isinstance(event_id, str) and len(event_id) <= MAX_EVENT_ID else None
