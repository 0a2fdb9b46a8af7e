"""Actions that a call names, and calls that it holds, are judged as tools are."""

from typing import Any, Final

from server.policy.danger.calls import judge_call

Call = tuple[str, dict[str, Any]]

ASKED: Final[list[Call]] = [
    ("google_admin", {"op": "users.delete", "key": "a@b"}),
    ("calendar", {"method": "calendars.clear", "id": "primary"}),
    ("router", {"aktion": "Werkseinstellungen"}),
    ("云主机", {"操作": "释放实例"}),
    ("dropbox", {"api": "/2/files/permanently_delete"}),
    ("n8n_execute", {"workflow": "purge_inactive_customers"}),
    ("mcp_call", {"server": "files", "tool": "delete_directory", "input": {"path": "/exports"}}),
    ("routine", {"steps": [{"do": "weather.get"}, {"do": "door.unlock", "door": "front"}]}),
    ("browser_run_steps", {"steps": [{"click": "Tariff"}, {"click": "Jetzt verbindlich wechseln"}]}),
    ("google_sheets", {"requests": [{"repeatCell": {"range": "A1"}}, {"deleteSheet": {"sheetId": 1}}]}),
    (
        "automation_create",
        {"action": [{"service": "light.turn_on"}, {"service": "lock.unlock", "entity": "lock.front"}]},
    ),
]
QUIET: Final[list[Call]] = [
    ("mongodb", {"op": "find", "filter": {"op": "remove"}}),
    ("mcp_call", {"server": "tickets", "tool": "get_ticket", "input": {"id": 8}}),
    ("airflow", {"op": "list_runs", "dag_id": "gdpr_erase_all"}),
    ("google_calendar", {"op": "events.list"}),
    ("routine", {"steps": [{"do": "weather.get"}, {"do": "blinds.open"}]}),
    ("bash", {"command": "man rm"}),
    ("shopping_list_add", {"items": ["drain cleaner"]}),
]


def test_calls_inside_calls_are_followed_to_a_bound() -> None:
    call: dict[str, Any] = {"tool": "delete_account", "input": {}}
    for _ in range(3):
        call = {"tool": "wrap", "input": call}

    assert judge_call("relay", "EXTERNAL", call) is not None


def test_what_cannot_be_taken_back_is_asked_about() -> None:
    assert [call for call in ASKED if judge_call(call[0], "EXTERNAL", call[1]) is None] == []


def test_what_is_done_every_day_asks_nothing() -> None:
    assert [call for call in QUIET if judge_call(call[0], "EXTERNAL", call[1]) is not None] == []
