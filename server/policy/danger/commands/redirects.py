"""What a command's redirections do: to the system, to files, to other machines."""

import re
from typing import Final

from server.policy.danger.commands.shell import Command, Redirect
from server.policy.danger.commands.transfers import SHELLS, program_of
from server.policy.danger.commands.words import SQL_CLIENTS
from server.policy.danger.paths import is_protected, is_scratch

_READERS: Final = SQL_CLIENTS | SHELLS
_DISKS: Final = ("/dev/sd", "/dev/nvme", "/dev/disk")
_HUGE: Final = re.compile(r"(?:-c|--bytes=)?\d+[GTPE]i?B?")
_ENDLESS: Final = ("/dev/zero", "/dev/random", "/dev/urandom")


def judge_redirects(command: Command) -> str | None:
    name = program_of(command.words[0]) if command.words else ""
    for redirect in command.redirects:
        if redirect.sign == "<" and redirect.target and name in _READERS:
            return "runs a file unseen"
        if ">" in redirect.sign and redirect.target and (reason := _writes(redirect, name, command.words[1:])):
            return reason
    return None


def _writes(redirect: Redirect, name: str, rest: list[str]) -> str | None:
    target = redirect.target
    if target.startswith(("/dev/tcp/", "/dev/udp/")):
        return "opens a connection to another machine"
    if is_protected(target) or (redirect.sign != ">>" and target.startswith(_DISKS)):
        return "writes where the system or the login is set up"
    if redirect.sign == ">>" or is_scratch(target) or target.startswith("/dev/"):
        return None
    if _is_nothing(name, rest):
        return "empties a file"
    if name == "head" and any(_HUGE.fullmatch(word) for word in rest):
        return "fills the disk"
    if name == "yes" or (name == "cat" and any(word.startswith(_ENDLESS) for word in rest)):
        return "fills the disk"
    return None


def _is_nothing(name: str, rest: list[str]) -> bool:
    """What it writes is empty."""
    if name in ("", ":", "true") or (name == "cat" and rest == ["/dev/null"]):
        return True
    return name in ("echo", "printf") and not "".join(word for word in rest if word not in ("-n", "-e", "")).strip()
