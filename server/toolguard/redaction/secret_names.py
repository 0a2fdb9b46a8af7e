"""Names that promise a secret (`db_password`, `X-Api-Key`), and values that look like one or only stand for one."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from server.toolguard.redaction.secrets_table import Look, NameWords, NoValues, Promise

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_PLAIN: Final = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe"}
)
_LEAST_STEM: Final = 5
"""Characters of a word that also counts as the end of a longer one: smtppassword, Datenbankkennwort."""
_MOST_WORDS: Final = 12
LONGEST_NAME: Final = 80
"""Characters of a name that can promise anything."""

_LOOKED_AT: Final = 200
"""Characters of a long value by which it is judged."""
_LONGEST_LABEL: Final = 40
"""Characters up to which a value may be the name of another secret: `"password": "newPassword"`."""
_ODD: Final = re.compile(r"\d|[a-z][A-Z]|[!#$%&*+?@^~=]")
_DIGIT: Final = re.compile(r"\d")
_NUMBERED: Final = re.compile(r"[A-Za-z]+(?:[-_./][A-Za-z]+)*[-_./v]?\d{1,4}")
"""Words with a number: `session-1`, `tls-cert-2024`."""
_TURN: Final = re.compile(r"[a-z](?=[A-Z+/=])|[A-Z](?=[a-z+/=])")
"""Change between small and great letters: more in what is random than in `promptRouterSummaries`."""
_LONG_PART: Final = re.compile(r"(?=[A-Za-z]*\d)[A-Za-z0-9+/]{12}|(?:[A-Z0-9]{4,8}-){3}")
_MOST_DIGITS: Final = 3
_LETTER: Final = re.compile(r"[^\W\d_]")
_CODE: Final = re.compile(r"(?:[A-Z]{1,3}-)?\d[\d -]{1,10}\d|(?=[A-Z-]*\d)[A-Z0-9-]{5,12}")
_SCHEME: Final = re.compile(r"(?:bearer|basic|token) ", re.IGNORECASE)
_PROGRAM: Final = re.compile(
    r"[\w.$]+[\[(]|[A-Za-z_$]\w*(?:(?:\.|->|::)[A-Za-z_$]\w*)+$|[=|&~!]|\w+\?\.|[a-z]+(?:[A-Z][a-z]+)+$"
)
"""Text that a program reads: calls, members, operators, variables."""
_LEAST: Final = 3
_LONGEST_SENTENCE: Final = 8


class SecretNames:
    """The names of a table; what was asked once is remembered."""

    def __init__(self, words: NameWords) -> None:
        texts: dict[Promise, str]
        texts = {"password": words.passwords, "token": words.tokens, "code": words.codes, "key": words.keys}
        self._spelled = {word.lower(): kind for kind, text in texts.items() for word in text.split()}
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
        """Return what `name` promises; `before` holds the words of its sentence in front of it: `api` key, `public` key."""
        if len(name) > LONGEST_NAME:
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
    if not name.isascii():
        folded = unicodedata.normalize("NFKD", name.translate(_PLAIN))
        plain = "".join(letter for letter in folded if not "\u0300" <= letter <= "\u036f")
        name = unicodedata.normalize("NFC", plain)
    return tuple([word.lower() for word in _WORD.findall(name)])


class SecretValues:
    """The placeholders of a table, and what secrets look like."""

    def __init__(self, none: NoValues, names: SecretNames) -> None:
        self._names = names
        self._words = frozenset(none.words.lower().split())
        self._beginnings = tuple(none.beginnings.lower().split())
        self._parts = tuple(none.parts.lower().split())
        self._pattern, self._weak = (
            re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)", re.IGNORECASE)
            for patterns in (none.patterns, none.weak)
        )

    def is_placeholder(self, value: str, *, is_exact: bool = False) -> bool:
        """Return whether it is a placeholder, reference or secret's name. `is_exact`: no part of the value decides."""
        if is_exact and self._weak.fullmatch(value):
            return False
        low = value[:_LOOKED_AT].lower()
        if low.strip(" .,;:!?\"'()") in self._words or self._pattern.fullmatch(low):
            return True
        if len(value) <= _LONGEST_LABEL and self._names.promise(value) in ("password", "token"):
            return _DIGIT.search(value) is None  # `newPassword`, but not `password123`
        return not is_exact and (low.startswith(self._beginnings) or any(part in low for part in self._parts))

    def is_secret(self, value: str, look: Promise | Look, *, is_sure: bool = True, is_quoted: bool = False) -> bool:
        """Return whether a value looks like what was promised.

        `is_sure`: quotes, or a line of its own, show that a value is meant; then a plain word may be a password.
        `is_quoted`: quotes show where it ends; then a password is any text but exact placeholders and references.
        """
        value = value.strip()
        if look == "password" and value.startswith("-----BEGIN "):  # a key, even cut off, is no sentence
            return True
        if len(value) < _LEAST or self.is_placeholder(value, is_exact=is_quoted and look == "password"):
            return False
        if look == "password":
            return self._is_password(value, is_sure=is_sure)
        if look == "code":
            return _CODE.fullmatch(value) is not None
        if look == "odd":
            return len(value) >= 4 and is_odd(value)
        is_long = len(value) >= 20 and _LONG_PART.search(value) is not None
        return (look == "token" or is_long) and _is_generated(value)

    def _is_password(self, value: str, *, is_sure: bool) -> bool:
        if " " in value:
            words = value.lower().split()
            return is_sure and len(words) <= _LONGEST_SENTENCE and self._words.isdisjoint(words)
        if is_sure:
            return len(value) >= 4 or value.isdigit()
        return _PROGRAM.match(value) is None and (is_odd(value) or (value.isdigit() and len(value) >= 4))


def is_odd(value: str) -> bool:
    """Return whether it is no word: letters with digits or signs, capitals within."""
    return _LETTER.search(value) is not None and _ODD.search(value) is not None


def is_program(value: str) -> bool:
    """Return whether it is code rather than a token: `settings.API_KEY`, `row["token"]`."""
    return _PROGRAM.match(value) is not None and len(_DIGIT.findall(value)) < _MOST_DIGITS


def _is_generated(value: str) -> bool:
    """Return whether a machine made it: long, many different characters, digits among them, and no numbered word."""
    if scheme := _SCHEME.match(value):
        value = value[scheme.end() :]
    value = value[:_LOOKED_AT]
    if " " in value or value.isdigit() or _NUMBERED.fullmatch(value):
        return False
    kinds = len(set(value))
    if _DIGIT.search(value) is None:
        return len(value) >= 16 and kinds >= 9 and len(_TURN.findall(value)) * 3 >= len(value)
    return len(value) >= 8 and kinds >= 6
