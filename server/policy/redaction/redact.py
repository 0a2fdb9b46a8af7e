"""Walks JSON, keeps its types, takes secrets out of its texts, its keys, and what its keys call secret."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.approval.asking import REDACTED
from server.policy.redaction.chosen import is_chosen, is_named
from server.policy.redaction.key_names import STRONG, strength_of
from server.policy.redaction.plausible import has_digit, is_plausible, is_random, is_word
from server.policy.redaction.rules.code_values import is_typed
from server.policy.redaction.rules.printed import is_output, prints_secret
from server.policy.redaction.rules.values import is_mixed
from server.policy.redaction.scan import secrets_in, secrets_in_each
from server.policy.redaction.shapes import (
    COMMANDS,
    DEEPEST,
    JWK_PRIVATE,
    KUBERNETES,
    PRINTED,
    ROWS,
    VALUES,
    Shape,
    Shapes,
    Survey,
    follows_its_name,
    header,
    is_command,
    label_columns,
    secret_columns,
)
from server.policy.redaction.spans import Span, replaced


def redact(value: Any) -> tuple[Any, Counter[str]]:
    """`value` without its secrets, and how many of each kind were taken out; the same object where there were none."""
    if isinstance(value, str):
        return redact_text(value)
    shapes = Shapes()
    survey = Survey(value, shapes)
    found = secrets_in_each(survey.texts)
    for dialog in survey.dialogs if found else ():
        dialog.share(found)
    if not found and not survey.is_telling:
        return value, Counter()
    walk = _Walk(found, shapes)
    clean = walk.of(value, 0)
    return clean, walk.counts


def redact_text(text: str) -> tuple[str, Counter[str]]:
    spans = secrets_in(text)
    if not spans:
        return text, Counter()
    return replaced(text, spans), Counter(span.kind for span in spans)


class _Walk:
    def __init__(self, found: Mapping[str, list[Span]], shapes: Shapes) -> None:
        self._found = found
        self._shapes = shapes
        self.counts: Counter[str] = Counter()

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            if (spans := self._found.get(value)) is None:
                return value
            self.counts.update(span.kind for span in spans)
            return replaced(value, spans)
        if depth > DEEPEST:
            self.counts["too_deep"] += 1
            return REDACTED
        if isinstance(value, dict):
            return self._dict(value, depth)
        if isinstance(value, (list, tuple)):
            return self._list(value, depth)
        return value

    def _dict(self, given: dict[Any, Any], depth: int) -> Any:
        shape = self._shapes.of(given)
        changed: dict[Any, Any] = {}
        for key, value in given.items():
            new = self._beside(shape, given, key, depth) if key in shape.joint else None
            if new is None and key in shape.names:
                new = self._named(key, value, depth)
            if new is None:
                new = self.of(value, depth + 1)
            if new is not value:
                changed[key] = new
        renamed = {key: self.of(key, depth + 1) for key in shape.long_keys if key in self._found}
        return _rewritten(given, changed, renamed) if changed or renamed else given

    def _beside(self, shape: Shape, given: dict[Any, Any], key: str, depth: int) -> Any:
        """What the keys beside it make secret; None: nothing."""
        value = given[key]
        if isinstance(value, str):
            if "kty" in given and key in JWK_PRIVATE and len(value) >= 16:
                return self._take("private_key")
            if key in shape.secret and is_plausible(value, is_quoted=True):
                return self._take("named")
            if key in PRINTED and prints_secret(_command(given)) and is_output(value.strip()):
                return self._take("printed")
            if key in shape.granted and (is_random(value) or is_mixed(value, 12)):
                return self._take("granted")
        elif key in ROWS and (titles := header(given)) is not None:
            return self._table(titles, value, depth)
        elif key in KUBERNETES and given.get("kind") == "Secret" and isinstance(value, dict):
            return {
                name: self._take("named") if isinstance(item, str) and item else item for name, item in value.items()
            }
        if key in shape.values and (label := shape.label(given)) is not None:
            return self._named(label, value, depth)
        return None

    def _list(self, given: Any, depth: int) -> Any:
        out: list[Any] = []
        if len(given) > 1 and (table := self._table(given[0], given[1:], depth)) is not None:
            new = [given[0], *table]
            return given if new == list(given) else new
        spoken = self._spoken(given) if is_command(given) else {}
        for index, item in enumerate(given):
            if index in spoken:
                out.append(spoken[index])
                continue
            is_named = index and follows_its_name(given[index - 1], item, is_pair=len(given) == 2)
            out.append(self._take("named") if is_named else self.of(item, depth + 1))
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
            if strength_of(text) is not None:
                return None  # a label
            if strength in STRONG and (
                is_plausible(text, is_quoted=True)
                or (strength == "password" and is_word(text))
                or ((strength == "password" or is_named(text)) and is_chosen(text, is_quoted=True))
            ):
                return self._take("named")
            if strength == "code" and is_typed(text):
                return self._take("code")
            return self._take("named") if strength in ("weak", "code") and is_random(text) else None
        if isinstance(value, int) and strength == "code" and 1000 <= value < 10**8:
            return self._take("code")
        if isinstance(value, list) and ("seed" in name.lower() or "mnemonic" in name.lower()) and _is_seed(value):
            return [self._take("seed_phrase") for _ in value]
        if isinstance(value, list) and value and strength in STRONG and all(isinstance(item, dict) for item in value):
            return self._each_named(name, value, depth)
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            items = [self._named(name, item, depth) for item in value]
            if any(item is not None for item in items):
                return [self.of(old, depth + 1) if new is None else new for new, old in zip(items, value, strict=True)]
        if isinstance(value, dict) and not any(isinstance(k, str) and k.lower() in VALUES for k in value):
            return self._collection(name, value, depth, is_plural=name.lower().endswith("s"))
        if isinstance(value, dict) and strength in STRONG:
            inner = {
                k: self._named(name, v, depth) for k, v in value.items() if isinstance(k, str) and k.lower() in VALUES
            }
            if any(item is not None for item in inner.values()):
                return {k: inner[k] if inner.get(k) is not None else self.of(v, depth + 1) for k, v in value.items()}
        return None

    def _each_named(self, name: str, given: list[dict[Any, Any]], depth: int) -> Any:
        """`{"secrets": [{"id": …, "value": …}]}`"""
        values = [
            {
                key: self._named(name, item, depth)
                for key, item in each.items()
                if isinstance(key, str) and key.lower() in VALUES
            }
            for each in given
        ]
        if all(new is None for each in values for new in each.values()):
            return None
        return [
            {key: new[key] if new.get(key) is not None else self.of(item, depth + 2) for key, item in old.items()}
            for old, new in zip(given, values, strict=True)
        ]

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
        columns = secret_columns(header)
        if not columns and (pair := label_columns(header)) is not None:
            return self._labelled(pair, rows, depth)
        if not columns or not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            return None
        return [
            [
                self._cell(header[at], cell, depth) if at in columns else self.of(cell, depth + 2)
                for at, cell in enumerate(row)
            ]
            for row in rows
        ]

    def _labelled(self, pair: tuple[int, int], rows: Any, depth: int) -> Any:
        """Rows in one column of which stands the name of what stands in another."""
        name, value = pair
        if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) > max(pair) for row in rows):
            return None
        return [
            [
                self._cell(row[name], cell, depth)
                if at == value and isinstance(row[name], str)
                else self.of(cell, depth + 2)
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


def _command(given: Mapping[Any, Any]) -> str:
    """What printed it."""
    return next((given[key] for key in COMMANDS if isinstance(given.get(key), str)), "")


_NO_SECRETS: Final = frozenset("user username login name email mail host url path kind type id".split()) - {"id"}


def _is_seed(value: list[Any]) -> bool:
    return len(value) in (12, 15, 18, 21, 24) and all(isinstance(word, str) and word.isalpha() for word in value)


def _rewritten(given: dict[Any, Any], changed: dict[Any, Any], renamed: dict[Any, Any]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for key, value in given.items():
        out[_free(renamed.get(key, key), out)] = changed.get(key, value)
    return out


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
    if head in ("{", "[") and len(text) <= _MAX_JSON:
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
