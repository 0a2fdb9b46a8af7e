"""Is what follows the name of a secret one? The weaker the tie between them, the more it has to look like one."""

from typing import Literal

from server.hooks.policy.redaction.key_names import STRONG, Strength
from server.hooks.policy.redaction.plausible import (
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

_SIGNS = frozenset("!#$%&*+?@^~")


def is_secret(value: str, strength: Strength, how: How, *, is_quoted: bool, is_told: bool) -> bool:
    """`is_told`: that a value follows is plain, as behind a command's flag."""
    if strength not in STRONG:
        if how in ("assign", "argument", "element", "is"):
            return is_random(value)
        return (is_told and is_random(value, at_least=20)) or (how == "space" and is_generated(value))
    match how:
        case "assign" | "element":
            return is_plausible(value, is_quoted=is_quoted) or (
                strength == "password" and (is_word(value) or is_jumbled(value))
            )
        case "argument":
            return (is_plausible(value, is_quoted=True) and (has_digit(value) or is_random(value))) or (
                strength == "password" and is_jumbled(value)
            )
        case "is":
            return is_plausible(value, is_quoted=is_quoted) and (is_quoted or is_mixed(value, 6))
        case "line":
            return not is_quoted and is_mixed(value, 6) and (is_told or is_striking(value))
        case "space":
            return _is_behind_a_space(value, strength, is_quoted=is_quoted, is_told=is_told)


def _is_behind_a_space(value: str, strength: Strength, *, is_quoted: bool, is_told: bool) -> bool:
    if is_quoted:
        is_odd = has_digit(value) or is_random(value) or not _SIGNS.isdisjoint(value)
        return is_plausible(value, is_quoted=True) and is_odd
    if is_told:
        return is_plausible(value, is_quoted=True) or (strength == "password" and is_word(value))
    return (
        is_plausible(value, is_quoted=False)
        and is_mixed(value, 8)
        and (not value.endswith("=") or is_random(value, at_least=20))
    )


def is_striking(value: str) -> bool:
    return is_random(value, at_least=12) or (has_digit(value) and any(sign in "!#?*%+~^§&" for sign in value))


def is_mixed(value: str, at_least: int) -> bool:
    """Letters and digits, or letters and signs that no word has."""
    if len(value) < at_least or "@" in value or value[:1] in "([{-":
        return False
    if value.isalpha():
        return is_plausible(value, is_quoted=False)  # a generator's letters
    is_odd = has_digit(value) or any(sign in "!#?*%+~^§" for sign in value[:-1])
    return is_odd and any(letter.isalpha() for letter in value) and not is_placeholder(value)
