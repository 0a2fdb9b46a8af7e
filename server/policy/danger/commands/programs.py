"""Judges a program by the rules for its words and flags."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from server.policy.danger.commands.rules import (
    databases,
    disks,
    files,
    machines,
    network,
    packages,
    system,
    version_control,
)
from server.policy.danger.commands.services import judge_cloud, judge_verbs
from server.policy.danger.commands.step import Step

_BY_VERB: Final = {"VERBS": judge_verbs, "CLOUD": judge_cloud}
_TABLES: Final = (files, disks, system, network, packages, version_control, databases, machines)
_FIRST_WORDS: Final = 6
_GIT_OPTIONS_WITH_VALUE: Final = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
_GIT_COMMANDS_WITH_DRY_RUN: Final = ("push", "clean", "rm", "add", "mv", "prune")


def by_rules(step: Step) -> str | None:
    return judge_by_rules(step.name, step.rest)


def judge_by_rules(program: str, words: list[str]) -> str | None:
    if program == "git":
        words = _without_git_options(words)
        if words[:1] == ["help"] or "-h" in words[1:2]:
            return None
        if words and words[0] in _GIT_COMMANDS_WITH_DRY_RUN and "-n" in words:
            return None
    plain = [word for word in words if not word.startswith("-") or word == "-"][:_FIRST_WORDS]
    for rule in _rules_for(program):
        if judge := _BY_VERB.get(rule.reason):
            if reason := judge(words):
                return reason
        elif rule.fits(words, plain):
            return rule.reason
    return None


def _without_git_options(words: list[str]) -> list[str]:
    """From the command on: `git -C folder push`."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        if rest.pop(0) in _GIT_OPTIONS_WITH_VALUE and rest:
            rest.pop(0)
    return rest


@dataclass(frozen=True, slots=True)
class _Rule:
    reason: str
    words: tuple["_Wanted", ...]
    flags: tuple[frozenset[str], ...]
    without: frozenset[str]
    globs: tuple[tuple[str, ...], ...]

    def fits(self, words: list[str], plain: list[str]) -> bool:
        """`words`: the program's arguments; `plain`: the first of them that are no flags."""
        return (
            self._words_fit(words, plain)
            and all(any(_has_flag(words, flag) for flag in flags) for flags in self.flags)
            and not any(_has_flag(words, flag) for flag in self.without)
            and all(any(fnmatchcase(word, glob) for word in words for glob in globs) for globs in self.globs)
            and (bool(words) or not (self.words or self.flags or self.globs))
        )

    def _words_fit(self, words: list[str], plain: list[str]) -> bool:
        at = 0
        for wanted in self.words:
            is_flag_there = wanted.flags != () and any(_has_flag(words, flag) for flag in wanted.flags)
            while at < len(plain) and not (is_flag_there or wanted.is_any or plain[at] in wanted.words):
                at += 1
            if at == len(plain) and not is_flag_there:
                return False
            at += 1
        return True


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One of these words, or one of these flags wherever it stands."""

    words: frozenset[str]
    flags: tuple[str, ...]
    is_any: bool


def _has_flag(words: list[str], flag: str) -> bool:
    if len(flag) == 2 and flag[0] == "-" and flag[1].isalpha():
        letter = flag[1]
        return any(w[:1] == "-" and w[:2] != "--" and letter in w[1:] and _is_cluster(w, letter) for w in words)
    return any(word == flag or (flag[:2] == "--" and word.startswith(flag + "=")) for word in words)


def _is_cluster(word: str, letter: str) -> bool:
    """`-xfd` or `-s0` rather than the one long flag of `-delete`."""
    if word[1] == letter and word[2:].isdigit():
        return True
    return word[1:].isalpha() and (len(word) <= 6 or word[1] == letter)


# --- the tables


def _read(table: str) -> dict[str, list[_Rule]]:
    rules: dict[str, list[_Rule]] = {}
    for reason, pattern in _patterns(table):
        programs, *parts = pattern.split()
        rule = _rule(reason, parts)
        for program in programs.split("|"):
            rules.setdefault(program, []).append(rule)
    return rules


def _patterns(table: str) -> list[tuple[str, str]]:
    """Each with its reason; lines that go on are put together."""
    found: list[tuple[str, str]] = []
    reason = ""
    for line in table.strip().splitlines():
        if not line.startswith(" "):
            reason = line.removesuffix(":")
        elif line.startswith("        "):
            pattern = found[-1][1]
            found[-1] = (reason, pattern + ("" if pattern.endswith("|") else " ") + line.strip())
        else:
            found.append((reason, line.strip()))
    return found


def _rule(reason: str, parts: list[str]) -> _Rule:
    def of(sign: str) -> list[list[str]]:
        return [part.removeprefix(sign).split("|") for part in parts if part.startswith(sign)]

    return _Rule(
        reason=reason,
        words=tuple(_wanted(part.split("|")) for part in parts if part[0] not in "!~-"),
        flags=tuple(frozenset(part.split("|")) for part in parts if part[0] == "-"),
        without=frozenset(flag for flags in of("!") for flag in flags),
        globs=tuple(tuple(globs) for globs in of("~")),
    )


def _wanted(words: list[str]) -> _Wanted:
    return _Wanted(frozenset(words), tuple(word for word in words if word[:1] == "-"), "*" in words)


_RULES: Final = _read("\n".join(table.RULES.strip() for table in _TABLES))
_GLOBBED: Final = tuple(name for name in _RULES if "*" in name)


_SERVICES: Final = frozenset(name for name, rules in _RULES.items() if any(rule.reason in _BY_VERB for rule in rules))


def has_rules(program: str) -> bool:
    return program in _RULES


def is_service(program: str) -> bool:
    """Its words are the nouns and verbs of a service."""
    return program in _SERVICES


@lru_cache(maxsize=1024)
def _rules_for(program: str) -> list[_Rule]:
    found = _RULES.get(program, [])
    for name in _GLOBBED:
        if fnmatchcase(program, name):
            found = [*found, *_RULES[name]]
    return found
