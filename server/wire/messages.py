"""The messages of a conversation, as clients send them (docs/protocol.md, "Messages")."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Role = Literal["system", "user", "assistant", "tool"]


class TextPart(Struct, tag_field="type", tag="text", kw_only=True):
    text: str


class ImageUrl(Struct, kw_only=True):
    url: Annotated[str, Meta(pattern=r"^data:image/(png|jpeg|webp);base64,", max_length=7_000_000)]
    """A `data:` URL of at most 5 MiB of image; other URLs are refused."""


class ImagePart(Struct, tag_field="type", tag="image_url", kw_only=True):
    image_url: ImageUrl


class FunctionCall(Struct, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=256)]
    arguments: str


class MessageToolCall(Struct, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=256)]
    function: FunctionCall
    type: Literal["function"] = "function"


class Message(Struct, kw_only=True, omit_defaults=True):
    """A message of the client's history. Keys that begin with `_` never reach the model."""

    role: Role
    content: str | list[TextPart | ImagePart] | None = None
    tool_calls: list[MessageToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    hook: Any = field(name="_hook", default=None)
    skill: Any = field(name="_skill", default=None)
    sig: Any = field(name="_sig", default=None)
