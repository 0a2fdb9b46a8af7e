"""Real server processes before real databases: killed, doubled, cut off."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from server import config
from tests.model.profile import IS_SOAK
from tests.support.postgres import Postgres
from tests.support.server_process import ServerProcess
from tests.support.waiting import LIMIT_S, wait_until

CONFIG = "/api/hooks/config"

USERS = ("anna", "bert", "cleo", "dora")
NO_MODEL = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def token(user: str) -> str:
    return f"{user}-token-of-more-than-enough-length-0123456789"


def server(folder: Path, storage: config.StorageSettings, environ: Mapping[str, str] | None = None) -> ServerProcess:
    folder.mkdir(exist_ok=True)
    settings: dict[str, Any] = {"security": {"tokens": [{"user": user, "token": token(user)} for user in USERS]}}
    if storage.url is not None:
        settings["storage"] = {"url": storage.url.reveal()}
    return ServerProcess(folder, environ={**NO_MODEL, **(environ or {})}, settings=settings)


def handlers(note: str) -> dict[str, Any]:
    return {"tool_skip": [{"type": "audit_log", "filter": {"tools": [note]}}]}


class User:
    """One that writes its own document over and over."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.acknowledged: dict[int, str] = {}
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {token(name)}"
        self._count = 0

    def write(self, url: str) -> bool:
        self._count += 1
        note = f"{self.name}-{self._count}"
        try:
            answer = self._session.post(url + CONFIG, json=handlers(note), headers={"If-Match": "*"}, timeout=LIMIT_S)
        except requests.RequestException:
            return False
        assert answer.status_code == 200, answer.text
        self.acknowledged[answer.json()["version"]] = note
        return True

    def read(self, url: str) -> tuple[int, str | None]:
        answer = self._session.get(f"{url}{CONFIG}?scope=user", timeout=LIMIT_S)
        document = answer.json()
        note = document["tool_skip"]["handlers"][0]["filter"]["tools"][0] if document else None
        return int(answer.headers["ETag"].strip('"u')), note

    def close(self) -> None:
        self._session.close()


@pytest.fixture
def users() -> Iterator[list[User]]:
    made = [User(name) for name in USERS]
    yield made
    for user in made:
        user.close()


@pytest.mark.soak
def test_no_acknowledged_write_is_lost_when_the_server_is_killed(
    settings: config.StorageSettings, folder: Path, users: list[User]
) -> None:
    chance = random.Random(5)
    kills = [chance.randrange(100, 140) if IS_SOAK else chance.randrange(30, 50) for _ in range(2)]
    for after in [*kills, 0]:
        with server(folder, settings) as running:
            for user in users:
                version, note = user.read(running.url)
                last = max(user.acknowledged, default=0)
                assert version >= last  # one that was under way may have been stored
                assert note == user.acknowledged.get(version, note)
                assert version <= last + 1
            if after:
                write_until_killed(running, users, after)
    assert sum(len(user.acknowledged) for user in users) >= sum(kills)


def write_until_killed(running: ServerProcess, users: list[User], after: int) -> None:
    """All users write at once; the kill comes while writes are under way."""
    enough = threading.Semaphore(0)

    def write(user: User) -> None:
        while user.write(running.url):
            enough.release()

    with ThreadPoolExecutor(len(users)) as threads:
        work = [threads.submit(write, user) for user in users]
        for _ in range(after):
            assert enough.acquire(timeout=LIMIT_S)
        running.signal(signal.SIGKILL)
        for done in work:
            done.result()
    running.wait()


def test_replicas_agree_without_being_asked(postgres: Postgres, tmp_path: Path, users: list[User]) -> None:
    storage = config.StorageSettings(url=config.Secret(postgres.new_database()))
    anna = users[0]
    with server(tmp_path / "one", storage) as one, server(tmp_path / "two", storage) as two:
        # fourteen times: replicas that only look every 15 s, as without a word they do, run into the time limit
        for number, (here, there) in enumerate([(one, two), (two, one)] * 7, 1):
            assert anna.write(here.url)
            wait_until(lambda: anna.read(there.url)[0] >= number)  # noqa: B023 - asked at once
            assert anna.read(there.url) == anna.read(here.url)


