"""What a form's value has to look like beside fitting the form; and the shape of the table's rows."""

from collections.abc import Callable
from typing import Final

from server.policy.redaction.chosen import is_chosen
from server.policy.redaction.plausible import has_digit, is_jumbled, is_placeholder, is_plausible, is_random
from server.policy.redaction.rules.password_looks import looks_chosen
from server.policy.redaction.rules.values import is_mixed

Check = Callable[[str], bool]
Form = tuple[str, str, str, Check]
"""Kind, the ASCII text it cannot do without, the pattern that fits from there on (`s`: the secret), and the check."""

Q: Final = r"[\"'`]"
_CHARSETS: Final = ("utf8", "latin1")
_EXAMPLES: Final = frozenset("password pass passwd pwd secret user username token x pw changeme example".split())


def always(_value: str) -> bool:
    return True


def is_value(value: str) -> bool:
    return not is_placeholder(value)


def is_credential(value: str) -> bool:
    """What follows Bearer and its like."""
    return is_random(value, at_least=12) or (len(value) >= 16 and has_digit(value) and not is_placeholder(value))


def has_number(value: str) -> bool:
    return is_plausible(value, is_quoted=True) and (has_digit(value) or any(sign in value for sign in "!&#+%*?$"))


def is_odd(value: str) -> bool:
    """No word and no name: with a digit or a sign, or jumbled."""
    return not value.startswith(_CHARSETS) and (is_mixed(value, 5) or is_jumbled(value))


def is_password(value: str) -> bool:
    """What a person may have chosen, and no plain word."""
    return (
        not value.startswith(_CHARSETS)
        and is_chosen(value, is_quoted=True)
        and (not value.isalpha() or is_jumbled(value))
    )


def is_given(value: str) -> bool:
    """What a program may have been given as a password, a plain word too."""
    return not value.startswith(_CHARSETS) and (is_plausible(value, is_quoted=True) or is_chosen(value, is_quoted=True))


def is_striking_password(value: str) -> bool:
    """What stands where only a password can, and is no word of a sentence."""
    return looks_chosen(value) >= 2 or is_jumbled(value) or (is_mixed(value, 6) and not is_placeholder(value))


def is_url_password(value: str) -> bool:
    return is_value(value) and value.lower() not in _EXAMPLES
