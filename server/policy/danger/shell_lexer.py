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
"""Stands in a word in the place of what another command prints."""


@dataclass(slots=True)
class Redirect:
    """Redirection; the target of a here-document is its text."""

    sign: str
    """`>`, `>>`, `<`, `<<`, `<<<`, …"""
    target: str


@dataclass(slots=True)
class Command:
    """Simple command: its words without quotes, its redirections, and the scripts inside its words."""

    words: list[str] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    """Scripts in `$(…)`, backticks and `<(…)`."""
    reads_pipe: bool = False


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text[:MAX_CHARS]
        self.at = 0
        self.out: list[Command] = []
        self.command = Command()
        self.word: list[str] | None = None
        self.word_is_quoted = False
        self.pending: str | None = None  # a redirection that waits for its target
        self.heredocs: list[tuple[str, Redirect]] = []

    def run(self) -> list[Command]:
        text, length = self.text, len(self.text)
        while self.at < length and len(self.out) < MAX_COMMANDS:
            sign = text[self.at]
            if sign not in _SIGNS:
                self._letters()
            elif sign == "\\":
                self._escape()
            elif sign == "'":
                self._take(self._until("'"))
            elif sign == '"':
                self._double()
            elif sign == "`":
                self.command.inner.append(self._until("`"))
                self._take(SUBSTITUTED)
            elif sign == "$":
                self._dollar()
            elif sign in "<>" and text[self.at + 1 : self.at + 2] == "(":
                self.at += 1
                self.command.inner.append(self._parenthesis())
                self._take("(…)")
            elif sign in "<>":
                self._redirect()
            elif sign == "#" and self.word is None:
                self._skip_comment()
            elif sign in " \t\r":
                self._end_word()
                self.at += 1
            elif sign in ";&|\n()":
                self._operator(sign)
            else:
                self._letters()
        self._end_command()
        return self.out

    def _letters(self) -> None:
        letters = _LETTERS.match(self.text, self.at)
        piece = letters[0] if letters else self.text[self.at]
        self.at += len(piece)
        self._take(piece, is_quoted=False)

    def _take(self, piece: str, *, is_quoted: bool = True) -> None:
        if self.word is None:
            self.word = []
            self.word_is_quoted = False
        self.word.append(piece)
        self.word_is_quoted |= is_quoted

    def _escape(self) -> None:
        letter = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if letter != "\n":
            self._take(letter)

    def _until(self, quote: str) -> str:
        end = self.text.find(quote, self.at + 1)
        end = len(self.text) if end < 0 else end
        piece = self.text[self.at + 1 : end]
        self.at = end + 1
        return piece

    def _double(self) -> None:
        self.at += 1
        piece: list[str] = []
        while self.at < len(self.text) and (sign := self.text[self.at]) != '"':
            if sign == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                piece.append(self.text[self.at + 1])
                self.at += 2
            elif sign == "`":
                self.command.inner.append(self._until("`"))
            elif sign == "$" and self.text[self.at + 1 : self.at + 2] == "(":
                self.at += 1
                self.command.inner.append(self._parenthesis())
                piece.append(SUBSTITUTED)
            else:
                piece.append(sign)
                self.at += 1
        self.at += 1
        self._take("".join(piece))

    def _dollar(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "'":
            self.at += 1
            self._take(unescape(self._until_unescaped()))
        elif following == '"':
            self.at += 1
        elif following == "(":
            self.at += 1
            is_sum = self.text[self.at : self.at + 2] == "(("
            inner = self._parenthesis()
            if not is_sum:
                self.command.inner.append(inner)
            self._take(SUBSTITUTED, is_quoted=False)
        elif following == "{":
            end = self.text.find("}", self.at)
            end = len(self.text) - 1 if end < 0 else end
            self._take(self.text[self.at : end + 1], is_quoted=False)
            self.at = end + 1
        else:
            self._take("$", is_quoted=False)
            self.at += 1

    def _until_unescaped(self) -> str:
        start = self.at = self.at + 1
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        piece = self.text[start : self.at]
        self.at += 1
        return piece

    def _parenthesis(self) -> str:
        """From `(` to its partner; quotes inside hide parentheses."""
        start = self.at + 1
        depth = 0
        quote = ""
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "\\" and quote != "'":
                self.at += 2
                continue
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            elif sign == "(":
                depth += 1
            elif sign == ")":
                depth -= 1
                if depth == 0:
                    break
            self.at += 1
        piece = self.text[start : self.at]
        self.at += 1
        return piece

    def _redirect(self) -> None:
        if self.word is not None and not self.word_is_quoted and "".join(self.word).isdigit():
            self.word = None  # the number of a file
        self._end_word()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "<>&|" and self.at - start < 3:
            self.at += 1
        sign = self.text[start : self.at]
        if sign.endswith("&") and self.text[self.at : self.at + 1].strip() and self.text[self.at] in "0123456789-":
            self.at += 1
            return
        if sign == "<<" and self.text[self.at : self.at + 1] == "-":
            self.at += 1
        self.pending = sign

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _operator(self, sign: str) -> None:
        self._end_word()
        if sign == "&" and self.text[self.at + 1 : self.at + 2] == ">":
            self.at += 1
            self._redirect()
            return
        piped = sign == "|" and self.text[self.at + 1 : self.at + 2] != "|"
        self.at += 2 if self.text[self.at : self.at + 2] in ("&&", "||", ";;", "|&") else 1
        self._end_command()
        self.command.reads_pipe = piped
        if sign == "\n":
            for end, redirect in self.heredocs:
                redirect.target = self._heredoc(end)
            self.heredocs = []

    def _heredoc(self, end: str) -> str:
        lines: list[str] = []
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[self.at : stop]
            self.at = stop + 1
            if line.strip() == end:
                break
            lines.append(line)
        return "\n".join(lines)

    def _end_word(self) -> None:
        if self.word is None:
            return
        word = "".join(self.word)
        self.word = None
        if self.pending is None:
            self.command.words.append(word)
            return
        redirect = Redirect(self.pending, word)
        self.command.redirects.append(redirect)
        if self.pending == "<<":
            self.heredocs.append((word, redirect))
        self.pending = None

    def _end_command(self) -> None:
        self._end_word()
        self.pending = None
        if self.command.words or self.command.redirects or self.command.inner:
            self.out.append(self.command)
        self.command = Command()


_SIGNS: Final = frozenset("\\'\"`$<> \t\r\n;&|()#")
_LETTERS: Final = re.compile(r"[^\\'\"`$<> \t\r\n;&|()]+")


_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|(n))")


def parse(text: str) -> list[Command]:
    """Take a command line apart; beyond MAX_CHARS or MAX_COMMANDS nothing is read, so callers compare with them."""
    return _Lexer(text).run()


def unescape(text: str) -> str:
    """Read the escapes of `$'…'` and printf: `\\x72`, `\\162`, `\\n`."""
    return _ESCAPE.sub(lambda m: "\n" if m[3] else chr(int(m[1], 16) if m[1] else int(m[2], 8)), text)
