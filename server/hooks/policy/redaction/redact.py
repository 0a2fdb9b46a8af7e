"""Walks JSON, keeps its types, takes secrets out of its texts, its keys, and what its keys call secret."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from server.hooks.policy.redaction.key_names import STRONG, strength_of
from server.hooks.policy.redaction.plausible import has_digit, is_plausible, is_random, is_word
from server.hooks.policy.redaction.scan import secrets_in, secrets_in_each
from server.hooks.policy.redaction.spans import REDACTED, Span, replaced
from server.hooks.policy.redaction.words import words_of

_DEEPEST: Final = 64
_LEAST_KEY: Final = 12
"""Characters of a key that may itself be a secret."""
_JWK_PRIVATE: Final = frozenset("d p q dp dq qi k".split())
_LABELS: Final = frozenset("name key k field label id title variable header param type column feld".split())
_VALUES: Final = frozenset("value val v content default text data plaintext wert inhalt valor $t _text #text".split())
_COLUMNS: Final = ("columns", "header", "headers", "fields", "keys")
_ROWS: Final = ("rows", "data", "values", "records", "items")


def redact(value: Any) -> tuple[Any, Counter[str]]:
    """`value` without its secrets, and how many of each kind were taken out; the same object where there were none."""
    if isinstance(value, str):
        return redact_text(value)
    walk = _Walk(secrets_in_each(_texts(value)))
    clean = walk.of(value, 0)
    return clean, walk.counts


def redact_text(text: str) -> tuple[str, Counter[str]]:
    spans = secrets_in(text)
    if not spans:
        return text, Counter()
    return replaced(text, spans), Counter(span.kind for span in spans)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text that `_Walk` asks about."""
    if isinstance(value, str):
        yield value
    elif depth > _DEEPEST:
        return
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and len(key) >= _LEAST_KEY:
                yield key
            yield from _texts(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        if _is_command(value):
            yield " ".join(value)
        for item in value:
            yield from _texts(item, depth + 1)


_FLAG: Final = re.compile(r"-{1,2}[A-Za-z]")


def _is_command(value: Sequence[Any]) -> bool:
    """`["mysql", "-uroot", …]`"""
    return len(value) > 1 and all(isinstance(item, str) for item in value) and any(_FLAG.match(item) for item in value)


class _Walk:
    def __init__(self, found: Mapping[str, list[Span]]) -> None:
        self._found = found
        self.counts: Counter[str] = Counter()

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            if (spans := self._found.get(value)) is None:
                return value
            self.counts.update(span.kind for span in spans)
            return replaced(value, spans)
        if depth > _DEEPEST:
            self.counts["too_deep"] += 1
            return REDACTED
        if isinstance(value, dict):
            return self._dict(value, depth)
        if isinstance(value, (list, tuple)):
            return self._list(value, depth)
        return value

    def _dict(self, given: dict[Any, Any], depth: int) -> Any:
        out: dict[Any, Any] = {}
        is_changed = False
        around = _Around(given)
        for key, value in given.items():
            new_key = self.of(key, depth + 1) if isinstance(key, str) and len(key) >= _LEAST_KEY else key
            new = self._beside(around, key, value, depth)
            if new is None and isinstance(key, str):
                new = self._named(key, value, depth)
            if new is None:
                new = self.of(value, depth + 1)
            is_changed |= new is not value or new_key is not key
            out[_free(new_key, out)] = new
        return out if is_changed else given

    def _beside(self, around: "_Around", key: Any, value: Any, depth: int) -> Any:
        """What the keys beside it make secret; None: nothing."""
        if isinstance(value, str):
            if around.is_jwk and key in _JWK_PRIVATE and len(value) >= 16:
                return self._take("private_key")
            if key in around.secret and is_plausible(value, is_quoted=True):
                return self._take("named")
        elif key in _ROWS and around.header is not None:
            return self._table(around.header, value, depth)
        elif around.is_secret_kind and key in ("data", "stringData") and isinstance(value, dict):
            return {
                name: self._take("named") if isinstance(item, str) and item else item for name, item in value.items()
            }
        if around.label is not None and isinstance(key, str) and _last_word(key) in _VALUES:
            return self._named(around.label, value, depth)
        return None

    def _list(self, given: Any, depth: int) -> Any:
        out: list[Any] = []
        if len(given) > 1 and (table := self._table(given[0], given[1:], depth)) is not None:
            new = [given[0], *table]
            return given if new == list(given) else new
        spoken = self._spoken(given) if _is_command(given) else {}
        for index, item in enumerate(given):
            if index in spoken:
                out.append(spoken[index])
                continue
            before = given[index - 1] if index else None
            named = self._take("named") if _follows_its_name(before, item, is_pair=len(given) == 2) else None
            out.append(self.of(item, depth + 1) if named is None else named)
        if all(new is old for new, old in zip(out, given, strict=True)):
            return given
        return tuple(out) if isinstance(given, tuple) else out

    def _spoken(self, given: Sequence[str]) -> dict[int, str]:
        """By place, the arguments that hold a secret when they are read as one command line."""
        spans = self._found.get(" ".join(given), [])
        out: dict[int, str] = {}
        at = 0
        for index, item in enumerate(given):
            inside = [
                Span(max(0, span.start - at), min(len(item), span.end - at), span.kind)
                for span in spans
                if span.start < at + len(item) and span.end > at
            ]
            if inside:
                self.counts.update(span.kind for span in inside)
                out[index] = replaced(item, inside)
            at += len(item) + 1
        return out

    def _named(self, name: str, value: Any, depth: int) -> Any:
        """What stands under a name that promises a secret; None: nothing that the name makes secret."""
        strength = strength_of(name)
        if strength is None or value is None or isinstance(value, bool):
            return None
        if isinstance(value, str):
            text = value.strip()
            if strength in STRONG and (
                is_plausible(text, is_quoted=True) or (strength == "password" and is_word(text))
            ):
                return self._take("named")
            if strength == "code" and text.replace(" ", "").replace("-", "").isdigit() and 3 <= len(text) <= 9:
                return self._take("code")
            return self._take("named") if strength == "weak" and is_random(text) else None
        if isinstance(value, int) and strength == "code" and 1000 <= value < 10**8:
            return self._take("code")
        if isinstance(value, list) and ("seed" in name.lower() or "mnemonic" in name.lower()) and _is_seed(value):
            return [self._take("seed_phrase") for _ in value]
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            items = [self._named(name, item, depth) for item in value]
            if any(item is not None for item in items):
                return [self.of(old, depth + 1) if new is None else new for new, old in zip(items, value, strict=True)]
        if isinstance(value, dict) and not any(isinstance(k, str) and k.lower() in _VALUES for k in value):
            return self._collection(name, value, depth, is_plural=name.lower().endswith("s"))
        if isinstance(value, dict) and strength in STRONG:
            inner = {
                k: self._named(name, v, depth) for k, v in value.items() if isinstance(k, str) and k.lower() in _VALUES
            }
            if any(item is not None for item in inner.values()):
                return {k: inner[k] if inner.get(k) is not None else self.of(v, depth + 1) for k, v in value.items()}
        return None

    def _collection(self, name: str, value: dict[Any, Any], depth: int, *, is_plural: bool) -> Any:
        """`{"secrets": {"db": …}}`, `{"session": {"id": …}}`."""
        out = dict(value)
        found = False
        for key, item in value.items():
            if not isinstance(item, str) or (isinstance(key, str) and key.lower() in _NO_SECRETS):
                continue
            if is_random(item) or (
                is_plural and strength_of(name) in STRONG and is_plausible(item, is_quoted=True) and has_digit(item)
            ):
                out[key] = self._take("named")
                found = True
        if not found:
            return None
        return {k: v if v is not value[k] else self.of(value[k], depth + 1) for k, v in out.items()}

    def _table(self, header: Any, rows: Any, depth: int) -> Any:
        """Rows whose header says what stands in them; None: it says nothing secret."""
        if not isinstance(header, list) or not isinstance(rows, list) or not all(isinstance(h, str) for h in header):
            return None
        columns = {at for at, title in enumerate(header) if strength_of(title) in (*STRONG, "code")}
        if not columns or not header or not all(isinstance(row, list) for row in rows):
            return None
        return [
            [
                self._cell(header[at], cell, depth) if at in columns else self.of(cell, depth + 2)
                for at, cell in enumerate(row)
            ]
            for row in rows
        ]

    def _cell(self, title: str, cell: Any, depth: int) -> Any:
        named = self._named(title, cell, depth)
        return self.of(cell, depth + 2) if named is None else named

    def _take(self, kind: str) -> str:
        self.counts[kind] += 1
        return REDACTED


_NO_SECRETS: Final = frozenset("user username login name email mail host url path kind type id".split()) - {"id"}


def _last_word(key: str) -> str:
    """`ParameterValue`: value."""
    words = words_of(key)
    return words[-1] if words else key.lower()


class _Around:
    """What the keys of one object say about each other."""

    def __init__(self, given: dict[Any, Any]) -> None:
        self.is_jwk = "kty" in given
        self.is_secret_kind = given.get("kind") == "Secret"
        self.header = next((given[key] for key in _COLUMNS if isinstance(given.get(key), list)), None)
        self.label = next(
            (
                value
                for key, value in given.items()
                if isinstance(key, str) and isinstance(value, str) and _last_word(key) in _LABELS
            ),
            None,
        )
        self.secret: tuple[str, ...] = ("key",) if "ssid" in given else ()
        if "access" in given and "refresh" in given:
            self.secret = ("access", "refresh")


def _is_seed(value: list[Any]) -> bool:
    return len(value) in (12, 15, 18, 21, 24) and all(isinstance(word, str) and word.isalpha() for word in value)


def _follows_its_name(before: Any, item: Any, *, is_pair: bool) -> bool:
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


def _free(key: Any, taken: dict[Any, Any]) -> Any:
    """Two keys that become the same must not become one."""
    if key not in taken:
        return key
    number = 2
    while f"{key} {number}" in taken:
        number += 1
    return f"{key} {number}"


_MAX_JSON: Final = 1 << 20


def redact_result(text: str) -> tuple[str, Counter[str]]:
    """A tool's text: read as JSON where it is JSON, so that names and values are told apart as they are meant.

    The same object where there is nothing to take out; otherwise JSON is
    written anew, indented where it was.
    """
    head = text.lstrip()[:1]
    if head in ("{", "[") and head and len(text) <= _MAX_JSON:
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            return redact_text(text)
        clean, counts = redact(tree)
        if not counts:
            return text, counts
        indent = 2 if "\n" in text.strip() else None
        return json.dumps(clean, ensure_ascii=False, indent=indent), counts
    return redact_text(text)
