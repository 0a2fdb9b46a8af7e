"""Forms and buttons that pay."""

import re
from typing import Final

from server.hooks.policy.danger.arguments.call import Call
from server.hooks.policy.danger.arguments.orders import judge_order

_CLICKING: Final = frozenset("submit click press tap confirm form".split())
_PAYING: Final = re.compile(
    r"\b(?:transfer|payment|checkout|purchase|pay|order|donation|überweisung|virement|transferencia|buy now|place order|subscribe)\b",
    re.IGNORECASE,
)
_MAX_LABEL_CHARS: Final = 200


def by_money(call: Call) -> str | None:
    if _CLICKING.isdisjoint(call.words) or not any(_is_button(text) for _, text in call.texts()):
        return None
    return "spends money or cannot be taken back"


def _is_button(text: str) -> bool:
    if len(text) >= _MAX_LABEL_CHARS or "://" in text:
        return False
    return bool(_PAYING.search(text) or judge_order(text))
