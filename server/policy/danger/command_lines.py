"""Judge of command lines: every program that would run, also behind wrappers, in substitutions and in scripts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Final

from server.policy.danger.code_calls import effects
from server.policy.danger.danger_table import SAFE, DangerTable, DangerVerdict, Wrapper, dangerous, worst
from server.policy.danger.shell_lexer import MAX_CHARS, MAX_COMMANDS, SUBSTITUTED, Command, Redirect, parse, unescape
from server.policy.danger.sql_statements import judge_sql, looks_like_sql

_MAX_DEPTH: Final = 6
"""Scripts within scripts; deeper ones are asked about."""
_MAX_WRAPPERS: Final = 12
_MAX_FRONT: Final = 32
"""Words in front among which the subcommand is looked for that runs another program, such as exec."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w{0,80})\+?=")
_FUNCTION: Final = re.compile(r"([\w:.]{1,40})\s?\(\)\s?\{([^}]{0,400})")
_ENDS: Final = (";", "+")
"""Behind these the words are find's own again."""
_SQL_FLAG: Final = re.compile(r"^(?:-e|--\w+=)(?=.)")
_TOO_MUCH: Final = dangerous("is too long or nested too deeply to be looked at")
_UNSEEN: Final = dangerous("runs commands that cannot be seen before they run")
_PROTECTED: Final = dangerous("writes where the system or the login is set up")
_WINDOWS_SIGNS: Final = str.maketrans({"\\": "/", "^": None, "`": None})
_NOTHING: Final[Sequence[list[str]]] = (
    [],
    [":"],
    ["true"],
    ["cat", "/dev/null"],
    ["echo"],
    ["echo", ""],
    ["echo", "-n"],
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One program about to run: its arguments, its redirections, and the commands that feed it through a pipe."""

    name: str
    rest: list[str]
    command: Command
    pipe: Sequence[Command] = ()

    def fed(self) -> Iterator[str | None]:
        """Yield the scripts that it reads from its input; None stands for one that cannot be seen."""
        for redirect in self.command.redirects:
            if redirect.sign[:1] == "<":
                yield redirect.target if redirect.sign in ("<<", "<<<") else None
        if not self.pipe or not self.pipe[-1].words:
            return
        name, *rest = self.pipe[-1].words
        heredoc = next((one.target for one in self.pipe[-1].redirects if one.sign in ("<<", "<<<")), None)
        if name in ("echo", "printf") and len(self.pipe) == 1:
            yield unescape(" ".join(word for word in rest if word[:1] != "-"))
        else:
            yield heredoc if name == "cat" else None


@dataclass(frozen=True, slots=True)
class CommandJudge:
    """Judges what a shell or an operating system is given to run, at a depth of scripts within scripts."""

    table: DangerTable
    depth: int = 0

    def line(self, text: str) -> DangerVerdict:
        """Judge a command line or a script of a POSIX shell."""
        if len(text) > MAX_CHARS or self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        if "()" in text and any(f"{m[1]}|" in "".join(m[2].split()) for m in _FUNCTION.finditer(text)):
            return dangerous("starts itself without end (a fork bomb)")
        commands = parse(text)
        return worst(self._commands(commands)) if len(commands) < MAX_COMMANDS else _TOO_MUCH

    def argv(self, words: Sequence[str]) -> DangerVerdict:
        """Judge a program and its arguments, as an operating system is given them."""
        if self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        return self.line(words[0]) if len(words) == 1 else self._simple(Command(words=list(words)))

    def code(self, text: str, language: str) -> DangerVerdict:
        """Judge a program of a scripting language, or of a shell."""
        if language in self.table.words("shells"):
            return self.line(text)
        if self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        found = effects(text, language, self.table)
        return worst(one if isinstance(one, DangerVerdict) else self.deeper.argv(one) for one in found)

    def windows(self, text: str) -> DangerVerdict:
        """Judge a command line of cmd.exe or PowerShell."""
        small = text.lower()
        if len(text) > MAX_CHARS or self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        if any(sign in small for sign in self.table.words("windows_signs")):
            return _UNSEEN.about(text)
        return worst(self._windows(text))

    @property
    def deeper(self) -> "CommandJudge":
        return CommandJudge(self.table, self.depth + 1)

    def _windows(self, text: str) -> Iterator[DangerVerdict]:
        keywords = self.table.words("keywords")
        for command in parse(text.translate(_WINDOWS_SIGNS)):
            words = list(dropwhile(lambda word: word[:1] in "$%@=" or word.lower() in keywords, command.words))
            yield from map(self.deeper.windows, command.inner)
            if words and base_name(words[0]).lower() in self.table.words("windows_shells"):
                yield self.deeper.windows(_inner_windows(words[1:]))
            elif words:
                yield self.table.judge_windows(base_name(words[0]).lower(), words[1:]).about(" ".join(words))
            elif any(word[0] == "%" == word[-1] and word[1:] for word in command.words):
                yield _UNSEEN.about(text)

    def _commands(self, commands: list[Command]) -> Iterator[DangerVerdict]:
        pipe: list[Command] = []
        for command in commands:
            words = command.words
            pipe = pipe if command.reads_pipe else []
            while len(words) > 1 and words[0] in self.table.words("keywords"):
                del words[0]
            yield from (self.deeper.line(script) for script in command.inner if script)
            yield from (self._redirect(redirect, command) for redirect in command.redirects)
            if words:
                yield self._simple(command, pipe)
            pipe.append(command)

    def _redirect(self, redirect: Redirect, command: Command) -> DangerVerdict:
        target = redirect.target
        if ">" not in redirect.sign or self.table.paths["scratch"](target):
            return SAFE
        if self.table.paths["protected"](target):
            return _PROTECTED.about(f"{redirect.sign} {target}")
        is_emptied = redirect.sign == ">" and command.words in _NOTHING
        return dangerous("empties a file").about(f"> {target}") if is_emptied else SAFE

    def _simple(self, command: Command, pipe: Sequence[Command] = ()) -> DangerVerdict:
        words = command.words
        assigned = [match[1] for match in takewhile(bool, map(_ASSIGNMENT.match, words)) if match]
        if not self.table.words("environment").isdisjoint(assigned):
            return dangerous("changes which programs run").about(words[0])
        words = words[len(assigned) :]
        return worst(self._program(words, command, pipe)).about(" ".join(words)) if words else SAFE

    def _program(self, words: list[str], command: Command, pipe: Sequence[Command]) -> Iterator[DangerVerdict]:
        """Go through wrappers to the program that they run, and judge both."""
        for _ in range(_MAX_WRAPPERS):
            name, rest = base_name(words[0]), words[1:]
            key = next(
                (key for word in ("", *rest[:_MAX_FRONT]) if (key := f"{name} {word}".strip()) in self.table.wrappers),
                "",
            )
            if not key or (name == "command" and rest[:1] in (["-v"], ["-V"])):
                yield from self._step(_Step(name, rest, command, pipe))
                return
            wrapper = self.table.wrappers[key]
            own, words, lines = _unwrap(wrapper, rest, key.partition(" ")[2])
            yield from map(self.deeper.line, lines)
            yield self._sent(name, command, pipe)
            if " -" in key and any(map(words.__contains__, _ENDS)):  # `find -exec ls {} ; -exec rm {} ;`
                end = next(at for at, word in enumerate(words) if word in _ENDS)
                yield self.deeper.argv([name, *words[end + 1 :], ""])
                words = words[:end]
            if name in self.table.programs:
                yield self.table.judge_program(name, rest if name in self.table.words("takes_all") else own)
            if wrapper.is_line and words:
                yield self.deeper.line(" ".join(words))
            if wrapper.is_line or not words:
                return
        yield _TOO_MUCH

    def _step(self, step: _Step) -> Iterator[DangerVerdict]:
        name, rest = step.name, step.rest
        if name[:1] in "$`(":
            yield _UNSEEN
        elif rest[:1] in (["--version"], ["--help"], ["help"]) or rest in (["-h"], ["-V"]):
            return
        elif name in self.table.interpreters:
            yield from self._interpreter(step)
        elif name in self.table.words("windows_shells"):
            yield self.deeper.windows(_inner_windows(rest))
        elif self.table.words("harmless_flags").isdisjoint(rest):
            if name in self.table.words("sql_clients"):
                texts = (_SQL_FLAG.sub("", word) for word in rest)
                yield from (judge_sql(text, self.table) for text in texts if looks_like_sql(text, self.table))
                yield from (_UNSEEN if text is None else judge_sql(text, self.table) for text in step.fed())
            yield self._sent(name, step.command, step.pipe)
            yield self.table.judge_program(name, rest)

    def _interpreter(self, step: _Step) -> Iterator[DangerVerdict]:
        """Judge the script that a shell or an interpreter is given: as a word, by its name, or on its input."""
        name, rest = step.name, step.rest
        for at, word in enumerate(rest):
            following = "".join(rest[at + 1 : at + 2])
            if word in self.table.interpreters[name]:
                yield _UNSEEN if following.startswith(SUBSTITUTED) else self.deeper.code(following, name)
                return
            if word == "-m":
                yield self.deeper.argv([*rest[at + 1 :], ""])
                return
            if word[:1] not in ("-", "+"):
                is_known = base_name(word) in self.table.programs
                script = base_name(word) if is_known else f"./{base_name(word)}"
                is_foreign = word.startswith(("http", SUBSTITUTED, "/dev/"))
                yield _UNSEEN if is_foreign else self.table.judge_program(script, rest[at + 1 :])
                return
        yield from (_UNSEEN if text is None else self.deeper.code(text, name) for text in step.fed())

    def _sent(self, name: str, command: Command, pipe: Sequence[Command]) -> DangerVerdict:
        """Judge whether a program that sends is given what should not leave the machine."""
        if name not in self.table.words("senders"):
            return SAFE
        scripts = [inner for script in command.inner for inner in parse(script)]
        is_private = self.table.paths["private"]
        for one in (command, *pipe, *scripts):
            if any(map(is_private, one.words)) or not self.table.words("private_readers").isdisjoint(one.words[:1]):
                return dangerous("sends away what is private")
        return SAFE


def base_name(word: str) -> str:
    """Return a program without its folder and `.exe`; a script of the current folder keeps its `./`."""
    name = word if word[:2] == "./" and "/" not in word[2:] else word.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name[:-4] if name.lower().endswith(".exe") else name


def _inner_windows(words: list[str]) -> str:
    """Return the command line that cmd.exe or PowerShell is given."""
    at = next((at + 1 for at, word in enumerate(words) if word.lower() in ("/c", "/k", "-c", "-command")), 0)
    return " ".join(words[at:])


def _unwrap(wrapper: Wrapper, rest: list[str], subcommand: str) -> tuple[list[str], list[str], list[str]]:
    """Part what a wrapper is told from the command it runs: its own words, that command, command lines in flags."""
    lines: list[str] = []
    at, own_words = rest.index(subcommand) + 1 if subcommand else 0, wrapper.own_words
    while at < len(rest):
        word = rest[at]
        if word in wrapper.line_flags:
            lines += rest[at + 1 : at + 2]
            at += 2
        elif word == "--" or _ASSIGNMENT.match(word):
            at += 1
        elif word[:1] == "-" and len(word) > 1:
            at += 2 if word in wrapper.value_flags else 1
        elif own_words:
            own_words -= 1
            at += 1
        else:
            break
    return rest[:at], rest[at:], lines
