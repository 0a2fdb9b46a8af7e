"""Who listens in on a hook's traffic: a recording, or a trial of the hook."""

from typing import Protocol

from server.subprocesses.lines import Line


class Tap(Protocol):
    """Called in the event loop with every line, in order; returns at once and never raises. Lines may not be changed."""

    def sent(self, line: bytes | bytearray) -> None:
        """To the hook, with its end."""
        ...

    def heard(self, line: Line) -> None:
        """On its standard output, before it is read for what it says."""
        ...

    def complained(self, line: Line) -> None:
        """On its standard error."""
        ...
