"""What holds of every call: its permission class, dry runs, arguments of any shape."""

from typing import Any

import pytest

from server.policy.danger.calls import judge_call


@pytest.mark.parametrize(
    "call",
    [("bash", {"command": "rm -rf /"}), ("delete_file", {"path": "a"}), ("execute_sql", {"sql": "DROP TABLE users"})],
    ids=str,
)
def test_only_a_tool_that_reads_asks_nothing(call: tuple[str, dict[str, Any]]) -> None:
    assert judge_call(call[0], "READ", call[1]) is None
    assert judge_call(call[0], "WRITE", call[1]) is not None


@pytest.mark.parametrize("arguments", [None, "rm -rf /", ["rm", "-rf", "/"], 7, {"a": [[[{"b": None}]]]}])
def test_arguments_of_any_shape_are_judged(arguments: Any) -> None:
    judge_call("bash", "WRITE", arguments)


def test_a_dry_run_asks_nothing() -> None:
    assert judge_call("delete_vm", "EXTERNAL", {"id": 1, "dry_run": True}) is None


def test_a_shell_is_not_believed_that_it_only_tries() -> None:
    for told in ({"check": True}, {"send": False}, {"execute": False}, {"mode": "preview"}):
        assert judge_call("bash", "WRITE", {"command": "rm -rf ~/x", **told}) is not None


def test_a_draft_and_a_dry_run_ask_nothing() -> None:
    assert judge_call("send_email", "EXTERNAL", {"to": "a@b.example", "send": False}) is None
    assert judge_call("ansible_run", "EXTERNAL", {"playbook": "x.yml", "check": True}) is None
    assert judge_call("bash", "WRITE", {"command": "rm -rf ~/x", "dry_run": True}) is None
