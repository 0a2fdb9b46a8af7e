"""Takes secrets out of texts and structures: the door of this package."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from server.toolguard import REDACTED
from server.toolguard.redaction.scanner import Scanner
from server.toolguard.redaction.secret_names import LONGEST_NAME, SecretValues
from server.toolguard.redaction.secrets_table import Promise, read_table
from server.toolguard.scans import Span, begin_scan, check_time

_DEEPEST: Final = 64
_MAX_JSON: Final = 1 << 18
"""Characters up to which a result is read as JSON; decoding more at once would hold the event loop."""
_LEAST_KEY: Final = 10
"""Characters of a key that may itself be a secret."""
_LABELS: Final = frozenset("name key k field label id title variable header param parameter setting env".split())
_VALUES: Final = frozenset("value val v content default text data plaintext".split())
_JWK_PRIVATE: Final = frozenset("d p q dp dq qi k".split())
_KUBERNETES: Final = frozenset(("data", "stringData"))
_LEAST_NUMBER: Final = 1000


class Redactor:
    """Takes secrets out by the rules of one table."""

    def __init__(self, table: Path | None) -> None:
        """Read our table, with the operator's laid over it if there is one. Raises ConfigError with file, key and cure."""
        self._scanner = Scanner(read_table(table))

    def redact(self, value: Any, limit_s: float | None = None) -> tuple[Any, Counter[str]]:
        """Return `value` without its secrets, and how many of each kind were taken out.

        Types are kept, but for a number under the name of a secret, which becomes a
        text. The same object where there was nothing to take out. Raises ScanTooSlow.
        """
        begin_scan(limit_s)
        scanner = self._scanner
        texts, names, is_special = _survey(value)
        short = (name for name in names if len(name) <= LONGEST_NAME)  # `promise` remembers what it was asked
        promises = {name: promise for name in short if (promise := scanner.names.promise(name)) is not None}
        found = scanner.scan(texts)
        if not (found or promises or is_special):
            return value, Counter()  # as most; the walk would take longer than all before
        walk = _Walk(scanner.values, promises, found)
        return walk.of(value, None, 0), walk.counts

    def redact_text(self, text: str, limit_s: float | None = None) -> tuple[str, Counter[str]]:
        """Return a text without its secrets; the same object where there are none. Raises ScanTooSlow."""
        begin_scan(limit_s)
        return _taken(text, self._scanner.scan([text]).get(text, []))

    def redact_result(self, text: str, limit_s: float | None = None) -> tuple[str, Counter[str]]:
        """Return a tool's text without its secrets: JSON is read as a structure, and written as it was indented."""
        if text.lstrip()[:1] not in ("{", "[") or len(text) > _MAX_JSON:
            return self.redact_text(text, limit_s)
        try:
            tree = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return self.redact_text(text, limit_s)
        clean, counts = self.redact(tree, limit_s)
        if not counts:
            return text, counts
        indent = 2 if "\n" in text.strip() else 0
        return msgspec.json.format(msgspec.json.encode(clean), indent=indent).decode(), counts


redactor = cache(Redactor)


def _taken(text: str, spans: Sequence[Span]) -> tuple[str, Counter[str]]:
    """Replace the spans, which are in order, none over another."""
    counts: Counter[str] = Counter()
    pieces, at = [], 0
    for span in spans:
        check_time()
        if text[span.start : span.end] != REDACTED:
            pieces += [text[at : span.start], REDACTED]
            counts[span.kind] += 1
            at = span.end
    return ("".join([*pieces, text[at:]]) if pieces else text), counts


def _survey(value: Any) -> tuple[list[str], set[str], bool]:
    """Return a structure's texts, what may name the one beside it, and whether it must be walked whatever these say."""
    texts: list[str] = []
    names: set[Any] = set()
    level: list[Any] = [{0: value}]
    depth = 0
    while level and (depth := depth + 1) <= _DEEPEST + 2:
        check_time()
        dicts = [part for part in level if isinstance(part, dict)]
        lists = [part for part in level if part and not isinstance(part, dict)]
        items = [*chain.from_iterable(part.values() for part in dicts), *chain.from_iterable(lists)]
        labels = (part[key] for part in dicts for key in _LABELS & part.keys())
        firsts = chain.from_iterable(part[0] if isinstance(part[0], list) else part[:1] for part in lists)
        options = [item for part in lists for item in part if isinstance(item, str) and item[:1] == "-"]
        names.update(*dicts, [item for item in [*labels, *firsts, *options] if isinstance(item, str)])
        texts += [" ".join(part) for part in lists if options and is_command(part)]
        texts += [item for item in items if isinstance(item, str)]
        level = [item for item in items if isinstance(item, (dict, list, tuple))]
    names = {name for name in names if isinstance(name, str)}
    texts += [name for name in names if len(name) >= _LEAST_KEY]
    return texts, names, bool(level) or "kty" in names or ("kind" in names and "Secret" in texts)


