"""The tables of what secrets look like: read, checked, and merged with the operator's own."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, field
from msgspec.structs import asdict, replace

from server.config import Section
from server.errors import ConfigError

Promise = Literal["password", "token", "code", "key"]
"""Kind of value that a name announces: chosen by people, made by a machine, a short code, perhaps a random key."""
Look = Literal["password", "token", "code", "odd", "any"]

_TABLES: Final = Path(__file__).parent.parent / "tables"
_CURE: Final = "see server/toolguard/tables/secrets.toml for the format"
_T = TypeVar("_T")


class NameWords(Section, frozen=True, kw_only=True):
    """Words of names, separated by white space."""

    passwords: str = ""
    tokens: str = ""
    codes: str = ""
    keys: str = ""
    about: str = ""
    unless: str = ""
    endings: str = ""


class NoValues(Section, frozen=True, kw_only=True):
    """Values that are no secrets whatever their name promises."""

    words: str = ""
    beginnings: str = ""
    parts: str = ""
    patterns: list[str] = field(default_factory=list)
    weak: list[str] = field(default_factory=list)
    """Patterns of placeholders that are also poor passwords, and count as such where quotes show that one is meant."""

    def __post_init__(self) -> None:
        for pattern in (*self.patterns, *self.weak):
            _check("patterns", pattern)


class Form(Section, frozen=True, kw_only=True):
    """Shape of a secret that needs no name."""

    keywords: Annotated[list[Annotated[str, Meta(min_length=2)]], Meta(min_length=1)]
    regex: str
    each: str | None = None
    looks: Look | None = None
    reach: Annotated[int, Meta(ge=16, le=65_536)] = 600
    """Characters from the keyword on that the expression may read."""
    back: Annotated[int, Meta(ge=0, le=100)] = 0
    """Characters in front of the keyword in which the match may begin; 0: it begins with the keyword."""

    def __post_init__(self) -> None:
        _check("regex", self.regex)
        _check("each", self.each or "")


class Issuer(Section, frozen=True, kw_only=True):
    """Marks of one issuer's credentials, and what follows them."""

    marks: Annotated[str, Meta(min_length=2)]
    then: str
    source: str = ""

    def __post_init__(self) -> None:
        _check("then", self.then)


class SecretsTable(Section, frozen=True, kw_only=True):
    """Everything that tells secrets from other texts."""

    names: NameWords = NameWords()
    values: NoValues = NoValues()
    forms: dict[str, Form] = field(default_factory=dict)
    issuers: dict[str, Issuer] = field(default_factory=dict)


_Words = TypeVar("_Words", NameWords, NoValues)


def read_table(path: Path | None) -> SecretsTable:
    """Return our tables, with the operator's at `path` merged over them.

    Its words and patterns are added to ours, its forms and issuers replace those
    of the same name. Raises ConfigError, naming file, key and cure.
    """
    table = SecretsTable()
    for file in (_TABLES / "secrets.toml", _TABLES / "issuers.toml", *([path] if path is not None else [])):
        read = _read(file)
        names, values = _joined(table.names, read.names), _joined(table.values, read.values)
        forms, issuers = table.forms | read.forms, table.issuers | read.issuers
        table = SecretsTable(names=names, values=values, forms=forms, issuers=issuers)
    return table


def _joined(ours: _Words, theirs: _Words) -> _Words:
    """Join words by spaces, and lists of patterns."""
    both = {key: (value, getattr(theirs, key)) for key, value in asdict(ours).items()}
    return replace(ours, **{key: a + b if isinstance(a, list) else f"{a} {b}" for key, (a, b) in both.items()})


def _read(path: Path) -> SecretsTable:
    try:
        tree = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a file that exists") from error
    except ValueError as error:  # no TOML, no UTF-8
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    rest = {key: value for key, value in tree.items() if key not in ("forms", "issuers")}
    table = _convert(path, "table", rest, SecretsTable)
    return replace(table, forms=_entries(path, tree, "forms", Form), issuers=_entries(path, tree, "issuers", Issuer))


def _entries(path: Path, tree: dict[str, Any], key: str, kind: type[_T]) -> dict[str, _T]:
    entries = _convert(path, key, tree.get(key, {}), dict[str, Any])
    return {name: _convert(path, f"{key}.{name}", entry, kind) for name, entry in entries.items()}


def _convert(path: Path, key: str, given: Any, kind: type[_T]) -> _T:
    """Convert an entry by itself, since an error of a whole table does not name the entry."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {key}: {error}; {_CURE}") from None


def _check(key: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{key} is not a valid regular expression: {error}") from None
