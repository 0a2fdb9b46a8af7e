"""Fits a message list to the model: into its context, with the images and in the roles that it takes. Pure.

What goes first, until the rest fits: whole oldest turns of the history, then
older copies of the same persistent hook. Then the results of this turn's tools
are cut, and last its oldest rounds of tool calls go. Never the system prompt, the
last user message or a hook's words. Many chat templates refuse a `system` message
that is not first (docs/hooks.md, "Roles").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from server.agent.messages import Conversation, text_of_content
from server.llm.language_model import LateSystem, Message, ToolSpec
from server.tools.tool_run import cut_to

_BYTES_PER_TOKEN = 3  # on the safe side: English has 4 to 5, Chinese 3 to 4 in UTF-8
_TOKENS_PER_MESSAGE = 6
_TOKENS_PER_IMAGE = 1200
_NOTE_TOKENS = 24  # of the note that says how many lines are left


@dataclass(frozen=True)
class Fitted:
    messages: list[Message]
    left_out: list[Message]
    fits: bool = True
    shortened: Sequence[Message] = ()
    """The tool results that were cut to make room, as they are now."""


def fit(conversation: Conversation, *, budget_tokens: int, messages: Sequence[Message] | None = None) -> Fitted:
    """Choose what of the conversation is sent. With `fits` false even the rest is estimated too large.

    `messages`: what a hook has made of the conversation for this call; its own count as the turn's.
    A tool result of this turn that is cut stays cut: its content is replaced in the message.
    """
    messages = conversation.messages if messages is None else messages
    excess = sum(estimate_tokens(m) for m in messages) - budget_tokens
    if excess <= 0:
        return Fitted(list(messages), [])
    left_out, excess = _leave_out([*_old_turns(conversation, messages), *_old_copies(conversation, messages)], excess)
    shortened: list[Message] = []
    if excess > 0:
        rounds = _rounds(conversation, messages)
        shortened, excess = _cut_results([m for group in rounds for m in group if m["role"] == "tool"], excess)
        oldest, excess = _leave_out(rounds, excess)
        left_out += oldest
    gone = {id(m) for m in left_out}
    shortened = [m for m in shortened if id(m) not in gone]
    return Fitted([m for m in messages if id(m) not in gone], left_out, excess <= 0, shortened)


def _leave_out(groups: Sequence[list[Message]], excess: int) -> tuple[list[Message], int]:
    """Return as many groups as must go, and the tokens that are still too many."""
    left_out: list[Message] = []
    for group in groups:
        if excess <= 0:
            break
        left_out += group
        excess -= sum(estimate_tokens(m) for m in group)
    return left_out, excess


def _cut_results(results: Sequence[Message], excess: int) -> tuple[list[Message], int]:
    """Cut the longest results to one common length; returns those, and the tokens that are still too many."""
    sizes = sorted(estimate_tokens(m) for m in results)
    room, share = sum(sizes) - excess, 0
    for index, size in enumerate(sizes):
        share = room // (len(sizes) - index)
        if size > share:
            break
        room -= size
    shortened = []
    for message in results:
        before = estimate_tokens(message)
        if before <= max(share, _TOKENS_PER_MESSAGE + _NOTE_TOKENS):
            continue
        kept_tokens = max(0, share - _TOKENS_PER_MESSAGE - _NOTE_TOKENS)
        message["content"] = cut_to(message["content"], kept_tokens * _BYTES_PER_TOKEN)
        excess -= before - estimate_tokens(message)
        shortened.append(message)
    return shortened, excess


def _rounds(conversation: Conversation, messages: Sequence[Message]) -> list[list[Message]]:
    """Group this turn's rounds of tool calls, oldest first: calls, results and their pictures."""
    rounds: list[list[Message]] = []
    is_round = False
    for message in messages:
        kind, role = conversation.origin(message).kind, message["role"]
        if role != "tool":  # as in _old_turns
            has_calls = bool(message.get("tool_calls")) and kind != "history"
            is_round = has_calls or (is_round and kind == "turn" and role == "user")
            if has_calls:
                rounds.append([])
        if is_round:
            rounds[-1].append(message)
    return rounds


def _old_turns(conversation: Conversation, messages: Sequence[Message]) -> list[list[Message]]:
    """Group the history into turns, oldest first, each from its user message on; their hooks stay."""
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
    """Find all but the newest copy of each persistent hook that came with the history, oldest first."""
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
    """Guess the size of a message, cautiously: no tokenizer is known for most endpoints."""
    content = message.get("content")
    tokens = _TOKENS_PER_MESSAGE
    if isinstance(content, str):
        tokens += _text_tokens(content)
    elif content:
        tokens += sum(
            _TOKENS_PER_IMAGE if part.get("type") != "text" else _text_tokens(part["text"]) for part in content
        )
    for call in message.get("tool_calls") or ():
        tokens += _TOKENS_PER_MESSAGE + _text_tokens(call["function"]["name"] + call["function"]["arguments"])
    return tokens


