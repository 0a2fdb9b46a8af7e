"""Patterns over the arguments of a program; danger.toml says how they are written."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Final

_GAP: Final = "..."
_LONGEST_CLUSTER: Final = 6
"""Signs in a bundle of short flags; longer ones are words of their own, such as `-delete`."""

Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class ProgramArguments:
    """Arguments of one program: all of them, those that are no flags, and the flags; values of flags are neither."""

    words: Sequence[str]
    plain: Sequence[str]
    flags: Sequence[str]


def part_arguments(words: Sequence[str], value_flags: frozenset[str]) -> ProgramArguments:
    """Tell flags, their values and the rest apart; `-am text` takes a value where `-m` does."""
    plain: list[str] = []
    flags: list[str] = []
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word[:1] == "-" and len(word) > 1:
            flags.append(word)
            is_value = word in value_flags or (word[1:].isalpha() and f"-{word[-1]}" in value_flags)
        else:
            plain.append(word)
    return ProgramArguments(words, plain, flags)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pattern of the table, ready to be compared."""

    text: str
    front: tuple[Test | None, ...]
    """Tests of the words in front; None stands for a gap."""
    flags: tuple[tuple[str, ...], ...]
    some: tuple[Test, ...]
    every: tuple[Test, ...]
    last: tuple[Test, ...]
    no_flags: tuple[str, ...]
    none: tuple[Test, ...]

    def fits(self, given: ProgramArguments) -> bool:
        return (
            _fits_front(self.front, given.plain)
            and all(any(has_flag(given.flags, flag) for flag in flags) for flags in self.flags)
            and all(any(map(test, given.words)) for test in self.some)
            and all(given.plain and all(map(test, given.plain)) for test in self.every)
            and all(given.plain and test(given.plain[-1]) for test in self.last)
            and not any(has_flag(given.flags, flag) for flag in self.no_flags)
            and not any(any(map(test, given.words)) for test in self.none)
        )


def compile_pattern(text: str, paths: Mapping[str, Test]) -> Pattern:
    """Raises ValueError for a pattern without a part, with an empty choice, or with an unknown list of paths."""
    tests: dict[str, list[Test]] = {"~": [], "=": [], ">": [], "!~": []}
    front: list[Test | None] = []
    flags: list[tuple[str, ...]] = []
    no_flags: list[str] = []
    for part in text.split():
        sign = "!~" if part.startswith("!~") else part[0]
        choices = part.removeprefix(sign if sign in tests or sign == "!" else "").split("|")
        if not all(choices):
            raise ValueError(f"in the pattern {text!r} nothing stands on one side of a |")
        if sign in tests:
            tests[sign].append(_test(choices, paths))
        elif sign == "!":
            no_flags += choices
        elif sign == "-":
            flags.append(tuple(choices))
        else:
            front.append(None if part == _GAP else _test(choices, paths))
    if not (front or flags or no_flags or any(tests.values())):
        raise ValueError("a pattern needs at least one word, -flag or ~glob")
    some, every, last, none = map(tuple, tests.values())
    return Pattern(text, tuple(front), tuple(flags), some, every, last, tuple(no_flags), none)


def _test(choices: Sequence[str], paths: Mapping[str, Test]) -> Test:
    names = [choice[1:] for choice in choices if choice[0] == "@" and choice[1:].isidentifier()]
    if missing := [name for name in names if name not in paths]:
        raise ValueError(f"@{missing[0]} is no list of [paths]; those are {', '.join(paths)}")
    own = one_of([choice for choice in choices if choice[1:] not in names])
    return (lambda text: own(text) or any(paths[name](text) for name in names)) if names else own


def one_of(choices: Sequence[str]) -> Test:
    """Make a test for texts that equal one of the choices, or fit it where it is a glob."""
    globs = [choice for choice in choices if any(sign in choice for sign in "*?[")]
    exact = frozenset(choices).difference(globs)
    if not globs:
        return exact.__contains__
    match = re.compile("|".join(map(translate, globs))).match
    return lambda text: text in exact or match(text) is not None


def has_flag(flags: Iterable[str], flag: str) -> bool:
    """Tell whether a flag is there: `-f` also within `-xfd` and as `-f0`, `--force` also as `--force=yes`."""
    if len(flag) == 2 and flag[1].isalnum():
        return any(word == flag or (flag[1] in word and _is_cluster(word, flag[1])) for word in flags)
    return any(word == flag or word.startswith(flag + "=") for word in flags)


def _is_cluster(word: str, letter: str) -> bool:
    if word[1] == letter and word[2:].isdigit():
        return True
    return word[1:].isalpha() and len(word) <= _LONGEST_CLUSTER


def _fits_front(front: Sequence[Test | None], plain: Sequence[str]) -> bool:
    at = 0
    has_gap = False
    for test in front:
        if test is None:
            has_gap = True
            continue
        while has_gap and at < len(plain) and not test(plain[at]):
            at += 1
        if at >= len(plain) or not test(plain[at]):
            return False
        at += 1
        has_gap = False
    return True
