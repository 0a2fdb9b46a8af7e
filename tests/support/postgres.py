"""A PostgreSQL of the tests' own: on a port of its own, in a folder of its own, as a user without rights.

Its programs are found in POSTGRES_BIN, in PATH, or where Debian puts them. Its
commits do not wait for the disk: what is tested is that our process may die, not
that the machine may.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import psycopg
from psycopg import sql

from tests.support.ports import lasting_port

_STOP_LIMIT_S = 15


def find_programs() -> Path | None:
    """The folder of `initdb` and `postgres`."""
    named = os.environ.get("POSTGRES_BIN") or Path(shutil.which("initdb") or "/").resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: (len(path.parts[-2]), path.parts[-2]))
    return next((folder for folder in (Path(named), *reversed(debian)) if (folder / "initdb").exists()), None)


class Postgres:
    """Between `with` and its end. `stop` and `start`, `freeze` and `thaw` play an outage in between; the data stay."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="parley-postgres-"))
        self._user = _unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self.port = lasting_port()

    def __enter__(self) -> Self:
        try:
            if self._user is not None:
                shutil.chown(self._folder, self._user)
            subprocess.run(
                [
                    *(self._programs / "initdb", "--pgdata", self._folder / "data", "--username", "parley"),
                    *("--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"),
                ],
                check=True,
                capture_output=True,
                user=self._user,
                cwd=self._folder,
                env={"PATH": os.environ["PATH"]},
            )
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Returns when it takes connections."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._programs / "postgres", "-D", self._folder / "data", "-p", str(self.port), "-F"),
                    *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self._folder}"),
                    *("-c", "max_connections=200"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self._folder,
                env={"PATH": os.environ["PATH"]},
            )
        ready = subprocess.run(
            [self._programs / "pg_isready", "--host", "127.0.0.1", "--port", str(self.port), "--timeout", "60"],
            capture_output=True,
            check=False,
        )
        while ready.returncode != 0:
            assert self._process.poll() is None, (self._folder / "log").read_text()
            ready = subprocess.run(
                [self._programs / "pg_isready", "--host", "127.0.0.1", "--port", str(self.port)],
                capture_output=True,
                check=False,
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def stop(self) -> None:
        """At once: connections break."""
        if self._process is not None and self._process.poll() is None:
            children = psutil.Process(self._process.pid).children()
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:  # seen once: a child that had just begun did not hear of it
                for child in children:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        child.kill()
                self._process.kill()
                self._process.wait()
        self._process = None

    def freeze(self) -> None:
        """From here to `thaw` it answers nothing, and refuses nothing."""
        assert self._process is not None
        postmaster = psutil.Process(self._process.pid)
        postmaster.suspend()
        while postmaster.status() != psutil.STATUS_STOPPED:
            pass  # in the midst of starting a child, which would go on answering
        for child in postmaster.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                child.suspend()

    def thaw(self) -> None:
        assert self._process is not None
        postmaster = psutil.Process(self._process.pid)
        for process in (*postmaster.children(), postmaster):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def new_database(self) -> str:
        """The url of an empty one."""
        self._databases += 1
        name = f"parley_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgresql://parley:secret-word@127.0.0.1:{self.port}/{name}"


def _unprivileged() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"
