"""One program of a command line about to run, and the judge of what it runs in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from server.policy.danger.code.runner import Runner
from server.policy.danger.commands.shell import Command

HARMLESS: Final = ""
"""In the place of a reason: the program only runs another, which was judged. None: go on with the program itself."""


class Nested(Runner, Protocol):
    """Judges one level deeper: commands nested too deep are asked about."""

    def words(
        self, words: Sequence[str], command: Command | None = None, feeders: Sequence[Command] = ()
    ) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    """The program, without its folder and `.exe`."""
    rest: list[str]
    """Its arguments."""
    command: Command
    """Its redirections, and the scripts inside its words."""
    feeders: Sequence[Command]
    """Whose output it reads through a pipe; the nearest is the last."""
    nested: Nested

    def after(self, flag: str) -> str:
        """The value of a flag, if it has one; else empty."""
        at = self.rest.index(flag) + 1 if flag in self.rest else len(self.rest)
        return self.rest[at] if at < len(self.rest) else ""

    @property
    def here_documents(self) -> list[str]:
        return [redirect.target for redirect in self.command.redirects if redirect.sign in ("<<", "<<<")]


Judge = Callable[[Step], str | None]
