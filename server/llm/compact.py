"""A turn of a very small model: its messages in a plain form, and what becomes of its reply. Pure.

135 million parameters do not follow instructions about instructions: no late `system` messages, and example exchanges
that set the tone. The words of every hook stand at the end of the system message: beside the question, the model answers
them. It repeats what it sees: at most two exchanges of the conversation, and none where the question stands alone.
Results of tools are quoted, and sentences of its reply may be left out.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from server.llm.language_model import Message
from server.speech.sentences import CLOSERS, STOPS, TERMINALS
from skills_engine.skills_context_manager import HEAD as CATALOG_HEAD

_EXCHANGES = (
    ("Who are you?", "I'm Parley, an assistant that runs on your own computer."),
    ("Are you alive?", "No, I'm a computer program, an AI assistant."),
    ("What is the capital of Poland?", "The capital of Poland is Warsaw."),
    ("What does lazy mean?", "Lazy means not wanting to work, move or make an effort."),
    ("Tell me a riddle.", "What has hands but can't clap? A clock."),
    ("How do I make toast?", "Put a slice of bread into the toaster for two minutes, then spread butter on it."),
    ("Name two animals.", "Two animals are the horse and the rabbit."),
    ("How many days are in a week?", "A week has seven days."),
    ("My name is Tom.", "Nice to meet you, Tom!"),
    ("Hi", "Hi! What can I do for you?"),
    ("Thank you", "You're welcome!"),
)
DEVICE, ANSWER = "device", "answer"  # what a sentence needs; one token each
_DEEDS_AND_QUESTIONS = (  # many questions here sound like deeds: without such, others that do are refused
    ("Call my brother.", "Should I take a bus?"),
    ("Order new shoes.", "Pick a present for my aunt."),
    ("Book a flight to Rome.", "Plan a week in Rome."),
    ("Add a dentist visit to my calendar.", "Add 90 and 3."),
    ("Open the window.", "Help me."),
    ("Remind me to buy bread.", "Remind me what a novel is."),
    ("Delete the old files.", "Hello."),
    ("Print this page.", "Make it shorter."),
    ("Set a timer for one hour.", "How do I turn off a radio?"),
    ("Play a song.", "Let's play a quiz."),
    ("Send a message to Tom.", "Write a message for Tom."),
    ("Turn off the radio.", "What is a radio?"),
)
_POLITE = re.compile(r"\A(?:(?:can|could|would|will) you |please )+|,? please(?=\W*\Z)", re.IGNORECASE)
_ROLES = ("user", "assistant")

EXAMPLES: tuple[Message, ...] = tuple(
    {"role": role, "content": text} for each in _EXCHANGES for role, text in zip(_ROLES, each, strict=True)
)
_SORTED = "".join(f"{deed} -> {DEVICE}\n{question} -> {ANSWER}\n" for deed, question in _DEEDS_AND_QUESTIONS)
EXAMPLE_TOKENS = 300  # as the model counts, and room for the frame around the question
MAX_SHOWN_MESSAGES = 4  # of the conversation: two exchanges
MAX_SHOWN_CHARS = 200  # of each
MAX_LOOP_CHARS = 360  # the end of a text in which `is_looping` finds repetitions
DENIED = "That was not allowed, so I did not do it."  # the result of a refused call holds an instruction for a model
ANSWER_NOW = "Answer the user."
"""A built-in prompt that says no more than what this model does anyway. It is left out: the model would speak of it."""

_FOLLOW_UP = re.compile(r"(?:and|or|but|so|what about|how about)\b\S*(?:\s+\S+){0,5}\s*\Z", re.IGNORECASE)
_REFERS_BACK = re.compile(
    r"\b(?:it|its|that|this|they|them|he|she|him|her|again|another|more|shorter|longer|simpler|my|mine|i|else|ones?|why|"
    r"meant|sure|please)\b|\A\s*\S+(?:\s+\S+)?\s*\Z",
    re.IGNORECASE,
)
_END = re.compile(rf"\n|[{re.escape(STOPS)}](?=\s)|[{TERMINALS}…][{re.escape(CLOSERS)}]*")
_WRAPPED = re.compile(
    r"\[Instruction from the system (?P<mark>[0-9a-f]+),[^\]\n]*\]\n(?P<text>.*?)\n\[End of the instruction (?P=mark)\]",
    re.DOTALL,
)

NO_ANSWER = "Sorry, I have no good answer to that."
MAX_SAID_CHARS = 200  # of a result; a longer one is shown
MAX_QUOTED_CHARS = 600

_SENTENCE = re.compile(r".+?(?:(?<![.!?…])[.!?…]++[\"'”’)]*+(?=\s|\Z)\s*|\n+|\Z)", re.DOTALL)
_WORDS = re.compile(r"\w+")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_OTHER_DAY = re.compile(r"\b(?:tomorrow|yesterday)\b", re.IGNORECASE)
_ISO_DAY = re.compile(r"\n\((\d{4}-\d\d-\d\d) ")
_SYMBOLS = re.compile(r"\w+://\S+|(?<=\S)\s+(?:#|//)\s.*|(?<![^\W_])[α-ωΑ-Ω](?![^\W_])")
"""Parts of any script in a question of any language: URLs, comments in code, lone Greek letters of formulas."""
_NOTE = re.compile(r"\n\([^()\n]*\)\Z")  # a last line in parentheses: it is about the result


@dataclass(frozen=True, kw_only=True)
class CompactTurn:
    """The messages of one call, taken apart. For a prefill, `question` is "" as long as it is not known."""

    system: str
    history: tuple[Message, ...]
    question: str = ""
    instructions: tuple[str, ...] = ()
    """The hooks and prompts of this turn, in order; neighbours of one message are one."""
    results: tuple[str, ...] = ()
    """The results of this turn's tools, in order; DENIED for a refused call."""

    @property
    def last_reply(self) -> str:
        return self.history[-1]["content"] if self.history and self.history[-1]["role"] == "assistant" else ""

    @property
    def base_question(self) -> str:
        """The question that this one follows up ("And in New York?"), or "" if it stands alone."""
        asked = [message["content"] for message in self.history if message["role"] == "user"]
        alone = (text for text in reversed(asked) if not _FOLLOW_UP.match(text))
        return next(alone, "")[:MAX_SHOWN_CHARS] if _FOLLOW_UP.match(self.question) else ""

    def messages(self, *, is_alone: bool = False) -> list[Message]:
        """Return what the model reads; `is_alone`: without the conversation."""
        paragraphs = [text for text in self.system.split("\n\n") if text and not text.startswith(CATALOG_HEAD)]
        system = "\n\n".join([*paragraphs, *self.instructions])
        is_shown = not self.question or _FOLLOW_UP.match(self.question) or _REFERS_BACK.search(self.question)
        recent = self.history[-MAX_SHOWN_MESSAGES:] if is_shown and not is_alone else ()
        past = [message | {"content": opening(message["content"], MAX_SHOWN_CHARS)} for message in recent]
        asked = [{"role": "user", "content": self.question}] if self.question else []
        return [*([{"role": "system", "content": system}] if system else []), *EXAMPLES, *past, *asked]

    def is_beginning_of(self, turn: "CompactTurn") -> bool:
        """Return whether having read this helps with that turn."""
        read = self.messages()
        return read == turn.messages()[: len(read)]


