"""The danger table: what its lines may say, how an operator's lines go over ours, and how programs are rated by it."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from server.errors import ConfigError
from server.policy.danger.argument_rules import Pattern, Test, compile_pattern, one_of, part_arguments

Level = Literal["safe", "unknown", "dangerous"]
BUILT_IN: Final = Path(__file__).parent.parent / "tables" / "danger.toml"
_SHOWN_CHARS: Final = 80
_VERB_WORDS: Final = 5
"""Words in front among which a program's verb is looked for."""
_NAME_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")


@dataclass(frozen=True, slots=True)
class DangerVerdict:
    """Level of danger of a call, and why."""

    level: Level
    phrase: str = ""
    """What the call does, in words a user understands, without anything of its arguments; "" where it is safe."""
    what: str = ""
    """The part of the call that does so, shortened. It may hold a secret."""
    rule: str = ""
    """Line of the table that decided; two calls can be compared by it."""

    @property
    def reason(self) -> str:
        return f"{self.phrase} ({self.what})" if self.what else self.phrase

    def about(self, what: str) -> "DangerVerdict":
        """Add the part of the call that is meant, unless there is one: "deletes files (rm -rf /srv)"."""
        if not self.phrase or self.what:
            return self
        shown = what if len(what) <= _SHOWN_CHARS else what[: _SHOWN_CHARS - 1] + "…"
        return DangerVerdict(self.level, self.phrase, " ".join(shown.split()), self.rule)


SAFE: Final = DangerVerdict("safe")


def dangerous(phrase: str, rule: str = "") -> DangerVerdict:
    return DangerVerdict("dangerous", phrase, rule=rule or phrase)


def unknown(what: str) -> DangerVerdict:
    return DangerVerdict("unknown", "nothing is known of what this does", what[:_SHOWN_CHARS], "unknown")


def worst(verdicts: Iterable[DangerVerdict]) -> DangerVerdict:
    """Return the first dangerous verdict, else the first unknown one, else SAFE. Stops reading at the first."""
    found = SAFE
    for verdict in verdicts:
        if verdict.level == "dangerous":
            return verdict
        if found.level == "safe":
            found = verdict
    return found


class _Section(msgspec.Struct, forbid_unknown_fields=True):
    """Part of the file; unknown keys are errors."""


class _ProgramLine(_Section):
    names: str = ""
    value_flags: str = ""
    ignore_case: bool = False
    verbs: bool = False
    safe: list[str] = []
    dangerous: dict[str, str] = {}
    otherwise: Level | None = None


class _Words(_Section):
    safe: str = ""
    dangerous: dict[str, str] = {}


class _File(_Section):
    safe_programs: dict[str, str] = {}
    dangerous_programs: dict[str, str] = {}
    programs: dict[str, _ProgramLine] = {}
    windows: dict[str, _ProgramLine] = {}
    wrappers: dict[str, str] = {}
    interpreters: dict[str, str] = {}
    lists: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    verbs: _Words = msgspec.field(default_factory=_Words)
    tool_verbs: _Words = msgspec.field(default_factory=_Words)
    sql: _Words = msgspec.field(default_factory=_Words)
    calls: _Words = msgspec.field(default_factory=_Words)
    values: dict[str, dict[str, str]] = {}


