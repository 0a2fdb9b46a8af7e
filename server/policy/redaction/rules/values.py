"""Is what follows the name of a secret one? The weaker the tie between them, the more it has to look like one."""

import re
from typing import Literal

from server.policy.redaction.chosen import is_chosen, is_composed, is_named, is_no_identifier
from server.policy.redaction.key_names import STRONG, Strength
from server.policy.redaction.plausible import (
    has_digit,
    is_generated,
    is_jumbled,
    is_placeholder,
    is_plausible,
    is_random,
    is_word,
)

How = Literal["assign", "is", "argument", "element", "space", "line"]
"""What stands between a name and its value: a sign, a verb, a comma, a tag, a space, a line break."""

LEAST_WEAK = 12
"""Characters of what may be a secret behind a weak name."""
_NO_CREDENTIAL = re.compile(r"(?:sha\d{1,3}|md5)[:-]|[\w.-]{1,60}\(")
"""A digest that says so, a call."""
_CONSTANT = re.compile(r"[A-Z]+(?:_[A-Z]+)+\Z")
_PAIR = re.compile(r"[a-z]{2,12}=[^=]")
_MAIL = re.compile(r"@(?:[\w-]+\.\w|\Z)|\A@")
_SAID_OF_SECRETS = frozenset("up-to-date out-of-date so-called well-known one-time-only".split())
_SIGNS = frozenset("!#$%&*+?@^~")


def is_secret(
    value: str, strength: Strength, how: How, *, is_quoted: bool, is_told: bool, is_whole: bool = False
) -> bool:
    """`is_told`: that a value follows is plain, as behind a command's flag; `is_whole`: nothing else stands on its line."""
    if strength not in STRONG:
        if len(value) < LEAST_WEAK or _NO_CREDENTIAL.match(value):
            return False
        if how in ("assign", "argument", "element", "is"):
            return is_random(value) or (is_quoted and how == "assign" and _is_noise(value))
        return (is_told and is_random(value, at_least=20)) or (how == "space" and is_generated(value))
    match how:
        case "assign" | "element":
            return is_plausible(value, is_quoted=is_quoted) or (
                (strength == "password" and (is_word(value) or is_jumbled(value)))
                or (
                    (is_quoted or is_whole or (strength == "password" and is_composed(value)))
                    and (strength == "password" or is_named(value))
                    and is_chosen(value, is_quoted=is_quoted)
                )
            )
        case "argument":
            if value.isdigit() or _CONSTANT.match(value):
                return False
            return (is_plausible(value, is_quoted=True) and (has_digit(value) or is_random(value))) or (
                strength == "password"
                and (
                    is_jumbled(value)
                    or (
                        value[:1].isalnum()
                        and (is_no_identifier(value) or is_composed(value))
                        and is_chosen(value, is_quoted=True)
                    )
                )
            )
        case "is":
            if is_quoted:
                return is_plausible(value, is_quoted=True) or (strength == "password" and _is_odd_password(value))
            return (is_plausible(value, is_quoted=False) and is_mixed(value, 6)) or (
                strength == "password" and _is_odd_password(value) and value.lower() not in _SAID_OF_SECRETS
            )
        case "line":
            return not is_quoted and value.count(";") < 2 and is_mixed(value, 6) and (is_told or is_striking(value))
        case "space":
            return _is_behind_a_space(value, strength, is_quoted=is_quoted, is_told=is_told, is_whole=is_whole)


def _is_behind_a_space(value: str, strength: Strength, *, is_quoted: bool, is_told: bool, is_whole: bool) -> bool:
    if is_quoted:
        is_odd = has_digit(value) or is_random(value) or not _SIGNS.isdisjoint(value)
        if strength == "password" and (is_told or not value.isalpha()) and is_chosen(value, is_quoted=True):
            return True
        return is_plausible(value, is_quoted=True) and is_odd
    if _PAIR.match(value):
        return False
    if strength == "password" and is_whole and is_composed(value) and is_chosen(value, is_quoted=False):
        return True
    if is_told:
        return is_plausible(value, is_quoted=True) or (
            strength == "password" and (is_word(value) or is_chosen(value, is_quoted=True))
        )
    return (
        is_plausible(value, is_quoted=False)
        and is_mixed(value, 8)
        and (not value.endswith("=") or is_random(value, at_least=20))
    )


def is_striking(value: str) -> bool:
    return is_random(value, at_least=12) or (has_digit(value) and any(sign in "!#?*%+~^§&" for sign in value))


def is_mixed(value: str, at_least: int) -> bool:
    """Letters and digits, or letters and signs that no word has."""
    if len(value) < at_least or _MAIL.search(value) or value[:1] in "([{-":
        return False
    if value.isalpha():
        return is_plausible(value, is_quoted=False)  # a generator's letters
    is_odd = has_digit(value) or any(sign in "!#?*%+~^§" for sign in value[:-1])
    return is_odd and any(letter.isalpha() for letter in value) and not is_placeholder(value)


_NO_NOISE = frozenset(" []()|\\")
"""Signs of a sentence, and of a pattern."""


def _is_noise(value: str) -> bool:
    """As keys of devices are: digits, letters and many signs."""
    signs = {letter for letter in value if not letter.isalnum()} - set(" -_./:,")
    return (
        len(value) <= 128
        and len(signs) >= 3
        and _NO_NOISE.isdisjoint(value)
        and has_digit(value)
        and not is_placeholder(value)
    )


def _is_odd_password(value: str) -> bool:
    return is_chosen(value, is_quoted=False) and (is_composed(value) or value.endswith("!")) and " " not in value
