"""Programs as text among the arguments of any tool, told by the name they stand under."""

import re
from collections.abc import Mapping
from typing import Any, Final

from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call
from server.policy.danger.arguments.programs import judge_program
from server.policy.danger.commands.line import judge_shell
from server.policy.danger.commands.powershell import judge_powershell
from server.policy.danger.names.kinds import kind_of
from server.policy.danger.sql import is_sql_beyond_doubt, judge_sql

_FILE_OF_CODE: Final = re.compile(
    r"\w\.(?:py|js|mjs|ts|go|rb|php|lua|pl|rs|java|kt|groovy|swift|cs|ps1|sh|bash|r)\Z", re.IGNORECASE
)
_CMDLET: Final = re.compile(r"\s*[A-Z][a-z]+-[A-Z][A-Za-z]+\s*\Z")
_STARTING: Final = frozenset("then_run run execute executable enable start and_run autostart".split())
"""What is written is run."""
_SHELL_SCRIPT: Final = re.compile(r"\A\s*(?:#!\s*/\S*(?:/env )?\s*(?:ba|z|da|k)?sh\b|set -[eux])")


def by_scripts(call: Call) -> str | None:
    if cmdlet := _CMDLET.match(
        str(call.given.get("cmdlet") or call.given.get("command") or call.given.get("cmd") or "")
    ):
        return judge_powershell(f"{cmdlet[0]} {_flags(call.given)}")
    is_code = kind_of(call.tool) == "code"
    starts = any(call.given[key] is True for key in _STARTING.intersection(call.given))
    for key, text in call.texts:
        if key in keys.TEXTS and not (starts and key in keys.CONTENTS):
            continue
        if is_sql_beyond_doubt(text) and (reason := judge_sql(text)):
            return reason
        is_written = key in keys.CONTENTS and not starts
        if _SHELL_SCRIPT.match(text) and not is_written and (reason := judge_shell(text)):
            return reason
        if not is_code and (key in keys.CODE or _FILE_OF_CODE.search(key)) and (reason := _judge(call, text)):
            return reason
    return None


def _flags(given: Mapping[str, Any]) -> str:
    inner: Mapping[str, Any] = next(
        (given[key] for key in ("params", "parameters", "arguments", "args") if isinstance(given.get(key), Mapping)), {}
    )
    return " ".join(
        f"-{name}:${value}" if isinstance(value, bool) else f"-{name} {value}" for name, value in inner.items()
    )


def _judge(call: Call, text: str) -> str | None:
    return judge_program(text, str(call.given.get("language", "")).lower(), frozenset(call.words))
