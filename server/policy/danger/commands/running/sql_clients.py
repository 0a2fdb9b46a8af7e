"""Command lines of databases: the statements that they are given."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.danger.commands.step import Judge, Step
from server.policy.danger.commands.transfers import program_of
from server.policy.danger.commands.words import SQL_CLIENTS, SQL_FLAGS
from server.policy.danger.sql import judge_sql

_BEYOND: Final = re.compile(r"\s*\\(?:!|copy|o|w)\b|\s*\.(?:shell|system|restore|import|save|read)\b")
_JOINED: Final = ("--execute=", "--command=", "--query=", "-e", "-c")
_AS_WORDS: Final = ("sqlite3", "sqlite", "duckdb", "bq")
"""Statements stand behind the database's name."""
_UNSEEN: Final = ("sqlite3", "psql", "mysql", "cat", "zcat", "gunzip", "xz", "curl", "mysqldump", "pg_dump")


def _by_sql(step: Step) -> str | None:
    texts = [*step.here_documents, *_statements(step)]
    for feeder in step.feeders[-1:]:
        program = program_of(feeder.words[0]) if feeder.words else ""
        if program in ("echo", "printf"):
            texts.append(" ".join(feeder.words[1:]))
        elif program in _UNSEEN:
            return "runs SQL unseen"
    for text in texts:
        if reason := judge_sql(text):
            return reason
        if _BEYOND.match(text):
            return "reaches beyond the tables"
    return None


def _statements(step: Step) -> Iterator[str]:
    rest = step.rest
    for at, word in enumerate(rest):
        if word in SQL_FLAGS and at + 1 < len(rest):
            yield rest[at + 1]
        elif word.startswith(_JOINED) and len(word) > 3:
            yield word.partition("=")[2] or word[2:]
    if step.name in _AS_WORDS:
        yield from (word for word in rest[1:] if " " in word or word.startswith("."))


JUDGES: Final[dict[str, Judge]] = dict.fromkeys(SQL_CLIENTS, _by_sql)
