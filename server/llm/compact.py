"""A turn's messages in the plain form that a very small model can follow. Pure.

135 million parameters do not read instructions about instructions. So the
wrapping of late `system` messages goes, a tool round becomes the text that the
answer is to be taken from, and a few example exchanges set the tone. The words of
every hook stay, in their order, behind the question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server.llm.types import Message

_EXCHANGES = (
    ("What is the capital of Italy?", "The capital of Italy is Rome."),
    ("What is your name?", "My name is Parley."),
    ("Why do cats purr?", "Cats purr when they feel safe and happy, and sometimes to calm themselves."),
    ("Hi", "Hi! I'm Parley. What can I do for you?"),
    ("Thank you", "You're welcome!"),
)
EXAMPLES: tuple[Message, ...] = tuple(
    {"role": role, "content": text}
    for exchange in _EXCHANGES
    for role, text in zip(("user", "assistant"), exchange, strict=True)
)
EXAMPLE_TOKENS = 160  # 140, as the model counts, and room for the frame around the question
MAX_RESULT_CHARS = 2000
MAX_QUOTED_CHARS = 160

_WRAPPED = re.compile(r"\[Instruction from the system[^\]\n]*\]\n(.*?)\n\[End of the instruction\]", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the messages of one call come to."""

    system: str
    history: tuple[Message, ...]
    question: str
    instructions: tuple[str, ...]
    """The hooks and prompts of this turn, in order."""
    results: tuple[str, ...]
    """What the tools of this turn have said, in order."""

    @property
    def quotable(self) -> str | None:
        """The only result, where it is one short line: better said in its own words, which the model garbles."""
        if len(self.results) != 1:
            return None
        line = self.results[0].strip()
        return line if line and "\n" not in line and len(line) <= MAX_QUOTED_CHARS else None


def read_turn(messages: Sequence[Message]) -> Turn:
    """The last user message with words of the user's own is the question; all behind it belongs to the turn."""
    rest = list(messages)
    system = _text(rest.pop(0)) if rest and rest[0]["role"] == "system" else ""
    start = next((i for i in range(len(rest) - 1, -1, -1) if _own_words(rest[i])), 0)
    tail = rest[start:]
    return Turn(
        system=system,
        history=_history(rest[:start]),
        question=_own_words(tail[0]) if tail else "",
        instructions=tuple(line for message in tail for line in _instructions(message)),
        results=tuple(_text(message) for message in tail if message["role"] == "tool"),
    )


def answer_messages(turn: Turn) -> list[Message]:
    """What the model reads to answer."""
    head: list[Message] = [{"role": "system", "content": turn.system}] if turn.system else []
    tone = () if turn.results else EXAMPLES  # an answer taken from a text has its tone from there
    return [*head, *tone, *turn.history, {"role": "user", "content": _last_message(turn)}]


def _last_message(turn: Turn) -> str:
    if not turn.results:
        return "\n\n".join([turn.question, *turn.instructions])
    found = "\n\n".join(turn.results)[:MAX_RESULT_CHARS]
    return "\n\n".join([found, *turn.instructions, f"From this text answer: {turn.question}"])


def _history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """User and assistant by turns; tool rounds that the client kept say nothing to this model."""
    plain: list[Message] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        text = _WRAPPED.sub(r"\1", _text(message)).strip()
        if message["role"] == "tool" or not text:
            continue
        if plain and plain[-1]["role"] == role:
            text = f"{plain.pop()['content']}\n\n{text}"
        plain.append({"role": role, "content": text})
    return tuple(plain)


def _own_words(message: Message) -> str:
    return _WRAPPED.sub("", _text(message)).strip() if message["role"] == "user" else ""


def _instructions(message: Message) -> list[str]:
    if message["role"] == "system":
        return [_text(message)]
    return [text.strip() for text in _WRAPPED.findall(_text(message))] if message["role"] == "user" else []


def _text(message: Message) -> str:
    content: Any = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")
