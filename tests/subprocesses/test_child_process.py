"""server/subprocesses/child_process.py: start, exit, log, end; tests/hooks/process and tests/tools/mcp have the rest."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from server.subprocesses.child_process import (
    ChildProcess,
    StderrLog,
    child_environment,
    exit_text,
    watch_exit,
    watch_in_thread,
)
from server.subprocesses.lines import Overlong
from tests.hooks.stage import leftovers
from tests.support.waiting import is_alive, until

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


async def begin(code: str, **more: Any) -> ChildProcess:
    command = [sys.executable, "-c", code]
    return await ChildProcess.begin(command, label="x", folder=None, environment={}, eof_s=0.05, end_s=0.1, **more)


async def ended(child: ChildProcess) -> str:
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


LEAVER = """
import subprocess, sys
sys.stdin.readline()
daemon = "sleep 600 <&- >&- 2>&- & echo $!"
print(subprocess.check_output(["env", "-i", "setsid", "/bin/sh", "-c", daemon], text=True), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")
async def test_what_left_its_session_its_parent_and_its_environment_is_ended_and_no_other_childs() -> None:
    child, other = await begin(LEAVER), await begin(LEAVER)
    pids = []
    for one in (child, other):
        one.stdin.write(b"go\n")
        pids.append(int(await asyncio.to_thread(one.stdout.readline)))
        await one.exited  # from now on its daemon is a child of ours that nobody has looked at
    assert all(map(is_alive, pids))

    await ended(child)

    assert [is_alive(pid) for pid in pids] == [False, True]
    await ended(other)
    assert not is_alive(pids[1])


async def test_whoever_is_cancelled_while_it_is_spawned_leaves_no_process() -> None:
    beginning = asyncio.create_task(begin(DEAF))
    await asyncio.sleep(0)

    beginning.cancel()

    with pytest.raises(asyncio.CancelledError):
        await beginning
    assert leftovers() == []


# exits

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


# its standard error


def test_lines_are_logged_whole_or_cut_and_a_flood_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log = StderrLog('process hook "x"')
    for line in (b"  \xffhello  ", b"", Overlong(b"long"), b"y" * 8000):
        assert log.write(line) is False
    for number in range(1000):
        log.write(b"line %d" % number)

    assert caplog.messages[:2] == ['process hook "x" stderr: \ufffdhello', 'process hook "x" stderr: long']
    assert len(caplog.messages[2]) < 2050
    assert len(caplog.messages) < 200
    assert log.last_line == "line 999"


# its environment


def test_a_child_gets_no_keys_of_ours_unless_it_is_asked_for() -> None:
    ours = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "LC_TIME": "C", "PYTHONPATH": "/x"}

    assert child_environment(ours, {"PATH": "/opt", "MODE": "x"}) == {
        "PYTHONUNBUFFERED": "1",
        "PATH": "/opt",
        "LC_TIME": "C",
        "MODE": "x",
    }
    assert child_environment(ours, {}, inherits_all=True) == {"PYTHONUNBUFFERED": "1", **ours}
