"""Promises that names make of their values: `db_password`, `X-Api-Key`, `Zugangscode`."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from server.policy.redaction.secrets_table import NameWords, Promise

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_PLAIN: Final = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe"}
)
_LEAST_STEM: Final = 5
"""Characters of a word that also counts as the end of a longer one: smtppassword, Datenbankkennwort."""
_MOST_WORDS: Final = 12
_LONGEST_NAME: Final = 80


class SecretNames:
    """The names of a table; what was asked once is remembered."""

    def __init__(self, words: NameWords) -> None:
        kinds: dict[Promise, str] = {
            "password": words.passwords,
            "token": words.tokens,
            "code": words.codes,
            "key": words.keys,
        }
        self._spelled = {word.lower(): kind for kind, text in kinds.items() for word in text.split()}
        self._joined = {"".join(_letters(word)): kind for word, kind in self._spelled.items()}
        self._stems = tuple(
            word for word, kind in self._joined.items() if len(word) >= _LEAST_STEM and kind in ("password", "token")
        )
        self._foreign = {word: kind for word, kind in self._spelled.items() if not words_of(word)[-1].isascii()}
        longest_first = sorted(self._foreign, key=len, reverse=True)
        self._foreign_word = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
        self._about = _words(words.about)
        self._unless = _words(words.unless)
        self._endings = _words(words.endings)
        self.promise = lru_cache(maxsize=4096)(self._promise)

    def keywords(self) -> list[str]:
        """Return the least set of words of which one stands in every name that promises something."""
        words = sorted({word.rpartition("-")[2] for word in self._spelled}, key=len)
        return [word for at, word in enumerate(words) if not any(other in word for other in words[:at])]

    def length_at(self, text: str, at: int) -> int:
        """Return how long the word is that stands at `at`, for scripts that write words without spaces."""
        word = self._foreign_word.match(text, at)
        return len(word[0]) if word else 1

    def _promise(self, name: str, before: str = "") -> Promise | None:
        """Tell what `name` promises; `before` holds the words of the sentence in front of it: `api` key, `public` key."""
        if len(name) > _LONGEST_NAME:
            return None
        own = words_of(name)
        while len(own) > 1 and (own[-1].isdigit() or own[-1] in self._endings):
            own = own[:-1]
        words = (*_letters(before)[-2:], *own)
        if not own or len(words) > _MOST_WORDS:
            return None
        for count in (3, 2, 1):
            if len(words) >= count and (kind := self._joined.get("".join(words[-count:]))):
                before_it = own[:-count] if kind == "password" else own[:-count] + words[-count - 1 : -count]
                return None if not self._unless.isdisjoint(before_it) else kind  # `public key`, but `no password=…`
        if own[-1] in self._about or not self._unless.isdisjoint(own[:-1]):
            return None
        if own[-1] in ("hash", "crypt", "hashed") and any(self._joined.get(word) == "password" for word in own):
            return "token"
        if own[-1].endswith(self._stems):
            return next(
                kind for stem, kind in self._joined.items() if len(stem) >= _LEAST_STEM and own[-1].endswith(stem)
            )
        low = name.lower()
        return None if low.isascii() else next((kind for word, kind in self._foreign.items() if word in low), None)


def _letters(name: str) -> list[str]:
    return [word for word in words_of(name) if not word.isdigit()]


def _words(text: str) -> frozenset[str]:
    return frozenset(part for word in text.split() for part in words_of(word))


def words_of(name: str) -> tuple[str, ...]:
    """Cut a name into its words, in plain lower case: `DB_PASSWORD`, `dbPassword` and `db-password` are the same."""
    folded = unicodedata.normalize("NFKD", name.translate(_PLAIN))
    plain = "".join(letter for letter in folded if not "\u0300" <= letter <= "\u036f")
    return tuple(word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", plain)))
