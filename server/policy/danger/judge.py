"""Rates a tool call: safe, unknown or dangerous, with the reason."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from server.policy.danger import calls
from server.policy.danger.commands.shell import parse
from server.tool_calls import Permission

Level = Literal["safe", "unknown", "dangerous"]

_NEVER_NAMED: Final = frozenset(
    "sh bash zsh dash ksh fish python python3 node ruby perl php sudo doas su env ssh xargs eval exec source . "
    "make npm npx yarn pnpm bun uv docker podman nohup timeout time watch find parallel".split()
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Level of danger of a call, and why in one phrase a user understands ("" where it is safe)."""

    level: Level
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DangerTable:
    """Rules in force: the built-in ones, with the operator's over them."""


def load_table(path: Path | None) -> DangerTable:  # noqa: ARG001  # filled in with the table
    """Read the built-in table and merge the operator's over it. Raises ConfigError for a wrong line."""
    return DangerTable()


def judge_call(
    tool: str,  # filled in with the table
    permission: Permission,
    arguments: Any,
    *,
    destructive: bool | None = None,
    table: DangerTable | None = None,  # noqa: ARG001  # filled in with the table
) -> Verdict:
    """Rate a call by its class, then the server's hint, then what its name and arguments would do.

    `destructive` is a trusted server's destructiveHint: True asks; False spares the judgement by name and
    class, not that of a command line, SQL or code in the arguments; None says nothing.
    """
    if permission == "READ":
        return Verdict("safe")
    if destructive:
        return Verdict("dangerous", "the tool's server says that it destroys or overwrites")
    reason = calls.judge_call(tool, permission, arguments)
    return Verdict("safe") if reason is None else Verdict("dangerous", reason)


def command_name(
    tool: str,  # noqa: ARG001  # filled in with the table
    arguments: Any,
    *,
    table: DangerTable | None = None,  # noqa: ARG001  # filled in with the table
) -> str | None:
    """Return program and subcommand of a call that runs one plain command, such as "git push"; else None.

    Plain: no operators, substitutions, redirections or assignments, and a program that runs no other
    (no shell, interpreter, wrapper or script runner).
    """
    line = arguments.get("command") if isinstance(arguments, dict) else None
    commands = parse(line) if isinstance(line, str) else []
    if len(commands) != 1 or commands[0].inner or commands[0].redirects or "$" in str(line) or "`" in str(line):
        return None
    program, *rest = commands[0].words or [""]
    if not program or "=" in program or program in _NEVER_NAMED:
        return None
    subcommand = next((word for word in rest[:1] if word.isalpha()), None)
    return f"{program} {subcommand}" if subcommand else program


def is_worse_than_plain(tool: str, arguments: Any, *, table: DangerTable | None = None) -> bool:
    """Tell whether a call is rated worse than its `command_name` alone: `git push --force` than `git push`.

    A remembered approval of the command does not cover such a call.
    """
    name = command_name(tool, arguments, table=table)
    if name is None:
        return True
    plain = judge_call(tool, "EXTERNAL", {"command": name}, table=table)
    call = judge_call(tool, "EXTERNAL", arguments, table=table)
    return call.level == "dangerous" and call != plain
