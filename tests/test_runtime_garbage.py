"""server/__main__.py: what the garbage collector is spared."""

import gc
from collections.abc import Iterator

import pytest

from server.__main__ import freeze_when_loaded


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.freeze()  # as all tests have it


async def test_what_the_start_has_loaded_is_not_collected_again() -> None:
    counts = [10, 25, 25]
    asked: list[int] = []

    def loaded() -> int:
        assert gc.get_freeze_count() == 0, "modules still come"
        asked.append(counts[len(asked)])
        return asked[-1]

    full_before = gc.get_stats()[2]["collections"]

    await freeze_when_loaded(settled_s=0, loaded=loaded)

    assert asked == counts
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < 1000
    assert gc.get_stats()[2]["collections"] > full_before, "the collector knows how few are left"
