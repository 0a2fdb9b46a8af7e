"""Words that often name danger are asked about where they act on what lasts, and nowhere else: sixty calls."""

from typing import Any

import pytest

from server.toolguard.danger.judge import judge_call

Call = tuple[str, Any]

# word → three calls to ask about, then three to leave alone; a text alone is a command line
CALLS: dict[str, tuple[list[Call | str], list[Call | str]]] = {
    "delete": (
        [("delete_file", {"path": "a.md"}), ("delete_text_file", {"id": 1}), ("files", {"operation": "delete"})],
        [
            ("search_text", {"query": "delete from users"}),
            ("delete_words", {"text": "a b"}),
            ("delete_draft", {"id": 1}),
        ],
    ),
    "remove": (
        [("remove_user", {"id": 1}), ("remove_directory", {"path": "a"}), "Remove-Item -Recurse -Force C:\\data"],
        [("remove_punctuation", {"text": "a."}), ("remove_background", {"image": "a.png"}), "grep -r remove src"],
    ),
    "drop": (
        [("drop_table", {"table": "a"}), ("run_sql", {"query": "DROP TABLE a"}), "psql -c 'drop table a'"],
        [("drop_shadow", {"image": "a.png"}), ("drop_duplicates", {"lines": "a"}), "git log --grep drop"],
    ),
    "truncate": (
        [("truncate_table", {"table": "a"}), ("run_sql", {"query": "TRUNCATE a"}), "truncate -s 0 a.log"],
        [("truncate_text", {"text": "a"}), ("truncate_string", {"value": "a"}), "man truncate"],
    ),
    "rm": (
        [("rm", {"path": "a"}), "rm a", "/bin/r? -rf /srv"],
        [("search_web", {"query": "rm -rf"}), "echo 'rm -rf /'", "man rm"],
    ),
    "rmdir": (
        [("rmdir", {"path": "a"}), "rmdir a", "rmdir /s /q D:\\a"],
        [("search_web", {"query": "rmdir"}), "which rmdir", "rmdir --help"],
    ),
    "shutdown": (
        [("shutdown_server", {"id": 1}), "shutdown now", "shutdown /s /t 0"],
        [("get_shutdown_log", {}), "grep shutdown a.log", "shutdown --help"],
    ),
    "reboot": (
        [("reboot_device", {"id": 1}), ("server", {"action": "reboot"}), "sudo reboot"],
        [("check_reboot_required", {}), "last reboot", "man reboot"],
    ),
    "format": (
        [("format_disk", {"device": "/dev/sda"}), ("disk_format", {"id": 1}), "format d: /q"],
        [("format_date", {"date": "2026-01-01"}), ("output_format", {"value": "json"}), "Get-Process | Format-Table"],
    ),
    "fdisk": (
        [("fdisk", {"device": "/dev/sda"}), "fdisk /dev/sda", "sudo fdisk /dev/sdb < plan"],
        [("search_web", {"query": "fdisk"}), "fdisk -l", "man fdisk"],
    ),
}


def level(call: Call | str) -> str:
    tool, arguments = ("shell", {"command": call}) if isinstance(call, str) else call
    return judge_call(tool, "EXTERNAL", arguments).level


@pytest.mark.parametrize("call", [call for asked, _ in CALLS.values() for call in asked], ids=str)
def test_a_word_that_acts_on_what_lasts_is_asked_about(call: Call | str) -> None:
    assert level(call) == "dangerous"


@pytest.mark.parametrize("call", [call for _, harmless in CALLS.values() for call in harmless], ids=str)
def test_a_word_that_acts_on_nothing_that_lasts_asks_nothing(call: Call | str) -> None:
    assert level(call) != "dangerous"


@pytest.mark.parametrize(
    "tool", "format_drive format_usb_stick format_sd_card format_hard_drive formatVolume partition_disk".split()
)
def test_formatting_a_disk_is_asked_about_however_the_disk_is_called(tool: str) -> None:
    assert level((tool, {})) == level(("format", {"drive": "D:"})) == "dangerous"


@pytest.mark.parametrize(
    "tool",
    "format_text format_code format_currency format_phone_number date_format set_output_format format_card_number "
    "format_storage_size".split(),
)
def test_formatting_a_text_asks_nothing(tool: str) -> None:
    assert level((tool, {"text": "a"})) == "safe"


def test_a_passing_thing_that_stands_in_a_file_is_asked_about() -> None:
    assert level(("delete_html", {"path": "/srv/www/index.html"})) == "dangerous"
    assert level(("delete_html", {"html": "<b>a</b>"})) == "safe"


def test_a_name_of_two_words_is_about_what_it_names_and_not_about_its_arguments() -> None:
    assert level(("format_number", {"device": "meter 7"})) == "safe"
    assert level(("format", {"device": "/dev/sda"})) == "dangerous"


@pytest.mark.parametrize(
    "tool",
    "delete_text_channel delete_shadow_copies delete_time_entry remove_text_message delete_view remove_from_team "
    "reset_pin wipe_disk restart_server remove_link initialize_disk".split(),
)
def test_what_a_name_ends_with_is_what_the_verb_acts_on(tool: str) -> None:
    assert level((tool, {})) == "dangerous"


@pytest.mark.parametrize(
    "tool",
    "clear_selection reset_zoom wipe_animation".split(),
)
def test_what_only_changes_a_view_or_looks_asks_nothing(tool: str) -> None:
    assert level((tool, {})) == "safe"
