"""Asking a human about a tool call: what is remembered, shown, said, and told to the model. Pure but for the protocol."""

import hashlib
import json
from collections import OrderedDict
from typing import Any, Final, Literal, Protocol

from server.hooks.types import Answer, Permission, Question
from server.sentence_marks import SENTENCE_ENDS
from server.speech.speakable import SpokenText

MAX_REASON_CHARS: Final = 500
"""Of what a human gives as a reason; the model reads it."""
_MAX_SAID_CHARS: Final = 200
_MAX_REMEMBERED_HERE: Final = 10_000

Outcome = Literal["approved", "denied", "timeout", "cancelled", "no_client"]


class RememberedApprovals(Protocol):
    """What a user has approved for good. The key is the tool and the canonical arguments: an exact match."""

    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        """Whether this very call was approved. An exception counts as no: the human is asked."""
        ...

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:
        """Returns when it is kept. `origin`: which handler or hook had asked."""
        ...


class ApprovalsInMemory:
    """Remembers until the process ends; beyond a limit the oldest is asked about again."""

    def __init__(self, limit: int = _MAX_REMEMBERED_HERE) -> None:
        self._limit = limit
        self._keys: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def find(self, user_id: str, tool: str, arguments: Any) -> bool:
        return (user_id, call_key(tool, arguments)) in self._keys

    async def remember(self, user_id: str, tool: str, arguments: Any, *, origin: str) -> None:  # noqa: ARG002 - protocol
        self._keys[user_id, call_key(tool, arguments)] = None
        if len(self._keys) > self._limit:
            self._keys.popitem(last=False)


def canonical_json(arguments: Any) -> str:
    """One text for equal JSON: keys sorted, nothing between tokens, ASCII. 1, 1.0 and true differ."""
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))


def call_key(tool: str, arguments: Any) -> str:
    """What "remember this call" is kept under; holds nothing of the arguments, which may be secret."""
    return hashlib.sha256(canonical_json([tool, arguments]).encode()).hexdigest()


def may_be_spoken(permission: Permission, *, by_voice: bool) -> bool:
    """Whether a spoken yes counts: a voice is no proof of who speaks, so by default only for what reads."""
    return by_voice or permission == "READ"


# --- what the model reads

_FOR_MODEL: Final[dict[Outcome, str]] = {
    "approved": "The user approved this call.",
    "denied": "The user refused this call, so it was not made. Do not try it again unless the user asks for it.",
    "timeout": "Nobody answered the question whether this call may be made, so it was not made. "
    "That is no refusal: say what you would do, and ask again if it is still needed.",
    "cancelled": "The question whether this call may be made was withdrawn before it was answered, so it was not made.",
    "no_client": "Nobody was connected who could approve this call, so it was not made.",
}


def text_for_model(answer: Answer) -> str:
    """Each outcome has its own text; a reason that the human gave stands in it."""
    text = _FOR_MODEL[answer.outcome]
    if answer.reason and not answer.approved:
        return f"{text} Reason: {answer.reason}"
    return text


# --- what the user reads and hears

_ASK: Final = {
    "en": "May I use {tool}?",
    "zh": "我可以使用{tool}吗？",
    "ja": "{tool}を使ってもよろしいですか？",
    "de": "Darf ich {tool} benutzen?",
    "fr": "Puis-je utiliser {tool} ?",
    "es": "¿Puedo usar {tool}?",
}
_BY_VOICE: Final = {
    "en": "Say yes or no.",
    "zh": "请说可以或者不可以。",
    "ja": "はい、か、いいえ、でお答えください。",
    "de": "Bitte sagen Sie Ja oder Nein.",
    "fr": "Dites oui ou non.",
    "es": "Diga sí o no.",
}
_ON_SCREEN: Final = {
    "en": "Please answer on the screen.",
    "zh": "请在屏幕上回答。",
    "ja": "画面でお答えください。",
    "de": "Bitte antworten Sie auf dem Bildschirm.",
    "fr": "Veuillez répondre à l’écran.",
    "es": "Por favor, responda en la pantalla.",
}


def shown_text(question: Question, language: str | None) -> str:
    """The question as it is shown: as it was asked, else in the user's language (English where we lack it)."""
    return question.message.strip() or _in(_ASK, language).format(tool=question.tool)


def said_text(question: Question, language: str | None, *, by_voice: bool) -> str:
    """The question as it is said: its first line without code and addresses, and how to answer."""
    spoken = _speakable(question.message, language)
    if not spoken:
        spoken = _in(_ASK, language).format(tool=question.tool.replace("_", " "))
    return f"{spoken} {_in(_BY_VOICE if by_voice else _ON_SCREEN, language)}"


def _in(texts: dict[str, str], language: str | None) -> str:
    return texts.get((language or "").partition("-")[0].lower(), texts["en"])


def _speakable(message: str, language: str | None) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    spoken = SpokenText(language).of(line)
    line = line if spoken is None else spoken
    if len(line) > _MAX_SAID_CHARS:
        line = line[:_MAX_SAID_CHARS].rpartition(" ")[0] or line[:_MAX_SAID_CHARS]
    return line if not line or line[-1] in SENTENCE_ENDS else f"{line}."
