"""Verdicts of whole calls: class, hints, names of tools, values, requests; and which commands can be remembered."""

from typing import Any

import pytest

from server.toolguard.danger.judge import command_name, is_worse_than_plain, judge_call

Call = tuple[str, dict[str, Any]]


def level(tool: str, arguments: Any, **hints: Any) -> str:
    return judge_call(tool, "EXTERNAL", arguments, **hints).level


def test_a_call_of_class_read_is_safe_whatever_it_says() -> None:
    assert judge_call("shell", "READ", {"command": "rm -rf /"}).level == "safe"


def test_a_dangerous_call_says_why_and_with_which_part_in_short() -> None:
    verdict = judge_call("shell", "WRITE", {"command": "cd /srv && rm -rf /srv"})

    assert verdict.reason == "deletes files recursively (rm -rf /srv)"
    assert verdict.phrase == "deletes files recursively"
    assert len(judge_call("shell", "WRITE", {"command": f"rm -r {'a' * 500}"}).reason) < 200
    assert judge_call("shell", "WRITE", {"command": "ls -la"}).reason == ""


def test_what_no_rule_covers_is_unknown_and_says_so() -> None:
    verdict = judge_call("frobnicate", "WRITE", {})

    assert verdict.level == "unknown"
    assert "covered by no rule" in verdict.reason
    assert level("shell", {"command": "frobnicate --now"}) == "unknown"
    assert level("shell", {"command": "./own_script"}) == "unknown"


def test_the_worst_command_of_a_line_decides() -> None:
    assert level("shell", {"command": "frobnicate; rm x; ls"}) == "dangerous"
    assert level("shell", {"command": "ls; frobnicate; ls"}) == "unknown"


@pytest.mark.parametrize(
    ("tool", "arguments", "destructive", "expected"),
    [
        ("tidy_up", {}, True, "dangerous"),
        ("delete_draft_copies", {"id": 3}, False, "safe"),
        ("shell", {"command": "rm -rf /srv"}, False, "dangerous"),
        ("query", {"sql": "DROP TABLE users"}, False, "dangerous"),
        ("python", {"code": "import shutil; shutil.rmtree('/srv')"}, False, "dangerous"),
    ],
)
def test_a_hint_replaces_the_judgement_by_name_and_never_that_of_what_is_run(
    tool: str, arguments: dict[str, Any], destructive: bool, expected: str
) -> None:
    assert level(tool, arguments, destructive=destructive) == expected


@pytest.mark.parametrize(
    "tool",
    """github__delete_repository remove_member emptyTrash clear_memory cancel_booking restart_server reset_password
    pay_bill transfer_funds buy_ticket book_hotel send_email reply_all publish_post tweet sign_contract accept_offer
    grant_access deploy merge_pull_request unlock_door open_garage disarm_alarm konto_loeschen rotate_keys""".split(),
)
def test_names_of_tools_tell_what_they_do(tool: str) -> None:
    assert level(tool, {}) == "dangerous"


@pytest.mark.parametrize(
    "tool",
    """list_files search_web get_order payment_status order_history dns.lookup read_mail send_message create_event
    set_timer stop_timer cancel_timer close_garage lock_door delete_draft create_draft play_music add_to_list
    remove_todo book_recommendations quote_transfer translate""".split(),
)
def test_everyday_names_of_tools_ask_nothing(tool: str) -> None:
    assert level(tool, {}) == "safe"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("filesystem", {"operation": "remove", "target": "~/Photos"}),
        ("garage_door", {"action": "open"}),
        ("home_assistant", {"service": "lock.unlock", "entity_id": "lock.door"}),
        ("cover", {"service": "cover.open_cover", "entity_id": "cover.garage"}),
        ("browser_click", {"text": "Place order"}),
        ("browser_click", {"selector": "#buy-now"}),
    ],
)
def test_an_action_among_the_arguments_counts_as_a_name(tool: str, arguments: dict[str, Any]) -> None:
    assert level(tool, arguments) == "dangerous"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("copy_file", {"from": "a", "to": "b", "overwrite": True}, "dangerous"),
        ("copy_file", {"from": "a", "to": "b", "overwrite": False}, "safe"),
        ("set_repo", {"visibility": "public"}, "dangerous"),
        ("create_repo", {"private": False}, "dangerous"),
        ("add_note", {"role": "owner"}, "dangerous"),
        ("list_repos", {"visibility": "private"}, "safe"),
        ("apply_changes", {"force": True, "dry_run": True}, "safe"),
        ("upload_file", {"path": "~/.aws/credentials"}, "dangerous"),
        ("upload_file", {"path": "photo.jpg"}, "unknown"),
        ("write_file", {"path": "notes/a.md", "content": "Never type rm -rf /"}, "safe"),
    ],
)
def test_values_that_force_or_expose_make_a_call_dangerous(tool: str, arguments: dict[str, Any], expected: str) -> None:
    assert level(tool, arguments) == expected


