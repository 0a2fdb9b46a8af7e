"""The tables, and how a database is brought to them. The same on SQLite and PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table, Text, UniqueConstraint

from server.errors import ConfigError

_metadata: Final = sa.MetaData()
_ROW_ID: Final = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what is declared INTEGER
_LOCK_KEY: Final = 0x5041524C4559  # "PARLEY": PostgreSQL's advisory lock of migrations

CLOCK_SEEN: Final = "clock_seen_us"
CLOCK_STEADY: Final = "clock_steady_us"

numbers: Final = Table(  # named counters: `schema`, `documents`, `questions`, `sessions`, and those of steady time
    "parley_numbers",
    _metadata,
    Column("name", String(32), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

documents: Final = Table(
    "parley_documents",
    _metadata,
    Column("owner", String(256), primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("updated_by", String(256), nullable=False),
    Column("updated_us", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False, index=True),  # counts the writes of all documents, in commit order
)

audit: Final = Table(
    "parley_audit",
    _metadata,
    Column("id", _ROW_ID, primary_key=True, autoincrement=True),
    Column("replica", String(128), nullable=False),
    Column("day", String(10), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("ts_us", BigInteger, nullable=False),
    Column("user", String(256), nullable=False),
    Column("session", String(64), nullable=False),
    Column("turn", String(64), nullable=False),
    Column("tool", String(256), nullable=False),
    Column("phase", String(32), nullable=False),
    Column("outcome", String(32), nullable=False),
    Column("handler", String(64), nullable=False),
    Column("body", Text, nullable=False),  # the whole entry as canonical JSON: what `hash` covers
    Column("hash", String(64), nullable=False),
    UniqueConstraint("replica", "day", "number"),
    Index("parley_audit_time", "ts_us", "id"),
    sqlite_autoincrement=True,
)

AUDIT_ACCOUNT: Final = {
    "sqlite": """substr("user", 1, instr("user" || '/', '/') - 1)""",
    "postgresql": """split_part("user", '/', 1)""",
}
"""SQL for the account of an entry's user, `account` or `account/name`; a query uses the index over it word for word."""

audit_days: Final = Table(
    "parley_audit_days",
    _metadata,
    Column("replica", String(128), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("previous", String(64), nullable=False),  # the last hash of the replica's day before
    Column("entries", BigInteger, nullable=False),
    Column("last_hash", String(64), nullable=False),
    Column("closed_us", BigInteger),
    Column("pruned_us", BigInteger),
)

approvals: Final = Table(
    "parley_approvals",
    _metadata,
    Column("id", String(32), primary_key=True),
    Column("user", String(256), nullable=False),
    Column("key", String(64), nullable=False),
    Column("tool", String(256), nullable=False),
    Column("shown", Text, nullable=False),
    Column("origin", String(128), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("remember_for", String(16), nullable=False, server_default="arguments"),
    UniqueConstraint("user", "key"),
)

questions: Final = Table(
    "parley_questions",
    _metadata,
    Column("id", String(32), primary_key=True),
    Column("user", String(256), nullable=False, index=True),
    Column("asker", String(32), nullable=False, index=True),
    Column("body", Text, nullable=False),
    Column("until_us", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False, index=True),  # counts the writes of all questions, in commit order
    Column("answer", Text),
    Column("answered_by", String(32)),
    Column("outcome", Text),
    Column("settled_us", BigInteger),
)

askers: Final = Table(  # processes that ask
    "parley_askers",
    _metadata,
    Column("id", String(32), primary_key=True),
    Column("until_us", BigInteger, nullable=False),  # its lease
)


page_sessions: Final = Table(
    "parley_sessions",
    _metadata,
    Column("id", String(32), primary_key=True),
    Column("user", String(256), nullable=False, index=True),
    Column("address", String(64), nullable=False),
    Column("browser", String(256), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("ends_us", BigInteger, nullable=False),
)


def _first(connection: sa.Connection) -> None:
    _metadata.create_all(connection, tables=[documents, audit, audit_days, approvals])


def _questions(connection: sa.Connection) -> None:
    _metadata.create_all(connection, tables=[questions, askers])
    connection.execute(sa.insert(numbers).values(name="questions", value=0))


def _remember_for(connection: sa.Connection) -> None:
    """Add the column. Older replicas that still run write rows without it: its default is what they mean."""
    columns = {column["name"] for column in sa.inspect(connection).get_columns(approvals.name)}
    if "remember_for" not in columns:  # a new database has it from its first step
        text = f"ALTER TABLE {approvals.name} ADD COLUMN remember_for VARCHAR(16) NOT NULL DEFAULT 'arguments'"
        connection.execute(sa.text(text))


def _keyed_approvals(connection: sa.Connection) -> None:
    """Forget approvals kept under a hash without a key, from which short arguments can be guessed."""
    connection.execute(sa.delete(approvals))


def _steady_time(connection: sa.Connection) -> None:
    connection.execute(sa.insert(numbers), [{"name": name, "value": 0} for name in (CLOCK_SEEN, CLOCK_STEADY)])


def _page_sessions(connection: sa.Connection) -> None:
    page_sessions.create(connection)
    connection.execute(sa.insert(numbers).values(name="sessions", value=0))


def _audit_account(connection: sa.Connection) -> None:
    """Find a user's entries and those of the holders of the user's keys through one index, newest first."""
    account = AUDIT_ACCOUNT[connection.dialect.name]
    connection.execute(sa.text("DROP INDEX IF EXISTS parley_audit_user"))
    connection.execute(
        sa.text(f"CREATE INDEX IF NOT EXISTS parley_audit_account ON {audit.name} ({account}, ts_us, id)")
    )


# Each brings a database one version on, in one transaction with the others that it still needs.
MIGRATIONS: Final[Sequence[Callable[[sa.Connection], None]]] = (
    _first,
    _questions,
    _remember_for,
    _keyed_approvals,
    _steady_time,
    _page_sessions,
    _audit_account,
)


def migrate(connection: sa.Connection) -> None:
    """Bring the database to this version; safe when replicas start together. Idempotent.

    To be run in a transaction that writes. Raises ConfigError for a database of a later version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    numbers.create(connection, checkfirst=True)
    found = connection.scalar(sa.select(numbers.c.value).where(numbers.c.name == "schema"))
    version: int = found or 0
    if version > len(MIGRATIONS):
        raise ConfigError(
            f"storage.url: the database has tables of version {version}, this program knows {len(MIGRATIONS)}; "
            "start the newer program, or name another database"
        )
    for step in MIGRATIONS[version:]:
        step(connection)
    if found is None:
        connection.execute(sa.insert(numbers), [{"name": "schema", "value": 0}, {"name": "documents", "value": 0}])
    if version < len(MIGRATIONS):
        connection.execute(sa.update(numbers).where(numbers.c.name == "schema").values(value=len(MIGRATIONS)))


def storable(text: str, limit: int) -> str:
    """Return `text` cut to `limit`, without NUL and halves of surrogate pairs."""
    return text[:limit].replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def is_beyond(table: sa.Table, user: object, limit: int) -> sa.ColumnElement[bool]:
    """Return the condition for the rows of a user beyond the newest `limit`."""
    its = sa.select(table.c.id).where(table.c.user == user)
    newest = its.order_by(table.c.created_us.desc(), table.c.id).limit(limit)
    return (table.c.user == user) & table.c.id.not_in(newest)