def test_without_a_database_the_start_waits_and_then_says_what_to_do(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "server", "--port", "0"],
        env={
            **server(tmp_path, config.StorageSettings()).environ,
            "PARLEY_STORAGE__URL": "postgresql://me:hush@127.0.0.1:1/parley",
            "PARLEY_STORAGE__WAIT_S": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 2
    assert "the start waits for the database, for 1 s at most: PostgreSQL is unavailable" in run.stderr
    assert "\nparley: storage.url: PostgreSQL is unavailable: " in run.stderr
    assert run.stderr.endswith("start PostgreSQL or correct the url\n")
    assert "hush" not in run.stderr


def test_while_the_database_is_away_what_is_in_force_stays_and_writes_are_refused(
    postgres: Postgres, tmp_path: Path, users: list[User]
) -> None:
    storage = config.StorageSettings(url=config.Secret(postgres.new_database()))
    anna = users[0]
    with server(tmp_path / "one", storage) as running:
        assert anna.write(running.url)
        postgres.stop()
        try:
            assert anna.read(running.url) == (1, "anna-1")
            for path in (CONFIG, "/api/audit", "/api/approvals"):
                answer = requests.request(
                    "POST" if path == CONFIG else "GET",
                    running.url + path,
                    json=handlers("late") if path == CONFIG else None,
                    headers={"If-Match": "*", "Authorization": f"Bearer {token('anna')}"},
                    timeout=LIMIT_S,
                )
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
                assert answer.headers["Retry-After"] == "5"
        finally:
            postgres.start()

        def is_written() -> bool:
            headers = {"If-Match": "*", "Authorization": f"Bearer {token('anna')}"}
            written = requests.post(running.url + CONFIG, json=handlers("after"), headers=headers, timeout=LIMIT_S)
            return written.status_code == 200

        wait_until(is_written)
        assert anna.read(running.url) == (2, "after")
        assert "Traceback" not in running.log()


def verify(running: ServerProcess) -> subprocess.CompletedProcess[str]:
    arguments = [
        sys.executable,
        "-m",
        "server.storage",
        "--config",
        str(running.folder / "parley.yaml"),
        "audit",
        "verify",
    ]
    return subprocess.run(arguments, env=running.environ, capture_output=True, text=True, timeout=60, check=False)


def test_the_audit_log_is_verified_from_the_command_line(
    settings: config.StorageSettings, folder: Path, users: list[User]
) -> None:
    with server(folder, settings) as running:
        for user in users:
            assert user.write(running.url)
    good = verify(running)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.endswith("1 days, 4 entries: as written\n")

    change = "UPDATE parley_audit SET body = replace(body, 'bert', 'anna') WHERE number = 2"
    if settings.url is None:
        import sqlite3

        connection: Any = sqlite3.connect(folder / "data" / "parley.db")
    else:
        import psycopg

        connection = psycopg.connect(settings.url.reveal())
    connection.execute(change)
    connection.commit()
    connection.close()
    bad = verify(running)
    assert bad.returncode == 1
    assert "entry 2 was changed" in bad.stdout


def test_what_cannot_be_verified_is_said(settings: config.StorageSettings, tmp_path: Path) -> None:
    environ = {**server(tmp_path, config.StorageSettings()).environ}
    if settings.url is not None:
        environ["PARLEY_STORAGE__URL"] = settings.url.reveal()
    run = subprocess.run(
        [sys.executable, "-m", "server.storage", "audit", "verify"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 2
    assert ("there is no audit log" if settings.url else "parley.db") in run.stderr
    assert "Traceback" not in run.stderr
