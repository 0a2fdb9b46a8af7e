"""Many patterns held against a text in one pass."""

import threading
from collections.abc import Callable, Sequence

import hyperscan


class Patterns:
    """Expressions as hyperscan knows them, compiled once. Safe to use from many threads."""

    def __init__(self, expressions: Sequence[str], flags: Sequence[int]) -> None:
        """`flags`: of each, hyperscan's."""
        self._database = hyperscan.Database() if expressions else None
        if self._database is not None:
            self._database.compile(
                expressions=[expression.encode() for expression in expressions],
                ids=range(len(expressions)),
                elements=len(expressions),
                flags=list(flags),
            )
        self._of_thread = threading.local()

    def each(self, text: bytes, on_match: Callable[[int, int, int, int, object], None]) -> None:
        """Call `on_match` with the number of each expression that fits, and where that begins and ends.

        Where it begins is 0 but for expressions that ask for it, where it ends is in bytes; two more arguments mean
        nothing. In the order of the ends.
        """
        if self._database is not None:
            self._database.scan(text, match_event_handler=on_match, scratch=self._scratch(self._database))

    def _scratch(self, database: hyperscan.Database) -> hyperscan.Scratch:
        """The search's working memory; no two threads may share one."""
        try:
            scratch: hyperscan.Scratch = self._of_thread.scratch
        except AttributeError:
            scratch = self._of_thread.scratch = database.scratch.clone()
        return scratch
