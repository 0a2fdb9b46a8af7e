"""How a process ended, and when."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable


def watch_exit(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]) -> None:
    """Call `on_exit` in the loop when the process has exited and is reaped."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # macOS, and an old Linux
        watch_in_thread(process, loop, on_exit)
        return

    def exited() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        process.wait()  # it is over: no waiting
        on_exit()

    loop.add_reader(handle, exited)


def watch_in_thread(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, on_exit: Callable[[], None]
) -> None:
    def wait() -> None:
        process.wait()
        loop.call_soon_threadsafe(on_exit)

    threading.Thread(target=wait, name=f"wait for process {process.pid}", daemon=True).start()


def exit_text(code: int | None) -> str:
    if not code:
        return "process exited"
    if code > 0:
        return f"exit status {code}"
    return f"signal: {signal.strsignal(-code) or -code}".lower()
