"""What the shape of a structure says of its values: which objects and lists make something secret that no text tells."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from server.policy.redaction.dialogs import LINES, SPEECH, Dialog
from server.policy.redaction.key_names import STRONG, strength_of
from server.policy.redaction.plausible import has_digit, is_plausible, is_random
from server.policy.redaction.rules.printed import is_output, prints_secret
from server.policy.redaction.words import words_of

DEEPEST: Final = 64
VALUES: Final = frozenset("value val v content default text data plaintext wert inhalt valor $t _text #text".split())
JWK_PRIVATE: Final = frozenset("d p q dp dq qi k".split())
ROWS: Final = frozenset("rows data values records items".split())
COMMANDS: Final = frozenset(("cmd", "command"))
PRINTED: Final = frozenset(("stdout", "output"))
KUBERNETES: Final = frozenset(("data", "stringData"))
_LABELS: Final = frozenset(
    "name key k field label id title variable header param type column feld macro setting option property attribute "
    "parameter argument env".split()
)
_COLUMNS: Final = ("columns", "header", "headers", "fields", "keys")
_GRANTING: Final = frozenset(
    # says what may be done with something, or that it is secret
    "permissions policies acl acls scopes privsep full-tokenid tokenid is_secret sensitive masked protected keyName bcrypt_hash".split()
)
_GRANTED: Final = frozenset(("value", "result"))
_SPOKEN: Final = SPEECH | LINES | {"q"}
_LEAST_KEY: Final = 12
"""Characters of a key that may itself be a secret."""
_PROMPT: Final = re.compile(r"[^$#>%\n]{0,40}[$#>%] ")
_FLAG: Final = re.compile(r"-{1,2}[A-Za-z]")


class Shape(NamedTuple):
    """What the keys of an object say, whatever stands under them."""

    long_keys: tuple[str, ...]
    """Those that may themselves be secrets."""
    names: frozenset[str]
    """Those that promise a secret."""
    labels: tuple[str, ...]
    """Those that hold the name of what stands under one of `values`."""
    values: frozenset[str]
    secret: frozenset[str]
    """Those that others make secret."""
    granted: frozenset[str]
    """Those that others say to be keys: secret if they look like one."""
    speech: tuple[str, ...]
    """Those under which people speak."""
    joint: frozenset[str]
    """Those whose value has to be looked at together with others."""

    @property
    def is_telling(self) -> bool:
        return bool(self.names or self.joint)

    def label(self, given: Mapping[Any, Any]) -> str | None:
        return next((given[key] for key in self.labels if isinstance(given[key], str)), None)


def header(given: Mapping[Any, Any]) -> list[Any] | None:
    """The titles of a table whose rows stand beside them."""
    return next((given[key] for key in _COLUMNS if isinstance(given.get(key), list)), None)


class Shapes:
    """Of one structure; objects with the same keys have one, worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Shape] = {}

    def of(self, given: Mapping[Any, Any]) -> Shape:
        keys = tuple(given)
        shape = self._known.get(keys)
        if shape is None:
            shape = self._known[keys] = _shape(tuple(key for key in keys if isinstance(key, str)))
        return shape


def _shape(keys: tuple[str, ...]) -> Shape:
    labels = tuple(key for key in keys if _last_word(key) in _LABELS)
    values = frozenset(key for key in keys if _last_word(key) in VALUES)
    secret = frozenset(("key",) if "ssid" in keys else ())
    if "access" in keys and "refresh" in keys:
        secret = frozenset(("access", "refresh"))
    if "api_key" in keys and "encoded" in keys:
        secret = frozenset(("encoded",))
    if "username" in keys and "clientkey" in keys:
        secret = frozenset(("username",))
    granted = _GRANTED.intersection(keys) if not _GRANTING.isdisjoint(keys) else frozenset()
    joint = secret | granted | (values if labels else frozenset())
    if not COMMANDS.isdisjoint(keys):
        joint |= PRINTED
    if "kty" in keys:
        joint |= JWK_PRIVATE
    if "kind" in keys:
        joint |= KUBERNETES
    if not ROWS.isdisjoint(keys) and any(key in keys for key in _COLUMNS):
        joint |= ROWS
    return Shape(
        long_keys=tuple(key for key in keys if len(key) >= _LEAST_KEY),
        names=frozenset(key for key in keys if strength_of(key) is not None),
        labels=labels,
        values=values,
        secret=secret,
        granted=granted,
        speech=()
        if _SPOKEN.isdisjoint(keys)
        else tuple(key for key in keys if key in SPEECH or key in LINES) or _asked(keys),
        joint=joint.intersection(keys),
    )


def _asked(keys: tuple[str, ...]) -> tuple[str, ...]:
    return ("q", "a") if "q" in keys and "a" in keys else ()


def _last_word(key: str) -> str:
    """`ParameterValue`: value."""
    words = words_of(key)
    return words[-1] if words else key.lower()


class Survey:
    """A walk that only looks: `texts` are all that may hold secrets, in order; `is_telling`, whether the shape of
    anything makes something secret beside them; `dialogs`, which texts are also to be read as one."""

    def __init__(self, value: Any, shapes: Shapes) -> None:
        self.texts: list[str] = []
        self.is_telling = False
        self.dialogs: list[Dialog] = []
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
            if shape.speech:
                self._hear(value[key] for key in shape.speech)
                for key in shape.speech:
                    if isinstance(value[key], (list, tuple)):
                        self._hear(value[key])
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

    def _hear(self, said: Iterable[Any]) -> None:
        turns = [turn for turn in said if isinstance(turn, str)]
        if len(turns) > 1:
            dialog = Dialog(turns)
            self.dialogs.append(dialog)
            self.texts.append(dialog.text)

    def _see_list(self, given: Sequence[Any]) -> None:
        if isinstance(given[0], dict) and self._shapes.of(given[0]).speech:
            self._hear(item[key] for item in given if isinstance(item, dict) for key in self._shapes.of(item).speech)
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


def label_columns(header: Any) -> tuple[int, int] | None:
    """Of a table: the column that holds names, and the one that holds what they name."""
    if not isinstance(header, list) or not all(isinstance(title, str) for title in header):
        return None
    titles = [title.lower() for title in header]
    value = next((at for at, title in enumerate(titles) if title in ("value", "val", "wert", "valor", "valeur")), None)
    name = next((at for at, title in enumerate(titles) if title in _LABELS and title != "id"), None)
    return None if name is None or value is None else (name, value)


def has_named_item(given: Sequence[Any]) -> bool:
    is_pair = len(given) == 2
    return any(follows_its_name(given[at - 1], given[at], is_pair=is_pair) for at in range(1, len(given)))


def follows_its_name(before: Any, item: Any, *, is_pair: bool) -> bool:
    """`["--token", "…"]`, and pairs such as `["password", "…"]`."""
    if not isinstance(before, str) or not isinstance(item, str) or len(before) > 160:
        return False
    if prompt := _PROMPT.match(before):
        return prints_secret(before[prompt.end() :]) and is_output(item)
    strength = strength_of(before)
    if strength is None or strength == "code":
        return False
    if before.startswith("-"):
        return is_random(item) or (strength in STRONG and is_plausible(item, is_quoted=True))
    if strength == "weak":
        return False
    return is_random(item) or (is_pair and is_plausible(item, is_quoted=True) and has_digit(item))
