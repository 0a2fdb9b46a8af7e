"""The JSON Schema says what the loader accepts."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from skill_tools.authoring.scaffold import SCHEMA_FILE, schema_text
from skills_engine.hook_entries import TIMINGS
from skills_engine.hooks_config import read_hooks
from tests.skills_engine.folders import entry, make_skill, write_hooks_json

SCHEMA = json.loads(schema_text())


def test_the_committed_schema_is_the_one_that_is_made() -> None:
    assert SCHEMA_FILE.read_text() == schema_text(), (
        "run: python -m skills_engine schema > skills_engine/hooks.schema.json"
    )
    assert Path(__file__).parents[2] / "skills_engine" / "hooks.schema.json" == SCHEMA_FILE


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "Prompt hooks of a skill"


def test_an_editor_has_something_to_show_for_each_field() -> None:
    fields = SCHEMA["$defs"]["HookEntry"]["properties"]

    assert list(fields)[:8] == ["name", "file", "text", "timing", "role", "persistent", "tool_filter", "enabled"]
    assert all(fields[name]["description"] for name in fields)
    conditions = SCHEMA["$defs"]["WhenEntry"]["properties"]
    assert all(conditions[name]["description"] for name in conditions)
    assert all(timing in fields["timing"]["description"] for timing in TIMINGS)


@pytest.mark.parametrize(
    "item",
    [
        entry(),
        entry(timing="after_tool_call", tool_filter=["a"]),
        entry(tool_filter=None),
        entry(name=""),
        {"file": "hint.md", "timing": "before_planning", "role": "user", "persistent": True},
        entry(file=3),
        entry(timing="never"),
        entry(role="assistant"),
        entry(persistent="true"),
        entry(timing="after_tool_call", tool_filter="a"),
        entry(timing="after_tool_call", tool_filter=[""]),
        entry(timing="after_tool_call", tool_filter=[]),
        entry(colour="red"),
        "text",
        entry(enabled=False, once="turn", cooldown=3, sticky=1, priority=-100, group="g", requires_tools=["a*"]),
        entry(once=None),
        entry(cooldown=0),
        entry(sticky=1001),
        entry(priority=True),
        entry(group=""),
        entry(requires_tools=[]),
        entry(vars="yes"),
        entry(when={}),
        entry(when={"all": [], "any": [{"not": {"channel": "text"}}], "round": {"min": 2}, "turn": 1}),
        entry(when={"user_text": ["a"], "scan_turns": 20, "tool_args": {"a.b": ["x"]}, "tool_status": ["refused"]}),
        entry(when={"time": {"from": "22:00", "days": ["mon"], "timezone": "Europe/Berlin"}, "skills": ["a"]}),
        entry(when=[]),
        entry(when={"colour": ["red"]}),
        entry(when={"user_text": []}),
        entry(when={"tool": [""]}),
        entry(when={"tool": ["a"] * 33}),
        entry(when={"any": {}}),
        entry(when={"not": [{}]}),
        entry(when={"channel": "radio"}),
        entry(when={"time": {"from": "24:00"}}),
        entry(when={"time": {"days": []}}),
        entry(when={"tool_args": {"a": "x"}}),
        entry(when={"round": 0}),
    ],
)
def test_schema_and_loader_agree(tmp_path: Path, item: Any) -> None:
    _assert_agreed(tmp_path, {"$schema": "x", "hooks": [item]})


@pytest.mark.parametrize(
    ("when", "is_right"),
    [
        ({"user": ["eve"], "any": [{"not": {"time": {"to": "12:00"}}}, {"turn": 2}]}, True),
        ({"user_text": ["a"], "scan_turns": 2, "channel": "voice", "language": ["de"]}, True),
        ({"model": ["local"], "skills": ["a"]}, True),
        ({"tool": ["a"]}, False),
        ({"round": 1}, False),
        ({"all": [{"not": {"tool_status": ["ok"]}}]}, False),
    ],
)
def test_schema_and_loader_agree_on_conditions_of_triggers(tmp_path: Path, when: Any, is_right: bool) -> None:
    trigger = {"name": "greet", "file": "hint.md", "on": "connect", "when": when}

    assert _assert_agreed(tmp_path, {"hooks": [entry()], "triggers": [trigger]}) is is_right


def _assert_agreed(tmp_path: Path, document: Any) -> bool:
    folder = make_skill(tmp_path, "tutor", entry())
    write_hooks_json(folder, document)

    is_valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(document)

    assert is_valid is (read_hooks(folder).diagnostics == ())
    return is_valid
