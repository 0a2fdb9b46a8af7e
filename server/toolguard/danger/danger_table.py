"""The danger table: what its lines may say, how an operator's lines go over ours, and how programs are rated by it."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final, Literal

import msgspec

from server.errors import ConfigError
from server.toolguard.danger.argument_rules import Pattern, Test, compile_pattern, one_of, part_arguments

Level = Literal["safe", "unknown", "dangerous"]
BUILT_IN: Final = Path(__file__).parent.parent / "tables" / "danger.toml"
_SHOWN_CHARS: Final = 80
_VERB_WORDS: Final = 5
"""Words in front among which a program's verb is looked for."""
_NAME: Final = re.compile(r"[\w:-]+")
_NAME_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")


@dataclass(frozen=True, slots=True)
class DangerVerdict:
    """Level of danger of a call, and why."""

    level: Level
    phrase: str = ""
    """Words for what the call does, for a user, without anything of its arguments; "" where it is safe."""
    what: str = ""
    """The part of the call that does so, shortened. It may hold a secret."""

    @property
    def reason(self) -> str:
        return f"{self.phrase} ({self.what})" if self.what else self.phrase

    def about(self, what: str) -> "DangerVerdict":
        """Add the part of the call that is meant, unless there is one: "deletes files (rm -rf /srv)"."""
        if not self.phrase or self.what:
            return self
        what = " ".join(what[: 2 * _SHOWN_CHARS].split())
        return replace(self, what=what if len(what) <= _SHOWN_CHARS else what[: _SHOWN_CHARS - 1] + "…")


SAFE: Final = DangerVerdict("safe")


def dangerous(phrase: str) -> DangerVerdict:
    """Make a verdict; an empty phrase makes a safe one, as in the table."""
    return DangerVerdict("dangerous", phrase) if phrase else SAFE


def unknown(what: str) -> DangerVerdict:
    return DangerVerdict("unknown", "is covered by no rule").about(what)


def worst(verdicts: Iterable[DangerVerdict]) -> DangerVerdict:
    """Return the first dangerous verdict, else the first unknown one, else SAFE. Stops reading at the first."""
    found = SAFE
    for verdict in verdicts:
        if verdict.level == "dangerous":
            return verdict
        if found.level == "safe":
            found = verdict
    return found


class _Rules(msgspec.Struct, forbid_unknown_fields=True):
    groups: dict[str, str] = {}
    otherwise: dict[str, str] = {}
    value_flags: dict[str, str] = {}
    verbs: str = ""
    safe: list[str] = []
    dangerous: dict[str, list[str]] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    programs: _Rules = msgspec.field(default_factory=_Rules)
    windows: _Rules = msgspec.field(default_factory=_Rules)
    wrappers: dict[str, str] = {}
    interpreters: dict[str, str] = {}
    lists: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    verbs: dict[str, str] = {}
    tool_verbs: dict[str, str] = {}
    sql: dict[str, str] = {}
    calls: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}


@dataclass(slots=True)
class Program:
    """Rules of one program; the first pattern that fits decides. An empty phrase says that a call is safe."""

    rules: list[tuple[Pattern, str]] = field(default_factory=list)
    value_flags: frozenset[str] = frozenset()
    has_subcommands: bool = False
    has_verbs: bool = False
    """Whether a verb among its first words decides where no pattern does."""
    otherwise: str = ""
    """Phrase where nothing else decides."""


