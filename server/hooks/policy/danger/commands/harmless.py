"""Command lines that only look: dry runs, help, programs that print."""

import re
from typing import Final

from server.hooks.policy.danger.commands.step import Step
from server.hooks.policy.danger.commands.words import HARMLESS_FLAGS, PRINTERS

_WITH_N: Final = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*")
_LISTERS: Final = ("git", "systemctl", "sudo")
"""`--list` of these names what is listed, and says nothing about the rest."""


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
