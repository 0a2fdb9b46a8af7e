"""Searches in processes of their own: what a pattern may take, and what others notice of it."""

import asyncio
import os
import resource
from pathlib import Path

import psutil
import pytest

from server.bounded.fair_share import Share, turn_share
from server.config import ToolsSettings
from server.errors import ToolError
from server.tools.builtin import build_registry
from server.tools.folders import run_search
from tests.support.waiting import children_of, settle, until

GREEDY = r"((?:[a-z ]|(?1)|(?1))+)#{9}"
"""Takes gigabytes within seconds."""
SLOW = "^(a|aa)+$"
TOO_MUCH = "the search took too much time or memory: use a simpler pattern, with smaller numbers in its {…}"
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("aab\n" + "a" * 60 + "c\n" + "the quick brown fox " * 5 + "1#########\n")
    return tmp_path


async def search(folder: Path, pattern: str, *, limit_s: float = 10, memory: int = 512 << 20) -> str:
    return await run_search([folder], pattern, None, limit_s=limit_s, max_bytes=1000, memory=memory)


def searches() -> list[psutil.Process]:
    return children_of(os.getpid(), "server.tools.folders")


async def test_a_search_takes_no_more_memory_than_its_limit_and_keeps_what_was_found(folder: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss

    assert await search(folder, f"aab|{GREEDY}") == f"a.txt:1: aab\n(stopped; there may be more: {TOO_MUCH})"
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # which every child has until it runs its program
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, ours, 512 << 10)


async def test_a_pattern_that_would_take_for_ever_is_stopped_and_keeps_what_was_found(folder: Path) -> None:
    stopped = "(stopped after 0.5 s; there may be more: narrow the path or the pattern)"

    assert await search(folder, f"aab|{SLOW}", limit_s=0.5) == f"a.txt:1: aab\n{stopped}"
    assert await search(folder, SLOW, limit_s=0.5) == stopped


@pytest.mark.parametrize("pattern", ["a{3000000}", "(?:(?:a{1000}){1000,}){1000}", "(?x)a{300 00#\n00}"])
async def test_a_pattern_that_takes_too_much_before_it_searches_is_refused(folder: Path, pattern: str) -> None:
    with pytest.raises(ToolError) as refused:
        await search(folder, pattern, limit_s=1, memory=128 << 20)

    assert str(refused.value) == TOO_MUCH


async def test_the_largest_file_is_searched_within_the_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"ab\n" * (3 << 20))

    found = await search(tmp_path, "ab", limit_s=3)

    assert found.startswith("a.txt:1: ab\n")
    assert TOO_MUCH not in found


async def test_a_search_that_is_cancelled_leaves_no_process(folder: Path) -> None:
    task = asyncio.create_task(search(folder, SLOW))
    await until(lambda: bool(searches()))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert searches() == []


async def test_slow_searches_hold_up_neither_the_time_nor_a_search_of_others(folder: Path) -> None:
    registry = build_registry(ToolsSettings(timeout_s=20), folder)
    find, tell = registry.get("search_text"), registry.get("current_time")
    assert find is not None
    assert tell is not None
    turn_share.set(Share("greedy"))
    greedy = [asyncio.ensure_future(find.call("", {"pattern": SLOW})) for _ in range(8)]
    await settle()

    turn_share.set(Share("bystander"))
    for _ in range(50):
        await tell.call("", {"timezone": "Asia/Tokyo"})
    before_search = sum(task.done() for task in greedy)
    assert await find.call("", {"pattern": "aab"}) == "a.txt:1: aab"
    ended = sum(task.done() for task in greedy)
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)

    assert (before_search, ended < 8, searches()) == (0, True, [])
