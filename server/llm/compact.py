"""A turn's messages in the plain form that a very small model can follow. Pure.

135 million parameters do not follow instructions about instructions. So the
wrapping of late `system` messages goes, and a few example exchanges set the tone.
The words of every hook stay, in their order, before the question: behind it, the
model answers them and not the question (three of four conversations went round in
circles). Results of tools are quoted, not retold: the model garbles digits and invents
the rest (tried on times, files and search results in five layouts of the prompt).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from server.llm.language_model import Message
from server.speech.sentences import CLOSERS, STOPS, TERMINALS

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
ANSWER_NOW = "Answer the user."
"""A built-in prompt that says no more than what this model does anyway. It is left out: the model would speak of it."""
DENIED = "That was not allowed, so I did not do it."
"""The answer after a refused call, whoever refused it: its result holds an instruction for a model."""
MAX_QUOTED_CHARS = 400
MAX_PAST_CHARS = 200
MAX_LOOP_CHARS = 360
"""The end of a text in which `is_looping` finds repetitions."""

_TIMES = 3
_MIN_PERIOD_CHARS = 2
_MIN_LOOP_CHARS = 24
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_END = re.compile(rf"\n|[{re.escape(STOPS)}](?=\s)|[{TERMINALS}…][{re.escape(CLOSERS)}]*")
_WRAPPED = re.compile(
    r"\[Instruction from the system (?P<mark>[0-9a-f]+),[^\]\n]*\]\n(?P<text>.*?)\n\[End of the instruction (?P=mark)\]",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class CompactTurn:
    """The messages of one call, taken apart. For a prefill, `question` is "" as long as it is not known."""

    system: str
    history: tuple[Message, ...]
    question: str = ""
    instructions: tuple[str, ...] = ()
    """The hooks and prompts of this turn, in order; neighbours of one message are one."""
    results: tuple[str, ...] = ()
    """The results of this turn's tools, in order; without refusals."""
    is_denied: bool = False

    @property
    def quotation(self) -> str | None:
        """The beginning of the results, short enough to listen to, and the refusal; None: there is neither."""
        texts = [_FRONT_MATTER.sub("", result).strip() for result in self.results]
        quoted = _opening("\n".join(text for text in texts if text), MAX_QUOTED_CHARS)
        return "\n".join(filter(None, [quoted, DENIED if self.is_denied else ""])) or None

    def messages(self) -> list[Message]:
        head: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        asked = "\n\n".join(filter(None, [*self.instructions, self.question]))
        return [*head, *EXAMPLES, *self.history, *([{"role": "user", "content": asked}] if asked else [])]

    def is_beginning_of(self, turn: "CompactTurn") -> bool:
        """Return whether having read this helps with that turn."""
        return (
            self.system == turn.system
            and self.history == turn.history[: len(self.history)]
            and self.instructions in ((), turn.instructions)
            and self.question in ("", turn.question)
        )


def compact_turn(messages: Sequence[Message], question: str = "", denied: Collection[str] = ()) -> CompactTurn:
    """Separate the user's question from what hooks and prompts have put around it.

    `question` is its text as the user gave it, to be found in the last message
    that holds it; without it, the last words of a user message that are not
    wrapped. What stands behind it belongs to this turn. `denied`: the ids of the
    calls that were refused.
    """
    system, rest = _split_system(messages)
    for index in range(len(rest) - 1, -1, -1):
        if rest[index]["role"] == "user" and (found := _find(question, _text(rest[index]))):
            before, asked, after = found
            earlier = [*rest[:index], {"role": "user", "content": before}]
            results = [message for message in rest[index + 1 :] if message["role"] == "tool"]
            return CompactTurn(
                system=system,
                history=_history(earlier),
                question=asked,
                instructions=_instructions([{"role": "system", "content": after}, *rest[index + 1 :]]),
                results=tuple(_text(message) for message in results if message["tool_call_id"] not in denied),
                is_denied=any(message["tool_call_id"] in denied for message in results),
            )
    return CompactTurn(system=system, history=_history(rest), question=question)


def turn_to_prefill(messages: Sequence[Message], question: str, instructions: tuple[str, ...]) -> CompactTurn:
    """Return a turn that may come after these messages, as `compact_turn` would, with the hooks of the turn before."""
    system, rest = _split_system(messages)
    return CompactTurn(system=system, history=_history(rest), question=question, instructions=instructions)


def is_looping(text: str) -> bool:
    """Return whether the text ends in one passage three times over: a small model has begun to repeat itself."""
    for period in range(_MIN_PERIOD_CHARS, min(MAX_LOOP_CHARS, len(text)) // _TIMES + 1):
        times = max(_TIMES, -(-_MIN_LOOP_CHARS // period))
        if len(text) >= times * period and text.endswith(text[-period:] * times):
            return True
    return False


def _split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    rest = list(messages)
    return (_text(rest.pop(0)) if rest and rest[0]["role"] == "system" else ""), rest


def _opening(text: str, limit_chars: int) -> str:
    """Return the text up to the last line or sentence that ends within the limit."""
    if len(text) <= limit_chars:
        return text
    cut = text[:limit_chars]
    ends = [match.end() for match in _END.finditer(cut)]
    return f"{cut[: ends[-1]] if ends else cut}".rstrip() + " …"


def _history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return user and assistant by turns, long messages cut: this model repeats what it sees much of.

    Tool rounds that the client kept say nothing to it.
    """
    plain: list[Message] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        text = _opening(_plain(message), MAX_PAST_CHARS)
        if message["role"] == "tool" or not text:
            continue
        if plain and plain[-1]["role"] == role:
            text = f"{plain.pop()['content']}\n\n{text}"
        plain.append({"role": role, "content": text})
    return tuple(plain)


def _find(question: str, text: str) -> tuple[str, str, str] | None:
    """Split the text into the part before the question, the question, and the part after it; None: it is not here.

    Messages are joined by a blank line, so the question stands between two or at an end.
    """
    if not question:
        own = _WRAPPED.sub("", text).strip()
        return ("", own, "\n\n".join(found["text"] for found in _WRAPPED.finditer(text))) if own else None
    places = list(re.finditer(rf"(?:\A|\n\n){re.escape(question)}(?=\n\n|\Z)", text))
    return (text[: places[-1].start()], question, text[places[-1].end() :]) if places else None


def _instructions(messages: Sequence[Message]) -> tuple[str, ...]:
    texts = (_plain(message) for message in messages if message["role"] in ("system", "user"))
    kept = (text.removesuffix(ANSWER_NOW).rstrip() for text in texts)
    return tuple(text for text in kept if text)


def _plain(message: Message) -> str:
    return _WRAPPED.sub(r"\g<text>", _text(message)).strip()


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if part.get("type") == "text")
