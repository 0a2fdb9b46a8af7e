"""Judge of command lines: every program that would run, also behind wrappers, in substitutions and in scripts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Final

from server.toolguard.danger.code_and_sql import effects, judge_sql, looks_like_sql
from server.toolguard.danger.danger_table import SAFE, DangerTable, DangerVerdict, dangerous, worst
from server.toolguard.danger.shell_lexer import MAX_CHARS, MAX_COMMANDS, SUBSTITUTED, Command, Redirect, parse

_MAX_DEPTH: Final = 4
"""Scripts within scripts; deeper ones are asked about, and so are long ones within others."""
_MAX_WRAPPERS: Final = 12
_MAX_FRONT: Final = 32
"""Words in front among which the subcommand is looked for that runs another program, such as exec."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w{0,80})\+?=")
_FUNCTION: Final = re.compile(r"([\w:.]{1,40})\s?\(\)\s?\{([^}]{0,400})")
_GLOB: Final = re.compile(r"(?!.*=)(?:.*[*?]|.+\[|\[\w+\]\w)|.*\{[\w./-]*,")
"""Program that a shell makes up from a pattern or from braces: `/bin/r?`, `{rm,-rf,/srv}`."""
_WINDOWS_PATH: Final = re.compile(r"[:%]\\|\\[\w.-]+\.(?:exe|com)\b", re.IGNORECASE)
_BUNDLE: Final = re.compile(r"-[a-zA-Z]{1,4}([a-zA-Z])$")
"""Flags of an interpreter, of which the last may be the one for a script, such as `-lane`."""
_VERSION: Final = re.compile(r"(?<=[a-z])\d+\.[\d.]+$")
_CMDLET: Final = re.compile(r"[a-z]+-[a-z]+$|\[[a-z.]+\]::")
_SQL_FLAG: Final = re.compile(r"^(?:-e|--\w+=)(?=.)")
_TOO_MUCH: Final = dangerous("is too long or nested too deeply to be looked at")
_UNSEEN: Final = dangerous("runs commands that cannot be seen before they run")
_WINDOWS_SIGNS: Final = str.maketrans({"\\": "/", "^": None, "`": None, "{": ";", "}": ";"})


