"""Message lists: admitted from the client, built for a turn, checked before a call. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec

from server.agent.chunks import NoticeGiven
from server.errors import TurnError
from server.llm.language_model import Message, ToolCall
from server.wire import frames as wire

SystemPolicy = Literal["allow", "demote", "reject"]
Verify = Callable[[str, str, str, str, str], bool]
"""Signature check: (sig, skill, name, role, content) → whether this operator once signed it."""

_MAX_NAME_CHARS = 256


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The source of a message in a turn, for trimming and for the inspector."""

    kind: Literal["system", "history", "user", "turn", "prompt", "hook", "process_hook"]
    name: str | None = None
    """A prompt's name: `planning_prompt`, `first_step_prompt` or `agent_loop_prompt`."""
    skill: str | None = None
    hook: str | None = None
    timing: str | None = None
    """Timing of the hook, or None if the hook came back with the history."""
    persistent: bool = False
    unsigned: bool = False
    """Whether a client says that the message is a hook's, without a signature of this server."""

    def facts(self) -> dict[str, Any]:
        """Return what is known of the origin, as traces and process hooks show it."""
        return {key: value for key, value in asdict(self).items() if value not in (None, False)}


@dataclass(frozen=True)
class Admitted:
    messages: list[Message]
    notices: list[NoticeGiven] = field(default_factory=list)


def admit(messages: Iterable[wire.Message], *, policy: SystemPolicy, verify: Verify) -> Admitted:
    """Take the client's history in, ruling over `system` messages that do not verify.

    allow: they stay; demote: they become `user`, with a notice; reject: raises
    TurnError `hook_signature_invalid`. `_hook` and `_skill` stay, for the
    agent to know old copies of a hook, and `_unsigned` says that such a copy
    does not verify; other `_` keys are gone.
    """
    admitted: list[Message] = []
    demoted = 0
    for index, message in enumerate(messages):
        plain = _plain(message)
        signed = is_signed(message, verify)
        if "_hook" in plain and not signed:
            plain["_unsigned"] = True
        if message.role == "system" and policy != "allow" and not signed:
            if policy == "reject":
                raise TurnError(
                    "hook_signature_invalid",
                    f"messages[{index}] is a system message that this server did not sign; send the turn without it",
                )
            plain["role"] = "user"
            demoted += 1
        admitted.append(plain)
    if not demoted:
        return Admitted(admitted)
    text = f"{demoted} system message(s) that this server did not sign were read as the user's words"
    return Admitted(admitted, [NoticeGiven("system_messages_demoted", "warning", text)])


_DOCUMENT = 'Document "'
"""The beginning of a text part that holds an attached document."""


def text_of(message: wire.Message, *, with_documents: bool = True) -> str:
    """Return the message's words, without pictures."""
    if isinstance(message.content, list):
        texts = (part.text for part in message.content if isinstance(part, wire.TextPart))
        return "\n".join(text for text in texts if with_documents or not text.startswith(_DOCUMENT))
    return message.content or ""


def text_of_content(content: Any) -> str:
    """Return the words of a message's content, without pictures."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content or () if part.get("type") == "text")


def user_texts(messages: Iterable[wire.Message]) -> tuple[str, ...]:
    """Return the user's words as conditions of hooks look at them: before `admit`, without copies of hooks (L1-42)."""
    return tuple(text_of(message, with_documents=False) for message in messages if is_users(message))


def is_users(message: wire.Message) -> bool:
    """Return whether the message is the user's, and no copy of a hook."""
    return message.role == "user" and message.hook is None


def last_reply(messages: Sequence[wire.Message], *, goes_on: bool) -> str | None:
    """Return what the assistant said between the user's last two messages; `goes_on`: after the last one (L1-52)."""
    ends = [0, *(at for at, message in enumerate(messages) if is_users(message)), *([len(messages)] if goes_on else [])]
    between = messages[ends[-2] : ends[-1]] if len(ends) > 1 else ()
    return "\n".join(filter(None, (text_of(one) for one in between if one.role == "assistant"))) or None


def attachments_of(messages: Sequence[wire.Message]) -> frozenset[str]:
    """Return the kinds of attachments of the user's last message (L1-52)."""
    content = next((message.content for message in reversed(messages) if is_users(message)), None)
    parts = content if isinstance(content, list) else ()
    kinds = {
        "image": any(isinstance(part, wire.ImagePart) for part in parts),
        "document": any(isinstance(part, wire.TextPart) and part.text.startswith(_DOCUMENT) for part in parts),
    }
    return frozenset(kind for kind, is_there in kinds.items() if is_there)


def is_signed(message: wire.Message, verify: Verify) -> bool:
    """Return whether the message is a hook's with a signature that verifies."""
    match message:
        case wire.Message(sig=str(sig), skill=str(skill), hook=str(name), content=str(content)):
            return verify(sig, skill, name, message.role, content)
    return False


def _plain(message: wire.Message) -> Message:
    plain: Message = {"content": None, **msgspec.to_builtins(message)}
    plain.pop("_sig", None)
    for key in ("_hook", "_skill"):
        if not isinstance(value := plain.get(key), str) or len(value) > _MAX_NAME_CHARS:
            plain.pop(key, None)
    return plain


