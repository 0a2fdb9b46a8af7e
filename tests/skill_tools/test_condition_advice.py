"""What lint says of conditions that load, but hardly do what was meant."""

from pathlib import Path
from typing import Any

import pytest

from skill_tools.authoring.lint import lint, lint_skill
from skills_engine import load_snapshot
from skills_engine.diagnostics import MAX_DIAGNOSTICS
from tests.skills_engine.folders import entry, make_skill, write_hooks_json


def advice(folder: Path) -> list[tuple[str, str]]:
    """Return place and message of its warnings. A mistake, for which a hook is not advised on, fails the test."""
    found = [one for one in lint_skill(folder) if one.severity != "info"]
    assert {one.severity for one in found} <= {"warning"}
    return [(one.path, one.message) for one in found]


ANY_TIME = 'holds at any time: give it days, or from and to, such as {"from": "21:00", "to": "06:00"}'
GLOB = "is searched with its *, which stands for letters only behind a last letter"


@pytest.mark.parametrize(
    ("timing", "keys", "path", "message"),
    [
        (
            "before_planning",
            {"when": {"any": [{}, {"round": 2}]}},
            "when.any[1].round",
            "never holds: before_planning is outside the agent loop",
        ),
        (
            "before_first_agent",
            {"when": {"round": {"min": 2}}},
            "when.round",
            "never holds: before_first_agent comes in round 1",
        ),
        (
            "before_first_agent",
            {"when": {"not": {"tool": ["read_file"]}}},
            "when.not.tool",
            "never holds: at before_first_agent there is no tool call to ask about",
        ),
        (
            "after_user_input",
            {"when": {"tool_status": ["ok"]}},
            "when.tool_status",
            "never holds: at after_user_input there is no tool call to ask about",
        ),
        (
            "after_tool_call",
            {"when": {"tool": ["read_fil"]}},
            "when.tool",
            "no built-in tool is called read_fil (did you mean read_file?)",
        ),
        (
            "after_tool_call",
            {"when": {"all": [{"tool": ["shop"]}]}},
            "when.all[0].tool",
            "no built-in tool is called shop",
        ),
        (
            "after_user_input",
            {"when": {"language": ["de", "German"]}},
            "when.language",
            '"German" fits no language: expected a tag such as de or pt-BR, or *',
        ),
        ("after_user_input", {"when": {"user_text": ["*x"]}}, "when.user_text", f'"*x" {GLOB}'),
        ("after_user_input", {"when": {"user_text": ["mon*y"]}}, "when.user_text", f'"mon*y" {GLOB}'),
        ("after_user_input", {"when": {"last_reply": ["mon*y"]}}, "when.last_reply", f'"mon*y" {GLOB}'),
        ("after_tool_call", {"when": {"tool_args": {"q": ["mon*y"]}}}, "when.tool_args", f'"mon*y" {GLOB}'),
        (
            "after_user_input",
            {"when": {"user_text": ["/refund/gi"]}},
            "when.user_text",
            '"/refund/gi" is searched as a text: an expression ends with / or with /i',
        ),
        (
            "after_tool_call",
            {"when": {"not": {"tool_args": {}}}},
            "when.not.tool_args",
            'holds for every call: name an argument and its patterns, such as {"path": ["notes"]}',
        ),
        ("after_user_input", {"when": {"time": {}}}, "when.time", ANY_TIME),
        ("after_user_input", {"when": {"time": {"from": "08:00", "to": "08:00"}}}, "when.time", ANY_TIME),
        ("after_user_input", {"when": {"time": {"to": "00:00"}}}, "when.time", ANY_TIME),
        ("after_user_input", {"when": {"time": {"from": "00:00"}}}, "when.time", ANY_TIME),
        ("after_user_input", {"when": {"not": {"any": []}}}, "when.not.any", "never holds: it has no alternatives"),
        (
            "after_tool_call",
            {"tool_filter": ["files__*", "read_file"], "when": {"tool": ["search_text", "shop__*"]}},
            "when.tool",
            "never holds: tool_filter names other tools: files__*, read_file",
        ),
        (
            "after_tool_call",
            {"tool_filter": ["read_file"], "when": {"tool": ["read_file?*"]}},
            "when.tool",
            "never holds: tool_filter names other tools: read_file",
        ),
        (
            "after_user_input",
            {"once": "conversation", "cooldown": 2},
            "cooldown",
            "changes nothing beside once: conversation",
        ),
        (
            "after_user_input",
            {"requires_tools": ["serch_text"]},
            "requires_tools",
            "no built-in tool is called serch_text (did you mean search_text?)",
        ),
        (
            "after_user_input",
            {"group": "tone"},
            "group",
            "no other hook is in the group tone: alone it changes nothing",
        ),
        (
            "after_user_input",
            {"once": "conversation", "sticky": 2},
            "sticky",
            "beside once, it still fires in 2 further turns after the one in which it fired",
        ),
    ],
)
def test_lint_warns_of_what_contradicts_itself(
    tmp_path: Path, timing: str, keys: dict[str, Any], path: str, message: str
) -> None:
    found = advice(make_skill(tmp_path, "tutor", entry("hint", timing=timing, **keys)))

    assert found == [(f"$.hooks[0].{path}", message)]


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
            {"when": {"language": ["*", "de", "zh-Hant", "*-CH", "x-klingon"], "user_text": ["*", "money*", "/.*x/"]}},
        ),
    ],
)
def test_lint_says_nothing_of_conditions_that_can_hold(tmp_path: Path, timing: str, keys: dict[str, Any]) -> None:
    assert advice(make_skill(tmp_path, "tutor", entry("hint", timing=timing, **keys))) == []


