"""Targets of make and its like: their names say what they do."""

import re
from typing import Final

from server.policy.danger.commands.step import Step

MAKERS: Final = frozenset(("make", "gmake", "ninja", "just"))
_DRY: Final = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--just-print|--dry-run")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_TARGETS: Final = frozenset(
    "nuke destroy wipe purge drop publish deploy release reset uninstall distclean mrproper teardown flash flush".split()
)


def by_make(step: Step) -> str | None:
    if any(_DRY.fullmatch(word) for word in step.rest):
        return None
    for rule in (*step.here_documents, *(" ".join(feeder.words[1:]) for feeder in step.feeders)):
        if reason := step.nested.line("\n".join(line.strip("\t @-") for line in rule.splitlines())):
            return reason
    for word in step.rest:
        if _ASSIGNMENT.match(word) and (reason := step.nested.line(word.partition("=")[2])):
            return reason
        if not word.startswith("-") and _TARGETS & set(re.split(r"[-_:./]", word.lower())):
            return "makes what cannot be taken back"
    return None
