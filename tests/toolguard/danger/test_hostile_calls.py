"""Calls made to hide what they do, to break the judge, or to hold it."""

import time
from typing import Any

import pytest

from server.toolguard.danger.judge import command_name, judge_call

SIZE = 65_536
LIMIT_S = 2.0  # of processor time of this thread: a quadratic rule takes many times as long, a slow machine a few
"""Seconds of the processor, so that a busy machine does not count."""
UNITS = """rm|rm -rf /tmp/a ;|sudo|$(|`|"|'|${|a&|curl a&|find -exec|sh -c|bash -c '|x() {|(|{|x=1|-a|--a=b|git -|git push|xargs
docker run|kubectl -n|\\|#|> a|<(a|&&|ssh a|trap|timeout 1|a/|../|/etc/|*|a*|SELECT|DELETE FROM a;|a;|'a'|/*|--|eval|python -c
curl $(cat ~/.ssh/a)|$'\\x41|if|é|-|@|%a%|powershell|cmd /c|^|del /s|a.|a::|f("a",|update a set b where""".replace(
    "\n", "|"
)
TOOLS = [
    ("bash", "command"),
    ("powershell", "command"),
    ("sql_query", "query"),
    ("python", "code"),
    ("node", "code"),
    ("mongo", "command"),
    ("http_request", "url"),
    ("write_file", "path"),
]


@pytest.mark.parametrize("unit", [*UNITS.split("|"), "\n", "|", "<<E\n", "a\n", "--\n", "!rm x\n", "\x00"])
def test_no_text_of_64_kb_is_judged_slowly(unit: str) -> None:
    unit = unit if unit.isspace() or len(unit) == 1 else f"{unit} "
    text = (unit * SIZE)[:SIZE]

    for tool, key in TOOLS:
        start = time.thread_time()
        judge_call(tool, "WRITE", {key: text})
        assert time.thread_time() - start < LIMIT_S, tool


@pytest.mark.parametrize("unit", ["a", "aB", "a_", "a."])
def test_long_names_and_values_are_judged_in_time(unit: str) -> None:
    start = time.thread_time()
    judge_call(unit * 30_000, "WRITE", {unit * 30_000: "x", "action": unit * 40, "argv": [unit] * 30_000})

    assert time.thread_time() - start < LIMIT_S


@pytest.mark.parametrize(
    "line", ["ls;" * 3000, "a" * 70_000, "sudo " * 50 + "ls", "$(" * 30, "eval $(ssh a " * 12 + "ls" + ")" * 12]
)
def test_what_is_too_much_to_be_looked_at_is_asked_about(line: str) -> None:
    assert judge_call("bash", "WRITE", {"command": line}).level == "dangerous"


def test_a_command_behind_thousands_of_values_is_not_overlooked() -> None:
    arguments = {"tags": ["a"] * 10_000, "command": "rm -r ~"}

    assert judge_call("bash", "WRITE", arguments).level == "dangerous"


def test_deep_structures_are_judged() -> None:
    value: Any = "x"
    for _ in range(500):
        value = {"a": [value]}

    assert judge_call("tool", "WRITE", value).level == "unknown"


@pytest.mark.parametrize("tool", ["bash", "sql_query", "python", "powershell", "kubectl", "http_request", "x", ""])
@pytest.mark.parametrize(
    "arguments",
    [
        None,
        [],
        {},
        1,
        "x",
        {"command": None},
        {"command": []},
        {"command": [1]},
        {"command": ""},
        {"command": " "},
        {"command": '"'},
        {"command": "\x00"},
        {"command": {"a": "b"}},
        {1: 2},
        {"argv": [""]},
        {"argv": ["a b"]},
        {"query": ";"},
        {"code": "("},
        {"code": "\x00"},
        {"method": 1, "url": None},
    ],
)
def test_arguments_of_any_form_are_judged(tool: str, arguments: Any) -> None:
    assert judge_call(tool, "WRITE", arguments).level in ("safe", "unknown", "dangerous")
    command_name(tool, arguments)
