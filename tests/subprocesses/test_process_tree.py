"""server/subprocesses/process_tree.py: finding and ending all that came of a child process."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from server.subprocesses import process_tree
from server.subprocesses.process_tree import MARK, OrphanReaper, ProcessInfo, ProcessTree, adopt_orphans, list_processes
from tests.support.waiting import is_alive

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is ended")


@pytest.fixture
def _adopting() -> None:
    adopt_orphans()


SCATTER = """
import os, subprocess, sys
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
child = lambda command, **more: subprocess.Popen(command, **quiet, **more)
children = [child(["sleep", "600"]), child(["sleep", "600"], start_new_session=True),
        child(["env", "-i", "sleep", "600"], start_new_session=True),
        child(["sh", "-c", "trap '' TERM; sleep 600 & wait"])]
orphan = child(["sh", "-c", "setsid sleep 600 & echo $! > " + sys.argv[1] + "; exit"])
orphan.wait()
print(*[one.pid for one in children], open(sys.argv[1]).read().strip(), flush=True)
sys.stdin.read()
"""


def scatter(folder: str, mark: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process with children near and far; its number and theirs."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCATTER, f"{folder}/pid"],
        env={**os.environ, MARK: mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, [int(pid) for pid in process.stdout.readline().split()]


def end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.wait()


@linux
@pytest.mark.usefixtures("_adopting")
async def test_children_in_other_sessions_orphans_and_the_deaf_are_all_ended(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    process, pids = scatter(str(tmp_path), "one")
    other, others = scatter(str(tmp_path), "two")
    assert all(map(is_alive, pids + others))
    tree = ProcessTree(process.pid, "one")

    assert {info.pid for info in tree.alive(list_processes())} >= set(pids)
    end(process)
    await tree.end(asyncio.get_running_loop().time() + 0.2)

    assert not any(map(is_alive, pids))
    assert all(map(is_alive, others))
    tree = ProcessTree(other.pid, "two")
    tree.alive(list_processes())
    end(other)
    await tree.end(asyncio.get_running_loop().time())
    assert set(psutil.Process().children()) <= before


@linux
@pytest.mark.usefixtures("_adopting")
async def test_one_without_mark_session_or_parent_is_known_from_an_earlier_look(tmp_path: Path) -> None:
    process, pids = scatter(str(tmp_path), "one")
    unmarked = pids[2]
    tree = ProcessTree(process.pid, "one")
    tree.alive(list_processes())
    end(process)

    assert unmarked in {info.pid for info in tree.alive(list_processes())}
    assert unmarked not in {info.pid for info in ProcessTree(process.pid, "one").alive(list_processes())}
    await tree.end(asyncio.get_running_loop().time())
    assert not is_alive(unmarked)


def seen(pid: int, *, started: int = 1, parent: int | None = None, is_zombie: bool = True) -> ProcessInfo:
    return ProcessInfo(pid, os.getpid() if parent is None else parent, pid, pid, started, is_zombie)


@linux
def test_a_process_that_took_over_a_number_is_not_touched() -> None:
    process = subprocess.Popen(["sleep", "600"])
    impostor = seen(process.pid, started=1, is_zombie=False)

    assert process_tree._open_pidfd(impostor) is None
    process.kill()
    process.wait()


@linux
def test_an_orphan_is_reaped_when_it_was_dead_at_two_looks() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    orphans = OrphanReaper()

    for leaders in ([process.pid], [process.pid], []):
        orphans.reap(list_processes(), leaders)
        assert psutil.pid_exists(process.pid)
        assert orphans.has_dead or leaders
    orphans.reap(list_processes(), leaders=[])
    assert not psutil.pid_exists(process.pid)
    process.wait()


def test_others_children_and_the_living_are_no_orphans() -> None:
    around = {1: seen(1, parent=0), 2: seen(2, is_zombie=False), 3: seen(3, started=1)}
    orphans = OrphanReaper()
    orphans.reap(around, leaders=[])

    assert orphans.reap({1: seen(1, parent=0), 2: seen(2, is_zombie=False), 3: seen(3, started=2)}, leaders=[]) == 0


@linux
def test_a_name_with_brackets_and_spaces_does_not_confuse_the_listing(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 ("
    program.symlink_to(Path("/bin/sleep").resolve())
    process = subprocess.Popen([program, "600"])
    found = list_processes()[process.pid]

    assert (found.parent, found.is_zombie) == (os.getpid(), False)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_the_group_alone_can_be_signalled_where_nothing_better_is_there() -> None:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    tree = ProcessTree(process.pid, "one")

    assert tree.signal_group(signal.SIGKILL) is True
    assert process.wait() == -signal.SIGKILL
    assert tree.signal_group(signal.SIGKILL) is False
