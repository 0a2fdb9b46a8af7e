"""Judges command lines: takes them apart, fills in what they assign, and judges each program that they run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.policy.danger.commands.judge import judge_step
from server.policy.danger.commands.redirects import judge_redirects
from server.policy.danger.commands.running.shells import decodes_or_fetches, printed_by
from server.policy.danger.commands.shell import MAX_CHARS, MAX_DEPTH, SUBSTITUTED, Command, parse
from server.policy.danger.commands.step import Nested, Step
from server.policy.danger.commands.transfers import (
    downloaded_then_run,
    program_of,
    reads_private,
    sends,
    written_then_run,
)
from server.policy.danger.commands.windows import judge_windows, looks_like_windows
from server.policy.danger.commands.words import INTERPRETERS

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::?-([^{}$]*))?\}|(\w+))")
_UNSET: Final = re.compile(r"\$(?:\{\w+\}|\w+|[@*])")
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_FLOOD: Final = re.compile(
    r"(?:seq\s+(?:1\s+)?|\{1\.\.)\d{3,}\b[^\n]{0,200}(?:curl|wget|ab|hey|nc|ssh|ping)\b[^\n]{0,2000}done|(?:while\s+(?::|true|\[ 1 \]|\(\(\s*1\s*\)\))|for\s*\(\(\s*;;\s*\)\))\s*;?\s*do\b[^\n]{0,2000}&\s*;?\s*done"
)
_FORK_BOMB: Final = re.compile(
    r"([\w:.@%]{1,200})\s*\(\)\s*\{[^}]*\1\s*\|\s*&?\s*\1|(?:^|\s)\$0\s*[|&]\s*(?:\S+\s+)?\$0"
)
_TOLD_OTHERWISE: Final = ("LD_PRELOAD", "PATH", "BASH_ENV", "PROMPT_COMMAND", "GIT_SSH_COMMAND")
_PATTERN: Final = re.compile(r"/(?=.*[?\[*])(?=.*\w)[\w/?*\[\]-]+")
_TEMPORARY: Final = re.compile(r"\s*mktemp\b")
_OWN_FOLDER: Final = "/tmp/made"
"""In the place of what `mktemp` prints."""
_ONLY_READ: Final = re.compile(r"\s*set -n\s*(?:\n|;|$)")
"""The shell reads the rest, and runs nothing."""
_KEYWORDS: Final = ("do", "then", "else", "if", "elif", "while", "until", "!", "{")
_LOCAL: Final = frozenset("rm rmdir mv cp git truncate chmod touch mkdir".split())
_REMOTE: Final = (["push"], ["remote"], ["config"], ["send-email"])
_OUTSIDE: Final = re.compile(r"^[/~$-]*[/~$]|\.\.|://")
_PIECED: Final = re.compile(
    r"\b(\w{1,40})=[\"']?\$\{?\1\b\}?[^\n]{0,200}?\$\([\s\S]{0,400}?(?:^|[;\n]|\bdo\b|&&)\s*(?:eval\s+)?[\"']?\$\{?\1\}?[\"']?\s*(?:$|[;\n&|])",
    re.MULTILINE,
)
"""A variable that grows by pieces, and is then run: `s="$s$(…)"; $s`."""
_MAX_VARIABLES: Final = 100
_MAX_VALUE_CHARS: Final = 1000
_TOO_DEEP: Final = "commands nested too deep"


def judge_shell(text: str, depth: int = 0) -> str | None:
    """Why somebody should be asked before this runs; None: nothing speaks for it."""
    if not text.strip() or depth > MAX_DEPTH:
        return _TOO_DEEP if depth > MAX_DEPTH else None
    if len(text) > MAX_CHARS:
        return "a command longer than can be looked at"
    if ("()" in text or "$0" in text) and _FORK_BOMB.search(text[:4000]):
        return "a fork bomb"
    if _FLOOD.search(text[:4000]):
        return "starts programs without end"
    if looks_like_windows(text) and (reason := judge_windows(text)):
        return reason
    if _ONLY_READ.match(text):
        return None
    commands = parse(text)
    _fill_in(commands)
    pipe: list[Command] = []
    is_own = False  # in a temporary folder of its own
    for command in commands:
        if command.words[:1] == ["cd"]:
            target = command.words[-1]
            is_own = target.startswith(_OWN_FOLDER) or (is_own and not target.startswith(("/", "~", "$", "..", "-")))
        elif is_own and _stays(command):
            continue
        pipe = [*pipe, command] if command.reads_pipe else [command]
        if reason := _judge_command(command, pipe[:-1], depth):
            return reason
    for program, script in written_then_run(commands):
        words = [program, INTERPRETERS[program], script] if program in INTERPRETERS else ["sh", "-c", script]
        if reason := judge_argv(words, depth + 1):
            return reason
    return "runs hidden commands" if "=" in text and _PIECED.search(text) else downloaded_then_run(commands)


def _stays(command: Command) -> bool:
    """It reaches nothing outside the current folder."""
    is_local = command.words[:1] != [] and command.words[0] in _LOCAL and command.words[1:2] not in _REMOTE
    return is_local and not command.inner and not any(_OUTSIDE.search(word) for word in command.words[1:])


def judge_argv(words: Sequence[str], depth: int = 0) -> str | None:
    """A list of arguments, the program first; one element may also be a whole command line."""
    if not words:
        return None
    if len(words) == 1:
        return judge_shell(words[0], depth)
    if " " in words[0].strip() and not words[0].startswith(("/", "C:")):
        return next((reason for word in words if (reason := judge_shell(word, depth))), None)
    return _judge_words(list(words), Command(words=list(words)), (), depth)


def _fill_in(commands: list[Command]) -> None:
    """Put what the text itself assigns in the place of `$name`, which may be the whole command."""
    known = {"SHELL": "sh"}
    for command in commands:
        while len(command.words) > 1 and command.words[0] in _KEYWORDS:
            del command.words[0]
        if any("$" in word for word in command.words):
            words = [_VARIABLE.sub(lambda m: _value(m, known), word) for word in command.words]
            between = known.get("IFS", "").strip("'\"$ ")[:1]
            first = words[0].replace(between, " ") if between else words[0]
            command.words = [*first.split(), *words[1:]]
        if command.inner and _TEMPORARY.match(command.inner[0]):
            command.words = [word.replace(SUBSTITUTED, _OWN_FOLDER) for word in command.words]
        if command.words and all(_ASSIGNMENT.match(word) for word in command.words):
            parts = [word.partition("=") for word in command.words if len(known) < _MAX_VARIABLES and "+=" not in word]
            known.update((name, value) for name, _, value in parts)


def _value(variable: re.Match[str], known: dict[str, str]) -> str:
    """What was assigned, else the default of `${name:-default}`, else the variable as it stands."""
    return known.get(variable[1] or variable[3], variable[0] if variable[2] is None else variable[2])[:_MAX_VALUE_CHARS]


def _judge_command(command: Command, feeders: Sequence[Command], depth: int) -> str | None:
    for inner in command.inner:
        if reason := judge_shell(inner, depth + 1):
            return reason
        if sends(command.words) and reads_private(inner):
            return "sends away what is private"
    return judge_redirects(command) or _judge_words(command.words, command, feeders, depth)


def _judge_words(words: Sequence[str], command: Command, feeders: Sequence[Command], depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return _TOO_DEEP
    start = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    if start == len(words):
        return _only_assigns(words[-1], depth) if words else None
    program, *rest = _expanded(words[start:])
    if reason := _hidden(program, rest, command, depth):
        return reason
    if program.startswith(("$", "`")) and rest[:1] and rest[0] in ("-rf", "-fr", "-r", "-R"):
        return "runs a hidden command with -r"
    return judge_step(Step(program_of(program), rest, command, feeders, _Deeper(depth + 1)))


def _expanded(words: Sequence[str]) -> list[str]:
    """`{rm,-rf,x}` and `r$@m` as a shell reads them."""
    first = words[0]
    if braces := _BRACES.fullmatch(first):
        return [*braces[1].split(","), *words[1:]]
    if "$" in first and not first.startswith("$("):
        first = _UNSET.sub("", first) or first
    return [first, *words[1:]]


def _hidden(program: str, rest: list[str], command: Command, depth: int) -> str | None:
    """The program is what another one prints, or what a pattern finds."""
    if program == SUBSTITUTED and command.inner:
        printed = printed_by(command.inner[0])
        if printed is None:
            return "runs hidden commands" if decodes_or_fetches(command.inner[0]) else None
        return judge_shell(" ".join([printed, *rest]), depth + 1)
    return "runs what a pattern finds" if rest and _PATTERN.fullmatch(program) else None


def _only_assigns(word: str, depth: int) -> str | None:
    """`X="rm -rf /srv"`: a value with spaces may be meant as a command."""
    name, _, value = word.partition("=")
    return judge_shell(value, depth + 1) if " " in value and name not in _TOLD_OTHERWISE else None


@dataclass(frozen=True, slots=True)
class _Deeper:
    """step.Nested."""

    depth: int

    def line(self, text: str) -> str | None:
        return judge_shell(text, self.depth)

    def argv(self, words: Sequence[str]) -> str | None:
        return judge_argv(words, self.depth)

    def words(
        self, words: Sequence[str], command: Command | None = None, feeders: Sequence[Command] = ()
    ) -> str | None:
        return _judge_words(words, command or Command(), feeders, self.depth)


RUNNER: Final[Nested] = _Deeper(0)
"""Judges what a tool hands to a shell."""
