"""server/approval/remembered.py: what is written of a call; tests/gateway/rest has the rest."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from server import config
from server.approval.remembered import Approved, RememberedApprovals, keys_for, outline
from server.storage.schema import approvals
from server.storage.storage import Storage
from server.toolguard.redaction.redact import redactor

OURS = redactor(None)


def shown(**arguments: Any) -> dict[str, str]:
    read: dict[str, str] = json.loads(outline(arguments, OURS.redact))
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

    outlined = outline(arguments, OURS.redact)

    for secret in ("Tr0ub4dor", "hunter2", "dGhpcyBpcyBh", "a1B2a1B2"):
        assert secret not in text or secret not in outlined


def test_of_a_long_text_the_beginning_is_written() -> None:
    assert shown(text="a b " * 500) == {"text": "a b " * 15 + "…"}


@pytest.mark.parametrize("arguments", ["text", 5, None, [1], {"a": "\ud800"}])
def test_anything_has_an_outline(arguments: Any) -> None:
    assert outline(arguments, OURS.redact)


async def test_arguments_cannot_be_guessed_from_the_database_without_the_secret_file(tmp_path: Path) -> None:
    storage = Storage(config.StorageSettings(), tmp_path)
    async with storage.running():
        kept = RememberedApprovals(storage.approvals, OURS.redact, [b"new key", b"old key"])
        before = RememberedApprovals(storage.approvals, OURS.redact, [b"old key"])
        of_others = RememberedApprovals(storage.approvals, OURS.redact, [b"key of others"])
        await kept.remember("anna", Approved(tool="unlock", remember_for="arguments", value={"pin": 4711}))
        await before.remember("anna", Approved(tool="unlock", remember_for="arguments", value={"pin": 815}))

        guesses = {key for pin in range(10_000) for key in keys_for("unlock", {"pin": pin}, None)}
        written = await storage.database.read(lambda connection: connection.scalars(sa.select(approvals.c.key)).all())
        assert len(written) == 2
        assert guesses.isdisjoint(written)
        for pin in (4711, 815):
            assert await kept.find("anna", keys_for("unlock", {"pin": pin}, None))
            assert not await of_others.find("anna", keys_for("unlock", {"pin": pin}, None))
