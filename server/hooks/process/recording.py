"""A hook's traffic as JSON Lines: written by a server or a trial, read by a replay.

Each life of the hook begins with {"hook": …, "command": […], "began": …}. Then
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
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from server.subprocesses.lines import Line, Overlong

logger = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 256 << 20
_MAX_WAITING: Final = 4096  # lines; one more is left out
_PRIVATE: Final = 0o600

Direction = Literal["out", "in", "err"]


class Recording:
    """A tap that writes down all of one life, in a thread of its own; `close` waits until it is written.

    What the disk does not take in time, or would make the file longer than
    `max_bytes`, is left out, which the log says once. The hook never notices.
    """

    def __init__(self, path: Path, name: str, command: Sequence[str], *, max_bytes: int = MAX_FILE_BYTES) -> None:
        """Appends to the file; a new one can be read by its owner alone. Raises OSError."""
        self._path = path
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE), "wb")
        self._left_bytes = max_bytes - self._file.tell()
        self._began = time.monotonic()
        self._is_cut = False
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_MAX_WAITING)
        self._thread = threading.Thread(target=self._write, name=f"recording of process hook {name}", daemon=True)
        self._thread.start()
        began = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._put({"hook": name, "command": list(command), "began": began})

    def sent(self, line: bytes | bytearray) -> None:
        self._note("out", line)

    def heard(self, line: Line) -> None:
        self._note("in", line)

    def complained(self, line: Line) -> None:
        self._note("err", line)

    def close(self) -> None:
        """Blocks until all is written: for a thread. May be called again."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def _note(self, direction: Direction, line: Line) -> None:
        data = line.head + b"\xe2\x80\xa6" if isinstance(line, Overlong) else bytes(line)
        ms = round((time.monotonic() - self._began) * 1000, 1)
        self._put({"ms": ms, "direction": direction, "line": data.decode("utf-8", "replace").rstrip("\n")})

    def _put(self, entry: dict[str, Any]) -> None:
        data = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._left_bytes -= len(data)
        if self._left_bytes >= 0:
            try:
                self._waiting.put_nowait(data)
            except queue.Full:
                pass
            else:
                return
        if not self._is_cut:
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


class RecordingUnusable(Exception):
    """The file is no recording; the message names the line."""


@dataclass(kw_only=True, slots=True)
class Exchange:
    """Something that was sent, and what came back."""

    method: str
    params: dict[str, Any]
    id: int | None = None
    """None: a notification."""
    reply: dict[str, Any] | None = None
    """With `result` or `error`; None: there was none."""
    ms: float | None = None


@dataclass(kw_only=True, slots=True)
class RecordedLife:
    hook: str
    command: list[str] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)


def read_recording(path: Path) -> list[RecordedLife]:
    """Raises RecordingUnusable and OSError. What is no JSON-RPC in it is passed over."""
    lives: list[RecordedLife] = []
    open_calls: dict[int, tuple[Exchange, float]] = {}
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            match _entry(text, f"{path}, line {number}"):
                case {"hook": str(hook), "command": list(command)}:
                    lives.append(RecordedLife(hook=hook, command=command))
                    open_calls = {}
                case {"direction": "out", "line": str(line), "ms": int() | float() as ms} if lives:
                    if (exchange := _exchange(line)) is not None:
                        lives[-1].exchanges.append(exchange)
                        if exchange.id is not None:
                            open_calls[exchange.id] = exchange, ms
                case {"direction": "in", "line": str(line), "ms": int() | float() as ms} if lives:
                    reply = _message(line)
                    exchange, began_ms = open_calls.pop(reply.get("id", 0), (None, 0.0))
                    if exchange is not None:
                        exchange.reply, exchange.ms = reply, ms - began_ms
                case {"direction": "err"} if lives:
                    pass
                case _:
                    raise RecordingUnusable(f"{path}, line {number}: no line of a recording")
    if not lives:
        raise RecordingUnusable(f"{path}: an empty recording")
    return lives


def _entry(text: str, where: str) -> dict[str, Any]:
    entry = _message(text)
    if not entry:
        raise RecordingUnusable(f"{where}: no JSON object")
    return entry


def _exchange(line: str) -> Exchange | None:
    match _message(line):
        case {"method": str(method), "params": dict(params)} as message:
            return Exchange(method=method, params=params, id=message.get("id"))
    return None


def _message(line: str) -> dict[str, Any]:
    """`{}` for what is no JSON object."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