@dataclass(slots=True)
class Program:
    """Rules of one program: patterns that make it safe, then patterns that make it dangerous, then the rest."""

    safe: list[Pattern] = field(default_factory=list)
    dangerous: list[tuple[Pattern, str]] = field(default_factory=list)
    value_flags: frozenset[str] = frozenset()
    ignore_case: bool = False
    has_verbs: bool = False
    """Whether a verb among its first words decides where no pattern does."""
    otherwise: Level = "safe"
    phrase: str = "changes something that cannot simply be taken back"


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs another: how to find that among its arguments."""

    value_flags: frozenset[str]
    line_flags: frozenset[str]
    """Flags whose value is a command line."""
    own_words: int
    is_line: bool
    """Whether a shell reads the rest, joined by spaces."""


class DangerTable:
    """Rules in force: the built-in ones, with the operator's over them; later lines win."""

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}
        self.windows: dict[str, Program] = {}
        self.wrappers: dict[str, Wrapper] = {}
        self.interpreters: dict[str, frozenset[str]] = {}
        self.paths: dict[str, Test] = {}
        # word → what it does that is dangerous; "" says that it is safe
        self.verbs: dict[str, str] = {}
        self.tool_verbs: dict[str, str] = {}
        self.sql: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        # phrase → name of an argument → values that make a call dangerous
        self.values: dict[str, dict[str, str]] = {}
        self._lists: dict[str, frozenset[str]] = {}
        self._globs: dict[str, list[str]] = {}

    def words(self, name: str) -> frozenset[str]:
        """Return a list of [lists]."""
        return self._lists[name]

    def add(self, path: Path) -> None:
        """Lay a file over what is there. Raises ConfigError, naming file, key and cure."""
        try:
            read = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a file that is there") from error
        except ValueError as error:  # not TOML, not UTF-8, or not of this form
            raise ConfigError(f"{path}: {error}; docs/policy.md says what a table may hold") from error
        for name, globs in read.paths.items():
            self._globs[name] = [*globs, *self._globs.get(name, ())]
            self.paths[name] = one_of(self._globs[name])
        for name, words in read.lists.items():
            self._lists[name] = self._lists.get(name, frozenset()) | frozenset(words.split())
        for names, flags in read.interpreters.items():
            self.interpreters |= dict.fromkeys(names.split(), frozenset(flags.split()))
        for names, line in read.wrappers.items():
            self.wrappers |= dict.fromkeys(names.split("|") if "|" in names else names.split(), _wrapper(line))
        for section in ("verbs", "tool_verbs", "sql", "calls"):
            known, words = getattr(self, section), getattr(read, section)
            known |= dict.fromkeys(words.safe.split(), "")
            for phrase, line in words.dangerous.items():
                known |= dict.fromkeys(line.split(), phrase)
        for phrase, values in read.values.items():
            self.values.setdefault(phrase, {}).update(values)
        self._add_programs(path, read)

    def _add_programs(self, path: Path, read: _File) -> None:
        for names in read.safe_programs.values():
            self.programs |= {name: Program() for name in names.split()}
        for phrase, names in read.dangerous_programs.items():
            self.programs |= {name: Program(otherwise="dangerous", phrase=phrase) for name in names.split()}
        for section, programs in (("programs", self.programs), ("windows", self.windows)):
            for key, line in getattr(read, section).items():
                where = f"{path}: {section}.{key}"
                safe = [self._pattern(where, text) for text in line.safe]
                rules = [(self._pattern(where, text), phrase) for text, phrase in line.dangerous.items()]
                for name in line.names.split() or [key]:
                    program = programs.setdefault(name, Program())
                    program.safe = [*safe, *program.safe]
                    program.dangerous = [*rules, *program.dangerous]
                    program.value_flags |= frozenset(line.value_flags.split())
                    program.ignore_case |= line.ignore_case
                    program.has_verbs |= line.verbs
                    program.otherwise = line.otherwise or program.otherwise

    def _pattern(self, where: str, text: str) -> Pattern:
        try:
            return compile_pattern(text, self.paths)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error

    def judge_program(self, name: str, words: list[str]) -> DangerVerdict:
        """Rate one program with its arguments by the table alone."""
        program = self.programs.get(name.removeprefix("./"))
        if program is None:
            return self._by_verb([name, *words] if name[:2] == "./" else words) or unknown(name)
        return self._by_rules(name, program, words)

    def judge_windows(self, name: str, words: list[str]) -> DangerVerdict:
        """Rate a program of cmd.exe or a command of PowerShell; its name is in small letters."""
        words = [word.lower() for word in words]
        if name in self.windows:
            return self._by_rules(name, self.windows[name], words)
        if "-" not in name:
            return self.judge_program(name, words) if name[:1].isalpha() else SAFE
        phrase = "" if "-whatif" in words else self.verbs.get(name.partition("-")[0])
        return unknown(name) if phrase is None else dangerous(phrase, name) if phrase else SAFE

    def _by_rules(self, name: str, program: Program, words: list[str]) -> DangerVerdict:
        if program.ignore_case:
            words = [word.lower() for word in words]
        given = part_arguments(words, program.value_flags)
        if any(pattern.fits(given) for pattern in program.safe):
            return SAFE
        for pattern, phrase in program.dangerous:
            if pattern.fits(given):
                return dangerous(phrase, f"{name} {pattern.text}")
        if program.has_verbs and (verdict := self._by_verb(given.plain)):
            return verdict
        if program.otherwise == "dangerous":
            return dangerous(program.phrase, name)
        return SAFE if program.otherwise == "safe" else unknown(name)

    def _by_verb(self, words: Iterable[str]) -> DangerVerdict | None:
        """Rate a program by the first verb among its first words; None where there is none."""
        for word in _verb_words([word for word in words if word[:1] != "-"][:_VERB_WORDS]):
            if (phrase := self.verbs.get(word)) is not None:
                return dangerous(phrase, f"verb {word}") if phrase else SAFE
        flag = next((word for word in words if word in self._lists["dangerous_flags"]), None)
        return None if flag is None else dangerous("deletes, forces or overwrites something", flag)


def _verb_words(words: Iterable[str]) -> Iterator[str]:
    """Yield words and their parts (`apps:destroy`, `delete-stack`); files and addresses, other than scripts, have none."""
    for word in words:
        name = word.removeprefix("./").removesuffix(".sh")
        if re.fullmatch(r"[\w:-]+", name):
            yield name.lower()
            yield from name_words(name)


def name_words(name: str) -> list[str]:
    """Split a name at signs and changes of case: `deleteMany`, `apps:destroy` → delete many, apps destroy."""
    return [part.lower() for part in _NAME_BREAK.split(name) if part]


def _wrapper(line: str) -> Wrapper:
    parts = line.split()
    return Wrapper(
        value_flags=frozenset(part for part in parts if part[0] == "-"),
        line_flags=frozenset(part.removesuffix("=line") for part in parts if part.endswith("=line")),
        own_words=sum(int(part[1:]) for part in parts if part[0] == "+"),
        is_line="line" in parts,
    )


@cache
def load_table(path: Path | None = None) -> DangerTable:
    """Read the built-in table and lay the operator's over it. Raises ConfigError for a line that is wrong."""
    table = DangerTable()
    for file in (BUILT_IN, path):
        if file is not None:
            table.add(file)
    return table
