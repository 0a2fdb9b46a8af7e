"""Checks each line of a trial as it comes."""

import asyncio
import json
import re
from collections import deque
from typing import Final

from hook_tools.line_checks import Finding, check_line, shown
from server.hooks.process.hook_process import Direction, OnLine, no_listener
from server.subprocesses.lines import Line, Overlong

_ID: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),')
_MAX_COMPLAINTS: Final = 10  # lines of standard error that are shown
_MAX_FINDINGS: Final = 20  # between two looks


class Listener:
    """Checks the lines of one trial; `other` gets them, too."""

    def __init__(self, other: OnLine = no_listener) -> None:
        self._other = other
        self._open = set[int]()
        self._given_up = set[int]()  # calls whose time was up, until they are answered all the same
        self._last_id = 0
        self._findings: list[Finding] = []
        self._has_changed = asyncio.Event()
        self.complaints = deque[str](maxlen=_MAX_COMPLAINTS)
        """The last lines that the hook wrote on standard error."""
        self.is_over = False
        """Whether the hook's input has ended."""
        self.has_answered = False
        """Whether a reply came while the hook's input was open."""
        self.was_buffered = False
        """Whether the reply to a call that had timed out came only when the hook's input had ended."""

    def give_up(self) -> None:
        """Note that all calls without a reply have timed out."""
        self._given_up |= self._open

    async def caught_up(self) -> None:
        """Wait until what was given up is answered after all."""
        while self._given_up:
            self._has_changed.clear()
            await self._has_changed.wait()

    def take(self) -> list[Finding]:
        """Return what was wrong since this was last called."""
        findings, self._findings = self._findings, []
        return findings

    def hear(self, direction: Direction, line: Line) -> None:
        """Check a line of the hook's traffic."""
        self._other(direction, line)
        match direction:
            case "out" if match := _ID.match(bytes(line) if not isinstance(line, Overlong) else line.head):
                self._last_id = int(match[1])
                self._open.add(self._last_id)
            case "in":
                self._judge(line)
            case "err" if text := shown(line, ""):
                self.complaints.append(text)

    def _judge(self, line: Line) -> None:
        found = check_line(line, open_ids=self._open, last_id=self._last_id)
        call_id = _id_of(line)
        if call_id in self._given_up:
            self.was_buffered |= self.is_over
            found = found if self.is_over else Finding("problem", "answered a call after its time was up")
        if call_id is not None:
            self.has_answered |= not self.is_over
            self._open.discard(call_id)
            self._given_up.discard(call_id)
            self._has_changed.set()
        if found is not None and len(self._findings) < _MAX_FINDINGS:
            self._findings.append(found)


def _id_of(line: Line) -> int | None:
    if isinstance(line, Overlong):
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    call_id = message.get("id") if isinstance(message, dict) else None
    return call_id if type(call_id) is int else None
