"""Questions to humans about tool calls and their answers, with the texts shown, spoken and given to the model."""

import asyncio
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

from server.speech.sentences import SENTENCE_ENDS
from server.speech.speakable import SpokenText
from server.toolguard import Permission

MAX_REASON_CHARS: Final = 500
"""Limit for the reason a human gives; the model reads it."""
_MAX_SAID_CHARS: Final = 200

Outcome = Literal["approved", "denied", "timeout", "cancelled", "no_client"]
AnsweredBy = Literal["user", "voice", "other_client", "remembered", "timeout", "disconnect", "cancelled"]
Remember = Literal["no", "conversation", "always"]
RememberFor = Literal["arguments", "command", "tool"]
"""Coverage of a remembered yes: a tool with exact arguments, with any of a command (`git push`), or with any at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Question to a human about a tool call."""

    tool: str
    arguments: Any
    """Shown arguments: secrets redacted."""
    message: str
    origin: str
    """Name of the handler or hook that asks."""
    call_id: str = ""
    """Id of the tool call, where it is known."""
    permission: Permission = "EXTERNAL"
    timeout_s: float | None = None
    """Time limit for the human, or None if `hooks.approval.timeout_s` counts."""
    real_arguments: Any = None
    """Arguments that would run, which "remember" is keyed by, or None if they are those shown."""
    definition: Any = None
    """Description and schema of a client's tool, which "remember" is keyed by too; absent for the server's tools."""
    on_withdrawn: Callable[["Answer"], None] | None = None
    """Callback for the answer of a question that ends with its turn: the asking code may be cancelled and miss it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    approved: bool
    by: AnsweredBy
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    """Arguments as edited by the human, which pass schema and policy again; None if unchanged."""

    @property
    def outcome(self) -> Outcome:
        """The end of the question; each outcome has its own text for the model."""
        if self.approved:
            return "approved"
        match self.by:
            case "timeout" | "cancelled":
                return self.by
            case "disconnect":
                return "no_client"
        return "denied"


class AskHuman(Protocol):
    """Asks the human in front of the client; the session implements it.

    One question at a time and in the order of asking. Silence until the time
    limit, a lost connection and no client mean no. A human's time does not
    count against the turn's. Cancelling withdraws the question.
    """

    async def ask(self, question: Question) -> Answer: ...


class PausingAsk:
    """An AskHuman that stops the asking code's own time limit while the human decides."""

    def __init__(self, ask: AskHuman, limit: asyncio.Timeout) -> None:
        self._ask = ask
        self._limit = limit
        self.waited_s = 0.0
        """Time that humans took so far."""

    async def ask(self, question: Question) -> Answer:
        loop = asyncio.get_running_loop()
        when = self._limit.when()
        began_s = loop.time()
        left_s = 0.0 if when is None else when - began_s
        self._limit.reschedule(None)
        try:
            return await self._ask.ask(question)
        finally:
            self.waited_s += loop.time() - began_s
            if not self._limit.expired():
                self._limit.reschedule(loop.time() + left_s)


def may_be_spoken(permission: Permission, *, by_voice: bool) -> bool:
    """Return whether a spoken yes counts: a voice proves no identity, so by default only for what reads."""
    return by_voice or permission == "READ"


# --- what the model reads

_FOR_MODEL: Final[dict[Outcome, str]] = {
    "approved": "The user approved this call.",
    "denied": "The user refused this call, so it was not made. Do not try it again unless the user asks for it.",
    "timeout": "Nobody answered the question whether this call may be made, so it was not made. "
    "That is not a refusal: say what you would do, and ask again if it is still needed.",
    "cancelled": "The question whether this call may be made was withdrawn before it was answered, so it was not made.",
    "no_client": "No client that may approve this call was connected, so it was not made.",
}


def text_for_model(answer: Answer) -> str:
    """Return the outcome's text for the model; it holds the reason that the human gave, if any."""
    text = _FOR_MODEL[answer.outcome]
    if answer.reason and not answer.approved:
        return f"{text} Reason: {answer.reason}"
    return text


# --- what the user reads and hears


def shown_text(question: Question, language: str | None) -> str:
    """Return the question as it is shown: as it was asked, else in the user's language (English where we lack it)."""
    return question.message.strip() or phrase("ask", language).format(tool=question.tool)


def said_text(question: Question, language: str | None, *, by_voice: bool) -> str:
    """Return the question as it is said: its first line without code and addresses, and how to answer."""
    spoken = _speakable(question.message, language)
    if not spoken:
        spoken = phrase("ask", language).format(tool=question.tool.replace("_", " "))
    return f"{spoken} {phrase('by_voice' if by_voice else 'on_screen', language)}"


def _speakable(message: str, language: str | None) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    spoken = SpokenText(language).spoken(line)
    line = line if spoken is None else spoken
    if len(line) > _MAX_SAID_CHARS:
        line = line[:_MAX_SAID_CHARS].rpartition(" ")[0] or line[:_MAX_SAID_CHARS]
    return line if not line or line[-1] in SENTENCE_ENDS else f"{line}."


# --- which answers mean yes or no: whole utterances of the closed lists in phrases.toml


class Words(NamedTuple):
    """Whole utterances of a language, normalised."""

    yes: frozenset[str]
    no: frozenset[str]
    lasting_yes: frozenset[str]
    """A yes that is to count for the whole conversation."""


_NO_WORD: Final = re.compile(r"[\W_]+")
_LONGEST: Final = 200
"""Characters of the longest answer that is looked at: NFKC takes n² steps to sort n combining characters."""


def _normal(text: str) -> str:
    """Return the text without case, punctuation, white space and repetition: `No, no!` is `no`. Too long a text is ""."""
    if len(text) > _LONGEST:
        return ""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    words = _NO_WORD.sub(" ", text).split()
    return "".join(word for at, word in enumerate(words) if at == 0 or word != words[at - 1])


def _words(phrases: Mapping[str, str]) -> Words:
    return Words(*(frozenset(_normal(phrase) for phrase in phrases[key].split("|")) for key in Words._fields))


_PHRASES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))
LANGUAGES: Final[Mapping[str, Words]] = {language: _words(phrases) for language, phrases in _PHRASES.items()}
_ANY: Final = Words(*(frozenset().union(*lists) for lists in zip(*LANGUAGES.values(), strict=True)))


def phrase(key: str, language: str | None) -> str:
    """Return a phrase of a question (`ask`, `by_voice`, `on_screen`) in the language; English where we lack it."""
    found: str = _PHRASES.get(_base(language), {}).get(key) or _PHRASES["en"][key]
    return found


def yes_or_no(text: str, language: str | None) -> bool | None:
    """Return True for a yes, False for a no, None for neither; the whole utterance counts, never a part of it.

    language: BCP 47; if it is None or has no list, the words of every language count.
    """
    words, normal = LANGUAGES.get(_base(language), _ANY), _normal(text)
    if normal in words.yes or normal in words.lasting_yes:
        return True
    return False if normal in words.no else None


def is_lasting_yes(text: str, language: str | None) -> bool:
    """Return whether a yes is to count for the rest of the conversation ("yes, always")."""
    return _normal(text) in LANGUAGES.get(_base(language), _ANY).lasting_yes


def _base(language: str | None) -> str:
    return (language or "").partition("-")[0].lower()