class Conversation:
    """The turn's own list of messages, and where each came from (by identity).

    `messages` is the list that a HookManager works on. The client's dicts are
    copied without their bookkeeping keys (L1-16), never kept.
    """

    def __init__(self, system_prompt: str, history: Iterable[Message]) -> None:
        self.messages: list[Message] = []
        self._origins: dict[int, tuple[Message, Origin]] = {}
        self.append({"role": "system", "content": system_prompt}, Origin(kind="system"))
        paired, self.dropped = pair_tools(list(history))
        """`dropped`: how many unpaired calls and results of the history were left out."""
        last_user = next(
            (message for message in reversed(paired) if message["role"] == "user" and "_hook" not in message), None
        )
        is_continued, is_behind = bool(paired) and paired[-1]["role"] == "tool", False
        for message in paired:
            clean = {key: value for key, value in message.items() if not key.startswith("_")}
            self.append(clean, _origin(message, is_new=message is last_user, is_of_turn=is_continued and is_behind))
            is_behind |= message is last_user
        self.answered = _last_batch(self.messages) if is_continued else []
        """The calls that the client has answered since the turn before, each with its result; [] = the turn continues none."""

    def append(self, message: Message, origin: Origin) -> None:
        self.messages.append(message)
        self.mark(message, origin)

    def mark(self, message: Message, origin: Origin) -> None:
        self._origins[id(message)] = (message, origin)  # keeps the message alive, so its id stays its own

    @property
    def question(self) -> str:
        """The text of the user's last message; pictures left out."""
        asked = next((m for m in reversed(self.messages) if self.origin(m).kind == "user"), None)
        return text_of_content(asked["content"]) if asked else ""

    def call_ids(self) -> set[str]:
        """Return the ids of all tool calls in the list."""
        return {call["id"] for message in self.messages for call in message.get("tool_calls") or ()}

    def knows(self, message: Message) -> bool:
        """Return whether the origin of the message is known."""
        return id(message) in self._origins

    def origin(self, message: Message) -> Origin:
        entry = self._origins.get(id(message))
        return entry[1] if entry else Origin(kind="turn")


def _last_batch(messages: Sequence[Message]) -> list[tuple[ToolCall, Message]]:
    """Return the calls whose results end the list, in call order."""
    first = len(messages)
    while messages[first - 1]["role"] == "tool":
        first -= 1
    results = {message["tool_call_id"]: message for message in messages[first:]}
    calls = messages[first - 1]["tool_calls"]
    return [(ToolCall(call["id"], **call["function"]), results[call["id"]]) for call in calls]


def _origin(message: Message, *, is_new: bool, is_of_turn: bool) -> Origin:
    """Return where the message comes from. `is_of_turn`: it follows the words that the turn answers."""
    if "_hook" in message:
        return Origin(
            kind="hook",
            hook=message["_hook"],
            skill=message.get("_skill"),
            persistent=True,
            unsigned=message.get("_unsigned", False),
        )
    return Origin(kind="user" if is_new else "turn" if is_of_turn else "history")


def pair_tools(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Leave out calls without a result and results without their call; return also how many.

    A result counts only in the run of tool messages right after its call.
    """
    kept: list[Message] = []
    dropped = 0
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if message["role"] == "tool":
            dropped += 1
            continue
        if not message.get("tool_calls"):
            kept.append(_without_calls(message))  # an empty list of calls is refused by some providers
            continue
        start = index
        while index < len(messages) and messages[index]["role"] == "tool":
            index += 1
        batch, lost = _pair_batch(message, messages[start:index])
        kept += batch
        dropped += lost
    return kept, dropped


def _pair_batch(assistant: Message, results: Sequence[Message]) -> tuple[list[Message], int]:
    """Pair the calls of one message with their results; of an id used twice, the first call and the first result."""
    answers: dict[str, Message] = {}
    for result in results:
        answers.setdefault(result["tool_call_id"], result)
    calls: dict[str, Any] = {}
    for call in assistant["tool_calls"]:
        if call["id"] in answers:
            calls.setdefault(call["id"], call)
    lost = len(assistant["tool_calls"]) + len(results) - 2 * len(calls)
    if not lost:
        return [assistant, *results], 0
    if calls:
        return [{**assistant, "tool_calls": list(calls.values())}, *(answers[call_id] for call_id in calls)], lost
    rest = _without_calls(assistant)
    return ([rest] if rest.get("content") else []), lost


def _without_calls(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "tool_calls"}


def find_violation(messages: Sequence[Message]) -> str | None:
    """Return why no provider would take this list, or None; checked before every call.

    Every call has its result, results stand right behind their call (L1-28),
    and nothing holds a bookkeeping key (L1-16).
    """
    awaited: list[str] = []
    for index, message in enumerate(messages):
        if any(key.startswith("_") for key in message):
            return f"message {index} holds a bookkeeping key"
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in awaited:
                return f"message {index} is a result without an open call"
            awaited.remove(message["tool_call_id"])
            continue
        if awaited:
            return f"message {index} is between a call and its result"
        if role not in ("system", "user", "assistant"):
            return f"message {index} has the unknown role {role!r}"
        awaited = [call["id"] for call in message.get("tool_calls") or ()]
    return "the last calls have no result" if awaited else None


def assistant_message(text: str, calls: Iterable[ToolCall]) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": [call.as_json() for call in calls]}