class DangerTable:
    """Rules in force: the built-in ones, with the operator's over them; later lines win."""

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}
        self.windows: dict[str, Program] = {}
        self.wrappers: dict[str, frozenset[str]] = {}
        self.interpreters: dict[str, frozenset[str]] = {}
        self.posix: set[str] = set()  # names of programs, wrappers and interpreters
        self.paths: dict[str, Test] = {}
        # word → what it does that is dangerous; "" says that it is safe
        self.verbs: dict[str, str] = {}
        self.tool_verbs: dict[str, str] = {}
        self.sql: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.values: dict[tuple[str, str], str] = {}  # name and value of an argument → what that does
        self.lists: dict[str, frozenset[str]] = {}
        self._globs: dict[str, list[str]] = {}
        self._groups: dict[str, list[str]] = {}

    def add(self, path: Path) -> None:
        """Lay a file over what is there. Raises ConfigError, naming file, key and cure."""
        try:
            read = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File)
        except (OSError, ValueError) as error:  # not there, not TOML, not UTF-8, or not of this form
            raise ConfigError(f"{path}: {error}; see docs/policy.md for the format") from error
        for name, globs in read.paths.items():
            self._globs[name] = [*globs, *self._globs.get(name, ())]
            self.paths[name] = one_of(self._globs[name])
        for name, words in read.lists.items():
            self.lists[name] = self.lists.get(name, frozenset()) | frozenset(words.split())
        for names, flags in read.interpreters.items():
            self.interpreters |= dict.fromkeys(names.split(), frozenset(flags.split()))
        for names, line in read.wrappers.items():
            self.wrappers |= dict.fromkeys(names.split("|") if "|" in names else names.split(), frozenset(line.split()))
        for section in ("verbs", "tool_verbs", "sql", "calls"):
            for phrase, line in getattr(read, section).items():
                getattr(self, section).update(dict.fromkeys(line.split(), "" if phrase == "safe" else phrase))
        for phrase, lines in read.values.items():
            for values, names in lines.items():
                self.values.update(dict.fromkeys(product(names.split(), values.split()), phrase))
        for programs, rules in ((self.programs, read.programs), (self.windows, read.windows)):
            self._groups |= {f"@{name}": names.split() for name, names in rules.groups.items()}
            try:
                self._add_rules(programs, rules)
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from error
        self.posix |= {*self.programs, *self.wrappers, *self.interpreters}

    def _add_rules(self, programs: dict[str, Program], rules: _Rules) -> None:
        for phrase, names in rules.otherwise.items():
            for name in self._names(names):
                programs[name] = Program(otherwise="" if phrase == "safe" else phrase)
        lists = {name: words.__contains__ for name, words in self.lists.items()} | self.paths
        texts = [("", rules.safe), *rules.dangerous.items()]
        new: dict[str, list[tuple[Pattern, str]]] = {}
        for phrase, text in ((phrase, text) for phrase, group in texts for text in group):
            names, _, rest = text.partition(" ")
            pattern = compile_pattern(rest, lists)
            for name in self._names(names):
                new.setdefault(name, []).append((pattern, phrase))
                programs.setdefault(name, Program()).has_subcommands |= rest[0].isalpha()
        for name, patterns in new.items():
            program = programs.setdefault(name, Program())
            program.rules = [*patterns, *program.rules]
        for names, flags in rules.value_flags.items():
            for name in self._names(names):
                programs.setdefault(name, Program()).value_flags |= frozenset(flags.split())
        for name in self._names(rules.verbs):
            programs.setdefault(name, Program()).has_verbs = True

    def _names(self, words: str) -> list[str]:
        """Return the programs that `a|b c @group` stands for. Raises ValueError for an unknown group."""
        names = words.replace("|", " ").split()
        if missing := [name for name in names if name[0] == "@" and name not in self._groups]:
            raise ValueError(f"there is no group of programs {missing[0]}; known: {', '.join(self._groups)}")
        return [name for word in names for name in self._groups.get(word, [word])]

    def judge_program(self, name: str, words: list[str]) -> DangerVerdict:
        """Rate one program with its arguments by the table alone."""
        program = self.programs.get(name.removeprefix("./")) or self.programs.get(name.partition(".")[0])  # mkfs.ntfs
        if program is None:
            return self._by_verb(words if name.isalpha() else [name, *words]) or unknown(name)
        return self._by_rules(name, program, words)

    def judge_windows(self, name: str, words: Sequence[str]) -> DangerVerdict:
        """Rate a program of cmd.exe or a command of PowerShell; its name is in small letters."""
        words = [word.lower() for word in words]
        if (program := self.windows.get(name) or self.programs.get(name)) is not None:
            return self._by_rules(name, program, words)
        return SAFE if "-whatif" in words or not name[:1].isalpha() else self.judge_program(name, words)

    def _by_rules(self, name: str, program: Program, words: list[str]) -> DangerVerdict:
        if name in self.lists["ignore_case"]:
            words = [word.lower() for word in words]
        given = part_arguments(words, program.value_flags)
        for fits, phrase in program.rules:
            if fits(given):
                return dangerous(phrase)
        if program.has_verbs and (verdict := self._by_verb(given.plain)):
            return verdict
        return dangerous(program.otherwise)

    def _by_verb(self, words: Iterable[str]) -> DangerVerdict | None:
        """Rate a program by the first verb among its first words; None where there is none."""
        plain = [word.removeprefix("./").removesuffix(".sh") for word in words if word[:1] != "-"][:_VERB_WORDS]
        names = [word for word in plain if _NAME.fullmatch(word)]  # neither files nor addresses
        for part in (part for name in names for part in (name.lower(), *name_words(name))):
            if (phrase := self.verbs.get(part)) is not None:
                return dangerous(phrase)
        is_forced = not self.lists["dangerous_flags"].isdisjoint(words)
        return dangerous("deletes, forces or overwrites something") if is_forced else None


def name_words(name: str) -> list[str]:
    """Split a name at signs and changes of case: `deleteMany`, `apps:destroy` → delete many, apps destroy."""
    return [part.lower() for part in _NAME_BREAK.split(name) if part]


@cache
def load_table(path: Path | None = None) -> DangerTable:
    """Read the built-in table and lay the operator's over it. Raises ConfigError for a line that is wrong."""
    table = DangerTable()
    for file in filter(None, (BUILT_IN, path)):
        table.add(file)
    return table