@dataclass(frozen=True, slots=True)
class CommandJudge:
    """Judges what a shell or an operating system is given to run, at a depth of scripts within scripts."""

    table: DangerTable
    depth: int = 0

    def line(self, text: str) -> DangerVerdict:
        """Judge a command line or a script of a POSIX shell."""
        if len(text) * (self.depth + 1) > MAX_CHARS or self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        if "()" in text and any(f"{m[1]}|" in "".join(m[2].split()) for m in _FUNCTION.finditer(text)):
            return dangerous("starts itself without end (a fork bomb)")
        commands = parse(text)
        if "\\" in text and _WINDOWS_PATH.search(text):
            commands += parse(text.replace("\\", "/"))  # cmd.exe keeps the backslashes that a POSIX shell takes away
        if len(commands) >= MAX_COMMANDS:
            return _TOO_MUCH
        found = worst(self._commands(commands))
        is_windows = found.level != "dangerous" and any(self._is_windows(one.words) for one in commands if one.words)
        return worst((found, self.windows(text))) if is_windows else found

    def argv(self, words: Sequence[str]) -> DangerVerdict:
        """Judge a program and its arguments, as an operating system is given them."""
        if self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        return self.line(words[0]) if len(words) == 1 else self._simple(Command(words=list(words)))

    def code(self, text: str, language: str) -> DangerVerdict:
        """Judge a program of a scripting language, or of a shell."""
        if language in self.table.lists["shells"]:
            return self.line(text)
        if self.depth > _MAX_DEPTH or len(text) > MAX_CHARS:
            return _TOO_MUCH
        found = effects(text, language, self.table)
        return worst(one if isinstance(one, DangerVerdict) else self.deeper.argv(one) for one in found)

    def windows(self, text: str) -> DangerVerdict:
        """Judge a command line of cmd.exe or PowerShell."""
        small = text.lower()
        if len(text) * (self.depth + 1) > MAX_CHARS or self.depth > _MAX_DEPTH:
            return _TOO_MUCH
        if any(sign in small for sign in self.table.lists["windows_signs"]):
            return _UNSEEN.about(text)
        return worst(self._windows(text))

    @property
    def deeper(self) -> "CommandJudge":
        return CommandJudge(self.table, self.depth + 1)

    def _windows(self, text: str) -> Iterator[DangerVerdict]:
        keywords = self.table.lists["keywords"]
        for command in parse(text.translate(_WINDOWS_SIGNS)):
            words = list(dropwhile(lambda word: word[:1] in "$%@=" or word.lower() in keywords, command.words))
            yield from map(self.deeper.windows, command.inner)
            if words:
                yield from self._windows_program(base_name(words[0]), words[1:])

    def _windows_program(self, name: str, rest: Sequence[str]) -> Iterator[DangerVerdict]:
        if name.lower() in self.table.lists["windows_shells"]:
            yield self.deeper.windows(_inner_windows(rest))
        else:
            yield self.table.judge_windows(name.lower(), rest).about(" ".join([name, *rest]))

    def _is_windows(self, words: Sequence[str]) -> bool:
        """Return whether only Windows has such a command: `del`, `Remove-Item`, `$a = …`, `[IO.File]::Delete(…)`."""
        if words[0] in self.table.posix or (name := base_name(words[0])) in self.table.posix:
            return False
        small, is_assigned = name.lower(), name[:1] == "$" and words[1:2] == ["="]
        is_named = small in self.table.windows or small in self.table.lists["windows_shells"]
        return is_assigned or is_named or _CMDLET.match(small) is not None

    def _commands(self, commands: list[Command]) -> Iterator[DangerVerdict]:
        for command in commands:
            while len(command.words) > 1 and command.words[0].lower() in self.table.lists["keywords"]:
                del command.words[0]
            yield from (self.deeper.line(script) for script in command.inner if script)
            yield from (self._redirect(redirect, command) for redirect in command.redirects)
            yield self._simple(command)

    def _redirect(self, redirect: Redirect, command: Command) -> DangerVerdict:
        target = redirect.target
        if redirect.sign == "<" and self.table.paths["private_keys"](target):
            return dangerous("reads a private key").about(f"< {target}")
        if ">" not in redirect.sign or self.table.paths["scratch"](target):
            return SAFE
        if self.table.paths["protected"](target):
            return dangerous("writes where the system or the login is set up").about(f"{redirect.sign} {target}")
        is_emptied = redirect.sign == ">" and command.words in ([], [":"], ["true"], ["echo"])
        return dangerous("empties a file").about(f"> {target}") if is_emptied else SAFE

    def _simple(self, command: Command) -> DangerVerdict:
        words = command.words
        assigned = [match[1] for match in takewhile(bool, map(_ASSIGNMENT.match, words)) if match]
        if not self.table.lists["environment"].isdisjoint(assigned):
            return dangerous("changes which programs run").about(words[0])
        words = words[len(assigned) :]
        return worst(self._program(words, command)).about(" ".join(words)) if words else SAFE

    def _program(self, words: list[str], command: Command) -> Iterator[DangerVerdict]:
        """Go through wrappers to the program that they run, and judge both."""
        for _ in range(_MAX_WRAPPERS):
            name, rest = base_name(words[0]), words[1:]
            keys = (f"{name} {word}".strip() for word in ("", *rest[:_MAX_FRONT]))
            key = next((key for key in keys if key in self.table.wrappers), "")
            if not key:
                yield from self._judge(name, rest, command)
                return
            wrapper = self.table.wrappers[key]
            own, words, lines = _unwrap(wrapper, rest, key.partition(" ")[2])
            yield from map(self.deeper.line, lines)
            if " -" in key and (ends := [at for at, word in enumerate(words) if word in (";", "+")]):
                yield self.deeper.argv([name, *words[ends[0] + 1 :], ""])  # `find -exec ls {} ; -exec rm {} ;`
                words = words[: ends[0]]
            if name in self.table.programs:
                yield self.table.judge_program(name, rest if name in self.table.lists["takes_all"] else own)
            if "line" in wrapper and words:
                yield self.deeper.line(" ".join(words))
            if "line" in wrapper or not words:
                return
        yield _TOO_MUCH

    def _judge(self, name: str, rest: list[str], command: Command) -> Iterator[DangerVerdict]:
        is_known = name in self.table.programs
        if not is_known and self._is_windows([name, *rest[:1]]):
            yield from self._windows_program(name, rest)
        elif name[:1] in "$`(" or (not is_known and _GLOB.match(name)):
            yield _UNSEEN
        elif rest[:1] in (["--version"], ["--help"]) or (rest in (["-h"], ["-V"]) and name != "shutdown"):
            return
        elif name in self.table.interpreters:
            yield from self._interpreter(name, rest, command)
            if is_known:
                yield self.table.judge_program(name, rest)
        elif self.table.lists["harmless_flags"].isdisjoint(rest):
            if name in self.table.lists["sql_clients"]:
                words = (_SQL_FLAG.sub("", word) for word in rest)
                texts = (*command.scripts(), *(word for word in words if looks_like_sql(word, self.table)))
                yield from (_UNSEEN if text is None else judge_sql(text, self.table) for text in texts)
            yield self.table.judge_program(name, rest)

    def _interpreter(self, name: str, rest: list[str], command: Command) -> Iterator[DangerVerdict]:
        """Judge the script that a shell or an interpreter is given: as a word, by its name, or on its input."""
        for at, word in enumerate(rest):
            following = "".join(rest[at + 1 : at + 2])
            if not self.table.interpreters[name].isdisjoint((word, _BUNDLE.sub(r"-\1", word))):
                yield _UNSEEN if following.startswith(SUBSTITUTED) else self.deeper.code(following, name)
                return
            if word == "-m":
                yield self.deeper.argv([*rest[at + 1 :], ""])
                return
            if word[:1] not in ("-", "+"):
                script = base_name(word)
                script = script if script in self.table.programs else f"./{script}"
                is_foreign = word.startswith(("http", SUBSTITUTED, "/dev/"))
                yield _UNSEEN if is_foreign else self.table.judge_program(script, rest[at + 1 :])
                return
        yield from (_UNSEEN if text is None else self.deeper.code(text, name) for text in command.scripts())


