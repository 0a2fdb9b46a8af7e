"""Programs that run a command later, again, or for each of many: traps, timetables, find, terminals, git."""

import re
from typing import Final

from server.policy.danger.commands.step import HARMLESS, Judge, Step
from server.policy.danger.commands.transfers import program_of
from server.policy.danger.commands.windows import judge_windows
from server.policy.danger.commands.words import followed

_IN_PLACE: Final = re.compile(r"-[a-zA-Z]*i|--in-place")
_RUN_BY_GIT: Final = frozenset(
    "core.pager core.editor core.sshcommand core.fsmonitor sequence.editor diff.external credential.helper core.askpass gpg.program".split()
)
_FIND_RUNS: Final = frozenset("-exec -execdir -ok -okdir".split())
_FD_RUNS: Final = frozenset("-x -X --exec --exec-batch".split())


def _by_find(step: Step) -> str | None:
    starts = _FIND_RUNS if step.name == "find" else _FD_RUNS
    for at, word in enumerate(step.rest):
        if word == "-delete":
            return "deletes what it finds"
        if word in ("-fprint", "-fls") and step.name == "find":
            return None
        if word in starts:
            inner = step.rest[at + 1 :]
            stop = next((i for i, w in enumerate(inner) if w in (";", "+", "\\;")), len(inner))
            if reason := step.nested.words(inner[:stop]):
                return reason
            if rewrites(inner[:stop]):
                return "rewrites many files"
    return HARMLESS


def rewrites(words: list[str]) -> bool:
    """`sed -i`, which is harmless on one file that is named."""
    in_place = any(_IN_PLACE.match(word) for word in words[1:])
    return in_place and program_of(words[0]) in ("sed", "gsed", "perl", "ruby")


def _by_trap(step: Step) -> str | None:
    return (step.nested.line(step.rest[0]) or HARMLESS) if len(step.rest) > 1 else None


def _by_crontab(step: Step) -> str | None:
    return "schedules commands" if any(feeder.words[1:] for feeder in step.feeders) else None


def _by_at(step: Step) -> str | None:
    reasons = (step.nested.line(" ".join(feeder.words[1:])) for feeder in step.feeders)
    return next((reason for reason in reasons if reason), None)


def _by_git(step: Step) -> str | None:
    for word, following in followed(step.rest):
        key, _, value = following.partition("=")
        if (
            word == "-c"
            and (key.startswith("alias.") or key.lower() in _RUN_BY_GIT)
            and (reason := step.nested.line(value.lstrip("!")))
        ):
            return reason
    match step.rest:
        case ["bisect", "run", *inner]:
            return step.nested.words(inner, step.command) or HARMLESS
        case ["submodule", "foreach", *inner]:
            return step.nested.line(" ".join(inner)) or HARMLESS
    return None


def _by_ip(step: Step) -> str | None:
    match step.rest:
        case ["netns", "exec", _, *inner]:
            return step.nested.words(inner, step.command) or HARMLESS
    return None


def _by_expect(step: Step) -> str | None:
    script = step.after("-c")
    return step.nested.line(script.replace("spawn ", "", 1)) or HARMLESS if script else None


def _by_terminal(step: Step) -> str:
    for word in step.rest:
        if " " in word and (reason := step.nested.line(word)):
            return reason
    return "kills sessions" if any(word.startswith("kill-") for word in step.rest) else HARMLESS


def _by_windows(step: Step) -> str:
    return judge_windows(" ".join([step.name, *step.rest])) or HARMLESS


JUDGES: Final[dict[str, Judge]] = {
    **dict.fromkeys(("find", "fd", "fdfind"), _by_find),
    **dict.fromkeys(("powershell", "powershell.exe", "pwsh", "pwsh.exe", "cmd", "cmd.exe"), _by_windows),
    **dict.fromkeys(("at", "batch"), _by_at),
    **dict.fromkeys(("tmux", "screen", "zellij"), _by_terminal),
    "trap": _by_trap,
    "crontab": _by_crontab,
    "git": _by_git,
    "ip": _by_ip,
    "expect": _by_expect,
}
