"""The same tests on both databases, each test on an empty one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server import config
from server.config import Secret
from tests.support.postgres import Postgres, find_programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL: apt install postgresql, or name its programs with POSTGRES_BIN=/path/to/bin")
    with Postgres(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest) -> config.Storage:
    """Of an empty database; in `tmp_path` where it is a file."""
    if request.param == "sqlite":
        return config.Storage()
    server: Postgres = request.getfixturevalue("postgres")
    return config.Storage(url=Secret(server.new_database()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
