"""Patterns over the arguments of a program, as the danger table writes them.

A pattern is a row of parts, and fits when all of them do:

    push origin      words in front, in this order, flags set aside; `*` is any one word, `...` any number of them
    -f|--force       one of these flags is there; `-f` also within `-xfd`, `--force` also as `--force=yes`
    ~*.conf|/etc/*   some argument fits one of these globs, a flag too
    =/tmp/?*         every argument that is no flag fits one of these globs, and there is one
    >/etc/*          the last argument that is no flag fits one of these globs
    !-n|--dry-run    none of these flags is there; `!~glob`: no argument fits

`a|b` means either. `@name` in the place of a glob stands for the list of paths of that name. Letter case counts
unless the program's line says `ignore_case`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Final

ANY: Final = "*"
GAP: Final = "..."
_LONGEST_CLUSTER: Final = 6
"""Letters in a bundle of short flags; longer ones are words of their own, such as `-delete`."""

Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of one program: all of them, and those that are neither flags nor values of flags."""

    words: Sequence[str]
    plain: Sequence[str]
    flags: Sequence[str]

    @classmethod
    def of(cls, words: Sequence[str], *, value_flags: frozenset[str] = frozenset()) -> "Arguments":
        plain: list[str] = []
        flags: list[str] = []
        is_value = False
        for word in words:
            if is_value:
                is_value = False
            elif word[:1] == "-" and len(word) > 1:
                flags.append(word)
                is_value = word in value_flags or (
                    len(word) > 2 and word[1:].isalpha() and word[1] != "-" and f"-{word[-1]}" in value_flags
                )
            else:
                plain.append(word)
        return cls(words, plain, flags)


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

    def fits(self, given: Arguments) -> bool:
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
    parts = text.split()
    if not parts:
        raise ValueError("a pattern needs at least one word, -flag or ~glob")
    front: list[Test | None] = []
    flags: list[tuple[str, ...]] = []
    tests: dict[str, list[Test]] = {"~": [], "=": [], ">": [], "!~": []}
    no_flags: list[str] = []
    for part in parts:
        sign = part[:2] if part[:2] == "!~" else part[0]
        choices = part[len(sign) if sign in "~=>!" or sign == "!~" else 0 :].split("|")
        if not all(choices):
            raise ValueError(f"in the pattern {text!r} nothing stands on one side of a |")
        if sign in tests:
            tests[sign].append(_test(choices, paths))
        elif sign == "!":
            no_flags += choices
        elif sign == "-":
            flags.append(tuple(choices))
        else:
            front.append(None if part == GAP else _test(choices, paths))
    return Pattern(
        text=text,
        front=tuple(front),
        flags=tuple(flags),
        some=tuple(tests["~"]),
        every=tuple(tests["="]),
        last=tuple(tests[">"]),
        no_flags=tuple(no_flags),
        none=tuple(tests["!~"]),
    )


def _test(choices: Sequence[str], paths: Mapping[str, Test]) -> Test:
    names = [choice for choice in choices if choice[0] == "@" and choice[1:].isidentifier()]
    if missing := [name for name in names if name[1:] not in paths]:
        raise ValueError(f"{missing[0]} is no list of paths; those are {', '.join('@' + name for name in paths)}")
    tests = [paths[name[1:]] for name in names]
    own = one_of([choice for choice in choices if choice not in names])
    return (lambda text: own(text) or any(test(text) for test in tests)) if tests else own


def one_of(choices: Sequence[str]) -> Test:
    """Make a test for texts that equal one of the choices, or fit it where it is a glob."""
    exact = frozenset(choice for choice in choices if not _is_glob(choice))
    globs = [choice for choice in choices if _is_glob(choice)]
    if ANY in globs:
        return lambda _text: True
    if not globs:
        return exact.__contains__
    match = re.compile("|".join(translate(glob) for glob in globs)).match
    return lambda text: text in exact or match(text) is not None


def has_flag(flags: Iterable[str], flag: str) -> bool:
    if len(flag) == 2 and flag[1].isalnum():
        letter = flag[1]
        return any(word == flag or (word[1] != "-" and letter in word and _is_cluster(word, letter)) for word in flags)
    return any(word == flag or (word.startswith(flag) and word[len(flag)] == "=") for word in flags)


def _is_cluster(word: str, letter: str) -> bool:
    """Tell `-xfd` and `-s0` from a long flag such as `-delete`."""
    if word[1] == letter:
        return word[2:].isdigit() or (word[1:].isalpha() and len(word) <= _LONGEST_CLUSTER)
    return word[1:].isalpha() and len(word) <= _LONGEST_CLUSTER


def _is_glob(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _fits_front(front: tuple[Test | None, ...], plain: Sequence[str]) -> bool:
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
