"""Sends a message list in the roles that a model accepts (HOOKS "Roles"). Pure.

Many chat templates refuse a `system` message that is not first.
"""

from collections.abc import Sequence
from typing import Any

from server.llm.types import LateSystem, Message

_WRAP = "[Instruction from the system, not the user’s words]\n{content}\n[End of the instruction]"


def adapt(messages: Sequence[Message], mode: LateSystem) -> list[Message]:
    """The list as it is sent; the messages given are never changed.

    native: as it stands. user: a late `system` message becomes a wrapped `user`
    one, and neighbouring user messages are joined. merge: its text joins the
    first `system` message. In the last two the system messages at the head
    become one, since only the first may be one.
    """
    if mode == "native":
        return list(messages)
    head, rest = _split_head(messages)
    if mode == "merge":
        head += [m for m in rest if m["role"] == "system"]
        rest = [m for m in rest if m["role"] != "system"]
    else:
        rest = _join_users([_as_user(m) for m in rest])
    return [_merged(head), *rest] if head else rest


def sent_role(message: Message, mode: LateSystem) -> str:
    """The role under which `adapt` sends the text of a message behind the head."""
    return "user" if message["role"] == "system" and mode == "user" else str(message["role"])


def head_length(messages: Sequence[Message]) -> int:
    """How many `system` messages stand at the head."""
    return next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))


def _split_head(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    length = head_length(messages)
    return list(messages[:length]), list(messages[length:])


def _merged(system: list[Message]) -> Message:
    if len(system) == 1:
        return system[0]
    return {"role": "system", "content": "\n\n".join(_text(m["content"]) for m in system)}


def _as_user(message: Message) -> Message:
    if message["role"] != "system":
        return message
    return {"role": "user", "content": _WRAP.format(content=_text(message["content"]))}


def _join_users(messages: list[Message]) -> list[Message]:
    joined: list[Message] = []
    for message in messages:
        if joined and message["role"] == joined[-1]["role"] == "user":
            joined[-1] = {"role": "user", "content": _joined(joined[-1]["content"], message["content"])}
        else:
            joined.append(message)
    return joined


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(content: Any) -> str:
    """The text of a message's content; pictures have no place in a system message."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")
