"""What the shape of a structure says of its values: which objects and lists make something secret that no text tells."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from server.hooks.policy.redaction.key_names import STRONG, strength_of
from server.hooks.policy.redaction.plausible import has_digit, is_plausible, is_random
from server.hooks.policy.redaction.words import words_of

DEEPEST: Final = 64
LEAST_KEY: Final = 12
"""Characters of a key that may itself be a secret."""
VALUES: Final = frozenset("value val v content default text data plaintext wert inhalt valor $t _text #text".split())
ROWS: Final = frozenset("rows data values records items".split())
_LABELS: Final = frozenset("name key k field label id title variable header param type column feld".split())
_COLUMNS: Final = ("columns", "header", "headers", "fields", "keys")
_TELLING: Final = frozenset(("kty", "kind", "ssid", "access", *_COLUMNS))
_FLAG: Final = re.compile(r"-{1,2}[A-Za-z]")


class Around:
    """What the keys of one object say about each other."""

    def __init__(self, given: dict[Any, Any]) -> None:
        self.is_jwk = "kty" in given
        self.is_secret_kind = given.get("kind") == "Secret"
        self.header = next((given[key] for key in _COLUMNS if isinstance(given.get(key), list)), None)
        self.label = next(
            (
                value
                for key, value in given.items()
                if isinstance(key, str) and isinstance(value, str) and last_word(key) in _LABELS
            ),
            None,
        )
        self.secret: tuple[str, ...] = ("key",) if "ssid" in given else ()
        if "access" in given and "refresh" in given:
            self.secret = ("access", "refresh")


def last_word(key: str) -> str:
    """`ParameterValue`: value."""
    words = words_of(key)
    return words[-1] if words else key.lower()


class Shape(NamedTuple):
    """Of all objects with the same keys."""

    long_keys: tuple[str, ...]
    """Those that may themselves be secrets."""
    is_telling: bool
    """False: no key makes a value secret, by its name or together with another."""


class Shapes:
    """Of one structure; each is worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Shape] = {}

    def of(self, given: dict[Any, Any]) -> Shape:
        keys = tuple(given)
        shape = self._known.get(keys)
        if shape is None:
            names = [key for key in keys if isinstance(key, str)]
            long_keys = tuple(name for name in names if len(name) >= LEAST_KEY)
            shape = self._known[keys] = Shape(long_keys, _is_telling(names))
        return shape


def _is_telling(names: Sequence[str]) -> bool:
    if not _TELLING.isdisjoint(names) or any(strength_of(name) for name in names):
        return True
    last_words = {last_word(name) for name in names}
    return not _LABELS.isdisjoint(last_words) and not VALUES.isdisjoint(last_words)


class Survey:
    """A walk that only looks: `texts` are all that may hold secrets, in order; `is_telling`, whether the shape of
    anything makes something secret beside them."""

    def __init__(self, value: Any, shapes: Shapes) -> None:
        self.texts: list[str] = []
        self.is_telling = False
        self._shapes = shapes
        self._see(value, 0)

    def _see(self, value: Any, depth: int) -> None:
        if isinstance(value, str):
            self.texts.append(value)
        elif depth > DEEPEST:
            self.is_telling = True
        elif isinstance(value, dict):
            shape = self._shapes.of(value)
            self.is_telling |= shape.is_telling
            self.texts.extend(shape.long_keys)
            self._see_each(value.values(), depth)
        elif isinstance(value, (list, tuple)):
            if len(value) > 1:
                self._see_list(value)
            self._see_each(value, depth)

    def _see_each(self, values: Iterable[Any], depth: int) -> None:
        for value in values:
            if type(value) is str:  # most are: a call less
                self.texts.append(value)
            else:
                self._see(value, depth + 1)

    def _see_list(self, given: Sequence[Any]) -> None:
        if is_command(given):
            self.texts.append(" ".join(given))
        self.is_telling = self.is_telling or bool(secret_columns(given[0])) or has_named_item(given)


def is_command(given: Sequence[Any]) -> bool:
    """`["mysql", "-uroot", …]`"""
    return len(given) > 1 and all(isinstance(item, str) for item in given) and any(map(_FLAG.match, given))


def secret_columns(header: Any) -> set[int]:
    """Of a table: those whose title promises a secret."""
    if not isinstance(header, list) or not all(isinstance(title, str) for title in header):
        return set()
    return {at for at, title in enumerate(header) if strength_of(title) in (*STRONG, "code")}


def has_named_item(given: Sequence[Any]) -> bool:
    is_pair = len(given) == 2
    return any(follows_its_name(given[at - 1], given[at], is_pair=is_pair) for at in range(1, len(given)))


def follows_its_name(before: Any, item: Any, *, is_pair: bool) -> bool:
    """`["--token", "…"]`, and pairs such as `["password", "…"]`."""
    if not isinstance(before, str) or not isinstance(item, str) or len(before) > 64:
        return False
    strength = strength_of(before)
    if strength is None or strength == "code":
        return False
    if before.startswith("-"):
        return is_random(item) or (strength in STRONG and is_plausible(item, is_quoted=True))
    if strength == "weak":
        return False
    return is_random(item) or (is_pair and is_plausible(item, is_quoted=True) and has_digit(item))
