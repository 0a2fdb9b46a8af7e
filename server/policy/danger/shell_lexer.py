"""Lexer for command lines of a POSIX shell: text → the simple commands that it would run.

Nothing is expanded. The lexer knows quoting, operators, substitutions, redirections,
here-documents and comments. What it cannot make sense of becomes plain words.
"""

import re
from dataclasses import dataclass, field
from typing import Final

MAX_CHARS: Final = 65_536
MAX_COMMANDS: Final = 2000
SUBSTITUTED: Final = "$(…)"
"""Stands in a word in the place of what another command prints or reads."""

_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n)"
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<single>'[^']*'?)"
    r"|(?P<ansi>\$'(?:[^'\\]|\\.)*+'?)"
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
_QUOTED: Final = re.compile(r"[^\\`$\"]+|\\.|.", re.DOTALL)
_BRACKET: Final = re.compile(r"[^\\'\"()]+|\\.|'[^']*'?|\"(?:[^\"\\]|\\.)*+\"?|.", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|(n))")


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
    reads_pipe: bool = False


def parse(text: str) -> list[Command]:
    """Take a command line apart; beyond MAX_CHARS or MAX_COMMANDS nothing is read, so callers compare with them."""
    return _Lexer(text[:MAX_CHARS]).run()


def unescape(text: str) -> str:
    """Read the escapes of `$'…'` and printf: `\\x72`, `\\162`, `\\n`."""
    return _ESCAPE.sub(lambda m: "\n" if m[3] else chr(int(m[1], 16) if m[1] else int(m[2], 8)), text)


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._commands: list[Command] = []
        self._command = Command()
        self._word: list[str] | None = None
        self._pending: Redirect | None = None  # waits for its target
        self._heredocs: list[Redirect] = []  # wait for the end of the line

    def run(self) -> list[Command]:
        while (token := _TOKEN.match(self._text, self._at)) and len(self._commands) < MAX_COMMANDS:
            self._at = token.end()
            self._read(token.lastgroup or "", token[0])
        self._end_command()
        return self._commands

    def _read(self, kind: str, piece: str) -> None:
        match kind:
            case "blank":
                self._end_word()
            case "comment" if self._word is None:
                pass
            case "single":
                self._take(piece.strip("'"))
            case "ansi":
                self._take(unescape(piece[2:].removesuffix("'")))
            case "double":
                self._take(self._double())
            case "backticks":
                self._command.inner.append(piece.strip("`"))
                self._take(SUBSTITUTED)
            case "script":
                self._take(self._substitution())
            case "escape":
                self._take(piece[1:])
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

    def _double(self) -> str:
        """Read to the closing quote; scripts inside are kept for themselves."""
        pieces: list[str] = []
        while piece := _QUOTED.match(self._text, self._at):
            self._at = piece.end()
            if piece[0] == '"':
                break
            if piece[0] == "`":
                end = self._text.find("`", self._at)
                end = len(self._text) if end < 0 else end
                self._command.inner.append(self._text[self._at : end])
                self._at = end + 1
            elif piece[0] == "$" and self._text[self._at : self._at + 1] == "(":
                self._at += 1
                pieces.append(self._substitution())
            else:
                pieces.append(piece[0][1:] if piece[0][0] == "\\" and piece[0][1:] in '"\\$`\n' else piece[0])
        return "".join(pieces)

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
        self._command.reads_pipe = sign in ("|", "|&")
        if sign == "\n":
            for redirect in self._heredocs:
                redirect.target = self._heredoc(redirect.target)
            self._heredocs = []

    def _heredoc(self, end: str) -> str:
        lines: list[str] = []
        while self._at < len(self._text):
            stop = self._text.find("\n", self._at)
            stop = len(self._text) if stop < 0 else stop
            line = self._text[self._at : stop]
            self._at = stop + 1
            if line.strip() == end:
                break
            lines.append(line)
        return "\n".join(lines)

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
