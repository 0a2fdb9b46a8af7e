"""Triggers in hooks.json: read with every mistake, and held against the facts that are known (L1-49)."""

from pathlib import Path
from typing import Any

import pytest

from skill_tools.authoring.lint import lint_skill
from skill_tools.authoring.simulate import play
from skills_engine import HookFacts, SkillsLibrary, TriggerInfo
from skills_engine.__main__ import main
from skills_engine.hooks_config import read_hooks
from tests.skills_engine.folders import entry, make_skill, write_hooks, write_hooks_json

pytestmark = pytest.mark.rule("L1-49")


def trigger(name: str = "greet", **changed: Any) -> dict[str, Any]:
    """A right entry; a value of `...` leaves its key out."""
    fields = {"name": name, "file": "greet.md", "on": "idle"} | changed
    return {key: value for key, value in fields.items() if value is not ...}


def skill(root: Path, *triggers: Any, hooks: list[Any] | None = None) -> Path:
    folder = make_skill(root, "host")
    write_hooks(folder, *(hooks or []))
    (folder / "hooks" / "greet.md").write_text("Greet the user.\n")
    write_hooks_json(folder, {"triggers": list(triggers)} | ({} if hooks is None else {"hooks": hooks}))
    return folder


def read_one(root: Path, **changed: Any) -> TriggerInfo:
    found = read_hooks(skill(root, trigger(**changed)))
    assert found.diagnostics == ()
    [one] = found.triggers
    return one


def test_a_trigger_has_defaults_and_needs_no_hooks(tmp_path: Path) -> None:
    one = read_one(tmp_path)

    assert (one.role, one.after_s, one.max, one.content) == ("system", 20, 2, "Greet the user.")
    assert (one.skill, one.name, one.on, one.when) == ("host", "greet", "idle", None)


DROPPED = "unknown key: the trigger is dropped, as it might fire when it should not; conditions are in when"
ELSEWHERE = (
    "does not count here; these do: user_text, turn, channel, language, model, user, skills, context, time, chance"
)


@pytest.mark.parametrize(
    ("changed", "place", "message"),
    [
        ({"name": ...}, "name", "missing: expected a non-empty string"),
        ({"file": 3}, "file", "expected the name of a .md file in hooks/, or text in place of file; got 3"),
        ({"file": "none.md"}, "file", '"none.md" does not exist'),
        ({"on": ...}, "on", "missing: expected connect or idle"),
        ({"on": "conect"}, "on", 'expected connect or idle; got "conect" (did you mean connect?)'),
        ({"role": "assistant"}, "role", 'expected system or user; got "assistant"'),
        ({"after_s": 0}, "after_s", "expected a number of seconds, from 1 to 3600; got 0"),
        ({"after_s": True}, "after_s", "expected a number of seconds, from 1 to 3600; got true"),
        ({"max": 1.5}, "max", "expected a number from 1 to 100; got 1.5"),
        ({"when": []}, "when", "expected an object of conditions, got []"),
        ({"when": {"tool": ["a"]}}, "when.tool", ELSEWHERE),
        ({"when": {"not": {"round": 1}}}, "when.not.round", ELSEWHERE),
        ({"when": {"scan_turns": 2}}, "when.scan_turns", "counts beside user_text only"),
        ({"wehn": {"user": ["eve"]}}, "wehn", DROPPED),
        ({"when": {"any": 3}}, "when.any", "expected a list of objects, got 3"),
        ({"remark": "a"}, "remark", "unknown key, ignored"),
        ({"tool": ["a"]}, "tool", DROPPED),
        ({"after_sec": 3}, "after_sec", "unknown key, ignored (did you mean after_s?)"),
        ({"whn": {"user": ["eve"]}}, "whn", DROPPED),
        ({"unless": {"user": ["eve"]}}, "unless", DROPPED),
        ({"cooldown": 3}, "cooldown", DROPPED),
        ({"enabled": False}, "enabled", DROPPED),
        ({"tool_filter": ["a"]}, "tool_filter", DROPPED),
    ],
)
def test_a_mistake_is_named_by_its_place(tmp_path: Path, changed: dict[str, Any], place: str, message: str) -> None:
    found = read_hooks(skill(tmp_path, trigger(**changed)))

    [diagnostic] = found.diagnostics
    assert diagnostic.path == f"$.triggers[0].{place}"
    assert diagnostic.message == message
    assert len(found.triggers) == (diagnostic.severity == "warning")


def test_what_counts_for_idle_is_ignored_at_connect_with_a_warning(tmp_path: Path) -> None:
    found = read_hooks(skill(tmp_path, trigger(on="connect", after_s=5, max=3)))

    message = "ignored: it counts for idle only"
    assert [(one.path, one.message) for one in found.diagnostics] == [
        ("$.triggers[0].after_s", message),
        ("$.triggers[0].max", message),
    ]
    assert len(found.triggers) == 1


