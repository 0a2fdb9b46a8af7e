"""Waiting for what tells nobody that it has happened, and looking at other processes."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import psutil

LIMIT_S: Final = 120.0
"""Waiting ends as soon as it may; the limit is for machines that are busy with other things."""


async def until(is_so: Callable[[], bool]) -> None:
    """What other processes and threads do is no event here: the loop goes round until it is so."""
    async with asyncio.timeout(LIMIT_S):
        while not is_so():  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.005)  # they need the processor, too


def wait_until(is_so: Callable[[], bool]) -> None:
    """As `until`, in a test without a loop."""
    limit = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.005)


async def settle() -> None:
    """Let the tasks of this loop that are ready run until they wait for something else."""
    for _ in range(20):
        await asyncio.sleep(0)


def is_alive(pid: int) -> bool:
    """Neither gone nor a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children_of(pid: int, words: str) -> list[psutil.Process]:
    """The live children whose command line contains these words; programs begin others that end at once."""
    return [child for child in psutil.Process(pid).children() if words in _command_of(child)]


def _command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""