@pytest.mark.parametrize(
    ("when", "path", "other"),
    [
        ({"turn": {"max": 2}, "all": [{"turn": {"min": 5}}]}, "all[0].turn", "turn"),
        ({"all": [{"any": [{"turn": 1}, {"turn": 7}]}, {"turn": {"min": 5}}]}, "all[0].any[0].turn", "all[1].turn"),
        ({"channel": "voice", "all": [{"channel": "text"}]}, "all[0].channel", "channel"),
        ({"channel": "voice", "not": {"channel": "voice"}}, "not.channel", "channel"),
        ({"user_text": ["a"], "all": [{"not": {"user_text": ["a"]}}]}, "all[0].not.user_text", "user_text"),
        ({"not": {"not": {"turn": 1}, "turn": 1}}, "not.turn", "not.not.turn"),
    ],
)
def test_lint_warns_of_conditions_that_exclude_one_another(
    tmp_path: Path, when: dict[str, Any], path: str, other: str
) -> None:
    folder = make_skill(tmp_path, "tutor", entry(when=when))
    greet = {"name": "greet", "file": "hint.md", "on": "idle", "when": when}
    write_hooks_json(folder, {"hooks": [entry(when=when)], "triggers": [greet]})

    message = f"never holds beside when.{other}"
    assert advice(folder) == [(f"$.hooks[0].when.{path}", message), (f"$.triggers[0].when.{path}", message)]


def test_what_lint_says_of_one_file_has_an_end(tmp_path: Path) -> None:
    when = {"all": [{"turn": turn} for turn in range(1, 65)]}

    found = advice(make_skill(tmp_path, "tutor", entry(when=when)))
    assert (len(found), found[-1]) == (MAX_DIAGNOSTICS, ("", f"and {64 * 63 // 2 - MAX_DIAGNOSTICS + 1} more"))


@pytest.mark.parametrize(
    "when",
    [
        {"turn": {"min": 2}, "all": [{"turn": {"max": 2}}]},
        {"any": [{"turn": 1}, {"turn": 3}]},
        {"any": [{"channel": "voice"}, {"not": {"channel": "voice"}}]},
        {"any": [{"turn": 1}, {"round": 1}], "all": [{"any": [{"turn": 2}, {"round": 2}]}]},
        {"turn": 1, "not": {"turn": 2}},
        {"user_text": ["a"], "not": {"user_text": ["a"], "language": ["de"]}},
        {"user_text": ["a"], "scan_turns": 3, "not": {"user_text": ["a"]}},
        {"turn": 1, "not": {"not": {"turn": 1}}},
        {"not": {"turn": 1}, "all": [{"not": {"turn": 1}}]},
    ],
)
def test_lint_says_nothing_of_conditions_that_hold_together(tmp_path: Path, when: dict[str, Any]) -> None:
    assert advice(make_skill(tmp_path, "tutor", entry(timing="before_each_agent", when=when))) == []


