"""The door of the danger rules: verdicts, hints, and which commands have a name that can be remembered."""

import pytest

from server.policy.danger.judge import command_name, is_worse_than_plain, judge_call


def test_a_call_of_class_read_is_safe_whatever_it_says() -> None:
    assert judge_call("shell", "READ", {"command": "rm -rf /"}).level == "safe"


def test_a_dangerous_call_comes_with_a_reason() -> None:
    verdict = judge_call("shell", "WRITE", {"command": "rm -rf /srv"})

    assert verdict.level == "dangerous"
    assert verdict.reason


def test_a_servers_hint_that_a_tool_destroys_makes_its_call_dangerous() -> None:
    assert judge_call("tidy_up", "WRITE", {}, destructive=True).level == "dangerous"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git push origin main", "git push"),
        ("git push --force", "git push"),
        ("git push && rm x", None),
        ("git push > log", None),
        ("git push $(cat branch)", None),
        ("HOME=/x git push", None),
        ("sudo git push", None),
        ("python x.py", None),
        ("make deploy", None),
    ],
)
def test_only_one_plain_command_has_a_name(command: str, name: str | None) -> None:
    assert command_name("shell", {"command": command}) == name


def test_a_forced_push_is_worse_than_a_push() -> None:
    assert is_worse_than_plain("shell", {"command": "git push --force"})
    assert not is_worse_than_plain("shell", {"command": "git push origin main"})
