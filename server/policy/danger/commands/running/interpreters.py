"""Interpreters: the program that one is given as a word, in a here-document, or through a pipe."""

from typing import Final

from server.policy.danger.code.other import judge_code
from server.policy.danger.code.python import judge_python
from server.policy.danger.commands.programs import judge_by_rules
from server.policy.danger.commands.running.shells import decodes_or_fetches
from server.policy.danger.commands.shell import SUBSTITUTED
from server.policy.danger.commands.step import HARMLESS, Judge, Step
from server.policy.danger.commands.transfers import DOWNLOADERS, program_of
from server.policy.danger.commands.words import INTERPRETERS

_PYTHONS: Final = ("python", "pypy", "ipython")
_EVALUATING: Final = frozenset("-E -pe -ne -p --eval -lane --print -le -nle".split())
"""Beside `-e`, where a program takes that."""
_READ_FROM: Final = ("(…)", SUBSTITUTED)
"""A program that another one prints."""
_MANAGERS: Final = ("manage.py", "artisan", "wp-cli.phar", "occ", "console")
"""Scripts whose commands are known."""


def _by_interpreter(step: Step) -> str | None:
    if any(map(decodes_or_fetches, step.command.inner)) and any(word in _READ_FROM for word in step.rest):
        return "runs a stranger's code"
    flag = INTERPRETERS[step.name]
    flags = {flag, *_EVALUATING} if flag == "-e" else {flag}
    for word, following in zip(step.rest, step.rest[1:], strict=False):
        if word in flags:
            return _judge(step, following)
    for text in step.here_documents:
        return _judge(step, text) or HARMLESS
    if step.feeders and (not step.rest or step.rest == ["-"]):
        return _by_pipe(step)
    if step.rest and (script := program_of(step.rest[0])) in _MANAGERS:
        return judge_by_rules(script, step.rest[1:]) or HARMLESS
    if step.rest[:2] == ["-m", "pip"]:
        return judge_by_rules("pip", step.rest[2:]) or HARMLESS
    return None


def _judge(step: Step, code: str) -> str | None:
    judge = judge_python if step.name.startswith(_PYTHONS) else judge_code
    return judge(code, step.nested)


def _by_pipe(step: Step) -> str:
    names = {program_of(feeder.words[0]) for feeder in step.feeders if feeder.words}
    if DOWNLOADERS & names:
        return "runs a stranger's code"
    if names & {"base64", "xxd", "openssl"}:
        return "runs hidden code"
    return _judge(step, " ".join(step.feeders[-1].words[1:])) or HARMLESS


def _by_awk(step: Step) -> str | None:
    if step.rest and "/inet/" in step.rest[0]:
        return "opens a connection to another machine"
    return judge_code(step.rest[0], step.nested) if step.rest and "system(" in step.rest[0] else None


def _by_mongo(step: Step) -> str | None:
    code = step.after("--eval")
    return (judge_code(code, step.nested) or HARMLESS) if code else None


JUDGES: Final[dict[str, Judge]] = {
    **dict.fromkeys(INTERPRETERS, _by_interpreter),
    **dict.fromkeys(("awk", "gawk"), _by_awk),
    **dict.fromkeys(("mongosh", "mongo"), _by_mongo),
}
