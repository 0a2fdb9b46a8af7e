"""Arguments that are command lines, or lists of a program and its arguments."""

import re
from collections.abc import Mapping
from typing import Any, Final

from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call
from server.policy.danger.code.python import judge_python
from server.policy.danger.commands.line import RUNNER, judge_argv, judge_shell
from server.policy.danger.commands.windows import judge_windows
from server.policy.danger.sql import judge_sql, looks_like_sql

_TAKING_LINES: Final = frozenset("sh bash zsh echo python python3 node cmd powershell git grep printf".split())
"""Programs among whose arguments one may look like a command line."""
_SQL_STARTS: Final = frozenset("select insert update delete drop truncate alter create grant".split())
_PYTHON_STARTS: Final = ("import ", "from ", "#!/usr/bin/env python", "#!/usr/bin/python")
_OF_WINDOWS: Final = frozenset("cmd powershell pwsh windows".split())
_BEYOND_DOUBT: Final = re.compile(
    r"\s*(?:sudo\s|rm\s+-|dd\s+if=|mkfs|shutdown\s|reboot\b|curl\s[^|]*\|\s*(?:ba|z)?sh|wget\s[^|]*\|\s*(?:ba|z)?sh|chmod\s+-R|chown\s+-R"
    r"|git\s+push\s|git\s+reset\s|kubectl\s|docker\s|systemctl\s|kill(?:all)?\s|del\s+/|format\s+[A-Za-z]:|Remove-Item\s|iptables\s|userdel\s"
    r"|find\s.*-delete|bash\s+-c|sh\s+-c|powershell\s)"
)


def by_commands(call: Call) -> str | None:
    """For tools that run commands."""
    argv = _program_and_arguments(call.given)
    if argv:
        return judge_argv(argv)
    is_windows = not _OF_WINDOWS.isdisjoint(call.words)
    for key, value in call.leaves:
        if key not in keys.NO_COMMANDS and (reason := _judge(key, value)):
            return reason
        if is_windows and key not in keys.NO_COMMANDS and isinstance(value, str) and (reason := judge_windows(value)):
            return reason
    target = call.given.get("target")
    return judge_argv(["make", target]) if isinstance(target, str) and "make" in call.words else None


def by_hidden_commands(call: Call) -> str | None:
    """For any tool: under a name that promises a command, or a command line beyond doubt, or SQL that says it is."""
    for key, value in call.leaves:
        if key in keys.COMMANDS and (reason := _promised(value)):
            return reason
    return next((reason for key, text in call.texts if (reason := _beyond_doubt(key, text))), None)


def _program_and_arguments(given: Mapping[str, Any]) -> list[str] | None:
    rest = next((given[key] for key in keys.ARGUMENTS if isinstance(given.get(key), list)), None)
    first = next((given[key] for key in keys.PROGRAMS if isinstance(given.get(key), str)), None)
    if rest is None or first is None:
        return None
    head = first.split() if " " in first and "/" not in first else [first]
    return [*head, *map(str, rest)]


def _judge(key: str, value: Any) -> str | None:
    if isinstance(value, str):
        return _line(key, value)
    return _list(value) if _is_texts(value) else None


def _line(key: str, value: str) -> str | None:
    if key == "code":
        return judge_sql(value) if looks_like_sql(value) else judge_shell(value)
    if "".join(value.split(None, 1)[:1]).lower() in _SQL_STARTS and looks_like_sql(value):
        return judge_sql(value)
    if value.lstrip().startswith(_PYTHON_STARTS):
        return judge_python(value, RUNNER)
    return judge_shell(value)


def _list(value: list[str]) -> str | None:
    """Either arguments, or command lines, or what may be both."""
    is_argv = bool(value) and " " not in value[0].strip()
    if is_argv and (reason := judge_argv(value)):
        return reason
    if is_argv and len(value) > 1 and (value[0] in _TAKING_LINES or not any(" " in item for item in value)):
        return None
    return next((reason for line in value if (reason := judge_shell(line))), None)


def _promised(value: Any) -> str | None:
    if isinstance(value, str):
        return judge_shell(value) if " " in value else None
    return _list(value) if value and _is_texts(value) else None


def _beyond_doubt(key: str, text: str) -> str | None:
    if key not in keys.TEXTS and _BEYOND_DOUBT.match(text) and (reason := judge_shell(text)):
        return reason
    return judge_sql(text) if key in keys.SAID_TO_BE_SQL and looks_like_sql(text) else None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
