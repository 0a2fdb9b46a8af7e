"""server/__main__.py, signals: what each signal means, in a process of its own with a terminal of its own."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

CHILD = """
import asyncio, os, sys
terminal = os.open(sys.argv[1], os.O_RDWR) if len(sys.argv) > 1 else None  # becomes ours: we lead a session

async def main():
    from server.__main__ import Signals
    signals = Signals()
    print("listening", flush=True)
    waits = {asyncio.create_task(signals.stop.wait()): "stop", asyncio.create_task(signals.reload.wait()): "reload"}
    while "stop" not in [name for task, name in waits.items() if task.done()]:
        done, _ = await asyncio.wait([task for task in waits if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        print(*[waits[task] for task in done], flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert said(process) == "listening"
    return process


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ended(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    process.stdout.close()
    return process.wait()


def test_a_hangup_means_reload_and_a_closed_terminal_means_stop() -> None:
    master, slave = pty.openpty()
    process = started(os.ttyname(slave))
    os.close(slave)

    process.send_signal(signal.SIGHUP)
    assert said(process) == "reload"
    os.close(master)
    assert said(process) == "stop"

    process.kill()
    ended(process)


def test_without_a_terminal_a_hangup_means_reload_and_a_second_stop_ends_at_once() -> None:
    process = started()

    process.send_signal(signal.SIGHUP)
    assert said(process) == "reload"
    process.send_signal(signal.SIGTERM)
    assert said(process) == "stop"
    process.send_signal(signal.SIGINT)

    assert ended(process) == 128 + signal.SIGINT
