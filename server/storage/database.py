"""The database behind threads: short transactions, a bounded number of them, and what its absence means.

SQLAlchemy's blocking side in a few threads of its own: SQLite blocks anyway, a
transaction is one function that reads from top to bottom, and no second kind of
driver is needed.
"""

import asyncio
import math
import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from server import config
from server.errors import ConfigError, StorageError
from server.storage.schema import migrate

if TYPE_CHECKING:
    import psycopg

Result = TypeVar("Result")
Transaction = Callable[[sa.Connection], Result]

KEEPALIVE: Final[dict[str, Any]] = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Settings of libpq by which a network that swallows everything is a broken connection after some seconds."""
_THREADS: Final = 4
_WAL_WAIT_S: Final = 2.0
_PENDING: Final = 256
"""Transactions that wait for a thread or run in one; beyond it a caller is refused."""
_CONNECT_S: Final = 5
_SQLITE_STEPS: Final = 100_000
"""Steps of SQLite's virtual machine, some milliseconds, between two looks at the clock."""
_TOO_SLOW: Final = ("57014", "55P03", "SQLITE_INTERRUPT")
"""Codes of a limit above that was reached: this transaction fails, the next may do."""
_LAST_S: Final = 5.0
"""Time in which transactions may end while the server stops."""
_RETRY_FROM_S: Final = 0.5
_RETRY_TO_S: Final = 5.0


