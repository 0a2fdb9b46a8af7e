"""Log lines: text for a terminal, JSON for machines, each with the ids of its session and turn.

Whoever works for a client sets `session_id` and `turn_id` in its task; every
line logged there carries them. Prompts, sound and keys are logged by nobody.
"""

import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

from server import config

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
    """Send every line of the process to `stream` (None: standard error). Replaces what was set up before."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.addFilter(_stamp)
    is_text = settings.format == "text" or (settings.format == "auto" and stream.isatty())
    handler.setFormatter(TextFormatter() if is_text else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.level.upper())
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, root.level))


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
        return msgspec.json.encode(line).decode(errors="replace")


def _ids(record: logging.LogRecord) -> dict[str, str]:
    ids = {"session": getattr(record, "session_id", None), "turn": getattr(record, "turn_id", None)}
    return {name: value for name, value in ids.items() if value is not None}
