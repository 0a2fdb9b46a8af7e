"""The texts of a call and the names they stand under."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_MAX_TEXTS: Final = 200


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every text, number and list of texts with the name it stands under; a bounded number of them."""
    count = 0
    stack: list[tuple[str, Any]] = [(key, value)]
    while stack and count < _MAX_TEXTS:
        name, item = stack.pop()
        count += 1
        if isinstance(item, Mapping):
            stack.extend(reversed([(str(k), v) for k, v in item.items()]))
        elif isinstance(item, list) and any(isinstance(v, (Mapping, list)) for v in item):
            stack.extend(reversed([(name, v) for v in item]))
        else:
            yield name, item
