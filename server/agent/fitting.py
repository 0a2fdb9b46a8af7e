"""Fits a message list into a model's context. Pure.

What goes first, until the rest fits: whole oldest turns of the history, then
older copies of the same persistent hook. Never the system prompt, the last
user message or what belongs to this turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server.agent.messages import Conversation
from server.llm.types import Message, ToolSpec

_BYTES_PER_TOKEN = 3  # on the safe side: English has 4 to 5, Chinese 3 to 4 in UTF-8
_TOKENS_PER_MESSAGE = 6
_TOKENS_PER_IMAGE = 1200


@dataclass(frozen=True)
class Fitted:
    messages: list[Message]
    left_out: list[Message]
    fits: bool = True


def fit(conversation: Conversation, *, budget_tokens: int, messages: Sequence[Message] | None = None) -> Fitted:
    """What of the conversation is sent. With `fits` false even the rest is estimated too large.

    `messages`: what a hook has made of the conversation for this call; its own count as the turn's.
    """
    messages = conversation.messages if messages is None else messages
    excess = sum(estimate_tokens(m) for m in messages) - budget_tokens
    if excess <= 0:
        return Fitted(list(messages), [])
    left_out: list[Message] = []
    for group in [*_old_turns(conversation, messages), *_old_copies(conversation, messages)]:
        if excess <= 0:
            break
        left_out += group
        excess -= sum(estimate_tokens(m) for m in group)
    gone = {id(m) for m in left_out}
    return Fitted([m for m in messages if id(m) not in gone], left_out, excess <= 0)


def _old_turns(conversation: Conversation, messages: Sequence[Message]) -> list[list[Message]]:
    """The turns of the history, oldest first, each from its user message on; their hooks stay."""
    turns: list[list[Message]] = []
    is_old = False
    for message in messages:
        kind, role = conversation.origin(message).kind, message["role"]
        if kind == "user":
            break
        if role != "tool":  # a result goes or stays with its call, whichever of them a hook has written anew
            is_old = kind == "history"
            if is_old and (role == "user" or (not turns and role != "system")):
                turns.append([])
        if is_old and turns:
            turns[-1].append(message)
    return turns


def _old_copies(conversation: Conversation, messages: Sequence[Message]) -> list[list[Message]]:
    """All but the newest copy of each persistent hook that came with the history, oldest first."""
    copies: list[tuple[tuple[str | None, str | None], Message]] = []
    newest: dict[tuple[str | None, str | None], Message] = {}
    for message in messages:
        origin = conversation.origin(message)
        if origin.kind == "hook" and origin.persistent:
            key = (origin.skill, origin.hook)
            newest[key] = message
            if origin.timing is None:
                copies.append((key, message))
    return [[message] for key, message in copies if newest[key] is not message]


def estimate_tokens(message: Message) -> int:
    """A cautious guess; no tokenizer is known for most endpoints."""
    content = message.get("content")
    tokens = _TOKENS_PER_MESSAGE
    if isinstance(content, str):
        tokens += _text_tokens(content)
    elif content:
        tokens += sum(_part_tokens(part) for part in content)
    for call in message.get("tool_calls") or ():
        tokens += _TOKENS_PER_MESSAGE + _text_tokens(call["function"]["name"] + call["function"]["arguments"])
    return tokens


def has_image(message: Message) -> bool:
    """Then `estimate_tokens` may be far off: what a picture costs differs from model to model."""
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") != "text" for part in content)


def estimate_tools(tools: Sequence[ToolSpec]) -> int:
    return sum(30 + _text_tokens(f"{tool.description}{tool.parameters}") for tool in tools)


def _part_tokens(part: dict[str, Any]) -> int:
    return _text_tokens(part["text"]) if part.get("type") == "text" else _TOKENS_PER_IMAGE


def _text_tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size // _BYTES_PER_TOKEN + 1