def compact_turn(messages: Sequence[Message], question: str = "", denied: Collection[str] = ()) -> CompactTurn:
    """Separate the user's question from what hooks and prompts have put around it.

    `question` is its text as the user gave it, to be found in the last message that holds it; without it, the last words
    of a user message that are not wrapped. What stands behind it belongs to this turn. `denied`: the ids of refused calls.
    """
    system, rest = _split_system(messages)
    for index in range(len(rest) - 1, -1, -1):
        if rest[index]["role"] == "user" and (split := _find(question, _text(rest[index]))):
            before, asked, after = split
            earlier = [*rest[:index], {"role": "user", "content": before}]
            later = [{"role": "system", "content": after}, *rest[index + 1 :]]
            results = [message for message in later if message["role"] == "tool"]
            return CompactTurn(
                system=system,
                history=_history(earlier),
                question=asked,
                instructions=_instructions(earlier, later),
                results=tuple(DENIED if each["tool_call_id"] in denied else _text(each) for each in results),
            )
    return CompactTurn(system=system, history=_history(rest), question=question, instructions=_instructions(rest, ()))


def turn_to_prefill(messages: Sequence[Message], question: str, instructions: tuple[str, ...]) -> CompactTurn:
    """Return a turn that may come after these messages, as `compact_turn` would, with the hooks of the turn before."""
    system, rest = _split_system(messages)
    return CompactTurn(system=system, history=_history(rest), question=question, instructions=instructions)


def sorting_text(sentence: str) -> str:
    """Return a text that the model continues by DEVICE or ANSWER: what the sentence needs.

    A polite request stands there as a plain one, and so does one without punctuation: "Can you …?" looks like a question.
    """
    plain = _POLITE.sub("", sentence)
    end = "?" if plain == sentence and sentence.endswith("?") else "."
    return f"{_SORTED}{plain[:1].upper()}{plain[1:].rstrip('?!.')}{end} ->"


def is_in_other_script(text: str) -> bool:
    """Return whether at least half of the words, URLs and symbols aside, are written in other letters than Latin ones."""
    are_latin = [
        is_latin
        for word in _SYMBOLS.sub(" ", text).split()
        for is_latin, _ in groupby(filter(str.isalpha, word), lambda letter: "LATIN" in unicodedata.name(letter, ""))
    ]
    return 2 * are_latin.count(False) >= len(are_latin) > 0


