"""Writes a hook's traffic as JSON Lines, in a server or a trial; hook_tools/replay.py reads it.

Each process of the hook begins with {"hook": …, "command": […], "began": …}. Then
come {"ms": …, "direction": "out" | "in" | "err", "line": "…"}: sent to the
hook, read from it, and what it wrote on standard error.
"""

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from server.hooks.process.hook_process import Direction
from server.subprocesses.lines import Line, Overlong

logger = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 256 << 20
_MAX_WAITING: Final = 4096  # lines; one more is left out


class Recording:
    """Writes down all lines of one process, in a thread of its own; `close` waits until it is written.

    What the disk does not take in time, or would make the file longer than
    `max_bytes`, is left out, which the log says once. The hook never notices.
    """

    def __init__(self, path: Path, name: str, command: Sequence[str], *, max_bytes: int = MAX_FILE_BYTES) -> None:
        """Append to the file; a new one can be read by its owner alone. Raises OSError."""
        self._path = path
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb")
        self._left_bytes = max_bytes - self._file.tell()
        self._began = time.monotonic()
        self._is_cut = False
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_MAX_WAITING)
        self._thread = threading.Thread(target=self._write, name=f"recording of process hook {name}", daemon=True)
        self._thread.start()
        began = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._put({"hook": name, "command": list(command), "began": began})

    def close(self) -> None:
        """Close the file; blocks until all is written: for a thread. May be called again."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def add(self, direction: Direction, line: Line) -> None:
        """Queue a line; never waits."""
        data = line.head + b"\xe2\x80\xa6" if isinstance(line, Overlong) else bytes(line)
        ms = round((time.monotonic() - self._began) * 1000, 1)
        self._put({"ms": ms, "direction": direction, "line": data.decode("utf-8", "replace").rstrip("\n")})

    def _put(self, entry: dict[str, Any]) -> None:
        data = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._left_bytes -= len(data)
        if self._left_bytes >= 0 and not self._waiting.full():
            self._waiting.put_nowait(data)  # only this thread puts
        elif not self._is_cut:
            self._is_cut = True
            logger.warning("the recording %s is not complete: the file is full, or its disk too slow", self._path)

    def _write(self) -> None:
        with self._file:
            while (data := self._waiting.get()) is not None:
                try:
                    self._file.write(data)
                    if self._waiting.empty():
                        self._file.flush()
                except OSError as error:
                    logger.warning("the recording %s ends: %s", self._path, error.strerror)
                    self._left_bytes = -1
                    return
