"""What is short is scanned where it is; whatever is longer does not hold the event loop."""

from typing import Any

import pytest

from server.policy.scan_handler import SecretScanner

SCANNER = SecretScanner()
SECRET = "AKIAIOSFODNN7EXAMPLZ"
SHORT: list[Any] = [{"code": "print(1)\n" * 400}, {"to": ["anna"], "options": {"depth": 3, "where": None}}, 7]
LONG: list[Any] = [
    {"code": "print(1)\n" * 500},
    {"a": "x " * 1200, "b": ["y " * 1200]},
    [[{"n": n} for n in range(30)] for _ in range(3)],
]


def is_done_at_once(value: Any) -> bool:
    """Without going through the event loop, of which there is none."""
    try:
        SCANNER.conceal(value).send(None)
    except StopIteration:
        return True
    except RuntimeError:
        return False
    return False


@pytest.mark.parametrize("value", SHORT, ids=repr)
def test_short_arguments_are_scanned_at_once(value: Any) -> None:
    assert is_done_at_once(value)


@pytest.mark.parametrize("value", LONG, ids=lambda value: repr(value)[:40])
def test_long_or_many_arguments_are_scanned_in_a_thread(value: Any) -> None:
    assert not is_done_at_once(value)
