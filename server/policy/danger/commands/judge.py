"""Judges one program of a command line: what it runs, whether its flags make it harmless, then what its words say."""

from itertools import chain
from typing import Final

from server.policy.danger.commands.harmless import deletes_only_scratch, only_looks, shows_keys
from server.policy.danger.commands.inner import by_inner_command
from server.policy.danger.commands.make import MAKERS, by_make
from server.policy.danger.commands.programs import by_rules, has_rules
from server.policy.danger.commands.running import (
    containers,
    interpreters,
    jobs,
    remote,
    shells,
    sql_clients,
    tasks,
    wrappers,
)
from server.policy.danger.commands.senders import by_sender
from server.policy.danger.commands.step import Judge, Step
from server.policy.danger.commands.system_files import by_system_files
from server.policy.danger.commands.transfers import DOWNLOADERS
from server.policy.danger.commands.unknown import by_unknown


def judge_step(step: Step) -> str | None:
    for judge in _RUNNING.get(step.name, ()):
        if (reason := judge(step)) is not None:
            return reason or None
    if step.name in MAKERS and not only_looks(step):
        return by_make(step)
    if shows_keys(step):
        return "shows private keys"
    if only_looks(step) or deletes_only_scratch(step):
        return None
    known = by_rules(step) or by_system_files(step) or by_sender(step) or by_inner_command(step)
    return known or (None if is_known(step.name) else by_unknown(step))


def is_known(program: str) -> bool:
    """Whether there is a rule for it, or it runs others."""
    return program in _RUNNING or program in DOWNLOADERS or has_rules(program)


def _by_program(*tables: dict[str, Judge]) -> dict[str, list[Judge]]:
    judges: dict[str, list[Judge]] = {}
    for program, judge in chain.from_iterable(table.items() for table in tables):
        judges.setdefault(program, []).append(judge)
    return judges


# programs that run others; where a program stands twice, the first answer counts
_RUNNING: Final = _by_program(
    shells.JUDGES,
    remote.JUDGES,
    containers.JUDGES,
    sql_clients.JUDGES,
    interpreters.JUDGES,
    jobs.JUDGES,
    tasks.JUDGES,
    wrappers.ASKING,
    wrappers.JUDGES,
)
