"""A turn's messages in the plain form that a very small model can follow. Pure.

135 million parameters do not follow instructions about instructions. So the wrapping of
late `system` messages goes, and a few example exchanges set the tone. The words of every
hook stand at the end of the system message, in their order: beside the question, the model
answers them and not the question. Of the conversation it sees the last two exchanges, and
none where the question stands alone: it repeats what it sees. Results of tools are quoted,
not retold: it garbles digits and invents the rest.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from server.llm.language_model import Message
from server.speech.sentences import CLOSERS, STOPS, TERMINALS
from skills_engine.skills_context_manager import HEAD as CATALOG_HEAD

_EXCHANGES = (
    ("Who are you?", "I'm Parley, an assistant that runs on your own computer."),
    ("Are you alive?", "No, I'm a computer program, an AI assistant."),
    ("What is the capital of Poland?", "The capital of Poland is Warsaw."),
    ("What does lazy mean?", "Lazy means not wanting to work, move or make an effort."),
    ("Give me a synonym for big.", "A synonym for big is large."),
    ("Tell me a riddle.", "What has hands but can't clap? A clock."),
    ("Why do leaves fall?", "Leaves fall because trees save water and energy in the cold months."),
    ("How do you say good night in German?", "Good night in German is gute Nacht."),
    ("How do I make toast?", "Put a slice of bread into the toaster for two minutes, then spread butter on it."),
    ("Name two animals.", "Two animals are the horse and the rabbit."),
    ("What color is grass?", "Grass is green."),
    ("How many days are in a week?", "A week has seven days."),
    ("My name is Tom.", "Nice to meet you, Tom!"),
    ("Hi", "Hi! What can I do for you?"),
    ("Thank you", "You're welcome!"),
)
EXAMPLES: tuple[Message, ...] = tuple(
    {"role": role, "content": text}
    for exchange in _EXCHANGES
    for role, text in zip(("user", "assistant"), exchange, strict=True)
)
EXAMPLE_TOKENS = 300  # as the model counts, and room for the frame around the question
MAX_SHOWN_MESSAGES = 4
"""The messages of the conversation that the model sees: two exchanges."""
ANSWER_NOW = "Answer the user."
"""A built-in prompt that says no more than what this model does anyway. It is left out: the model would speak of it."""
MAX_PAST_CHARS = 200
MAX_LOOP_CHARS = 360
"""The end of a text in which `is_looping` finds repetitions."""

_TIMES = 3
_MIN_PERIOD_CHARS = 2
_MIN_LOOP_CHARS = 24
_FOLLOW_UP = re.compile(r"(?:and|or|but|so|what about|how about)\b", re.IGNORECASE)
_MAX_FOLLOW_UP_WORDS = 6
_MAX_ELLIPSIS_WORDS = 2
_REFERS_BACK = re.compile(
    r"\b(?:it|its|that|this|they|them|he|she|him|her|again|another|more|shorter|longer|simpler|my|mine|i|else|ones?|"
    r"why|mean|meant|sure|please|haha|synonym|sentence)\b",
    re.IGNORECASE,
)
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
    results: tuple[tuple[str, str], ...] = ()
    """The results of this turn's tools, in order, each behind the path that was read or ""; without refusals."""
    is_denied: bool = False

    @property
    def last_reply(self) -> str:
        return self.history[-1]["content"] if self.history and self.history[-1]["role"] == "assistant" else ""

    @property
    def base_question(self) -> str:
        """The question that this one follows up ("And in New York?"), or "" if it stands alone."""
        if not is_follow_up(self.question):
            return ""
        asked = (message["content"] for message in reversed(self.history) if message["role"] == "user")
        return next((text for text in asked if not is_follow_up(text)), "")

    def messages(self, *, is_alone: bool = False) -> list[Message]:
        """Return what the model reads; `is_alone`: without the conversation."""
        paragraphs = [text for text in self.system.split("\n\n") if not text.startswith(CATALOG_HEAD)]
        system = "\n\n".join([*filter(None, paragraphs), *self.instructions])
        is_shown = not is_alone and (not self.question or _refers_back(self.question))
        shown = self.history[-MAX_SHOWN_MESSAGES:] if is_shown else ()
        asked = [{"role": "user", "content": self.question}] if self.question else []
        return [*([{"role": "system", "content": system}] if system else []), *EXAMPLES, *shown, *asked]

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
            late = {"role": "system", "content": after}
            results = [message for message in rest[index + 1 :] if message["role"] == "tool"]
            paths = _paths_read(rest[index + 1 :])
            return CompactTurn(
                system=system,
                history=_history(earlier),
                question=asked,
                instructions=tuple(dict.fromkeys([*_past_hooks(earlier), *_instructions([late, *rest[index + 1 :]])])),
                results=tuple(
                    (paths.get(message["tool_call_id"], ""), _text(message))
                    for message in results
                    if message["tool_call_id"] not in denied
                ),
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


def opening(text: str, limit_chars: int) -> str:
    """Return the text up to the last line or sentence that ends within the limit."""
    if len(text) <= limit_chars:
        return text
    cut = text[:limit_chars]
    ends = [match.end() for match in _END.finditer(cut)]
    return f"{cut[: ends[-1]] if ends else cut}".rstrip() + " …"


def is_follow_up(question: str) -> bool:
    return bool(_FOLLOW_UP.match(question)) and len(question.split()) <= _MAX_FOLLOW_UP_WORDS


def _refers_back(question: str) -> bool:
    """Return whether the question may need the conversation to be understood."""
    is_short = 0 < len(question.split()) <= _MAX_ELLIPSIS_WORDS
    return is_short or is_follow_up(question) or bool(_REFERS_BACK.search(question))


def _history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the words of user and assistant by turns, long messages cut: this model repeats what it sees much of.

    Tool rounds that the client kept say nothing to it.
    """
    plain: list[Message] = []
    for message in messages:
        role = message["role"]
        text = opening(_WRAPPED.sub("", _text(message)).strip(), MAX_PAST_CHARS)
        if role not in ("user", "assistant") or not text:
            continue
        if plain and plain[-1]["role"] == role:
            text = f"{plain.pop()['content']}\n\n{text}"
        plain.append({"role": role, "content": text})
    return tuple(plain)


def _past_hooks(messages: Sequence[Message]) -> list[str]:
    """Return the words of hooks that came back with the conversation."""
    late = [_text(message).strip() for message in messages if message["role"] == "system"]
    return [*late, *(found["text"] for each in messages for found in _WRAPPED.finditer(_text(each)))]


def _paths_read(messages: Sequence[Message]) -> dict[str, str]:
    """Return the path of each call that names one, by the call's id."""
    paths: dict[str, str] = {}
    for call in (call for message in messages for call in message.get("tool_calls") or ()):
        arguments = json.loads(call["function"]["arguments"])
        if isinstance(path := isinstance(arguments, dict) and arguments.get("path"), str):
            paths[call["id"]] = path
    return paths


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