def base_name(word: str) -> str:
    """Return a program without its folder, version and `.exe`; a script of the current folder keeps its `./`.

    A word that ends in braces stays whole, for what they hold may be no path.
    """
    if word.isalpha():
        return word
    is_whole = word[-1:] == "}" or ("/" not in word.removeprefix("./") and word[:1] in ("$", "."))
    name = word if is_whole else word.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    name = name[:-4] if name.lower().endswith((".exe", ".com")) else name
    return _VERSION.sub("", name) if name[-1:].isdigit() else name


def _inner_windows(words: Sequence[str]) -> str:
    """Return the command line that cmd.exe or PowerShell is given."""
    at = next((at + 1 for at, word in enumerate(words) if word.lower() in ("/c", "/k", "-c", "-command")), 0)
    return " ".join(words[at:])


def _unwrap(wrapper: frozenset[str], rest: list[str], subcommand: str) -> tuple[list[str], list[str], list[str]]:
    """Part what a wrapper is told from the command it runs: its own words, that command, command lines in flags."""
    lines: list[str] = []
    at, has_own_word = rest.index(subcommand) + 1 if subcommand else 0, "+1" in wrapper
    while at < len(rest):
        word = rest[at]
        if f"{word}=line" in wrapper:
            lines += rest[at + 1 : at + 2]
            at += 2
        elif word == "--" or _ASSIGNMENT.match(word):
            at += 1
        elif word[:1] == "-" and len(word) > 1:
            at += 2 if word in wrapper else 1
        elif has_own_word:
            has_own_word = False
            at += 1
        else:
            break
    return rest[:at], rest[at:], lines
