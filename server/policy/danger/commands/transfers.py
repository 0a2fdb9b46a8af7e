"""Programs that fetch and send, and what they hand on."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from server.policy.danger.commands.shell import Command, parse, unescape
from server.policy.danger.commands.words import followed
from server.policy.danger.paths import is_private

SHELLS: Final = frozenset("sh bash zsh dash ksh ash fish csh tcsh mksh rbash busybox-sh".split())
DOWNLOADERS: Final = frozenset("curl wget fetch aria2c http https xh lynx lwp-request".split())
_SENDERS: Final = DOWNLOADERS | {"nc", "ncat", "dig", "nslookup", "host", "ping"}
_STARTERS: Final = SHELLS | {"python", "python3", "sudo", "source", ".", "node", "perl", "ruby"}
_DUMPERS: Final = frozenset(
    "mysqldump mariadb-dump pg_dump pg_dumpall mongodump mongoexport ldapsearch slapcat".split()
)
_ARCHIVERS: Final = frozenset("tar zip cpio find dd bsdtar".split())
_WHOLE: Final = frozenset("/ ~ ~/ $HOME $HOME/ /home /root /etc /srv /var/www if=/dev/sda".split())
_OUTPUT_FLAGS: Final = ("-o", "-O", "--output", "--output-document")
_FOLDERS: Final = re.compile(r"^(?:[A-Za-z]:)?[\\/]?[\w .\\/:+-]*[\\/]")
_MAX_PROGRAM_CHARS: Final = 300


def program_of(word: str) -> str:
    """A program without its folder and `.exe`."""
    return _program_of(word[:_MAX_PROGRAM_CHARS])


@lru_cache(maxsize=1024)
def _program_of(word: str) -> str:
    name = _FOLDERS.sub("", word) if ("/" in word or "\\" in word) else word
    return name[:-4] if name.lower().endswith(".exe") else name


def sends(words: list[str]) -> bool:
    return bool(words) and program_of(words[0]) in _SENDERS


def reads_private(script: str) -> bool:
    return any(is_private_reader(command) for command in parse(script))


def is_private_reader(command: Command) -> bool:
    """It prints what is private: a key, the environment, a whole database or home."""
    if not command.words:
        return False
    name = program_of(command.words[0])
    if name in _DUMPERS or (name in _ARCHIVERS and _WHOLE & set(command.words[1:])):
        return True
    shows_environment = name in ("env", "printenv", "history") and len(command.words) == 1
    return shows_environment or any(map(is_private, command.words[1:]))


def downloaded_then_run(commands: list[Command]) -> str | None:
    """`curl -o x … && chmod +x x && ./x`"""
    fetched: set[str] = set()
    for command in commands:
        if not command.words:
            continue
        if program_of(command.words[0]) in DOWNLOADERS:
            fetched |= _fetched(command) - {""}
        elif fetched and any(word.lstrip("./") in fetched for word in _started(command.words)):
            return "runs what it has just downloaded"
    return None


def written_then_run(commands: list[Command]) -> Iterator[tuple[str, str]]:
    """`cat <<X > f; sh f`, `echo … > f && ./f`: what starts a script that the same text writes, and the script."""
    written: dict[str, str] = {}
    for command in commands:
        if not command.words:
            continue
        for word in _started(command.words) if written else ():
            if text := written.get(word.removeprefix("./")):
                yield program_of(command.words[0]), text
        if text := _printed(command):
            for redirect in command.redirects:
                if redirect.sign in (">", ">>", ">|") and redirect.target:
                    written[redirect.target.removeprefix("./")] = text
        if program_of(command.words[0]) == "tee" and text:
            written.update((word, text) for word in command.words[1:] if not word.startswith("-"))


def _printed(command: Command) -> str:
    name = program_of(command.words[0])
    if name in ("echo", "printf"):
        return unescape(" ".join(word for word in command.words[1:] if word not in ("-e", "-n")))
    return "\n".join(redirect.target for redirect in command.redirects if redirect.sign in ("<<", "<<-", "<<<"))


def _fetched(command: Command) -> set[str]:
    """Names of the files that a downloader writes."""
    names = {redirect.target.lstrip("./") for redirect in command.redirects if ">" in redirect.sign}
    for word, following in followed(command.words):
        if word in _OUTPUT_FLAGS and following:
            names.add(following.lstrip("./"))
        elif "://" in word:
            names.add(word.rsplit("/", 1)[-1])
    return names


def _started(words: list[str]) -> list[str]:
    """The script that a command runs."""
    name = program_of(words[0])
    if name == "sudo" and len(words) > 1:
        return _started(words[1:])
    if name == "chmod":
        return words[2:3]
    if name in SHELLS:
        return [word for word in words[1:] if not word.startswith("-")][:1]
    return words[1:2] if name in _STARTERS else words[:1]