class Database:
    """The database, between `start` and `aclose`. Every method raises StorageError where it does not serve."""

    def __init__(
        self,
        settings: config.StorageSettings,
        folder: Path,
        *,
        lock_wait_s: float = 5,
        statement_s: float = 15,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`folder` holds `parley.db` where no url is set. Raises ConfigError for a url that cannot be meant.

        `statement_s`: the longest statement, on SQLite the longest transaction.
        `on_change` is called in the event loop when `is_up` has changed.
        """
        self.url = _url(settings, folder)
        self.is_sqlite = self.url.drivername == "sqlite"
        self._clock = clock
        self._statement_s = statement_s
        self._engine = _engine(self.url, lock_wait_s, statement_s)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="storage")
        self._pending = 0  # those whose caller has gone included: they have their place in the queue still
        self._retry_at = 0.0  # while it is down: before this moment no transaction is tried
        self._retry_s = _RETRY_FROM_S
        self._served_at = -math.inf
        self._gone: asyncio.Future[None] | None = None  # done while it is silent; reads stop waiting
        self._drivers = weakref.WeakSet[Any]()  # of PostgreSQL, to be severed
        if not self.is_sqlite:
            event.listen(self._engine, "connect", lambda connection, _record: self._drivers.add(connection))
        self._on_change = on_change
        self.is_up = False

    async def start(self) -> None:
        """Connect and bring the tables to this version. Raises ConfigError."""
        if self.is_sqlite:
            await asyncio.to_thread(_make_private, Path(self.url.database or ""))
        try:
            await self.write(_bring_up)
        except StorageError as error:
            cure = "free disk space or correct data.dir" if self.is_sqlite else "start PostgreSQL or correct the url"
            key = "data.dir" if self.is_sqlite else "storage.url"
            raise ConfigError(f"{key}: {error}; {cure}") from error

    async def read(self, transaction: Transaction[Result]) -> Result:
        """Run a transaction that reads; give up with StorageError when the database is found to be silent."""
        if self._gone is None:
            self._gone = asyncio.get_running_loop().create_future()
        return await self._run(transaction, self._engine, self._gone)

    async def write(self, transaction: Transaction[Result]) -> Result:
        """Run a transaction; once this returns, its writes survive the end of the process, whatever ends it.

        Cancelled, the transaction is still tried.
        """
        return await self._run(transaction, self._engine.execution_options(parley_writes=True))

    async def aclose(self) -> None:
        """Wait for transactions under way, for some seconds; then sever connections to PostgreSQL."""
        shutdown = asyncio.to_thread(self._threads.shutdown)
        ending = asyncio.create_task(shutdown, name="database end")  # awaited below, after a limit
        await asyncio.wait([ending], timeout=0 if self._is_silent else _LAST_S)
        if not ending.done():
            self._threads.shutdown(wait=False, cancel_futures=not self.is_sqlite)
            for connection in list(self._drivers):
                sever(connection)
        await ending
        self._engine.dispose()

    async def connect(self, name: str) -> "psycopg.AsyncConnection[Any]":
        """Open a connection to PostgreSQL for the caller alone; may be cancelled."""
        import psycopg  # only where PostgreSQL is used

        address = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        try:
            return await psycopg.AsyncConnection.connect(
                address, autocommit=True, connect_timeout=_CONNECT_S, application_name=name, **KEEPALIVE
            )
        except (psycopg.Error, OSError) as error:
            raise StorageError(f"{self.name} is unavailable: {self._explain(error)}") from error

    def note_answer(self) -> None:
        """Use it again at once: it has answered."""
        self._served_at, self._retry_at, self._retry_s = self._clock(), 0.0, _RETRY_FROM_S
        self._set_up(is_up=True)

    def note_silence(self, *, for_s: float) -> None:
        """Count it as gone, unless a transaction has succeeded within `for_s`."""
        if self._clock() - self._served_at < for_s:
            return
        self._note_down()
        if self._gone is None:
            self._gone = asyncio.get_running_loop().create_future()
        if not self._is_silent:
            self._gone.set_result(None)

    def note_refusal(self) -> None:
        """Note that the database refused a connection: the next transaction finds out how it is."""
        if self._is_silent:
            self._gone = None

    @property
    def retry_after_s(self) -> float:
        """Time for which to leave the database in peace; 0 when it is up."""
        return _RETRY_TO_S if self._is_silent else max(0.0, self._retry_at - self._clock())

    @property
    def _is_silent(self) -> bool:
        return self._gone is not None and self._gone.done()

    async def _run(
        self, transaction: Transaction[Result], engine: sa.Engine, gone: "asyncio.Future[None] | None" = None
    ) -> Result:
        if self._clock() < self._retry_at or self._is_silent:
            raise StorageError(f"{self.name} does not answer; the server keeps trying")
        if self._pending >= _PENDING:
            raise StorageError(f"{self.name} is busy; try again in a moment")
        self._pending += 1
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, _transact, engine, transaction, self._statement_s
        )
        work.add_done_callback(self._note_done)
        try:
            waited_for: set[asyncio.Future[Any]] = {work} if gone is None else {work, gone}
            # which leaves the work alone when this is cancelled: it would run on, uncounted
            await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise StorageError(f"{self.name} does not answer; the server keeps trying")
            result = work.result()
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            if _reason(error) not in _TOO_SLOW:
                self._note_down()
            raise StorageError(f"{self.name} is unavailable: {self._explain(error)}") from error
        except DBAPIError as error:
            if not error.connection_invalidated and type(error) is not DatabaseError:  # SQLite: no database, or damaged
                raise
            self._note_down()
            raise StorageError(f"{self.name} is unavailable: {self._explain(error)}") from error
        self.note_answer()
        return result

    def _note_done(self, work: "asyncio.Future[Any]") -> None:
        self._pending -= 1
        if not work.cancelled():
            work.exception()  # looked at, even where the caller has gone

    def _note_down(self) -> None:
        self._retry_at = self._clock() + self._retry_s
        self._retry_s = min(_RETRY_TO_S, 2 * self._retry_s)
        self._set_up(is_up=False)

    def _set_up(self, *, is_up: bool) -> None:
        if is_up and self._is_silent:
            self._gone = None
        if is_up is not self.is_up:
            self.is_up = is_up
            self._on_change()

    @property
    def name(self) -> str:
        return f"the database {self.url.database}" if self.is_sqlite else "PostgreSQL"

    def _explain(self, error: Exception) -> str:
        """Return the first line of the driver's error, without the url's password."""
        text = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        password = self.url.password
        return (text.replace(password, "…") if password else text)[:300]


def sever(connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any]") -> None:
    """End its request that is not answered; psycopg, if cancelled, would ask the silent server first, for 10 s."""
    if not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as its_socket:
            its_socket.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str | None:
    original = getattr(error, "orig", None)
    return getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)


def _transact(engine: sa.Engine, transaction: Transaction[Result], limit_s: float) -> Result:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            _limit_sqlite(connection, limit_s)
        return transaction(connection)


def _limit_sqlite(connection: sa.Connection, limit_s: float) -> None:
    """Set the limit that `statement_timeout` sets on PostgreSQL; each later transaction sets its own."""
    ends = time.monotonic() + limit_s
    raw: Any = connection.connection.dbapi_connection
    raw.set_progress_handler(lambda: time.monotonic() > ends, _SQLITE_STEPS)


def _bring_up(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise ConfigError(f"storage.url: the database is encoded in {encoding}; make one with ENCODING 'UTF8'")
    migrate(connection)


def _url(settings: config.StorageSettings, folder: Path) -> sa.URL:
    if settings.url is None:
        return sa.URL.create("sqlite", database=str(folder / "parley.db"))
    wanted = "write postgresql://USER:PASSWORD@HOST:5432/DATABASE, or leave it out for SQLite in data.dir"
    try:
        url = sa.make_url(settings.url.reveal())
    except (ArgumentError, ValueError):
        raise ConfigError(f"storage.url: not a database url; {wanted}") from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise ConfigError(f"storage.url: only PostgreSQL can be named; {wanted}")
    return url.set(drivername="postgresql+psycopg")


def _engine(url: sa.URL, lock_wait_s: float, statement_s: float) -> sa.Engine:
    if url.drivername == "sqlite":
        engine = sa.create_engine(
            url, pool_size=_THREADS, max_overflow=0, hide_parameters=True, connect_args={"timeout": lock_wait_s}
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    return sa.create_engine(
        url,
        pool_size=_THREADS,
        max_overflow=0,
        hide_parameters=True,  # errors go to the log
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": _CONNECT_S,
            "application_name": "parley",
            **KEEPALIVE,
            "options": f"-c statement_timeout={statement_s * 1000:.0f} -c lock_timeout={lock_wait_s * 1000:.0f}",
        },
    )


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves: a transaction that will write locks at its start
    _use_wal(connection)
    connection.execute("PRAGMA synchronous=FULL")  # a commit is on the disk when it returns


def _use_wal(connection: Any) -> None:
    """Switch to WAL, with retries: SQLite refuses one of two connections that switch a new file at the same moment."""
    by_s = time.monotonic() + _WAL_WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > by_s:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("parley_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _make_private(file: Path) -> None:
    try:
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its side files the same rights
        file.chmod(0o600)
    except OSError as error:
        raise ConfigError(f"data.dir: cannot write {file}: {error.strerror}") from error