def is_looping(text: str) -> bool:
    """Return whether the text ends in one passage three times over: a small model has begun to repeat itself."""
    return any(text.endswith(text[-chars:] * 3) for chars in range(8, len(text) // 3 + 1))


def opening(text: str, limit_chars: int) -> str:
    """Return the text up to the last line or sentence that ends within the limit."""
    if len(text) <= limit_chars:
        return text
    ends = [match.end() for match in _END.finditer(text, 0, limit_chars)]
    return text[: ends[-1] if ends else limit_chars].rstrip() + " …"


def _split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    rest = list(messages)
    return (_text(rest.pop(0)) if rest and rest[0]["role"] == "system" else ""), rest


def _history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the words of user and assistant by turns. Tool rounds that the client kept say nothing to this model."""
    plain: list[Message] = []
    for message in messages:
        role, text = message["role"], _WRAPPED.sub("", _text(message)).strip()
        if role not in _ROLES or not text:
            continue
        if plain and plain[-1]["role"] == role:
            text = f"{plain.pop()['content']}\n\n{text}"
        plain.append({"role": role, "content": text})
    return tuple(plain)


def _instructions(earlier: Sequence[Message], later: Sequence[Message]) -> tuple[str, ...]:
    """Return the words of hooks and prompts: those that came back with the conversation, and what follows the question."""
    past = [_text(message) for message in earlier if message["role"] == "system"]
    wrapped = [wrapping["text"] for message in earlier for wrapping in _WRAPPED.finditer(_text(message))]
    now = [_WRAPPED.sub(r"\g<text>", _text(each)) for each in later if each["role"] in ("system", "user")]
    texts = (text.strip().removesuffix(ANSWER_NOW).rstrip() for text in (*past, *wrapped, *now))
    return tuple(dict.fromkeys(filter(None, texts)))


def _find(question: str, text: str) -> tuple[str, str, str] | None:
    """Split the text into the part before the question, the question, and the part after it, if it is there.

    Messages are joined by a blank line, so the question stands between two or at an end.
    """
    if not question:
        own = _WRAPPED.sub("", text).strip()
        return ("", own, "\n\n".join(wrapping["text"] for wrapping in _WRAPPED.finditer(text))) if own else None
    places = list(re.finditer(rf"(?:\A|\n\n){re.escape(question)}(?=\n\n|\Z)", text))
    return (text[: places[-1].start()], question, text[places[-1].end() :]) if places else None


def _text(message: Message) -> str:
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return "\n\n".join(part["text"] for part in parts if part.get("type") == "text")


def quotation(turn: CompactTurn) -> str | None:
    """Return what the tools gave, if anything: a line is said, more is shown under one."""
    texts = [text for result in turn.results if (text := _FRONT_MATTER.sub("", result).strip())]
    spoken = [_other_day(turn.question, text) or _NOTE.sub("", text) for text in texts]
    if all("\n" not in text and len(text) <= MAX_SAID_CHARS for text in spoken):
        return "\n".join(spoken) or None
    quoted = opening("\n".join(texts), MAX_QUOTED_CHARS)
    fence = "````" if "```" in quoted else "```"
    return f"This is what I found:\n\n{fence}\n{quoted}\n{fence}"


def _other_day(question: str, result: str) -> str:
    """Return the day before or after that of `current_time` if the question asks for it, or ""."""
    asked, told_day = _OTHER_DAY.search(question), _ISO_DAY.search(result)
    if asked is None or told_day is None:
        return ""
    day = date.fromisoformat(told_day[1]) + timedelta(days=1 if asked[0].lower() == "tomorrow" else -1)
    return f"{asked[0].capitalize()}: {day:%A}, {day.day} {day:%B %Y}."


class ReplyGuard:
    """Leaves sentences out of a reply as it streams: hooks' words, the question, the reply before, repetitions.

    Sentences of one word are free. A sentence is held back only while it may still become one of those.
    """

    def __init__(self, unwanted: Iterable[str]) -> None:
        self._unwanted = {key for text in unwanted for part in _SENTENCE.findall(text) if " " in (key := _key(part))}
        self._text = ""  # from the beginning of the sentence on
        self._passed_chars = 0  # of it
        self.has_passed = False  # whether anything was left to show

    def feed(self, text: str, *, is_end: bool = False) -> str:
        """Return what may be shown now."""
        self._text += text
        passed = ""
        while match := _SENTENCE.match(self._text):
            sentence, key = match[0], _key(match[0])
            is_whole = is_end or len(sentence) < len(self._text)
            is_unwanted = key in self._unwanted if is_whole else any(each.startswith(key) for each in self._unwanted)
            if self._passed_chars or not is_unwanted:
                passed += sentence[self._passed_chars :]
                self._passed_chars = len(sentence)
            if not is_whole:
                break
            self._unwanted |= {key} if " " in key else set()
            self._text, self._passed_chars = self._text[len(sentence) :], 0
        self.has_passed |= bool(passed.strip())
        return passed


def unlike(answer: str, last_reply: str) -> str:
    """Return the answer, so that it is not the reply before word for word."""
    return f"Again: {answer}" if _key(answer) == _key(last_reply) else answer


def _key(sentence: str) -> str:
    return " ".join(_WORDS.findall(sentence.casefold().replace("'", "")))