def has_image(message: Message) -> bool:
    """Return whether `estimate_tokens` may be far off: the cost of a picture differs from model to model."""
    return count_images(message) > 0


def estimate_tools(tools: Sequence[ToolSpec]) -> int:
    return sum(30 + _text_tokens(f"{tool.description}{tool.parameters}") for tool in tools)


def _text_tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size // _BYTES_PER_TOKEN + 1


MAX_IMAGES: Final = 4
"""The most images of one call, the newest: each costs 1,000 tokens or more, and clients send their whole history."""

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
    """Replace the first `hidden` images: of one message, the last count as the newest."""
    kept: list[dict[str, Any]] = []
    for part in parts:
        if hidden and _is_image(part):
            hidden -= 1
            kept.append({"type": "text", "text": UNSEEN})
        else:
            kept.append(part)
    if any(map(_is_image, kept)):
        return kept
    return text_of_content(kept)


def _is_image(part: dict[str, Any]) -> bool:
    return part.get("type") == "image_url"


_WRAP = "[Instruction from the system {mark}, not the user’s words]\n{content}\n[End of the instruction {mark}]"
_PHRASES = (re.compile(r"instruction\s+from\s+the\s+system"), re.compile(r"end\s+of\s+the\s+instruction"))
_WORD = re.compile(r"\w")


def adapt(messages: Sequence[Message], mode: LateSystem, mark: str) -> list[Message]:
    """Return the list as it is sent; the messages given are never changed.

    native: as it stands. user: a late `system` message becomes a `user` one,
    wrapped in lines that hold `mark`, which cannot be known beforehand; such
    lines in other messages are defused, and neighbouring user messages are
    joined. merge: its text joins the first `system` message. In the last two
    the system messages at the head become one, since only the first may be one.
    """
    if mode == "native":
        return list(messages)
    head, rest = sent_order(messages, mode)
    if mode == "user":
        rest = _join_users([_as_user(m, mark) for m in rest])
    return [_merged(head), *rest] if head else rest


def sent_order(messages: Sequence[Message], mode: LateSystem) -> tuple[list[Message], list[Message]]:
    """Return what stands at the head, and the rest, in the order in which `adapt` sends them."""
    length = head_length(messages)
    head, rest = list(messages[:length]), list(messages[length:])
    if mode == "merge":
        head += [m for m in rest if m["role"] == "system"]
        rest = [m for m in rest if m["role"] != "system"]
    return head, rest


def sent_role(message: Message, mode: LateSystem) -> str:
    """Return the role under which `adapt` sends the text of a message behind the head."""
    return "user" if message["role"] == "system" and mode == "user" else str(message["role"])


def head_length(messages: Sequence[Message]) -> int:
    """Count the system messages at the head. Without any other, it is the first alone: a trigger began the conversation,
    and what follows stands where models expect the user's message.
    """
    return next((i for i, m in enumerate(messages) if m["role"] != "system"), min(1, len(messages)))


def _merged(system: list[Message]) -> Message:
    if len(system) == 1:
        return system[0]
    return {"role": "system", "content": "\n\n".join(_text(m["content"]) for m in system)}


def _as_user(message: Message, mark: str) -> Message:
    content = message.get("content")
    if message["role"] == "system":
        return {"role": "user", "content": _WRAP.format(content=_text(content), mark=mark)}
    if isinstance(content, str):
        defused: Any = defuse(content)
    else:
        defused = content and [{**part, "text": defuse(part["text"])} if "text" in part else part for part in content]
    return message if defused == content else {**message, "content": defused}


def defuse(text: str) -> str:
    """Open with a parenthesis what would otherwise look like the lines around an instruction of the system."""
    lower = text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()  # as long as the text
    brackets = []
    for phrase in _PHRASES:  # found first: to look behind every bracket takes 50 ms for a megabyte of them
        end = 0
        for found in phrase.finditer(lower):
            at = text.rfind("[", end, found.start())
            if at >= 0 and not _WORD.search(text, at + 1, found.start()):
                brackets.append(at)
            end = found.end()
    letters = list(text) if brackets else []
    for at in brackets:
        letters[at] = "("
    return "".join(letters) or text


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
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")
