"""The danger table: what its lines may say, how the operator's lines go over ours, and verdicts."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from server.errors import ConfigError
from server.policy.danger.argument_rules import Arguments, Pattern, Test, compile_pattern, one_of

Level = Literal["safe", "unknown", "dangerous"]
BUILT_IN: Final = Path(__file__).parent.parent / "tables" / "danger.toml"
_SHOWN_CHARS: Final = 80
_ORDER: Final = ("safe", "unknown", "dangerous")
_VERB_WORDS: Final = 5
"""Words in front among which a program's verb is looked for."""
_NAME_BREAK: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")


@dataclass(frozen=True, slots=True)
class Verdict:
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

    def about(self, what: str) -> "Verdict":
        """Add the part of the call that is meant, unless there is one: "deletes files (rm -rf /srv)"."""
        if not self.phrase or self.what:
            return self
        shown = what if len(what) <= _SHOWN_CHARS else what[: _SHOWN_CHARS - 1] + "…"
        return Verdict(self.level, self.phrase, " ".join(shown.split()), self.rule)


SAFE: Final = Verdict("safe")


def dangerous(reason: str, rule: str = "") -> Verdict:
    return Verdict("dangerous", reason, rule=rule or reason)


def unknown(what: str) -> Verdict:
    return Verdict("unknown", "nothing is known of what this does", what[:_SHOWN_CHARS], "unknown")


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first dangerous verdict, else the first unknown one, else safe. Stops reading at the first."""
    found = SAFE
    for verdict in verdicts:
        if verdict.level == "dangerous":
            return verdict
        if _ORDER.index(verdict.level) > _ORDER.index(found.level):
            found = verdict
    return found


# --- the file


class _Section(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
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
    wrappers: dict[str, str] = {}
    interpreters: dict[str, str] = {}
    lists: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    verbs: _Words = msgspec.field(default_factory=_Words)
    tool_verbs: _Words = msgspec.field(default_factory=_Words)
    sql: _Words = msgspec.field(default_factory=_Words)
    calls: _Words = msgspec.field(default_factory=_Words)
    values: dict[str, dict[str, str]] = {}


# --- what is in force


@dataclass(slots=True)
class Program:
    """Rules of one program: patterns that make it safe, then patterns that make it dangerous, then the rest."""

    safe: list[Pattern] = field(default_factory=list)
    dangerous: list[tuple[Pattern, str]] = field(default_factory=list)
    value_flags: frozenset[str] = frozenset()
    ignore_case: bool = False
    has_verbs: bool = False
    """Whether a verb among its first words decides where no pattern does."""
    otherwise: Level | None = None
    reason: str = ""


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
        self.wrappers: dict[str, Wrapper] = {}
        self.interpreters: dict[str, frozenset[str]] = {}
        self.lists: dict[str, frozenset[str]] = {}
        self.paths: dict[str, Test] = {}
        # word → why it is dangerous; "" says that it is safe
        self.verbs: dict[str, str] = {}
        self.tool_verbs: dict[str, str] = {}
        self.sql: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.values: dict[str, dict[str, str]] = {}
        """Reason → names of arguments (`|` between them) → values that make a call dangerous."""
        self._globs: dict[str, list[str]] = {}

    def add(self, path: Path) -> None:
        """Lay a file over what is there. Raises ConfigError, naming file, key and cure."""
        try:
            read = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a file that is there") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not valid TOML: {error}") from error
        except msgspec.ValidationError as error:
            raise ConfigError(f"{path}: {error}; see docs/policy.md for what a table may hold") from None
        self._add_words(read)
        self._add_programs(path, read)

    def _add_words(self, read: _File) -> None:
        for name, globs in read.paths.items():
            self._globs[name] = [*globs, *self._globs.get(name, ())]
            self.paths[name] = one_of(self._globs[name])
        for name, words in read.lists.items():
            self.lists[name] = self.lists.get(name, frozenset()) | frozenset(words.split())
        for names, flags in read.interpreters.items():
            self.interpreters |= dict.fromkeys(names.split(), frozenset(flags.split()))
        for names, line in read.wrappers.items():
            self.wrappers |= dict.fromkeys(names.split(), _wrapper(line))
        for known, section in (
            (self.verbs, read.verbs),
            (self.tool_verbs, read.tool_verbs),
            (self.sql, read.sql),
            (self.calls, read.calls),
        ):
            known |= dict.fromkeys(section.safe.split(), "")
            for reason, words in section.dangerous.items():
                known |= dict.fromkeys(words.split(), reason)
        for reason, values in read.values.items():
            self.values.setdefault(reason, {}).update(values)

    def _add_programs(self, path: Path, read: _File) -> None:
        for names in read.safe_programs.values():
            for name in names.split():
                self._program(name).otherwise = "safe"
        for reason, names in read.dangerous_programs.items():
            for name in names.split():
                program = self._program(name)
                program.otherwise, program.reason = "dangerous", reason
        for key, line in read.programs.items():
            where = f"{path}: programs.{key}"
            safe = [self._pattern(f"{where}.safe", text) for text in line.safe]
            rules = [
                (self._pattern(f"{where}.dangerous", text), reason or "is on the list of dangerous calls")
                for text, reason in line.dangerous.items()
            ]
            for name in line.names.split() or [key]:
                program = self._program(name)
                program.safe = [*safe, *program.safe]
                program.dangerous = [*rules, *program.dangerous]
                program.value_flags |= frozenset(line.value_flags.split())
                program.ignore_case |= line.ignore_case
                program.has_verbs |= line.verbs
                program.otherwise = line.otherwise or program.otherwise

    def _program(self, name: str) -> Program:
        return self.programs.setdefault(name, Program())

    def _pattern(self, where: str, text: str) -> Pattern:
        try:
            return compile_pattern(text, self.paths)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error

    def judge_program(self, name: str, words: list[str]) -> Verdict:
        """Rate one program with its arguments by the table alone."""
        program = self.programs.get(name)
        if program is None:
            return self.judge_verbs(words) or unknown(name)
        if program.ignore_case:
            words = [word.lower() for word in words]
        given = Arguments.of(words, value_flags=program.value_flags)
        if any(pattern.fits(given) for pattern in program.safe):
            return SAFE
        for pattern, reason in program.dangerous:
            if pattern.fits(given):
                return dangerous(reason, f"{name} {pattern.text}")
        if program.has_verbs and (verdict := self.judge_verbs(given.plain)):
            return verdict
        match program.otherwise:
            case "safe":
                return SAFE
            case "dangerous":
                return dangerous(program.reason or "changes something that cannot simply be taken back", name)
        return unknown(name)

    def judge_windows(self, name: str, words: list[str]) -> Verdict:
        """Rate a program of cmd.exe, or a command of PowerShell."""
        words = [word.lower() for word in words]
        if f"windows:{name}" in self.programs:
            return self.judge_program(f"windows:{name}", words)
        if name[:1] == "%" == name[-1] and len(name) > 1:
            return dangerous("runs what a variable holds")
        if name[:1] in "$'[%/" or name.isdigit() or "-whatif" in words:
            return SAFE
        if "-" in name:
            reason = self.verbs.get(name.partition("-")[0])
            return unknown(name) if reason is None else dangerous(reason, name) if reason else SAFE
        return self.judge_program(name, words)

    def judge_verbs(self, words: Iterable[str]) -> Verdict | None:
        """Rate a program by the first verb among its first words; None where there is none."""
        plain = [word for word in words if word[:1] != "-"][:_VERB_WORDS]
        for word in _verb_words(plain):
            reason = self.verbs.get(word)
            if reason is not None:
                return dangerous(reason, f"verb {word}") if reason else SAFE
        flag = next((word for word in words if word in self.lists["dangerous_flags"]), None)
        return None if flag is None else dangerous("deletes, forces or overwrites something", flag)

    def words(self, name: str) -> frozenset[str]:
        """Return a list of words, empty where no file names it."""
        return self.lists.get(name, frozenset())


def _verb_words(words: Iterable[str]) -> Iterator[str]:
    """Words and their parts (`apps:destroy`, `delete-stack`, `DeleteInstance`); file names and addresses have none."""
    for word in words:
        if word.isidentifier() or word.replace("-", "").replace(":", "").replace("_", "").isalnum():
            yield word.lower()
            yield from name_words(word)


def name_words(name: str) -> list[str]:
    """Split a name at signs and changes of case: `deleteMany`, `apps:destroy` → delete many, apps destroy."""
    return [part.lower() for part in _NAME_BREAK.split(name) if part]


def _wrapper(line: str) -> Wrapper:
    parts = line.split()
    return Wrapper(
        value_flags=frozenset(part for part in parts if part[0] == "-" and not part.endswith("=line")),
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
