"""server/approval/remembered.py: what is written of a call; tests/gateway/rest has the rest."""

import json
from typing import Any

import pytest

from server.approval.remembered import outline
from server.policy.redaction.redact import redact


def shown(**arguments: Any) -> dict[str, str]:
    read: dict[str, str] = json.loads(outline(arguments, redact))
    return read


def test_a_call_is_known_again() -> None:
    assert shown(path="notes/today.md", to="anna@example.org", count=3) == {
        "path": "notes/today.md",
        "to": "anna@example.org",
        "count": "3",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "postgres://anna:Tr0ub4dor@db/x"},
        {"password": "hunter2-of-anna"},
        {"header": "Authorization: Bearer dGhpcyBpcyBhIHRva2VuIG9mIGFubmE/xyz+12"},
        {"key": "ghp_" + "a1B2" * 9},
        {"nested": {"api_key": "dGhpcyBpcyBhIHRva2VuIG9mIGFubmE/xyz+12"}},
    ],
)
def test_no_secret_is_written(arguments: dict[str, Any]) -> None:
    text = json.dumps(arguments)

    outlined = outline(arguments, redact)

    for secret in ("Tr0ub4dor", "hunter2", "dGhpcyBpcyBh", "a1B2a1B2"):
        assert secret not in text or secret not in outlined


def test_of_a_long_text_the_beginning_is_written() -> None:
    assert shown(text="a b " * 500) == {"text": "a b " * 15 + "…"}


@pytest.mark.parametrize("arguments", ["text", 5, None, [1], {"a": "\ud800"}])
def test_anything_has_an_outline(arguments: Any) -> None:
    assert outline(arguments, redact)