@pytest.mark.parametrize("path", ["/etc/hosts", "~/.ssh/config", "C:\\Windows\\a", "../../../x", ".git/hooks/pre-push"])
def test_writing_where_the_system_or_the_login_is_set_up_is_dangerous(path: str) -> None:
    assert level("write_file", {"path": path, "content": "x"}) == "dangerous"
    assert level("get_file", {"path": path}) == "safe"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "~/.ssh/id_rsa"}, "dangerous"),
        ({"paths": ["a.md", "/etc/ssl/private/a.pem"]}, "dangerous"),
        ({"filename": "server.key"}, "dangerous"),
        ({"path": "~/.ssh/id_rsa.pub"}, "safe"),
        ({"path": "keyboard.md"}, "safe"),
    ],
)
def test_reading_a_private_key_as_a_file_is_asked_about(arguments: dict[str, Any], expected: str) -> None:
    assert level("read_file", arguments) == expected


@pytest.mark.parametrize(
    ("method", "url", "expected"),
    [
        ("GET", "https://a.example/users", "safe"),
        ("head", "https://a.example/users", "safe"),
        ("delete", "https://a.example/users/1", "dangerous"),
        ("PUT", "https://a.example/users/1", "dangerous"),
        ("POST", "https://a.example/orders", "dangerous"),
        ("POST", "https://a.example/search", "safe"),
        ("POST", "http://localhost:8000/orders", "safe"),
    ],
)
def test_the_method_of_a_request_decides(method: str, url: str, expected: str) -> None:
    assert level("http_request", {"method": method, "url": url}) == expected


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("run", {"argv": ["rm", "-r", "/srv"]}),
        ("run_command", {"command": "rm", "args": ["-r", "/srv"]}),
        ("spawn", {"program": "sh", "args": ["-c", "rm -r /srv"]}),
        ("kubectl", {"args": ["delete", "pod", "web"]}),
        ("git", {"args": ["reset", "--hard"]}),
        ("run_terminal_cmd", {"command": "find . -delete"}),
        ("call_aws", {"cli_command": "aws s3 rm s3://a"}),
        ("mongo_shell", {"expression": "db.users.drop()"}),
        ("redis_command", {"command": "FLUSHALL"}),
        ("mongo_shell", {"command": "db.users.drop()"}),
        ("batch", {"steps": [{"run": "ls"}, {"run": "rm -r ~/a"}]}),
        ("run_task", {"env": {"POST": "rm -rf ~/work"}}),
        ("terminal", {"input": "rm -r ~/a"}),
        ("terminal", {"args": ["a"], "script": "rm -r ~/a"}),
        ("run_code", {"language": "bash", "code": "rm -r ~/a"}),
        ("db_batch", {"statements": ["SELECT 1", "DROP TABLE t"]}),
    ],
)
def test_commands_are_found_in_all_their_forms(tool: str, arguments: dict[str, Any]) -> None:
    assert level(tool, arguments) == "dangerous"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git push origin main", "git push"),
        ("git push --force", "git push"),
        ("ls -la", "ls"),
        ("kubectl get pods", "kubectl get"),
        ("git push && rm x", None),
        ("git push; ls", None),
        ("git push &", None),
        ("git push > log", None),
        ("git log | head", None),
        ("git push $(cat branch)", None),
        ("git push `cat branch`", None),
        ("git push $BRANCH", None),
        ("HOME=/x git push", None),
        ("sudo git push", None),
        ("ssh host ls", None),
        ("xargs rm", None),
        ("sh -c ls", None),
        ("python x.py", None),
        ("make deploy", None),
        ("npm run build", None),
        ("docker exec web ls", None),
        ("docker -H a exec web ls", None),
        ("find . -exec ls {} +", None),
        ("./deploy", None),
        ("git -C a push", None),
        ("git -c alias.x=!sh x", None),
        ("/usr/bin/git push", None),
        ("", None),
    ],
)
def test_only_one_plain_command_has_a_name(command: str, name: str | None) -> None:
    assert command_name("shell", {"command": command}) == name


def test_a_list_of_arguments_has_a_name_too_and_a_tool_that_runs_nothing_has_none() -> None:
    assert command_name("run", {"argv": ["git", "push", "origin"]}) == "git push"
    assert command_name("run", {"command": "git", "args": ["push"]}) == "git push"
    assert command_name("send_email", {"to": "a@b.example"}) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push --force", True),
        ("git push origin main", False),
        ("rm -rf /srv", True),
        ("rm notes.txt", False),
        ("kubectl delete pod web", False),
        ("kubectl delete pods --all", True),
        ("git push; ls", True),
    ],
)
def test_what_is_rated_worse_than_the_plain_command_is_not_covered_by_it(command: str, expected: bool) -> None:
    assert is_worse_than_plain("shell", {"command": command}) is expected
