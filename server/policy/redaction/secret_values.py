"""Looks of secrets, and of values that only stand for one: placeholders, references, program text."""

import re
from typing import Final

from server.policy.redaction.secret_names import SecretNames
from server.policy.redaction.secrets_table import Look, NoValues, Promise

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
_MOST_WORDS: Final = 8


class SecretValues:
    """The placeholders of a table, and what secrets look like."""

    def __init__(self, none: NoValues, names: SecretNames) -> None:
        self._names = names
        self._words = frozenset(none.words.lower().split())
        self._beginnings = tuple(none.beginnings.lower().split())
        self._parts = tuple(none.parts.lower().split())
        self._pattern = re.compile("|".join(f"(?:{pattern})" for pattern in none.patterns) or r"(?!)", re.IGNORECASE)

    def is_placeholder(self, value: str) -> bool:
        low = value[:_LOOKED_AT].lower()
        for part in self._parts:
            if part in low:
                return True
        return (
            low.strip(" .,;:!?\"'()") in self._words
            or low.startswith(self._beginnings)
            or self._pattern.fullmatch(low) is not None
            or (len(value) <= _LONGEST_LABEL and self._names.promise(value) in ("password", "token"))
        )

    def is_secret(self, value: str, look: Promise | Look, *, is_sure: bool = True) -> bool:
        """Tell whether a value looks like what was promised.

        `is_sure`: quotes, or a line of its own, show that a value is meant; then a plain word may be a password.
        """
        value = value.strip()
        if len(value) < _LEAST or self.is_placeholder(value):
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
            return is_sure and len(words) <= _MOST_WORDS and self._words.isdisjoint(words)
        if is_sure:
            return len(value) >= 4 or value.isdigit()
        return _PROGRAM.match(value) is None and (is_odd(value) or (value.isdigit() and len(value) >= 4))


def is_odd(value: str) -> bool:
    """Tell what nobody takes for a word: letters with digits or signs, capitals within."""
    return _LETTER.search(value) is not None and _ODD.search(value) is not None


def is_program(value: str) -> bool:
    """Tell text that a program reads from a token: `settings.API_KEY`, `row["token"]`."""
    return _PROGRAM.match(value) is not None and len(_DIGIT.findall(value)) < _MOST_DIGITS


def _is_generated(value: str) -> bool:
    """Tell what a machine made: long enough, many different characters, digits among them, and no numbered word."""
    if scheme := _SCHEME.match(value):
        value = value[scheme.end() :]
    value = value[:_LOOKED_AT]
    if " " in value or value.isdigit() or _NUMBERED.fullmatch(value):
        return False
    kinds = len(set(value))
    if _DIGIT.search(value) is None:
        return len(value) >= 16 and kinds >= 9 and len(_TURN.findall(value)) * 3 >= len(value)
    return len(value) >= 8 and kinds >= 6
