"""Names in any of these languages → the English words that they mean."""

import re
from functools import lru_cache
from typing import Final

from server.policy.danger.lexicon.arguments import ARGUMENTS
from server.policy.danger.lexicon.things import THINGS
from server.policy.danger.lexicon.verbs import VERBS
from server.policy.redaction.words import words_of

_UNSPACED: Final = re.compile("[\u2e80-\u9fff\uac00-\ud7af]")
"""Letters of Chinese, Japanese and Korean."""
_LEAST_STEM: Final = 3
_NAME_CHARS: Final = 200
"""Of a name; the rest says nothing, and would be kept with it."""


class _Lexicon:
    """Forms of words, and what they mean; of two meanings the one that stands first."""

    def __init__(self, table: str) -> None:
        self._forms: dict[str, str] = {}
        self._stems: dict[str, str] = {}
        self._signs: dict[str, str] = {}
        meaning = ""
        for word in table.split():
            if word.endswith(":"):
                meaning = word[:-1]
            else:
                self._add(word, meaning)
        self._longest = max(map(len, self._stems))
        self._any_sign = re.compile("|".join(sorted(self._signs, key=len, reverse=True)))

    def _add(self, word: str, meaning: str) -> None:
        plain = "".join(words_of(word))
        if _UNSPACED.match(plain):
            self._signs.setdefault(plain, meaning)
        elif word.endswith("*"):
            self._stems.setdefault(plain, meaning)
        else:
            self._forms.setdefault(plain, meaning)

    def read(self, word: str) -> tuple[str, ...]:
        """What one word means; itself, if it is not known."""
        if found := self._forms.get(word):
            return (found,)
        if _UNSPACED.match(word):
            return tuple(self._signs[sign] for sign in self._any_sign.findall(word)) or (word,)
        stems = (word[:end] for end in range(min(len(word), self._longest), _LEAST_STEM - 1, -1))
        return (next((self._stems[stem] for stem in stems if stem in self._stems), word),)


_NAMES: Final = _Lexicon(VERBS + THINGS)
_KEYS: Final = _Lexicon(ARGUMENTS + VERBS + THINGS)


def meanings(name: str) -> tuple[str, ...]:
    """Of the name of a tool or of an action, word by word: `konto_löschen` is account, delete."""
    return _meanings(name[:_NAME_CHARS])


def key_of(name: str) -> str:
    """Of the name of an argument: as it is written, if it is English or unknown."""
    return _key_of(name[:_NAME_CHARS]) or name


@lru_cache(maxsize=4096)
def _meanings(name: str) -> tuple[str, ...]:
    return tuple(meaning for word in words_of(name) for meaning in _NAMES.read(word))


@lru_cache(maxsize=4096)
def _key_of(name: str) -> str | None:
    words = words_of(name)
    told = tuple(meaning for word in words for meaning in _KEYS.read(word))
    return None if told == words else "_".join(told)
