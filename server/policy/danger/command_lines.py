"""Judge of command lines: every program that would run, also behind wrappers, in substitutions and in scripts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from server.policy.danger import code_calls, windows_lines
from server.policy.danger.danger_table import SAFE, DangerTable, Verdict, Wrapper, dangerous, unknown, worst
from server.policy.danger.shell_lexer import MAX_CHARS, MAX_COMMANDS, SUBSTITUTED, Command, Redirect, parse, unescape
from server.policy.danger.sql_statements import judge_sql

MAX_DEPTH: Final = 6
"""Scripts within scripts; deeper ones are asked about."""
_MAX_WRAPPERS: Final = 12
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w{0,80})\+?=")
_FUNCTION: Final = re.compile(r"([\w:.]{1,40})\s?\(\)\s?\{([^}]{0,400})")
_TOO_DEEP: Final = dangerous("nests commands too deeply to be looked at")
_TOO_LONG: Final = dangerous("is longer than can be looked at")
_UNSEEN: Final = dangerous("runs commands that cannot be seen before they run")


@dataclass(frozen=True, slots=True)
class CommandJudge:
    """Judges what a shell or an operating system is given to run."""

    table: DangerTable

    def line(self, text: str, depth: int = 0) -> Verdict:
        """Judge a command line or a script of a POSIX shell."""
        if depth > MAX_DEPTH:
            return _TOO_DEEP
        if len(text) > MAX_CHARS:
            return _TOO_LONG
        if "()" in text and any(f"{m[1]}|" in "".join(m[2].split()) for m in _FUNCTION.finditer(text)):
            return dangerous("starts itself without end (a fork bomb)")
        commands = parse(text)
        if len(commands) >= MAX_COMMANDS:
            return _TOO_LONG
        return worst(self._commands(commands, depth))

    def argv(self, words: Sequence[str], depth: int = 0) -> Verdict:
        """Judge a program and its arguments, as they would be given to the operating system."""
        if len(words) == 1:
            return self.line(words[0], depth)
        return self._words(list(words), Command(words=list(words)), (), depth)

    def code(self, text: str, language: str = "python", depth: int = 0) -> Verdict:
        """Judge a program of a scripting language."""
        if depth > MAX_DEPTH:
            return _TOO_DEEP
        return code_calls.judge_code(text, language, self.table, _Runner(self, depth + 1))

    def windows(self, text: str, depth: int = 0) -> Verdict:
        """Judge a command line of cmd.exe or PowerShell."""
        return worst(self._windows(text, depth))

    def _windows(self, text: str, depth: int) -> Iterator[Verdict]:
        if len(text) > MAX_CHARS or depth > MAX_DEPTH:
            yield _TOO_LONG
            return
        small = text.lower()
        if any(sign in small for sign in self.table.words("windows_signs")):
            yield _UNSEEN.about(text)
        for words in windows_lines.commands(text):
            name = windows_lines.program(words[0])
            if name in ("cmd", "powershell", "pwsh", "start", "call"):
                yield from self._windows(windows_lines.inner(words[1:]), depth + 1)
            else:
                yield self.table.judge_windows(name, words[1:]).about(" ".join(words))

    def _commands(self, commands: list[Command], depth: int) -> Iterator[Verdict]:
        pipe: list[Command] = []
        fetched: set[str] = set()
        for command in commands:
            if not command.reads_pipe:
                pipe = []
            while len(command.words) > 1 and command.words[0] in self.table.words("keywords"):
                del command.words[0]
            for script in command.inner:
                yield self.line(script, depth + 1)
            for redirect in command.redirects:
                yield self._redirect(redirect, command)
            started = [word.removeprefix("./") for word in command.words[:3]]
            if fetched and not fetched.isdisjoint(started[: 3 if base_name(started[0]) in self._starters else 1]):
                yield dangerous("runs what it has just downloaded")
            if command.words and base_name(command.words[0]) in self.table.words("downloaders"):
                fetched |= _fetched(command)
            yield self._words(command.words, command, pipe, depth)
            pipe.append(command)

    @property
    def _starters(self) -> frozenset[str]:
        return self.table.words("shells") | self.table.interpreters.keys() | {"source", ".", "sudo"}

    def _redirect(self, redirect: Redirect, command: Command) -> Verdict:
        target = redirect.target
        if ">" not in redirect.sign or not target:
            return SAFE
        if self.table.paths["protected"](target):
            return dangerous("writes where the system or the login is set up").about(f"{redirect.sign} {target}")
        is_empty = command.words in ([], [":"], ["true"], ["cat", "/dev/null"], ["echo"], ["echo", ""], ["echo", "-n"])
        if is_empty and redirect.sign == ">" and not self.table.paths["scratch"](target):
            return dangerous("empties a file").about(f"> {target}")
        return SAFE

    def _words(self, words: list[str], command: Command, pipe: Sequence[Command], depth: int) -> Verdict:
        """Judge one simple command; `pipe` holds those that feed it."""
        if depth > MAX_DEPTH:
            return _TOO_DEEP
        assigned = list(takewhile(bool, map(_ASSIGNMENT.match, words)))
        if any(match and match[1] in self.table.words("environment") for match in assigned):
            return dangerous("changes which programs run").about(words[0])
        words = words[len(assigned) :]
        return worst(self._program(words, command, pipe, depth)).about(" ".join(words)) if words else SAFE

    def _program(self, words: list[str], command: Command, pipe: Sequence[Command], depth: int) -> Iterator[Verdict]:
        name, rest = base_name(words[0]), words[1:]
        for _ in range(_MAX_WRAPPERS):
            wrapper = self.table.wrappers.get(name)
            if wrapper is None or (name == "command" and rest[:1] in (["-v"], ["-V"])):
                break
            own, inner, lines = _unwrap(wrapper, rest)
            if name in self.table.programs:
                yield self.table.judge_program(name, own)
            for line in lines:
                yield self.line(line, depth + 1)
            if not inner:
                return
            if wrapper.is_line:
                yield self.line(" ".join(inner), depth + 1)
                return
            name, rest = base_name(inner[0]), inner[1:]
        else:
            yield _TOO_DEEP
        if name[:1] in "$`(" or SUBSTITUTED in name or (name in ("source", ".") and rest[:1] == ["(…)"]):
            yield _UNSEEN
        elif rest and rest[0] in ("--version", "--help", "-h", "-V", "help"):
            return
        elif name in self.table.words("shells"):
            yield from self._shell(rest, command, pipe, depth)
        elif name in self.table.interpreters:
            yield from self._interpreter(name, rest, command, pipe, depth)
        elif name in ("cmd", "powershell", "pwsh"):
            yield self.windows(windows_lines.inner(rest), depth + 1)
        else:
            yield from self._plain(name, rest, command, pipe, depth)

    def _plain(
        self, name: str, rest: list[str], command: Command, pipe: Sequence[Command], depth: int
    ) -> Iterator[Verdict]:
        if not self.table.words("harmless_flags").isdisjoint(rest):
            return
        if name in self.table.words("containers") and (found := _in_container(rest, self.table)) is not None:
            rest, inner = found
            if inner:
                yield self._words(inner, Command(words=inner), (), depth + 1)
        elif name in ("find", "fd", "fdfind"):
            for inner in _found(rest):
                yield self._words(inner, Command(words=inner), (), depth + 1)
        elif name in ("trap", "alias"):
            line = rest[0] if name == "trap" and len(rest) > 1 else " ".join(rest).partition("=")[2]
            yield self.line(line, depth + 1)
        elif name in self.table.words("sql_clients"):
            for statement in self._statements(rest):
                yield judge_sql(statement, self.table)
            for text in _fed(command, pipe):
                yield _UNSEEN if text is None else judge_sql(text, self.table)
        elif name in self.table.words("senders") and any(map(self._is_private, [command, *pipe])):
            yield dangerous("sends away what is private")
        yield self.table.judge_program(name, rest)

    def _is_private(self, command: Command) -> bool:
        """Tell whether a command reads what should not leave the machine."""
        scripts = (inner for script in command.inner for inner in parse(script))
        return any(
            not self.table.words("private_readers").isdisjoint(one.words[:1])
            or any(map(self.table.paths["private"], one.words))
            for one in (command, *scripts)
        )

    def _statements(self, rest: list[str]) -> Iterator[str]:
        for at, word in enumerate(rest):
            flag, sign, value = word.partition("=")
            if flag in self.table.words("sql_flags"):
                yield value if sign else "".join(rest[at + 1 : at + 2])
            elif " " in word and word[0] != "-":
                yield word
            elif word[:2] == "-e":
                yield word[2:]

    def _shell(self, rest: list[str], command: Command, pipe: Sequence[Command], depth: int) -> Iterator[Verdict]:
        for at, word in enumerate(rest):
            if word[:1] == "-" and word[:2] != "--" and word[-1] == "c" and at + 1 < len(rest):
                script = rest[at + 1]
                yield _UNSEEN if script.strip().startswith(SUBSTITUTED) else self.line(script, depth + 1)
                return
            if word[:1] not in ("-", "+"):
                yield _UNSEEN if word.startswith(("http", "(", "/dev/")) else unknown(f"the script {word}")
                return
        for text in _fed(command, pipe):
            yield _UNSEEN if text is None else self.line(text, depth + 1)
        if not pipe and not command.redirects:
            yield unknown("what an open shell is told")

    def _interpreter(
        self, name: str, rest: list[str], command: Command, pipe: Sequence[Command], depth: int
    ) -> Iterator[Verdict]:
        flags = self.table.interpreters[name]
        for at, word in enumerate(rest):
            following = rest[at + 1] if at + 1 < len(rest) else ""
            if word in flags:
                yield _UNSEEN if following.startswith(SUBSTITUTED) else self.code(following, name, depth + 1)
                return
            if word == "-m" and name.startswith("python"):
                yield self._words(rest[at + 1 :], command, (), depth + 1)
                return
            if word[:1] != "-" or word == "-":
                break
        script = next(iter(word for word in rest if word[:1] != "-"), "")
        if base_name(script) in self.table.programs:
            yield self.table.judge_program(base_name(script), rest[rest.index(script) + 1 :])
        elif script:
            yield unknown(f"the script {script}")
        for text in _fed(command, pipe) if not script else ():
            yield _UNSEEN if text is None else self.code(text, name, depth + 1)


@dataclass(frozen=True, slots=True)
class _Runner:
    """Judges, for code, the command lines and statements that it runs."""

    judge: CommandJudge
    depth: int

    def line(self, text: str) -> Verdict:
        return self.judge.line(text, self.depth)

    def argv(self, words: Sequence[str]) -> Verdict:
        return self.judge.argv(words, self.depth)


def base_name(word: str) -> str:
    """Return a program without its folder and `.exe`."""
    name = word.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if "/" in word or "\\" in word else word
    return name[:-4] if name.lower().endswith(".exe") else name


def _unwrap(wrapper: Wrapper, rest: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Part what a wrapper is told from the command it runs: its own words, that command, command lines in flags."""
    lines: list[str] = []
    at, own_words = 0, wrapper.own_words
    while at < len(rest):
        word = rest[at]
        if word == "--":
            at += 1
            break
        if word in wrapper.line_flags and at + 1 < len(rest):
            lines.append(rest[at + 1])
            at += 2
        elif word[:1] == "-" and len(word) > 1:
            at += 2 if word in wrapper.value_flags else 1
        elif _ASSIGNMENT.match(word):
            at += 1
        elif own_words:
            own_words -= 1
            at += 1
        else:
            break
    at += own_words if at and rest[at - 1] == "--" else 0
    return rest[:at], rest[at:], lines


