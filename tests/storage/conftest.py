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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make check` leaves PostgreSQL out: starting it takes seconds."""
    for item in items:
        is_ours = Path(__file__).parent in item.path.parents and isinstance(item, pytest.Function)
        if is_ours and "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def settings(request: pytest.FixtureRequest) -> config.StorageSettings:
    """Of an empty database; in `tmp_path` where it is a file."""
    if request.param == "sqlite":
        return config.StorageSettings()
    server: Postgres = request.getfixturevalue("postgres")
    return config.StorageSettings(url=Secret(server.new_database()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
