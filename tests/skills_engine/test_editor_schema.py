"""The JSON Schema says what the loader accepts."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from skills_engine.authoring.scaffold import SCHEMA_FILE, schema_text
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

    assert list(fields) == ["name", "file", "timing", "role", "persistent", "tool_filter"]
    assert all(fields[name]["description"] for name in fields)
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
    ],
)
def test_schema_and_loader_agree(tmp_path: Path, item: Any) -> None:
    folder = make_skill(tmp_path, "tutor", entry())
    document = {"$schema": "x", "hooks": [item]}
    write_hooks_json(folder, document)

    is_valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(document)

    assert is_valid is (read_hooks(folder).diagnostics == ())
