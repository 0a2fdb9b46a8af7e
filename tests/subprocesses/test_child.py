"""server/subprocesses/child.py: what every child has in common; tests/hooks/process and tests/tools/mcp have the rest."""

import asyncio
import sys
from typing import Any

import pytest

from server.subprocesses.child import Child
from tests.hooks.stage import leftovers
from tests.support.waiting import until

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


async def begin(code: str, **more: Any) -> Child:
    command = [sys.executable, "-c", code]
    return await Child.begin(command, whose="x", folder=None, environment={}, eof_s=0.05, end_s=0.1, **more)


async def ended(child: Child) -> str:
    child.stdin.close()
    await child.end()
    child.stdout.close()
    return child.exited.result()


async def test_it_says_how_it_ended_and_what_it_said_last() -> None:
    told: list[Any] = []
    child = await begin("import sys; sys.stderr.write('oh\\nno\\n'); sys.exit(3)", on_error_line=told.append)
    await until(lambda: len(told) == 2)

    assert await ended(child) == "exit status 3"
    assert child.last_error_line == "no"
    assert told == [b"oh", b"no"]


async def test_one_that_is_deaf_to_all_else_is_killed() -> None:
    child = await begin(DEAF)

    assert await ended(child) in ("signal: killed", "signal: terminated")
    assert leftovers() == []


async def test_whoever_is_cancelled_while_it_is_spawned_leaves_no_process() -> None:
    beginning = asyncio.create_task(begin(DEAF))
    await asyncio.sleep(0)

    beginning.cancel()

    with pytest.raises(asyncio.CancelledError):
        await beginning
    assert leftovers() == []
