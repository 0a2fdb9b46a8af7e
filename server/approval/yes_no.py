"""Phrases of questions about tool calls: how they are asked, and which spoken answers mean yes or no.

The phrases stand in phrases.toml. An answer is a whole utterance of a closed list; anything else is neither.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple


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

    language: BCP 47. None, or one without a list: the words of every language.
    """
    words, normal = LANGUAGES.get(_base(language), _ANY), _normal(text)
    if normal in words.yes or normal in words.lasting_yes:
        return True
    return False if normal in words.no else None


def is_lasting_yes(text: str, language: str | None) -> bool:
    """Tell whether a yes is to count for the rest of the conversation ("yes, always")."""
    return _normal(text) in LANGUAGES.get(_base(language), _ANY).lasting_yes


def _base(language: str | None) -> str:
    return (language or "").partition("-")[0].lower()