def test_notes_name_the_part_of_a_text_that_a_large_expression_looks_at(tmp_path: Path) -> None:
    small, large, larger = "/a{57}/", "/a{58}/i", "/.{0,300}urgent.{0,300}asap/i"
    result = {"all": [{"tool_result": [large]}], "not": {"tool_args": {"a": ["b", larger]}}}
    folder = make_skill(
        tmp_path, "tutor", entry("hint", timing="after_tool_call", when={"user_text": [small], **result})
    )

    notes = [(one.path, one.message) for one in lint_skill(folder) if one.path.startswith("$.hooks[0].when")]

    assert notes == [
        ("$.hooks[0].when.all[0].tool_result", f'"{large}" has 62 steps: it looks at the first 64516 bytes of a text'),
        (
            "$.hooks[0].when.not.tool_args",
            f'"{larger}" has 1814 steps: it looks at the first 2205 bytes of a text',
        ),
    ]


def test_a_group_may_have_its_hooks_in_several_skills(tmp_path: Path) -> None:
    one = make_skill(tmp_path, "one", entry(group="shared/tone", when={"channel": "voice"}))
    make_skill(tmp_path, "two", entry(group="shared/tone"))

    [message] = [message for _, message in advice(one)]
    assert message == "no other hook is in the group shared/tone: alone it changes nothing"
    assert [found for of_skill in lint(tmp_path).values() for found in of_skill if found.severity != "info"] == []
    assert [found.message for found in lint_skill(one, hooks=load_snapshot(tmp_path).hooks(None))] == [
        "keeps out two/hint of the group shared/tone when it fires"
    ]


@pytest.mark.rule("L1-46")
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"priority": 100}, "keeps out own/equal, own/mine of the group shared/tone for good: it always fires"),
        ({}, "keeps out own/equal, own/mine of the group shared/tone for good: it always fires"),
        ({"priority": 0}, "keeps out own/mine of the group shared/tone for good: it always fires"),
        ({"priority": -1}, None),
        ({"priority": 100, "enabled": False}, None),
        ({"priority": 100, "timing": "before_planning"}, None),
        (
            {"priority": 100, "vars": True},
            "keeps out own/equal, own/mine of the group shared/tone for good: it always fires",
        ),
        ({"priority": 100, "once": "turn"}, "keeps out own/equal, own/mine of the group shared/tone when it fires"),
    ],
)
def test_lint_names_the_hooks_of_other_skills_that_a_group_keeps_out(
    tmp_path: Path, keys: dict[str, Any], words: str | None
) -> None:
    new = make_skill(tmp_path, "new", entry("loud", group="shared/tone", **({"priority": 1} | keys)))
    own = make_skill(
        tmp_path, "own", entry("mine", group="shared/tone"), entry("equal", group="shared/tone", priority=1)
    )

    by_skill = {folder: [one.message for one in found] for folder, found in lint(tmp_path).items()}

    assert by_skill[new] == ([] if words is None else [words])
    assert [message for message in by_skill[own] if "for good" not in message] == []


