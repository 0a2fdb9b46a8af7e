"""What lint says of conditions that load, but hardly do what was meant."""

from pathlib import Path
from typing import Any

import pytest

from skills_engine.authoring.lint import lint, lint_skill
from tests.skills_engine.folders import entry, make_skill


def advice(folder: Path) -> list[tuple[str, str]]:
    """Return place and message of its warnings."""
    return [(found.path, found.message) for found in lint_skill(folder) if found.severity == "warning"]


@pytest.mark.parametrize(
    ("timing", "keys", "path", "words"),
    [
        ("before_planning", {"when": {"any": [{}, {"round": 2}]}}, "when.any[1].round", "outside the agent loop"),
        ("before_first_agent", {"when": {"round": {"min": 2}}}, "when.round", "comes in round 1"),
        ("before_first_agent", {"when": {"not": {"tool": ["read_file"]}}}, "when.not.tool", "no tool call"),
        ("after_user_input", {"when": {"tool_status": ["ok"]}}, "when.tool_status", "no tool call"),
        ("after_tool_call", {"when": {"tool": ["read_fil"]}}, "when.tool", "(did you mean read_file?)"),
        ("after_tool_call", {"when": {"all": [{"tool": ["shop"]}]}}, "when.all[0].tool", "no built-in tool"),
        ("after_user_input", {"when": {"language": ["de", "German"]}}, "when.language", '"German" fits no language'),
        ("after_user_input", {"when": {"user_text": ["*money*"]}}, "when.user_text", "a text is no glob"),
        ("after_user_input", {"when": {"user_text": ["/refund/gi"]}}, "when.user_text", "searched as a text"),
        ("after_tool_call", {"when": {"not": {"tool_args": {}}}}, "when.not.tool_args", "holds for every call"),
        ("after_user_input", {"when": {"time": {}}}, "when.time", "holds at any time"),
        ("after_user_input", {"when": {"time": {"from": "08:00", "to": "08:00"}}}, "when.time", "holds at any time"),
        ("after_user_input", {"when": {"time": {"to": "00:00"}}}, "when.time", "holds at any time"),
        ("after_user_input", {"when": {"time": {"from": "00:00"}}}, "when.time", "holds at any time"),
        ("after_user_input", {"when": {"not": {"any": []}}}, "when.not.any", "never holds: it has no alternatives"),
        (
            "after_tool_call",
            {"tool_filter": ["files__*", "read_file"], "when": {"tool": ["search_text", "shop__*"]}},
            "when.tool",
            "never holds: tool_filter names other tools: files__*, read_file",
        ),
        ("after_user_input", {"once": "conversation", "cooldown": 2}, "cooldown", "changes nothing"),
        ("after_user_input", {"requires_tools": ["serch_text"]}, "requires_tools", "(did you mean search_text?)"),
        ("after_user_input", {"group": "tone"}, "group", "alone it changes nothing"),
        ("after_user_input", {"once": "conversation", "sticky": 2}, "sticky", "in 2 further turns"),
    ],
)
def test_lint_warns_of_what_contradicts_itself(
    tmp_path: Path, timing: str, keys: dict[str, Any], path: str, words: str
) -> None:
    [(place, message)] = advice(make_skill(tmp_path, "tutor", entry("hint", timing=timing, **keys)))

    assert place == f"$.hooks[0].{path}"
    assert words in message


@pytest.mark.parametrize(
    ("timing", "keys"),
    [
        ("before_first_agent", {"when": {"round": 1}}),
        ("before_first_agent", {"when": {"round": {"max": 2}}}),
        ("before_each_agent", {"when": {"round": {"min": 2}, "tool": ["read_file", "shop__*", "shop__x", "a*"]}}),
        ("after_tool_call", {"when": {"user_text": ["round"], "tool_status": ["ok"]}, "requires_tools": ["read_file"]}),
        ("after_tool_call", {"when": {"tool_args": {"path": ["x"]}}}),
        ("after_user_input", {"when": {"any": [{"time": {"days": ["mon"]}}, {"time": {"from": "08:00"}}]}}),
        ("after_user_input", {"when": {"time": {"from": "00:00", "to": "06:00"}}}),
        ("after_user_input", {"when": {"time": {"to": "00:00", "days": ["mon"]}}}),
        ("after_user_input", {"once": "turn", "cooldown": 2}),
        ("after_tool_call", {"tool_filter": ["files__*"], "when": {"tool": ["files__read", "search_text"]}}),
        ("after_tool_call", {"tool_filter": ["files__read"], "when": {"tool": ["files__*"]}}),
        ("after_tool_call", {"tool_filter": ["files__*"], "when": {"tool": ["*__read"]}}),
        ("after_tool_call", {"tool_filter": ["files__*"], "when": {"not": {"tool": ["shop__x"]}}}),
        (
            "after_user_input",
            {"when": {"language": ["*", "de", "zh-Hant", "*-CH", "x-klingon"], "user_text": ["*", "/*x/"]}},
        ),
    ],
)
def test_lint_says_nothing_of_conditions_that_can_hold(tmp_path: Path, timing: str, keys: dict[str, Any]) -> None:
    assert advice(make_skill(tmp_path, "tutor", entry("hint", timing=timing, **keys))) == []


def test_a_group_may_have_its_hooks_in_several_skills(tmp_path: Path) -> None:
    one = make_skill(tmp_path, "one", entry(group="tone"))
    make_skill(tmp_path, "two", entry(group="tone"))

    assert [message for _, message in advice(one)] == ["no other hook is in the group tone: alone it changes nothing"]
    assert [found for many in lint(tmp_path).values() for found in many if found.severity == "warning"] == []


@pytest.mark.rule("L1-45")
def test_lint_warns_of_more_than_a_state_has_room_for(tmp_path: Path) -> None:
    few = make_skill(tmp_path, "few", *(entry(f"hook-{n}", once="conversation") for n in range(50)))
    many = make_skill(tmp_path, "many", *(entry(f"hook-{n}", once="conversation") for n in range(350)))

    assert advice(few) == []
    assert [(path, "8 KiB" in message) for path, message in advice(many)] == [("$.hooks", True)]


@pytest.mark.rule("L1-48")
@pytest.mark.parametrize(
    ("timing", "has_vars", "text", "words"),
    [
        ("before_planning", True, "{{round}}", "{{round}}, which is empty at before_planning"),
        ("before_each_agent", True, "{{tool}} {{round}}", "{{tool}}, which is empty at before_each_agent"),
        ("before_each_agent", False, "{{date}}", "{{date}}, which is kept as text without vars: true"),
        ("after_tool_call", True, "{{tool}} {{tool_status}} {{round}} {{date}}", None),
        ("before_planning", False, "{{name}} {{{{date}}", None),
    ],
)
def test_lint_says_where_a_variable_has_no_value(
    tmp_path: Path, timing: str, has_vars: bool, text: str, words: str | None
) -> None:
    folder = make_skill(tmp_path, "tutor", entry("hint", timing=timing, vars=has_vars))
    (folder / "hooks" / "hint.md").write_text(text)

    assert advice(folder) == ([] if words is None else [("$.hooks[0].file", f"hint.md holds {words}")])