def _in_container(rest: list[str], table: DangerTable) -> tuple[list[str], list[str]] | None:
    """Part `docker run -v a:b image rm -rf x` into the engine's own words and the command inside; None: neither."""
    start = next((at for at, word in enumerate(rest[:8]) if word in ("exec", "run")), None)
    if start is None:
        return None
    if "--" in rest:
        at = rest.index("--")
        return rest[:at], rest[at + 1 :]
    at = start + 1
    while at < len(rest) and rest[at][:1] == "-":
        at += 2 if rest[at] in table.words("container_flags") else 1
    return rest[: at + 1], rest[at + 1 :]


def _found(rest: list[str]) -> Iterator[list[str]]:
    """Commands that `find -exec` and `fd -x` run."""
    at = 0
    while at < len(rest):
        if rest[at] in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            inner = list(takewhile(lambda word: word not in (";", "+"), rest[at + 1 :]))
            yield inner
            at += len(inner)
        at += 1


def _fed(command: Command, pipe: Sequence[Command]) -> Iterator[str | None]:
    """Scripts that a program reads from its input; None stands for one that cannot be seen."""
    for redirect in command.redirects:
        if redirect.sign in ("<<", "<<<"):
            yield redirect.target
        elif redirect.sign[:1] == "<":
            yield None
    if pipe:
        name = base_name(pipe[-1].words[0]) if pipe[-1].words else ""
        heredocs = [redirect.target for redirect in pipe[-1].redirects if redirect.sign in ("<<", "<<<")]
        if name in ("echo", "printf") and len(pipe) == 1 and pipe[0].words[1:]:
            yield unescape(" ".join(word for word in pipe[-1].words[1:] if word[:1] != "-"))
        else:
            yield heredocs[0] if heredocs and name == "cat" else None


def _fetched(command: Command) -> set[str]:
    """Names of the files that a downloader writes."""
    names = {redirect.target.removeprefix("./") for redirect in command.redirects if ">" in redirect.sign}
    for word, following in zip(command.words, [*command.words[1:], ""], strict=True):
        if word in ("-o", "-O", "--output", "--output-document") and following:
            names.add(following.removeprefix("./"))
        elif "://" in word:
            names.add(word.rsplit("/", 1)[-1])
    return names - {""}
