"""Commands inside the arguments of any program: behind `--`, or as the value of a flag that promises one."""

import re
from collections.abc import Iterator
from typing import Final

from server.policy.danger.commands.step import Step
from server.policy.danger.commands.words import followed

_PROMISING: Final = re.compile(
    r"--?(?:(?:shell-|remote-|pre-|post-|on-)?(?:command|cmd|exec|run|script|scripts|hook|wrap|action)|to-command|rsh|use-compress-program"
    r"|(?:pre|post)-(?:command|script|hook|exec|run)|checkpoint-action|exec-batch|C|ex)"
)
_ASSIGNED: Final = re.compile(r"^(?:exec|command|cmd|commands)=\[?['\"]?")
_IN_A_WORD: Final = re.compile(
    r"(?:(?:Proxy|Local|Remote)Command=|\+!|(?:call|print|p|shell|!)\s+(?:\(\w+\)\s*)?(?:system|popen|execl)\w*\(\"?)(.+)"
)
_OWN_FLAGS: Final = {"zip": "-TT", "man": "-P", "rsync": "-e", "sort": "--compress-program", "less": "-P"}
_NO_COMMAND_BEHIND: Final = frozenset(
    "git hg svn npm pnpm yarn cargo go pytest grep rg sed awk find test psql mysql kubectl oc tar ssh env echo".split()
)
"""What stands behind their `--` are files, patterns, or arguments of what they run."""


def by_inner_command(step: Step) -> str | None:
    if "--" in step.rest and step.name not in _NO_COMMAND_BEHIND:
        inner = step.rest[step.rest.index("--") + 1 :]
        if inner and (reason := step.nested.argv(inner)):
            return reason
    for word in step.rest:
        if (match := _IN_A_WORD.match(word)) and (reason := step.nested.line(match[1])):
            return reason
    flag = _OWN_FLAGS.get(step.name, "")
    if flag and (reason := step.nested.line(step.after(flag))):
        return reason
    return next((reason for text in _promised(step.rest) if (reason := step.nested.line(text))), None)


def _promised(words: list[str]) -> Iterator[str]:
    for word, following in followed(words):
        flag, sign, value = word.partition("=")
        if not _PROMISING.fullmatch(flag):
            continue
        text = _ASSIGNED.sub("", value if sign else following).rstrip("]\"'")
        if " " in text:
            yield text
