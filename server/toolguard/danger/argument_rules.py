"""Patterns over the arguments of a program; danger.toml says how they are written."""

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from itertools import islice
from typing import Final, NamedTuple

_LONGEST_CLUSTER: Final = 6
"""Signs in a bundle of short flags; longer ones are words of their own, such as `-delete`."""
Test = Callable[[str], bool]


class ProgramArguments(NamedTuple):
    """Arguments of one program: all of them, those that are no flags, and the flags; values of flags are neither."""

    words: Sequence[str]
    plain: Sequence[str]
    flags: Sequence[str]


Pattern = Callable[[ProgramArguments], bool]
_PARTS: Final[dict[str, Callable[[ProgramArguments, Test], bool]]] = {
    "!~": lambda given, test: not any(map(test, given.words)),
    "~": lambda given, test: any(map(test, given.words)),
    "=": lambda given, test: bool(given.plain) and all(map(test, given.plain)),
    ">": lambda given, test: any(map(test, given.plain[-1:])),
    "!": lambda given, test: not any(map(test, given.flags)),
    "-": lambda given, test: any(map(test, given.flags)),
}
"""Comparisons for a part of a pattern, by the sign that it begins with."""


def part_arguments(words: Sequence[str], value_flags: frozenset[str]) -> ProgramArguments:
    """Separate flags, their values and the rest; `-am text` takes a value where `-m` does."""
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


def compile_pattern(text: str, lists: Mapping[str, Test]) -> Pattern:
    """Make a test of arguments. Raises ValueError for an empty pattern, an empty choice, or an unknown list."""
    front: list[Test | None] = []
    parts: list[tuple[Callable[[ProgramArguments, Test], bool], Test]] = []
    for part in text.split():
        sign = next((sign for sign in _PARTS if part.startswith(sign)), "")
        choices = part.removeprefix(sign if sign != "-" else "").split("|")
        if not all(choices):
            raise ValueError(f"in {text!r} one side of a | is empty")
        if sign in ("-", "!"):
            parts.append((_PARTS[sign], _flag_test(choices)))
        elif sign:
            parts.append((_PARTS[sign], _test(choices, lists)))
        else:
            front.append(None if part == "..." else _test(choices, lists))
    if not (front or parts):
        raise ValueError("a rule needs at least one word, -flag or ~glob after the program's name")
    return lambda given: _fits_front(front, given.plain) and all(check(given, test) for check, test in parts)


def _test(choices: Sequence[str], lists: Mapping[str, Test]) -> Test:
    names = [choice[1:] for choice in choices if choice[0] == "@" and choice[1:].isidentifier()]
    if missing := [name for name in names if name not in lists]:
        raise ValueError(f"there is no list @{missing[0]}; [lists] and [paths] define {', '.join(lists)}")
    own = one_of([choice for choice in choices if choice[1:] not in names])
    return (lambda text: own(text) or any(lists[name](text) for name in names)) if names else own


def one_of(choices: Sequence[str]) -> Test:
    """Make a test for texts that equal one of the choices, or fit it where it is a glob."""
    globs = [choice for choice in choices if any(sign in choice for sign in "*?[")]
    exact = frozenset(choices).difference(globs)
    match = re.compile("|".join(map(translate, globs))).match
    return (lambda text: text in exact or match(text) is not None) if globs else exact.__contains__


def _flag_test(flags: Sequence[str]) -> Test:
    """Make a test for flags: `-f` also within `-xfd` and as `-f0`, `--force` also as `--force=yes`."""
    letters = "".join(flag[1] for flag in flags if len(flag) == 2 and flag[1].isalnum())
    bundle = rf"-[a-zA-Z]*[{letters}][a-zA-Z]*|-[{letters}]\d+" if letters else r"(?!)"
    match = re.compile("|".join([bundle, *(rf"{re.escape(flag)}(?:=.*)?" for flag in flags)]), re.DOTALL).fullmatch
    return lambda word: (word[1] == "-" or len(word) <= _LONGEST_CLUSTER or word in flags) and match(word) is not None


def _fits_front(front: Sequence[Test | None], plain: Sequence[str]) -> bool:
    words = iter(plain)
    has_gap = False
    for test in front:
        if test is not None:
            following = words if has_gap else islice(words, 1)
            if not any(map(test, following)):  # leaves the words behind the one that fits
                return False
        has_gap = test is None
    return True
