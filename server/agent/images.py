"""Images in a message list: how many a call shows, and what stands in the place of the others. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from server.llm.types import Message

MAX_IMAGES: Final = 4
"""Of one call, the newest: each costs a thousand tokens or more, and clients send their history whole."""

UNSEEN: Final = "[image]"


def limit_images(messages: Sequence[Message], limit: int) -> list[Message]:
    """Put `[image]` in the place of all but the newest `limit`; returns the messages that it has changed.

    Their content is replaced, never changed in place. What has no image left is
    plain text: models that see none often take no parts at all.
    """
    changed: list[Message] = []
    left = limit
    for message in reversed(messages):
        count = count_images(message)
        if count > left:
            message["content"] = _without(message["content"], count - left)
            changed.append(message)
        left = max(0, left - count)
    return changed


def count_images(message: Message) -> int:
    parts = message.get("content")
    return sum(map(_is_image, parts)) if isinstance(parts, list) else 0


def _without(parts: list[dict[str, Any]], hidden: int) -> Any:
    """The first `hidden` of them replaced: of one message, the last count as the newest."""
    kept: list[dict[str, Any]] = []
    for part in parts:
        if hidden and _is_image(part):
            hidden -= 1
            kept.append({"type": "text", "text": UNSEEN})
        else:
            kept.append(part)
    if any(map(_is_image, kept)):
        return kept
    return "\n\n".join(part["text"] for part in kept if part.get("type") == "text")


def _is_image(part: dict[str, Any]) -> bool:
    return part.get("type") == "image_url"
