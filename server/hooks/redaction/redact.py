"""Walks JSON, keeps its types, takes secrets out of its texts, its keys, and what its keys call secret."""

import json
from collections import Counter
from typing import Any, Final

from server.hooks.redaction.key_names import strength_of
from server.hooks.redaction.plausible import is_plausible, is_random
from server.hooks.redaction.scan import secrets_in
from server.hooks.redaction.spans import REDACTED, replaced

_DEEPEST: Final = 64
_JWK_PRIVATE: Final = frozenset("d p q dp dq qi k".split())
_LABELS: Final = frozenset(("name", "key", "field", "label", "id", "title", "variable", "header", "param"))
_VALUES: Final = ("value", "val", "content", "default", "text", "data", "plaintext")


def redact(value: Any) -> tuple[Any, Counter[str]]:
    """`value` without its secrets, and how many of each kind were taken out; the same object where there were none."""
    walk = _Walk()
    clean = walk.of(value, 0)
    return clean, walk.counts


def redact_text(text: str) -> tuple[str, Counter[str]]:
    spans = secrets_in(text)
    if not spans:
        return text, Counter()
    return replaced(text, spans), Counter(span.kind for span in spans)


class _Walk:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            text, counts = redact_text(value)
            self.counts += counts
            return text
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
        new: Any
        is_changed = False
        is_jwk = "kty" in given
        is_secret_kind = given.get("kind") == "Secret"
        labelled = next(
            (given[k] for k in given if isinstance(k, str) and k.lower() in _LABELS and isinstance(given[k], str)), None
        )
        for key, value in given.items():
            new_key = self.of(key, depth + 1) if isinstance(key, str) and len(key) >= 12 else key
            if is_jwk and key in _JWK_PRIVATE and isinstance(value, str) and len(value) >= 16:
                new = self._take("private_key")
            elif is_secret_kind and key in ("data", "stringData") and isinstance(value, dict):
                new = {
                    name: self._take("named") if isinstance(item, str) and item else item
                    for name, item in value.items()
                }
            elif (isinstance(key, str) and (named := self._named(key, value, depth)) is not None) or (
                labelled is not None
                and isinstance(key, str)
                and key.lower() in _VALUES
                and (named := self._named(labelled, value, depth)) is not None
            ):
                new = named
            else:
                new = self.of(value, depth + 1)
            is_changed |= new is not value or new_key is not key
            out[_free(new_key, out)] = new
        return out if is_changed else given

    def _list(self, given: Any, depth: int) -> Any:
        out: list[Any] = []
        for index, item in enumerate(given):
            before = given[index - 1] if index else None
            named = self._take("named") if _follows_its_name(before, item, is_pair=len(given) == 2) else None
            out.append(self.of(item, depth + 1) if named is None else named)
        if all(new is old for new, old in zip(out, given, strict=True)):
            return given
        return tuple(out) if isinstance(given, tuple) else out

    def _named(self, name: str, value: Any, depth: int) -> Any:
        """What stands under a name that promises a secret; None: nothing that the name makes secret."""
        strength = strength_of(name)
        if strength is None or value is None or isinstance(value, bool):
            return None
        if isinstance(value, str):
            text = value.strip()
            if strength == "strong" and is_plausible(text, is_quoted=True):
                return self._take("named")
            if strength == "code" and text.replace(" ", "").replace("-", "").isdigit() and 3 <= len(text) <= 9:
                return self._take("code")
            return self._take("named") if strength == "weak" and is_random(text) else None
        if isinstance(value, int) and strength == "code" and 1000 <= value < 10**8:
            return self._take("code")
        if isinstance(value, list) and strength != "weak" and value and all(isinstance(item, str) for item in value):
            items = [self._named(name, item, depth) for item in value]
            if any(item is not None for item in items):
                return [self.of(old, depth + 1) if new is None else new for new, old in zip(items, value, strict=True)]
        if isinstance(value, dict) and strength == "strong":
            inner = {
                k: self._named(name, v, depth) for k, v in value.items() if isinstance(k, str) and k.lower() in _VALUES
            }
            if any(item is not None for item in inner.values()):
                return {k: inner[k] if inner.get(k) is not None else self.of(v, depth + 1) for k, v in value.items()}
        return None

    def _take(self, kind: str) -> str:
        self.counts[kind] += 1
        return REDACTED


def _follows_its_name(before: Any, item: Any, *, is_pair: bool) -> bool:
    """`["--token", "…"]`, and pairs such as `["password", "…"]`."""
    if not isinstance(before, str) or not isinstance(item, str) or len(before) > 64:
        return False
    strength = strength_of(before)
    if strength is None or strength == "code":
        return False
    if before.startswith("-"):
        return is_random(item) or (strength == "strong" and is_plausible(item, is_quoted=True))
    if strength == "weak":
        return False
    return is_random(item) or (is_pair and is_plausible(item, is_quoted=True) and any(c.isdigit() for c in item))


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
