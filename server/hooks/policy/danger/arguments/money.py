"""Forms and buttons that pay."""

import re
from collections.abc import Mapping
from typing import Any, Final

from server.hooks.policy.danger.arguments.orders import judge_order
from server.hooks.policy.danger.leaves import leaves
from server.hooks.policy.redaction.words import words_of

_CLICKING: Final = frozenset("submit click press tap confirm form".split())
_PAYING: Final = re.compile(
    r"\b(?:transfer|payment|checkout|purchase|pay|order|donation|überweisung|virement|transferencia|buy now|place order|subscribe)\b",
    re.IGNORECASE,
)
_MAX_LABEL_CHARS: Final = 200


def by_money(tool: str, given: Mapping[str, Any]) -> str | None:
    if not _CLICKING & set(words_of(tool)):
        return None
    for _, value in leaves(given):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and _is_button(item):
                return "spends money or cannot be taken back"
    return None


def _is_button(text: str) -> bool:
    if len(text) >= _MAX_LABEL_CHARS or "://" in text:
        return False
    return bool(_PAYING.search(text) or judge_order(text))
