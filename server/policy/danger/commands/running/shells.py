"""Shells: the script that one is given as a word, in a here-document, or through a pipe."""

from typing import Final

from server.policy.danger.commands.shell import SUBSTITUTED, Command, parse, unescape
from server.policy.danger.commands.step import HARMLESS, Judge, Step
from server.policy.danger.commands.transfers import DOWNLOADERS, SHELLS, program_of, sends

_STRANGER: Final = "runs a stranger's script"
_DECODERS: Final = frozenset(
    "base64 base32 xxd openssl gunzip zcat rev tr gzip bunzip2 xz uudecode hexdump od python python3 perl ruby php sed awk".split()
)
_ECHO_FLAGS: Final = ("-e", "-n", "-E", "-ne", "-en")
_FETCHERS: Final = DOWNLOADERS | {"nc", "ssh", "scp"}


def by_shell(step: Step) -> str | None:
    for at, word in enumerate(step.rest):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c") and len(step.rest) > at + 1:
            return _by_script(step, step.rest[at + 1])
        if not word.startswith(("-", "+")):
            return _STRANGER if word.startswith(("http", "/dev/stdin", "/dev/fd", "(")) else HARMLESS
    for redirect in step.command.redirects:
        if redirect.sign in ("<<", "<<<", "<<-"):
            return step.nested.line(redirect.target) or HARMLESS
        if redirect.sign.startswith("<&"):
            return "opens a shell to another machine"
        if redirect.sign == "<":
            return "runs a file unseen"
    return _STRANGER if _first_fetches(step.command) else _by_pipe(step)


def printed_by(script: str) -> str | None:
    """What `echo rm -rf x` prints; None: it is something else."""
    commands = parse(script)
    if len(commands) != 1 or commands[0].words[:1] not in (["echo"], ["printf"]):
        return None
    return unescape(" ".join(word for word in commands[0].words[1:] if word not in _ECHO_FLAGS))


def decodes_or_fetches(script: str) -> bool:
    names = {program_of(command.words[0]) for command in parse(script) if command.words}
    return bool(names & (_DECODERS | _FETCHERS))


def _by_script(step: Step, script: str) -> str:
    if "$(" in script and any(sends(command.words) for inner in step.command.inner for command in parse(inner)):
        return _STRANGER
    if script.strip() == SUBSTITUTED and any(map(decodes_or_fetches, step.command.inner)):
        return "runs hidden commands"
    return step.nested.line(script) or HARMLESS


def _by_pipe(step: Step) -> str:
    """A shell that reads its commands from a pipe."""
    if not step.feeders:
        return HARMLESS
    last = step.feeders[-1]
    names = [program_of(feeder.words[0]) if feeder.words else "" for feeder in step.feeders]
    if _FETCHERS & set(names) or any(sends(feeder.words) for feeder in step.feeders):
        return _STRANGER
    if _DECODERS & set(names):
        return "runs hidden commands"
    if names[-1] in ("echo", "printf"):
        text = " ".join(word for word in last.words[1:] if word not in _ECHO_FLAGS)
        return step.nested.line(unescape(text)) or HARMLESS
    for redirect in last.redirects:
        if redirect.sign in ("<<", "<<<"):
            return step.nested.line(redirect.target) or HARMLESS
    return "runs a file unseen" if names[-1] in ("cat", "head", "tail") else HARMLESS


def _by_eval(step: Step) -> str:
    text = " ".join(step.rest)
    if reason := step.nested.line(text):
        return reason
    return "runs what a variable holds" if "$" in text and step.command.inner else HARMLESS


def _by_source(step: Step) -> str:
    return _STRANGER if _first_fetches(step.command) else HARMLESS


def _by_su(step: Step) -> str | None:
    for flag in ("-c", "--command", "-lc"):
        if flag in step.rest:
            return step.nested.line(step.after(flag)) or HARMLESS
    return None


def _by_alias(step: Step) -> str | None:
    scripts = [word.partition("=")[2] for word in step.rest if "=" in word]
    return "makes a command do something else" if any(map(step.nested.line, scripts)) else None


def _first_fetches(command: Command) -> bool:
    scripts = [parse(inner) for inner in command.inner]
    return any(sends(script[0].words) for script in scripts if script)


JUDGES: Final[dict[str, Judge]] = {
    **dict.fromkeys(SHELLS, by_shell),
    "eval": _by_eval,
    "source": _by_source,
    ".": _by_source,
    "su": _by_su,
    "runuser": _by_su,
    "alias": _by_alias,
}