def test_a_name_stands_once_in_hooks_and_triggers(tmp_path: Path) -> None:
    found = read_hooks(skill(tmp_path, trigger("hint"), trigger("greet"), trigger("greet"), hooks=[entry("hint")]))

    assert [one.message for one in found.diagnostics] == [
        '"hint" is already the name of $.hooks[0]',
        '"greet" is already the name of $.triggers[1]',
    ]
    assert [one.name for one in found.triggers] == ["greet"]
    assert found.trigger_places == ("$.triggers[1]",)


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        ({"triggers": {}}, "$.triggers", "expected a list of triggers, got {}"),
        ({"triggers": ["greet"]}, "$.triggers[0]", 'expected an object, got "greet"'),
        ({}, "$", 'expected {"hooks": [...]}'),
    ],
)
def test_a_file_without_a_list_of_triggers_is_an_error(tmp_path: Path, document: Any, path: str, message: str) -> None:
    folder = make_skill(tmp_path, "host")
    write_hooks_json(folder, document)

    [diagnostic] = read_hooks(folder).diagnostics
    assert (diagnostic.severity, diagnostic.path, diagnostic.message) == ("error", path, message)


@pytest.mark.parametrize(
    ("when", "may_fire", "fires"),
    [
        ({}, True, True),
        ({"user": ["eve"]}, True, True),
        ({"user": ["bob"]}, False, False),
        ({"turn": 2}, True, True),
        ({"turn": 3}, True, False),
        ({"not": {"turn": 2}}, True, False),
        ({"not": {"not": {"turn": 3}}}, True, False),
        ({"any": [{"turn": 3}, {"user": ["bob"]}]}, True, False),
        ({"all": [{"turn": 3}]}, True, False),
        ({"all": [{"turn": 2}, {"user": ["bob"]}]}, False, False),
        ({"not": {"turn": 3, "user": ["eve"]}}, True, True),
        ({"not": {"any": [{"turn": 3}, {"user": ["eve"]}]}}, False, False),
        ({"not": {"any": [{"turn": 3}, {"user": ["bob"]}]}}, True, True),
        ({"user_text": ["hello"], "scan_turns": 2}, True, True),
        ({"user_text": ["hello"]}, True, False),
    ],
)
def test_conditions_about_the_conversation_keep_nothing_out_before_it_is_known(
    tmp_path: Path, when: dict[str, Any], may_fire: bool, fires: bool
) -> None:
    one = read_one(tmp_path, when=when)

    assert one.may_fire(HookFacts(user="eve")) is may_fire
    assert (one.why_not(HookFacts(user="eve", user_messages=("hello", "hi"))) is None) is fires


def test_a_trigger_does_not_fire_if_its_expressions_search_more_than_one_may(tmp_path: Path) -> None:
    large = f"/x|{'a' * 1995}/"
    one = read_one(tmp_path, when={"not": {"user_text": [large], "scan_turns": 2}})

    assert one.why_not(HookFacts(user_messages=(" " * 2000,))) is None
    assert one.why_not(HookFacts(user_messages=(" " * 2000, " "))) == "when"


def test_the_text_stands_behind_the_hooks_of_the_users_message_until_the_turn_ends(tmp_path: Path) -> None:
    found = read_hooks(skill(tmp_path, trigger(role="user"), hooks=[entry("hint", priority=100)]))

    played = play(found.hooks, texts=["Hi"], trigger=found.triggers[0])

    texts = ["(the system prompt and the catalogue)", "Hi", "Text of hint.", "Greet the user.", "(the planning prompt)"]
    assert [message.text for message in played.calls[0].messages] == texts
    assert [message.role for message in played.calls[0].messages][3] == "user"
    assert [message["content"] for message in played.history] == ["Hi"]


def test_a_snapshot_has_the_triggers_of_the_skills_that_are_on(tmp_path: Path) -> None:
    skill(tmp_path, trigger())
    snapshot = SkillsLibrary(tmp_path).load()

    assert [one.name for one in snapshot.triggers(None)] == ["greet"]
    assert snapshot.triggers([]) == []


def test_simulate_plays_the_turn_of_a_trigger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(skill(tmp_path, trigger(when={"user_text": ["hello"]})))

    assert main(["simulate", folder, "--trigger", "greet", "--text", "hello", "--no-need"]) == 0
    assert '[host/greet, after_user_input] "Greet the user."' in capsys.readouterr().out

    assert main(["simulate", folder, "--trigger", "host/greet"]) == 0
    no = "it begins no turn: its condition does not hold: when.user_text"
    said = f"not fired: host/greet (after_user_input): {no}\n"
    assert capsys.readouterr().out == said

    assert main(["simulate", folder, "--trigger", "greed"]) == 2
    assert capsys.readouterr().err == "error: no trigger is called greed (did you mean greet?)\n"


def test_lint_warns_of_a_trigger_whose_time_is_any_time(tmp_path: Path) -> None:
    folder = skill(tmp_path, trigger(when={"time": {"timezone": "Asia/Tokyo"}}))

    [warning] = [one for one in lint_skill(folder) if one.severity == "warning"]
    assert (warning.path, "holds at any time" in warning.message) == ("$.triggers[0].when.time", True)


def test_lint_looks_at_triggers_too(tmp_path: Path) -> None:
    when = {"any": [{"turn": 1}, {"user_text": ["hello"], "scan_turns": 2}]}
    folder = skill(tmp_path, trigger(on="connect", when=when))
    (folder / "hooks" / "greet.md").write_text("Greet {{user}}. !`date`")

    warnings = [(one.path, one.message) for one in lint_skill(folder) if one.severity == "warning"]

    never = "never holds: connect is answered in a conversation without messages only"
    assert warnings == [
        ("$.triggers[0].file", "greet.md holds !`date`, which is kept as text: no command is run"),
        ("$.triggers[0].file", "greet.md holds {{user}}, which is kept as text without vars: true"),
        ("$.triggers[0].when.any[0].turn", never),
        ("$.triggers[0].when.any[1].user_text", never),
    ]
