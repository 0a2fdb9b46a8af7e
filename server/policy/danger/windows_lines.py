"""Lexer for cmd.exe and PowerShell: text → the commands that it would run, each as a list of words."""

import re
from collections.abc import Iterator
from typing import Final

_PIECE: Final = re.compile(r"\"[^\"]*\"?|'[^']*'?|[|;&\n{}()]|[^\s\"'|;&{}()]+|[ \t]+")
_ESCAPES: Final = re.compile(r"[\^`](?!\n)")
_ASSIGNMENT: Final = re.compile(r"\$[\w:.]+$|[+-]?=$")


def commands(text: str) -> Iterator[list[str]]:
    """Yield the commands, parted at pipes, signs and braces; quotes and escapes are taken away."""
    words: list[str] = []
    word = ""
    for piece in (*_PIECE.findall(_ESCAPES.sub("", text)), ";"):
        if piece[0] in "|;&\n{}()" or piece.isspace():
            if word:
                words.append(word)
                word = ""
            if not piece.isspace() or piece == "\n":
                while len(words) > 1 and (_ASSIGNMENT.match(words[0]) or words[0].lower() in _KEYWORDS):
                    del words[0]
                if words:
                    yield words
                words = []
        else:
            word += piece.strip("\"'") or "''"
    return


_KEYWORDS: Final = frozenset("if else do in for foreach while return try catch % ? & @ . %i %%i %f".split())


def program(word: str) -> str:
    """Return a program in small letters, without its folder and ending."""
    name = word.replace("\\", "/").rsplit("/", 1)[-1].lower() if not word.startswith("[") else word.lower()
    return name.removesuffix(".exe").removesuffix(".cmd")


def inner(words: list[str]) -> str:
    """Return the command line that cmd or PowerShell is given as arguments."""
    for at, word in enumerate(words):
        if word.lower() in ("/c", "/k", "-c", "-command"):
            return " ".join(words[at + 1 :])
    return " ".join(words)
