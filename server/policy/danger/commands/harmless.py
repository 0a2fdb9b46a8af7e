"""Command lines that only look: dry runs, help, programs that print."""

import re
from typing import Final

from server.policy.danger.commands.step import Step
from server.policy.danger.commands.words import HARMLESS_FLAGS, PRINTERS
from server.policy.danger.paths import is_key

_WITH_N: Final = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*")
_LISTERS: Final = ("git", "systemctl", "sudo")
"""`--list` of these names what is listed, and says nothing about the rest."""


_SHOWING: Final = frozenset("cat bat head tail less more tac nl xxd od hexdump base64 strings pbcopy xclip".split())
_DELETERS: Final = ("rm", "rmdir", "unlink")
# what programs make anew whenever they need it
_MADE_ANEW: Final = re.compile(
    r"(?:\./)?(?:[\w@.-]+/)*(?:node_modules|__pycache__|\.(?:pytest|mypy|ruff)_cache|\.parcel-cache|\.turbo|\.nyc_output|\.tox|htmlcov|\.eggs|\.DS_Store|[^/]*\.pyc)"
    r"(?:/[\w.*-]*)*"
)
_SCRATCH_FILE: Final = re.compile(r"(?:/tmp|/var/tmp|/dev/shm|\$\{?TMPDIR\}?)/[\w.@%+-]*\w[\w.@%+/*-]*")


def shows_keys(step: Step) -> bool:
    """A program that prints, and a file that nobody prints in passing."""
    return step.name in _SHOWING and any(map(is_key, step.rest))


def deletes_only_scratch(step: Step) -> bool:
    """Temporary files, and caches below the current folder."""
    plain = [word for word in step.rest if not word.startswith("-")]
    return step.name in _DELETERS and bool(plain) and all(map(_is_expendable, plain))


def _is_expendable(path: str) -> bool:
    return ".." not in path and bool(_SCRATCH_FILE.fullmatch(path) or _MADE_ANEW.fullmatch(path))


def only_looks(step: Step) -> bool:
    name, rest = step.name, step.rest
    if HARMLESS_FLAGS & set(rest) and not (name in _LISTERS and "--list" in rest):
        return True
    if name in PRINTERS:
        return True
    match name:
        case "git":
            return rest[:1] == ["-n"]
        case "rsync":
            return any(_WITH_N.fullmatch(word) for word in rest)
        case "apt" | "apt-get" | "aptitude":
            return "-s" in rest
    return False
