"""Log lines: text for a terminal, JSON for machines, each with the ids of its session and turn.

A task that works for a client sets `client`, `session_id` and `turn_id`;
every line logged there counts for the client and carries the ids. Prompts, sound
and keys are never logged.
"""

import logging
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from server import config
from server.bounded.limits import WriteQuotas
from server.wire import codec

BYTES_A_MINUTE: Final = 512 << 10
"""Characters of lines that one client may cause in a minute, in the long run; each part of the server has as much."""
_TELL_EVERY_S: Final = 60.0

client: Final[ContextVar[str | None]] = ContextVar("client", default=None)
session_id: Final[ContextVar[str | None]] = ContextVar("session_id", default=None)
turn_id: Final[ContextVar[str | None]] = ContextVar("turn_id", default=None)

_CONTROLS: Final = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
_VISIBLE: Final = {number: repr(chr(number))[1:-1] for number in _CONTROLS if chr(number) != "\t"}
"""Characters that would begin a new line or command a terminal, each with its escaped form."""

_QUIET: Final = {
    "aiohttp.access": logging.ERROR,
    "aiohttp.websocket": logging.ERROR,  # warns of what a client offers
    "asyncio": logging.WARNING,
    "openai": logging.WARNING,
    "httpx2": logging.WARNING,  # a line for every request
    "watchfiles": logging.WARNING,
    "mcp": logging.CRITICAL,  # writes ids of sessions, and a traceback for what a server says wrongly; we tell it ourselves
    "client": logging.CRITICAL,  # the same package
}


def set_up(settings: config.LogSettings, stream: TextIO | None = None) -> None:
    """Send every line of the process to `stream`, by default standard error. Replaces what was set up before."""
    stream = stream or sys.stderr
    handler = LimitedHandler(stream)
    handler.addFilter(_stamp)
    is_text = settings.format == "text" or (settings.format == "auto" and stream.isatty())
    handler.setFormatter(TextFormatter() if is_text else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level.upper())
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, root.level))


def lines_left_out() -> int:
    """Return how many lines were left out since the start because their clients had caused too many."""
    return sum(
        handler.quotas.left_out for handler in logging.getLogger().handlers if isinstance(handler, LimitedHandler)
    )


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes lines within the quota of the client that caused them, or of the logger; tells how many it left out."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self.quotas = WriteQuotas(BYTES_A_MINUTE)
        self._clock = clock
        self._told_s = clock()

    def emit(self, record: logging.LogRecord) -> None:
        now_s = self._clock()
        if now_s - self._told_s >= _TELL_EVERY_S:
            self._told_s = now_s
            self._tell()
        try:
            line = self.format(record)
            if self.quotas.admit(client.get() or record.name, len(line), now_s):
                self.stream.write(line + self.terminator)
                self.flush()
        except Exception:  # noqa: BLE001 - what every handler of logging does
            self.handleError(record)

    def close(self) -> None:
        self._tell()
        super().close()

    def _tell(self) -> None:
        for writer, count in self.quotas.take_left_out().items():
            text = f"{count} lines of {writer} were left out: too many in a minute"
            gap = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None)
            super().emit(gap)


def _stamp(record: logging.LogRecord) -> bool:
    record.session_id = session_id.get()
    record.turn_id = turn_id.get()
    return True


class TextFormatter(logging.Formatter):
    """A line for each record, whatever a client's words in it: only a traceback has more, and those are indented."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s%(ids)s: %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        ids = [f"{name} {value}" for name, value in _ids(record).items()]
        record.ids = f" [{', '.join(ids)}]" if ids else ""
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        record.message = record.message.translate(_VISIBLE)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"    {line.translate(_VISIBLE)}" for line in lines)


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_ids(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return codec.encode(line).decode()


def _ids(record: logging.LogRecord) -> dict[str, str]:
    ids = {"session": getattr(record, "session_id", None), "turn": getattr(record, "turn_id", None)}
    return {name: value for name, value in ids.items() if value is not None}
