"""Lexer for command lines of a POSIX shell: text → the simple commands that it would run.

Nothing is expanded; what the lexer cannot make sense of becomes plain words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MAX_CHARS: Final = 65_536
MAX_COMMANDS: Final = 2000
SUBSTITUTED: Final = "$(…)"
"""Sign that stands in a word in the place of what another command prints or reads."""

_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t\r]+|\$IFS\b|\$\{IFS\b[^}]*\}|#(?<![^\s;&|()]#)(?<!\\\n#)[^\n]*)"
    r"|(?P<single>'[^']*'?)"
    r"|(?P<double>\$?\")"
    r"|(?P<backticks>`[^`]*`?)"
    r"|(?P<script>[$<>]\()"
    r"|(?P<variable>\$\{[^}]*\}?)"
    r"|(?P<escape>\\.)"
    r"|(?P<redirect>&>>?|[<>]{1,3}[&|]?-?)"
    r"|(?P<operator>&&|\|\||;;|\|&|[;&|\n()])"
    r"|(?P<letters>[^\\'\"`$<> \t\r\n;&|()#]+|.)",
    re.DOTALL,
)
_IN_QUOTES: Final = re.compile(
    r"(?P<double>\")|(?P<backticks>`[^`]*`?)|(?P<script>\$\()|(?P<escape>\\.)|(?P<letters>[^\\`$\"]+|.)", re.DOTALL
)
_BRACKET: Final = re.compile(r"[^\\'\"()]+|\\.|'[^']*'?|\"(?:[^\"\\]|\\.)*+\"?|.", re.DOTALL)


@dataclass(slots=True)
class Redirect:
    """Redirection; the target of a here-document is its text."""

    sign: str
    """`>`, `>>`, `<`, `<<`, `<<<`, …"""
    target: str = ""


@dataclass(slots=True)
class Command:
    """Simple command: its words without quotes, its redirections, and the scripts inside its words."""

    words: list[str] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    """Scripts in `$(…)`, backticks and `<(…)`."""
    feeder: "Command | None" = None
    """The command whose output it reads through a pipe."""

    def scripts(self) -> Iterator[str | None]:
        """Yield the scripts on its input; None stands for one that cannot be seen before it runs."""
        for redirect in self.redirects:
            if redirect.sign[:1] == "<":
                yield redirect.target if redirect.sign in ("<<", "<<<") else None
        if self.feeder is not None:
            name, *rest = self.feeder.words or [""]
            heredocs = [one.target for one in self.feeder.redirects if one.sign in ("<<", "<<<") and name == "cat"]
            text = " ".join(word for word in rest if word[:1] != "-")
            is_printed = name in ("echo", "printf") and self.feeder.feeder is None and "\\" not in text
            yield text if is_printed else next(iter(heredocs), None)


def parse(text: str) -> list[Command]:
    """Take a command line apart; beyond MAX_CHARS or MAX_COMMANDS nothing is read, so callers compare with them."""
    return _Lexer(text[:MAX_CHARS]).run()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._commands: list[Command] = []
        self._command = Command()
        self._word: list[str] | None = None
        self._is_quoted = False  # between double quotes
        self._pending: Redirect | None = None  # waits for its target
        self._heredocs: list[Redirect] = []  # wait for the end of the line

    def run(self) -> list[Command]:
        while len(self._commands) < MAX_COMMANDS:
            token = (_IN_QUOTES if self._is_quoted else _TOKEN).match(self._text, self._at)
            if token is None:
                break
            self._at = token.end()
            self._read(token.lastgroup or "", token[0])
        self._end_command()
        return self._commands

    def _read(self, kind: str, piece: str) -> None:
        match kind:
            case "blank":
                self._end_word()
            case "single":
                self._take(piece.strip("'"))
            case "double":
                self._is_quoted = not self._is_quoted
                self._take("")
            case "backticks":
                self._command.inner.append(piece.strip("`"))
                self._take(SUBSTITUTED)
            case "script":
                self._take(self._substitution())
            case "escape" if piece == "\\\n":
                pass  # joins what stands on both sides
            case "escape":
                self._take(piece if self._is_quoted and piece[1] not in '"\\$`\n' else piece[1:])
            case "redirect":
                self._redirect(piece)
            case "operator":
                self._operator(piece)
            case _:
                self._take(piece)

    def _take(self, piece: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(piece)

    def _substitution(self) -> str:
        """Read to the partner of the bracket that was opened; quotes inside hide brackets."""
        start, depth = self._at, 1
        while depth and (piece := _BRACKET.match(self._text, self._at)):
            self._at = piece.end()
            depth += (piece[0] == "(") - (piece[0] == ")")
        script = self._text[start : self._at - (depth == 0)]
        if script[:1] != "(":  # `$((1+2))` is a sum
            self._command.inner.append(script)
        return SUBSTITUTED

    def _redirect(self, sign: str) -> None:
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None  # the number of a file, as in 2>
        self._end_word()
        following = self._text[self._at : self._at + 1]
        if sign[-1] == "&" and following.isdigit():
            self._at += 1  # `2>&1`
        elif sign not in (">&-", "<&-"):
            self._pending = Redirect(sign.removesuffix("-"))

    def _operator(self, sign: str) -> None:
        self._end_command()
        self._command.feeder = self._commands[-1] if self._commands and sign in ("|", "|&") else None
        if sign == "\n":
            for redirect in self._heredocs:
                redirect.target = self._heredoc(redirect.target)
            self._heredocs = []

    def _heredoc(self, end: str) -> str:
        found = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*$", re.MULTILINE).search(self._text, self._at)
        start, stop = self._at, found.start() if found else len(self._text)
        self._at = found.end() if found else stop
        return self._text[start:stop]

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        if self._pending is None:
            self._command.words.append(word)
            return
        self._pending.target = word
        self._command.redirects.append(self._pending)
        if self._pending.sign == "<<":
            self._heredocs.append(self._pending)
        self._pending = None

    def _end_command(self) -> None:
        self._end_word()
        self._pending = None
        if self._command.words or self._command.redirects or self._command.inner:
            self._commands.append(self._command)
        self._command = Command()
