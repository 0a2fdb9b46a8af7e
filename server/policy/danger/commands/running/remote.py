"""Programs that run a command on another machine."""

from typing import Final

from server.policy.danger.commands.step import HARMLESS, Judge, Step
from server.policy.danger.commands.transfers import SHELLS, is_private_reader

_WITH_VALUE: Final = frozenset("bcDEeFIiJLlmOopQRSWw")

_MANY_WITH_VALUE: Final = frozenset("hHlptoewgxcfuIR")


def _by_ssh(step: Step) -> str:
    words = list(step.rest)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word[1:2] in ("R", "L", "D", "w") or "R" in word[1:3]:
            return "opens a tunnel"
        if len(word) == 2 and word[1] in _WITH_VALUE and words:
            name, _, value = words.pop(0).partition("=")
            if name.endswith("Command") and (reason := step.nested.line(value)):
                return reason
    if any(map(is_private_reader, step.feeders)):
        return "sends away what is private"
    if words[1:] and words[1] not in SHELLS:
        return step.nested.line(" ".join(words[1:])) or HARMLESS
    scripts = (" ".join(words[1:]), *step.here_documents)  # `ssh host bash -s <<X`
    return next((reason for script in scripts if script and (reason := step.nested.line(script))), HARMLESS)


def _by_many(step: Step) -> str:
    """The same command on many machines."""
    words = list(step.rest)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if len(word) == 2 and word[1] in _MANY_WITH_VALUE and words:
            words.pop(0)
    return step.nested.line(" ".join(words)) or HARMLESS


JUDGES: Final[dict[str, Judge]] = {
    **dict.fromkeys(("ssh", "rsh", "mosh", "plink", "autossh"), _by_ssh),
    **dict.fromkeys(("pdsh", "pssh", "parallel-ssh", "clush", "dsh", "mussh", "cssh", "orgalorg", "sshpass"), _by_many),
}