class _Walk:
    """One structure, built anew where something was found."""

    def __init__(self, values: SecretValues, promises: Mapping[str, Promise], found: Mapping[str, list[Span]]) -> None:
        self.counts: Counter[str] = Counter()
        self._values, self._promises, self._found = values, promises, found

    def of(self, value: Any, promise: Promise | None, depth: int) -> Any:
        """Return a value without its secrets; `promise` is what the name above it says of it."""
        check_time()
        match value:
            case str():
                if promise is not None and self._values.is_secret(value, promise, is_quoted=True):
                    return self._take("code" if promise == "code" else "named")
                return self._scanned(value)
            case int() if not isinstance(value, bool):
                is_secret = promise in ("code", "password") and abs(value) >= _LEAST_NUMBER
                return self._take("code") if is_secret else value
            case dict() | list() | tuple() if depth > _DEEPEST:
                return self._take("too_deep")
            case dict():
                return self._dict(value, promise, depth)
            case list() | tuple():
                new = self._list(value, promise, depth)
                if all(new_item is item for new_item, item in zip(new, value, strict=True)):
                    return value
                return tuple(new) if isinstance(value, tuple) else new
        return value

    def _dict(self, given: dict[Any, Any], promise: Promise | None, depth: int) -> dict[Any, Any]:
        labels = [] if _LABELS.isdisjoint(given) else [self._promise(v) for k, v in given.items() if k in _LABELS]
        told = next((said for said in labels if said is not None), promise)
        is_jwk, is_kubernetes = "kty" in given, given.get("kind") == "Secret"
        changed: dict[Any, Any] = {}
        for key, value in given.items():
            inner = told if told is not None and str(key).lower() in _VALUES else self._promises.get(key)
            if is_jwk and key in _JWK_PRIVATE and isinstance(value, str):
                new: Any = self._take("private_key")
            elif is_kubernetes and key in _KUBERNETES and isinstance(value, dict):
                new = {name: self._take("named") for name in value}
            else:
                new = self.of(value, inner, depth + 1)
            if new is not value:
                changed[key] = new
        if not changed and self._found.keys().isdisjoint(given):
            return given
        out: dict[Any, Any] = {}
        for key, value in given.items():
            new_key = self._scanned(key) if key in self._found else key
            while new_key in out:  # two that become the same must not become one
                new_key += " 2"
            out[new_key] = changed.get(key, value)
        return out

    def _list(self, given: Sequence[Any], promise: Promise | None, depth: int) -> list[Any]:
        titles = given[0] if given and isinstance(given[0], list) else []
        columns = [self._promise(title) for title in titles]
        if any(columns) and all(isinstance(row, list) and len(row) == len(columns) for row in given):
            rows = [
                [self.of(cell, what, depth + 2) for cell, what in zip(row, columns, strict=True)] for row in given[1:]
            ]
            return [titles, *(old if new == old else new for new, old in zip(rows, given[1:], strict=True))]
        if is_command(given) and len(line := self._scanned(" ".join(given)).split(" ")) == len(given):
            return line
        out = []
        for before, item in zip((None, *given), given, strict=False):
            is_named = isinstance(before, str) and (before[:1] == "-" or (len(given) == 2 and promise is None))
            out.append(self.of(item, self._promise(before) if is_named else promise, depth + 1))
        return out

    def _promise(self, name: Any) -> Promise | None:
        return self._promises.get(name) if isinstance(name, str) else None

    def _scanned(self, text: str) -> str:
        if text not in self._found:
            return text
        clean, counts = _taken(text, self._found[text])
        self.counts.update(counts)
        return clean

    def _take(self, kind: str) -> str:
        self.counts[kind] += 1
        return REDACTED


def is_command(given: Sequence[Any]) -> bool:
    """Return whether it is a list of arguments: `["mysql", "-uroot", …]`; one with a space is read by itself."""
    return all(isinstance(item, str) and " " not in item for item in given) and any(item[:1] == "-" for item in given)
