"""Arguments that are programs: the language is told, or seen."""

import re
from typing import Final

from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call
from server.policy.danger.code.other import judge_code
from server.policy.danger.code.python import judge_python
from server.policy.danger.commands.line import RUNNER, judge_shell
from server.policy.danger.sql import judge_sql

_SHELLS: Final = frozenset("bash shell sh zsh fish terminal".split())
_SHELL_LANGUAGES: Final = ("bash", "sh", "shell", "zsh", "powershell", "cmd")
_PYTHONS: Final = frozenset("python python3 ipython jupyter notebook".split())
_PYTHON: Final = re.compile(r"^[^\S\n]*(?:import \w|from \w+ import|def \w+\(|print\()", re.MULTILINE)
_R_CALLS: Final = re.compile(r"\b(?:unlink|file\.remove|system2?)\(")


def by_code(call: Call) -> str | None:
    words = frozenset(call.words)
    language = str(call.given.get("language", "")).lower()
    if words & _SHELLS and not language:
        language = "bash"
    for key, value in call.leaves:
        if isinstance(value, list):
            reasons = (judge_code(item, RUNNER) for item in value if isinstance(item, str))
            reason = next((reason for reason in reasons if reason), None)
        elif isinstance(value, str) and key not in keys.NO_CODE:
            reason = judge_program(value, language, words)
        else:
            reason = None
        if reason:
            return reason
    return None


def judge_program(text: str, language: str, words: frozenset[str]) -> str | None:
    """`words`: of the tool's name; they may tell the language where `language` is empty."""
    if language in _SHELL_LANGUAGES:
        return judge_shell(text)
    if language == "sql":
        return judge_sql(text)
    if language.startswith("py") or words & _PYTHONS or (not language and _is_python(text)):
        return judge_python(text, RUNNER)
    if reason := judge_code(text, RUNNER):
        return reason
    return "deletes files" if "r" in words and _R_CALLS.search(text) else None


def _is_python(code: str) -> bool:
    return bool(_PYTHON.search(code)) and "{" not in code.split("\n", maxsplit=1)[0]


_FETCHING: Final = frozenset("download fetch install extract unpack clone get wget curl pull import sideload".split())
_RUNNING: Final = frozenset(
    "run execute exec start launch post post_install postinstall then after hook run_after command entrypoint setup".split()
)


def by_downloads(call: Call) -> str | None:
    """What is fetched from an address is started."""
    is_fetched = any(
        "://" in text and key in ("url", "source", "from", "uri", "src", "archive") for key, text in call.texts
    )
    if not is_fetched or not (_FETCHING | _RUNNING) & set(call.words):
        return None
    starts = any(key in _RUNNING and value not in (None, False, "", []) for key, value in call.leaves)
    return "runs a stranger's code" if starts or (_RUNNING & set(call.words) and _FETCHING & set(call.words)) else None
