"""hooks.json → hooks, or every mistake at once (L1-01 to L1-08)."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from skills_engine import TIMINGS, Diagnostic, HookInfo, scan_hooks
from skills_engine.diagnostics import quoted
from skills_engine.hook_entries import NEVER_FIRES
from skills_engine.hooks_config import MAX_FILE_BYTES, default_skills_dir, read_hooks, read_skill_hooks
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

ONE_OF = "one of after_user_input, before_planning, before_first_agent, before_each_agent, after_tool_call"


def problems(folder: Path) -> list[tuple[str, str, str]]:
    return [(found.severity, found.path, found.message) for found in read_hooks(folder).diagnostics]


def names(folder: Path) -> list[str]:
    return [hook.name for hook in read_hooks(folder).hooks]


# -- fields ---------------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-01")
@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("role", ["system", "user"])
@pytest.mark.parametrize("persistent", [True, False])
def test_a_right_entry_becomes_a_hook(tmp_path: Path, timing: str, role: str, persistent: bool) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing=timing, role=role, persistent=persistent))

    found = read_hooks(folder)

    assert found.hooks == (
        HookInfo("hint", "hint.md", timing, role, persistent, "Text of hint.", "tutor"),  # type: ignore[arg-type]
    )
    assert (found.places, found.diagnostics) == (("$.hooks[0]",), ())


WRONG_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"name": ...}, "name", "missing: expected a non-empty string"),
    ({"name": ""}, "name", 'expected a non-empty string; got ""'),
    ({"name": 7}, "name", "expected a non-empty string; got 7"),
    ({"file": ...}, "file", "missing: expected the name of a .md file in hooks/, or text in place of file"),
    ({"file": ""}, "file", 'expected the name of a .md file in hooks/, or text in place of file; got ""'),
    (
        {"file": ["hint.md"]},
        "file",
        'expected the name of a .md file in hooks/, or text in place of file; got ["hint.md"]',
    ),
    ({"timing": ...}, "timing", f"missing: expected {ONE_OF}"),
    ({"timing": "sometimes"}, "timing", f'expected {ONE_OF}; got "sometimes"'),
    ({"timing": None}, "timing", f"expected {ONE_OF}; got null"),
    (
        {"timing": "after_tool_calls"},
        "timing",
        f'expected {ONE_OF}; got "after_tool_calls" (did you mean after_tool_call?)',
    ),
    ({"role": ...}, "role", "missing: expected system or user"),
    ({"role": "assistant"}, "role", 'expected system or user; got "assistant"'),
    ({"role": "\ud83d"}, "role", 'expected system or user; got "\\ud83d"'),
    ({"role": "users"}, "role", 'expected system or user; got "users" (did you mean user?)'),
    ({"role": "before_planning"}, "role", 'expected system or user; got "before_planning"'),
    ({"persistent": ...}, "persistent", "missing: expected true or false"),
    ({"persistent": "true"}, "persistent", 'expected true or false; got "true"'),
    ({"persistent": 1}, "persistent", "expected true or false; got 1"),
    ({"persistent": None}, "persistent", "expected true or false; got null"),
]


@pytest.mark.rule("L1-01")
@pytest.mark.rule("L1-04")
@pytest.mark.parametrize(("changed", "key", "message"), WRONG_FIELDS)
def test_a_wrong_field_drops_its_entry_alone(tmp_path: Path, changed: dict[str, Any], key: str, message: str) -> None:
    wrong = entry("wrong", file="first.md") | changed
    wrong = {key: value for key, value in wrong.items() if value is not ...}
    folder = make_skill(tmp_path, "tutor", entry("first"), wrong, entry("last"))

    assert names(folder) == ["first", "last"]
    assert read_hooks(folder).places == ("$.hooks[0]", "$.hooks[2]")
    assert problems(folder) == [("error", f"$.hooks[1].{key}", message)]


@pytest.mark.rule("L1-04")
def test_every_mistake_is_said_at_once(tmp_path: Path) -> None:
    bad = {"name": 1, "file": "gone.md", "timing": "x", "persistent": 0, "tool_filter": 3, "colour": "red"}
    folder = make_skill(tmp_path, "tutor", bad, "no object", entry())

    assert names(folder) == ["hint"]
    assert problems(folder) == [
        ("warning", "$.hooks[0].colour", "unknown key, ignored"),
        ("error", "$.hooks[0].name", "expected a non-empty string; got 1"),
        ("error", "$.hooks[0].timing", f'expected {ONE_OF}; got "x"'),
        ("error", "$.hooks[0].role", "missing: expected system or user"),
        ("error", "$.hooks[0].persistent", "expected true or false; got 0"),
        ("error", "$.hooks[0].file", '"gone.md" does not exist'),
        ("error", "$.hooks[1]", 'expected an object, got "no object"'),
    ]


def test_a_long_value_is_cut_in_the_message(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), "x" * 79)

    assert problems(folder) == [("error", "$.hooks[1]", 'expected an object, got "' + "x" * 78 + "…")]
    write_hooks_json(folder, {"hooks": ["x" * 78]})
    assert problems(folder) == [("error", "$.hooks[0]", 'expected an object, got "' + "x" * 78 + '"')]


@pytest.mark.rule("L1-04")
def test_an_unknown_key_is_a_warning_and_names_the_one_that_was_meant(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(persistence=True, colour=1, round=1))

    assert names(folder) == ["hint"]
    assert problems(folder) == [
        ("warning", "$.hooks[0].persistence", "unknown key, ignored (did you mean persistent?)"),
        ("warning", "$.hooks[0].colour", "unknown key, ignored"),
        ("warning", "$.hooks[0].round", "unknown key, ignored (did you mean when.round?)"),
    ]


DROPPED = "unknown key: the hook is dropped, as it might fire when it should not"


@pytest.mark.rule("L1-55")
@pytest.mark.parametrize(
    ("keys", "hint"),
    [
        ({"keywords": 1}, "; conditions are in when"),
        ({"trigger": "refund"}, "; conditions are in when"),
        ({"colour": ["red"]}, "; conditions are in when"),
        ({"colour": {}}, "; conditions are in when"),
        ({"user_text": ["a"]}, " (did you mean when.user_text?)"),
    ],
)
def test_an_unknown_key_that_may_be_a_condition_drops_its_hook(tmp_path: Path, keys: dict[str, Any], hint: str) -> None:
    folder = make_skill(tmp_path, "tutor", entry(**keys), entry("other"))

    assert names(folder) == ["other"]
    assert problems(folder) == [("error", f"$.hooks[0].{next(iter(keys))}", DROPPED + hint)]


@pytest.mark.rule("L1-55")
def test_keys_that_begin_as_comments_are_not_looked_at(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    comments: dict[str, Any] = {"_why": ["a"], "$comment": {}, "x-keywords": ["b"], "_if": True}
    write_hooks_json(folder, {**comments, "hooks": [entry(**comments)]})

    assert names(folder) == ["hint"]
    assert problems(folder) == []


@pytest.mark.rule("L1-55")
def test_an_unknown_object_or_list_beside_hooks_is_an_error(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, {"hooks": [entry()], "hook": [], "update": {}, "trigger": "never"})

    assert names(folder) == ["hint"]
    assert problems(folder) == [
        ("error", "$.hook", "unknown key (did you mean hooks?)"),
        ("error", "$.update", "unknown key"),
        ("error", "$.trigger", "unknown key (did you mean triggers?)"),
    ]


@pytest.mark.rule("L1-04")
def test_an_unknown_key_beside_hooks_is_a_warning_and_schema_is_none(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, {"$schema": "x", "version": 1, "hooks": [entry()]})

    assert names(folder) == ["hint"]
    assert problems(folder) == [("warning", "$.version", "unknown key, ignored")]


# -- tool_filter ----------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize(
    ("value", "expected"),
    [(..., None), (None, None), (["read_file", "x"], frozenset({"read_file", "x"})), ([], frozenset())],
)
def test_tool_filter_is_every_tool_exactly_these_or_none(tmp_path: Path, value: Any, expected: Any) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="after_tool_call", tool_filter=value))

    found = read_hooks(folder)

    assert [hook.tool_filter for hook in found.hooks] == [expected]
    warning = [Diagnostic("warning", "tutor", "hooks/hooks.json", "$.hooks[0].tool_filter", NEVER_FIRES)]
    assert list(found.diagnostics) == (warning if value == [] else [])


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize("value", ["read_file", [1], [""], {}, 0, False])
def test_a_tool_filter_that_is_no_list_of_names_drops_its_entry(tmp_path: Path, value: Any) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="after_tool_call", tool_filter=value), entry("last"))

    assert names(folder) == ["last"]
    message = f'expected a list of tool names, such as ["read_file", "files__*"]; got {json.dumps(value)}'
    assert problems(folder) == [("error", "$.hooks[0].tool_filter", message)]


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("read_flie", "read_file"),
        ("search_txt", "search_text"),
        ("current_tim?", None),
        ("read_file", None),
        ("files__read_file", None),
        ("weather", None),
    ],
)
def test_a_name_that_nearly_is_a_built_in_tool_is_a_warning(tmp_path: Path, name: str, meant: str | None) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing="after_tool_call", tool_filter=[name]))

    message = f'no built-in tool is called "{name}" (did you mean {meant}?)'
    assert names(folder) == ["hint"]
    assert problems(folder) == ([("warning", "$.hooks[0].tool_filter", message)] if meant else [])


@pytest.mark.rule("L1-02")
@pytest.mark.parametrize("timing", [timing for timing in TIMINGS if timing != "after_tool_call"])
@pytest.mark.parametrize("value", [["read_file"], [], 7])
def test_a_tool_filter_elsewhere_is_ignored_with_a_warning(tmp_path: Path, timing: str, value: Any) -> None:
    folder = make_skill(tmp_path, "tutor", entry(timing=timing, tool_filter=value))

    assert [hook.tool_filter for hook in read_hooks(folder).hooks] == [None]
    message = "ignored: it counts for after_tool_call only"
    assert problems(folder) == [("warning", "$.hooks[0].tool_filter", message)]


# -- order and names ------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-03")
def test_hooks_stand_in_the_order_of_the_skills_then_of_the_file(tmp_path: Path) -> None:
    for skill in ("a", "b", "c"):
        make_skill(tmp_path, skill, entry("z"), entry("y"))

    hooks = scan_hooks(["b", "a", "b", "c", "a"], str(tmp_path))

    assert [(hook.skill, hook.name) for hook in hooks] == [
        ("b", "z"),
        ("b", "y"),
        ("a", "z"),
        ("a", "y"),
        ("c", "z"),
        ("c", "y"),
    ]


@pytest.mark.rule("L1-06")
def test_the_second_hook_of_one_name_is_an_error_and_the_first_stands(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), entry("other"), entry(role="user"))

    found = read_hooks(folder)

    assert [(hook.name, hook.role) for hook in found.hooks] == [("hint", "system"), ("other", "system")]
    assert problems(folder) == [("error", "$.hooks[2].name", '"hint" is already the name of $.hooks[0]')]


@pytest.mark.rule("L1-06")
def test_a_dropped_entry_does_not_take_its_name_from_the_next(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(role="nobody"), entry(role="user"))

    assert [hook.role for hook in read_hooks(folder).hooks] == ["user"]


@pytest.mark.rule("L1-06")
def test_the_same_name_in_two_skills_is_fine(tmp_path: Path) -> None:
    make_skill(tmp_path, "a", entry())
    make_skill(tmp_path, "b", entry())

    assert [hook.skill for hook in scan_hooks(["a", "b"], tmp_path)] == ["a", "b"]


@pytest.mark.rule("L1-05")
@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", ".git", "../tutor", "tutor/", "/tutor", "a/../tutor", "a\\b", "C:tutor"),
        *("tu\0tor", "t\n", "\x7f", "a" * 256, "\u00e4" * 128),
    ],
)
def test_a_skill_name_is_one_path_segment(tmp_path: Path, name: str) -> None:
    make_skill(tmp_path, "tutor", entry())

    found = read_skill_hooks(tmp_path, name)

    message = "is not a skill name: expected the name of one folder, without / \\ : or a leading dot"
    assert found.hooks == ()
    assert found.diagnostics == (Diagnostic("error", name, "", "", message),)
    assert scan_hooks([name], tmp_path) == []


@pytest.mark.rule("L1-05")
@pytest.mark.parametrize("name", ["tutor", "Hook Development", "-21risk", "a.b", "\u00e4" * 127, "a" * 255, "翻译"])
def test_an_odd_name_of_one_segment_is_a_name(tmp_path: Path, name: str) -> None:
    make_skill(tmp_path, name, entry())

    assert [hook.skill for hook in scan_hooks([name], tmp_path)] == [name]


@pytest.mark.rule("L1-05")
def test_a_skill_folder_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere", "tutor", entry())
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "tutor").symlink_to(tmp_path / "elsewhere" / "tutor")

    found = read_skill_hooks(tmp_path / "skills", "tutor")

    assert found.hooks == ()
    message = f"leads out of {tmp_path}/skills: put the folder itself there, not a link"
    assert found.diagnostics == (Diagnostic("error", "tutor", "", "", message),)


def test_a_skill_that_is_not_there_is_logged_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_skill(tmp_path, "tutor", entry())

    assert [hook.skill for hook in scan_hooks(["gone", "tutor"], tmp_path)] == ["tutor"]
    assert caplog.messages == [f"warning: gone: no such folder in {tmp_path}"]
    message = f"no such folder in {tmp_path}"
    assert read_skill_hooks(tmp_path, "gone").diagnostics == (Diagnostic("warning", "gone", "", "", message),)


def test_what_is_wrong_is_logged_as_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_skill(tmp_path, "tutor", entry(role="x"))

    assert scan_hooks(["tutor"], tmp_path) == []
    assert [(record.levelno, record.message) for record in caplog.records] == [
        (logging.WARNING, 'error: tutor/hooks/hooks.json $.hooks[0].role: expected system or user; got "x"')
    ]


# -- texts ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-05")
def test_a_text_is_stripped_of_byte_order_mark_and_blanks(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks" / "hint.md").write_bytes(b"\xef\xbb\xbf\r\n  Sag es,\r\nbitte \xc3\xa4 \n\n")

    assert [hook.content for hook in read_hooks(folder).hooks] == ["Sag es,\nbitte ä"]


@pytest.mark.rule("L1-05")
@pytest.mark.parametrize("data", [b"", b" \r\n\t", b"\xef\xbb\xbf\n"])
def test_an_empty_text_is_an_error_of_its_hook(tmp_path: Path, data: bytes) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), entry("last"))
    (folder / "hooks" / "hint.md").write_bytes(data)

    assert names(folder) == ["last"]
    assert problems(folder) == [
        ("error", "$.hooks[0].file", '"hint.md" is empty; to switch the hook off, write "enabled": false')
    ]


@pytest.mark.rule("L1-05")
def test_a_text_may_stand_in_a_folder_of_hooks(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(file="more/hint.md"))
    (folder / "hooks" / "more").mkdir()
    (folder / "hooks" / "more" / "hint.md").write_text("Deep.")

    assert [hook.content for hook in read_hooks(folder).hooks] == ["Deep."]


@pytest.mark.rule("L1-05")
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("gone.md", "does not exist"),
        ("gone/hint.md", "does not exist"),
        ("hint.md/x.md", "does not exist"),
        ("hooks/a.md", 'does not exist: names are relative to hooks/, so write "a.md"'),
        ("hooks/a.txt", "does not end in .md"),
        ("hint.txt", "does not end in .md"),
        ("hint", "does not end in .md"),
        (".md", "does not end in .md"),
        ("folder.md", "is not a regular file"),
        ("pipe.md", "is not a regular file"),
        ("big.md", "is larger than 64 KiB"),
        ("latin.md", "is not UTF-8 (byte 1)"),
        ("utf16.md", "is not UTF-8 (byte 0)"),
        ("../SKILL.md", "leads out of hooks/"),
        ("../../other/hooks/hint.md", "leads out of hooks/"),
        ("away.md", "leads out of hooks/"),
        ("loop.md", "cannot be read (Too many levels of symbolic links)"),
        ("x" * 300 + ".md", "cannot be read (File name too long)"),
        ("a\\hint.md", "is not a path inside hooks/"),
        ("C:hint.md", "is not a path inside hooks/"),
        ("/etc/hint.md", "is not a path inside hooks/"),
        ("hint\0.md", "leads out of hooks/"),
        ("\ud800.md", "leads out of hooks/"),
    ],
)
def test_a_file_that_cannot_be_a_text_drops_its_entry(tmp_path: Path, file: str, message: str) -> None:
    make_skill(tmp_path, "other", entry())
    folder = make_skill(tmp_path, "tutor", entry(file=file), entry("last"))
    hooks = folder / "hooks"
    (hooks / "hint.txt").write_text("x")
    (hooks / "folder.md").mkdir()
    os.mkfifo(hooks / "pipe.md")
    (hooks / "big.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (hooks / "latin.md").write_bytes(b"a\xe4b")
    (hooks / "utf16.md").write_bytes("hi".encode("utf-16"))
    (hooks / "away.md").symlink_to(folder / "SKILL.md")
    (hooks / "loop.md").symlink_to(hooks / "loop.md")

    shown = json.dumps(file, ensure_ascii=False).encode(errors="backslashreplace").decode()
    shown = shown if len(shown) <= 80 else shown[:79] + "…"
    assert names(folder) == ["last"]
    assert problems(folder) == [("error", "$.hooks[0].file", f"{shown} {message}")]


@pytest.mark.rule("L1-05")
def test_a_text_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    (folder / "hooks" / "hint.md").write_bytes(b"x" * MAX_FILE_BYTES)

    assert [len(hook.content) for hook in read_hooks(folder).hooks] == [65536]


@pytest.mark.rule("L1-05")
def test_a_link_inside_hooks_is_followed(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(file="link.md"))
    (folder / "hooks" / "link.md").symlink_to("hint.md")

    assert [hook.content for hook in read_hooks(folder).hooks] == ["Text of hint."]


@pytest.mark.rule("L1-05")
def test_a_hooks_folder_that_leads_out_of_the_skill_is_not_read(tmp_path: Path) -> None:
    other = make_skill(tmp_path, "other", entry())
    folder = make_skill(tmp_path, "tutor")
    (folder / "hooks").symlink_to(other / "hooks")

    assert names(folder) == []
    assert problems(folder) == [("error", "", "leads out of tutor/")]


# -- documents ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-04")
@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("", "", "is not JSON: line 1, column 1: Expecting value"),
        ('{"hooks": [\n  {"a" 1}]}', "", "is not JSON: line 2, column 8: Expecting ':' delimiter"),
        ('{"hooks": [\n  {"a": 1,\n}]}', "", "is not JSON: line 2, column 10: an extra comma before }"),
        ('{"hooks": [{"a": 1}, ]}', "", "is not JSON: line 1, column 20: an extra comma before ]"),
        ('{"hooks": [{"a": 1},]}', "", "is not JSON: line 1, column 20: an extra comma before ]"),
        ('{"hooks": [1,, 2]}', "", "is not JSON: line 1, column 14: Expecting value"),
        ('{"hooks": [1,', "", "is not JSON: line 1, column 14: Expecting value"),
        ('{"hooks": [\n  {"a": "b,\n}]}', "", "is not JSON: line 2, column 12: Unterminated string"),
        ('{"hooks": ["a\r\n]}', "", "is not JSON: line 1, column 14: Unterminated string"),
        ('{"hooks": ["a\tb"]}', "", "is not JSON: line 1, column 14: Invalid control character"),
        ('{"hooks": ["a', "", "is not JSON: line 1, column 12: Unterminated string"),
        ('{"hooks": ' + "1" * 5000 + "}", "", "is not JSON that can be read"),
        ("[]", "$", 'expected {"hooks": [...]}'),
        ("{}", "$", 'expected {"hooks": [...]}'),
        ('{"hook": []}', "$", 'expected {"hooks": [...]}'),
        ('{"hooks": null}', "$.hooks", "expected a list of hooks, got null"),
        ('{"hooks": "x"}', "$.hooks", 'expected a list of hooks, got "x"'),
    ],
)
def test_a_broken_file_drops_the_hooks_of_its_skill_alone(tmp_path: Path, text: str, path: str, message: str) -> None:
    folder = make_skill(tmp_path, "broken")
    write_hooks_json(folder, text)
    make_skill(tmp_path, "sound", entry())

    assert [hook.skill for hook in scan_hooks(["broken", "sound"], tmp_path)] == ["sound"]
    assert problems(folder) == [("error", path, message)]


@pytest.mark.rule("L1-04")
def test_brackets_without_end_are_an_error(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor")
    write_hooks_json(folder, "[" * 60_000)

    assert [message.startswith("is not JSON") for _, _, message in problems(folder)] == [True]


def test_brackets_that_are_too_many_to_print_are_named() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]

    assert quoted(value) == "too many brackets"


@pytest.mark.rule("L1-04")
def test_a_key_that_stands_twice_is_said(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, '{"$schema": "x", "hooks": [{"name": "a"}], "hooks": []}')

    assert problems(folder) == [("warning", "", '"hooks" occurs twice in one object: only the last one counts')]


@pytest.mark.rule("L1-05")
def test_a_name_that_is_nearly_a_file_is_told_which(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(file="Hint.MD.md"), entry("tone", file="Tone.md"))

    assert [message for _, _, message in problems(folder)] == [
        '"Hint.MD.md" does not exist (did you mean hint.md?)',
        '"Tone.md" does not exist (did you mean tone.md?)',
    ]


@pytest.mark.rule("L1-04")
def test_a_hooks_json_that_is_no_readable_file_is_an_error(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor")
    (folder / "hooks").mkdir()
    link = folder / "hooks" / "hooks.json"
    link.symlink_to("nowhere.json")
    assert problems(folder) == [("error", "", "does not exist")]

    link.unlink()
    link.mkdir()
    assert problems(folder) == [("error", "", "is not a regular file")]

    link.rmdir()
    link.write_bytes(b'{"hooks": []}' + b" " * MAX_FILE_BYTES)
    assert problems(folder) == [("error", "", "is larger than 64 KiB")]

    link.write_bytes(b'\xff{"hooks": []}')
    assert problems(folder) == [("error", "", "is not UTF-8 (byte 0)")]


def test_a_byte_order_mark_before_hooks_json_is_fine(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    path = folder / "hooks" / "hooks.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert (names(folder), problems(folder)) == (["hint"], [])


FOREIGN_ENTRY = {"name": "x", "event": "PostToolUse", "matcher": "Bash", "command": "./x.sh"}


@pytest.mark.rule("L1-07")
@pytest.mark.parametrize(
    ("document", "place", "whose"),
    [
        (
            {"hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": []}], "Stop": []}},
            "$.hooks",
            "Claude Code's hooks (PreToolUse, Stop)",
        ),
        ({"version": 1, "hooks": {"afterFileEdit": [], "stop": []}}, "$.hooks", "Cursor's hooks (afterFileEdit, stop)"),
        ({"version": 1, "hooks": {"preToolUse": []}}, "$.hooks", "GitHub Copilot's hooks (preToolUse)"),
        ({"hooks": {"BeforeTool": [], "SessionEnd": []}}, "$.hooks", "Gemini CLI's hooks (BeforeTool, SessionEnd)"),
        ({"hooks": {"onLaunch": []}}, "$.hooks", "another product's hooks (onLaunch)"),
        ({"hooks": {}}, "$.hooks", "another product's hooks (none)"),
        ({"PreToolUse": []}, "$", "Claude Code's hooks (PreToolUse)"),
        ({"modules": ["./mod.ts"]}, "$.modules", "Claude Code's hooks (modules)"),
        ({"hooks": [FOREIGN_ENTRY]}, "$.hooks", "Claude Code's hooks (PostToolUse)"),
        ({"hooks": [{"command": "x"}]}, "$.hooks", "another product's hooks (none)"),
        ({"hooks": [{"event": "Stop"}]}, "$.hooks", "Claude Code's hooks (Stop)"),
    ],
)
def test_another_products_hooks_are_named_and_skipped(tmp_path: Path, document: Any, place: str, whose: str) -> None:
    folder = make_skill(tmp_path, "tutor")
    write_hooks_json(folder, document)

    assert names(folder) == []
    assert problems(folder) == [("warning", place, f"{whose}: not read. Parley's are a list")]


@pytest.mark.rule("L1-07")
def test_what_another_product_adds_to_our_hooks_is_named_and_ours_are_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, {"modules": ["./mod.ts"], "hooks": [entry()]})

    assert names(folder) == ["hint"]
    message = "Claude Code's key, ignored: no program of a skill is run"
    assert problems(folder) == [("warning", "$.modules", message)]


@pytest.mark.rule("L1-07")
def test_one_entry_of_ours_makes_the_others_mistakes(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, {"hooks": [entry(), {"command": "x"}]})

    assert names(folder) == ["hint"]
    assert ("error", "$.hooks[1].file") in [(severity, place) for severity, place, _ in problems(folder)]


@pytest.mark.rule("L1-07")
@pytest.mark.parametrize(
    "fields", [{"name": "x"}, {"command": "x", "file": "a.md"}, {"event": "Stop", "timing": "before_planning"}]
)
def test_what_has_our_keys_or_no_others_is_a_hook_of_ours_with_mistakes(tmp_path: Path, fields: dict[str, Any]) -> None:
    folder = make_skill(tmp_path, "tutor", fields)

    assert "error" in [severity for severity, _, _ in problems(folder)]


@pytest.mark.rule("L1-07")
def test_a_skill_without_hooks_is_fine(tmp_path: Path) -> None:
    bare = make_skill(tmp_path, "bare")
    hollow = make_skill(tmp_path, "hollow")
    (hollow / "hooks").mkdir()
    empty = make_skill(tmp_path, "empty")
    write_hooks_json(empty, {"hooks": []})

    for folder in (bare, hollow, empty):
        assert (names(folder), problems(folder)) == ([], [])


@pytest.mark.rule("L1-08")
def test_without_a_folder_the_skills_of_the_project_are_meant() -> None:
    project = Path(__file__).parents[2]

    assert default_skills_dir() == project / "skills"
    assert scan_hooks(["careful-reader"]) == scan_hooks(["careful-reader"], project / "skills") != []


def test_a_hook_cannot_be_changed(tmp_path: Path) -> None:
    hook = HookInfo("a", "a.md", "before_planning", "user", False, "text", "tutor")

    with pytest.raises(AttributeError):
        hook.content = "other"  # type: ignore[misc]


# -- conditions -----------------------------------------------------------------------------------------------------


@pytest.mark.rule("L1-40")
def test_the_keys_that_decide_are_read(tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "enabled": False,
        "once": "turn",
        "cooldown": 1,
        "sticky": 1000,
        "priority": -100,
        "group": "g",
        "vars": True,
    }
    folder = make_skill(tmp_path, "tutor", entry(when={"turn": 1}, requires_tools=["a", "b*"], **keys))

    [hook] = read_hooks(folder).hooks

    assert problems(folder) == []
    assert {key: getattr(hook, key) for key in keys} == keys
    assert hook.requires_tools == ("a", "b*")
    assert hook.when is not None


@pytest.mark.rule("L1-40")
@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("enabled", "no", "true or false"),
        ("once", "day", "turn or conversation"),
        ("once", None, "turn or conversation"),
        ("cooldown", 0, "a number of turns, from 1 to 1000"),
        ("cooldown", 2.0, "a number of turns, from 1 to 1000"),
        ("sticky", 1001, "a number of turns, from 1 to 1000"),
        ("priority", 101, "a number from -100 to 100"),
        ("group", "", "a non-empty string"),
        ("requires_tools", [], "a list of 1 to 32 tool names or globs"),
        ("vars", 1, "true or false"),
    ],
)
def test_a_wrong_value_of_a_key_that_decides_drops_the_hook(
    tmp_path: Path, key: str, value: Any, expected: str
) -> None:
    folder = make_skill(tmp_path, "tutor", entry("hint", **{key: value}), entry("other"))

    [(severity, path, message)] = problems(folder)

    assert names(folder) == ["other"]
    assert (severity, path) == ("error", f"$.hooks[0].{key}")
    assert message.startswith(f"expected {expected}; got ")


@pytest.mark.rule("L1-40")
@pytest.mark.rule("L1-42")
def test_a_wrong_condition_drops_the_hook_and_is_named_by_its_place(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), entry("other", when={"not": {"channel": "radio"}}))

    assert names(folder) == ["hint"]
    assert problems(folder) == [
        ("error", "$.hooks[1].when.not.channel", 'expected voice or text; got "radio"'),
    ]


@pytest.mark.rule("L1-40")
@pytest.mark.parametrize(
    "key",
    [
        "if",
        "unless",
        "only",
        "match",
        "matcher",
        "every",
        "budget",
        "whn",
        "When",
        "whenn",
        "one",
        "var",
        "vaars",
        "cooldwon",
        "groups",
        "tool_filer",
    ],
)
def test_a_key_that_reads_like_a_condition_drops_the_hook(tmp_path: Path, key: Any) -> None:
    folder = make_skill(tmp_path, "tutor", entry("hint", **{key: True}), entry("other"))

    [(severity, path, message)] = problems(folder)

    assert names(folder) == ["other"]
    assert (severity, path) == ("error", f"$.hooks[0].{key}")
    assert message.startswith("unknown key: the hook is dropped")


@pytest.mark.rule("L1-40")
@pytest.mark.parametrize("key", ["other", "whens!", "note", "name2", "Once a day", "x"])
def test_other_unknown_keys_stay_warnings(tmp_path: Path, key: Any) -> None:
    folder = make_skill(tmp_path, "tutor", entry("hint", **{key: True}))

    assert names(folder) == ["hint"]
    assert [severity for severity, _, _ in problems(folder)] == ["warning"]


@pytest.mark.rule("L1-48")
def test_a_variable_that_there_is_not_drops_the_hook(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry(vars=True), entry("other"))
    (folder / "hooks" / "hint.md").write_text("Hello {{usr}}")
    (folder / "hooks" / "other.md").write_text("Hello {{usr}}")

    [(severity, path, message)] = problems(folder)

    assert names(folder) == ["other"]
    assert (severity, path) == ("error", "$.hooks[0].file")
    known = "date, time, weekday, timezone, user, language, channel, model, skill, tool, tool_status, round, turn"
    assert message == f"hint.md holds {{{{usr}}}}, which is no variable (write {{{{{{{{ for {{{{); these are: {known}"


@pytest.mark.rule("L1-48")
def test_an_unknown_variable_of_the_skill_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    hook = {"text": "{{var.scor}}", "vars": True}
    write_hooks_json(folder, {"variables": {"score": 0, "step": ""}, "hooks": [hook]})

    [(_, _, message)] = problems(folder)
    assert message.endswith(", round, turn, var.score, var.step")


@pytest.mark.rule("L1-58")
@pytest.mark.parametrize("bad", [{"when": {"turn": 1}}, {"name": "x", "timing": "after_user_input"}])
def test_an_entry_with_neither_file_nor_text_has_one_error_that_names_both(tmp_path: Path, bad: dict[str, Any]) -> None:
    missing = "missing: expected the name of a .md file in hooks/, or text in place of file"
    folder = make_skill(tmp_path, "tutor", entry(), bad)

    assert problems(folder) == [("error", "$.hooks[1].file", missing)]


@pytest.mark.rule("L1-58")
@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("timming", "after_tool_call", "timing"),
        ("persistant", True, "persistent"),
        ("persistence", True, "persistent"),
        ("roles", "user", "role"),
    ],
)
def test_a_misspelt_key_that_places_a_text_drops_the_hook(tmp_path: Path, key: str, value: object, meant: str) -> None:
    folder = make_skill(tmp_path, "tutor", entry(), {"text": "Be brief.", key: value})

    assert names(folder) == ["hint"]
    [(severity, place, message)] = problems(folder)
    assert (severity, place) == ("error", f"$.hooks[1].{key}")
    assert message.endswith(f"(did you mean {meant}?)")


@pytest.mark.rule("L1-58")
def test_a_text_in_place_of_a_file_needs_nothing_else(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry("first"), {"text": " Answer in one sentence.\n"})

    [_, hook] = read_hooks(folder).hooks

    assert hook == HookInfo(
        "hook-2", "", "after_user_input", "system", False, "Answer in one sentence.", "tutor", tool_filter=None
    )


@pytest.mark.rule("L1-58")
@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"text": "a", "file": "a.md"}, "file"),
        ({"text": "  "}, "text"),
        ({"text": 3}, "text"),
        ({"text": "a", "timing": "never"}, "timing"),
        ({"text": "a", "vars": True, "name": "a", "persistent": True}, None),
        ({"text": "{{nobody}}", "vars": True}, "text"),
        ({"text": "{{context.plan}}", "vars": True, "persistent": True}, "text"),
        *(({"text": "a", key: value}, "name") for key, value in [("once", "turn"), ("cooldown", 1), ("sticky", 1)]),
        *(({"text": "a", key: value}, "name") for key, value in [("group", "tone"), ("set", {"x": 1})]),
        ({"text": "a", "set": {"x": 1}, "name": "a"}, None),
        ({"file": "a.md", "name": "a"}, "timing"),
    ],
)
def test_a_wrong_text_drops_its_entry(tmp_path: Path, wrong: dict[str, Any], place: str | None) -> None:
    folder = make_skill(tmp_path, "tutor")
    write_hooks_json(folder, {"variables": {"x": 0}, "hooks": [wrong]})
    (folder / "hooks" / "a.md").write_text("Text.")

    found = read_hooks(folder)

    assert [one.path for one in found.diagnostics][:1] == ([] if place is None else [f"$.hooks[0].{place}"])
    assert len(found.hooks) == (place is None)


@pytest.mark.rule("L1-58")
def test_a_trigger_may_have_its_text_beside_it(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor")
    write_hooks_json(
        folder, {"triggers": [{"name": "greet", "on": "connect", "text": "Greet {{user}}.", "vars": True}]}
    )

    [trigger] = read_hooks(folder).triggers

    assert (trigger.content, trigger.vars) == ("Greet {{user}}.", True)
