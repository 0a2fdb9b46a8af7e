"""server/subprocesses/exit.py: the exit of a process, by pidfd and, where there is none, by a thread."""

import asyncio
import subprocess
from collections.abc import Callable

import pytest

from server.subprocesses.exit import exit_text, watch_exit, watch_in_thread

Watch = Callable[[subprocess.Popen[bytes], asyncio.AbstractEventLoop, Callable[[], None]], None]


@pytest.mark.parametrize("watch", [watch_exit, watch_in_thread])
async def test_an_exit_is_told_once_and_the_process_is_reaped(watch: Watch) -> None:
    told: asyncio.Queue[int | None] = asyncio.Queue()
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    watch(process, asyncio.get_running_loop(), lambda: told.put_nowait(process.returncode))
    assert process.stdin is not None
    process.stdin.close()

    assert await told.get() == 0
    assert told.empty()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "process exited"),
        (None, "process exited"),
        (3, "exit status 3"),
        (-9, "signal: killed"),
        (-15, "signal: terminated"),
    ],
)
def test_exits_are_named_as_in_the_reference(code: int | None, text: str) -> None:
    assert exit_text(code) == text