@pytest.mark.rule("L1-48")
@pytest.mark.parametrize(
    ("timing", "has_vars", "text", "words"),
    [
        ("before_planning", True, "{{round}}", "{{round}}, which is empty at before_planning"),
        ("before_each_agent", True, "{{tool}} {{round}}", "{{tool}}, which is empty at before_each_agent"),
        ("before_planning", True, "{{tool_status}}", "{{tool_status}}, which is empty at before_planning"),
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


@pytest.mark.rule("L1-50", "L1-51")
@pytest.mark.parametrize(
    ("match", "role", "found"),
    [
        (r"/my name is ([\p{L}\p{M}'-]+)/i", "system", []),
        (r"/my name is (.+)/i", "user", []),
        (r"/my name is (.+)/i", "system", ["$.hooks[1].role"]),
        (r"/my name is (\w+)/i", "user", ["$.hooks[0].set.name"]),
    ],
)
def test_lint_warns_of_strangers_words_in_a_system_hook_and_of_ascii(
    tmp_path: Path, match: str, role: str, found: list[str]
) -> None:
    update = {"name": "u", "timing": "after_user_input", "set": {"name": {"from": "user_text", "match": match}}}
    folder = make_skill(tmp_path, "tutor", entry("u"), entry("hint", role=role, vars=True))
    (folder / "hooks" / "hint.md").write_text("{{var.name}}")
    (folder / "hooks" / "u.md").unlink()
    document = {"variables": {"name": "", "paid": False}, "hooks": [update, entry("hint", role=role, vars=True)]}
    write_hooks_json(folder, document)

    assert [path for path, _ in advice(folder)] == [*found, "$.variables.paid"]


MISSED = '"Loan" is not found in "loans": Loan* fits further letters'


def words_advice(folder: Path, *tests: str, severity: str = "warning") -> list[str]:
    """Return what is said of words, with tests of these turns."""
    (folder / "tests").mkdir(exist_ok=True)
    lines = [f"  - {{name: t{number}, {test}}}" for number, test in enumerate(tests)]
    (folder / "tests" / "a.yaml").write_text("\n".join(["tests:", *lines]))
    found = [one for one in lint_skill(folder) if one.severity == severity]
    return [one.message for one in found if "is not found in" in one.message]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("user: Which loans are cheap?, expect: {fires: [money]}", [MISSED]),
        ("user: Which loans are cheap?, expect: {tokens: {max: 9}}", [MISSED]),
        ("turns: [{user: x}, {user: LOANS?, expect: {fires: [tutor/money]}}]", [MISSED]),
        ("user: Which loans are cheap?, expect: {fires: []}", []),
        ("user: Which loans are cheap?, expect: {silent: [tutor/money]}", []),
        (
            "user: I loaned it., expect: {fires: [money]}",
            ['"Loan" is not found in "loaned": Loan* fits further letters'],
        ),
        ("user: The loanshark came., expect: {fires: [money]}", []),
        ("user: A loan., expect: {fires: [money]}", []),
    ],
)
def test_a_word_that_misses_its_longer_form_in_a_test_is_named(tmp_path: Path, test: str, said: list[str]) -> None:
    folder = make_skill(tmp_path, "tutor", entry("money", when={"user_text": ["Loan", "tax", "/lend/"]}))

    assert words_advice(folder, test) == said


def test_a_word_of_an_update_that_misses_its_longer_form_is_named(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry("hint"))
    update = {"name": "u", "timing": "after_user_input", "when": {"user_text": ["Loan"]}, "set": {"score": 1}}
    write_hooks_json(folder, {"variables": {"score": 0}, "hooks": [update, entry("hint")]})

    assert words_advice(folder, "user: Two loans, expect: {fires: [hint]}") == [MISSED]


def test_a_word_that_misses_its_longer_form_in_a_pattern_is_named(tmp_path: Path) -> None:
    longer = entry("b", when={"not": {"last_reply": ["cheap loans"]}})
    folder = make_skill(tmp_path, "tutor", entry("a", when={"user_text": ["Loan"]}), longer)
    assert words_advice(folder) == [MISSED]

    folder = make_skill(tmp_path, "banker", entry("a", when={"user_text": ["Loan", "loans"]}))
    assert words_advice(folder) == []
    assert words_advice(folder, severity="info") == [MISSED]


@pytest.mark.parametrize("pattern", ["Loan*", "car", "Лоан", "my loan", "/loan/"])
def test_other_patterns_than_a_long_latin_word_without_star_are_not_named(tmp_path: Path, pattern: str) -> None:
    folder = make_skill(tmp_path, "tutor", entry("money", when={"user_text": [pattern]}))

    assert words_advice(folder, "user: My loans cars Лоаны, expect: {fires: [money]}") == []


def test_what_a_set_takes_of_a_tool_is_not_what_conditions_see(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "tutor", entry("hint"))
    update = {"name": "u", "timing": "after_tool_call", "set": {"name": {"from": "tool_result", "match": "/(x)/"}}}
    write_hooks_json(folder, {"variables": {"name": ""}, "hooks": [update, entry("hint")]})

    assert "takes tool_result as the user may see it; conditions see what the model reads" in [
        one.message for one in lint_skill(folder) if one.path == "$.hooks[0].set.name"
    ]
