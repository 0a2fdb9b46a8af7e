"""What a turn asks of the version it pinned."""

from pathlib import Path

import pytest

from skills_engine import HookInfo, Skill, SkillsSnapshot
from skills_engine.library import MAX_CACHED_SELECTIONS, load_snapshot
from tests.skills_engine.folders import entry, make_skill, write_hooks_json


def skill(name: str, *hooks: str) -> Skill:
    infos = [HookInfo(hook, "a.md", "before_planning", "user", False, "text", name) for hook in hooks]
    return Skill(name, f"About {name}.", Path(name), name, hooks=tuple(infos))


SNAPSHOT = SkillsSnapshot((skill("a", "1", "2"), skill("b"), skill("c", "3")), version=4)


@pytest.mark.rule("L1-03")
@pytest.mark.parametrize(
    ("names", "skills", "hooks"),
    [
        (None, "abc", "123"),
        ([], "", ""),
        (["c", "a"], "ca", "312"),
        (["c", "a", "c"], "ca", "312"),
        (["gone", "b", "a", "../a"], "ba", "12"),
        (("a",), "a", "12"),
    ],
)
def test_names_choose_and_order(names: list[str] | None, skills: str, hooks: str) -> None:
    snapshot = SkillsSnapshot(SNAPSHOT.skills)

    for _ in range(2):  # the second answer is remembered
        assert "".join(one.name for one in snapshot.select(names)) == skills
        assert "".join(hook.name for hook in snapshot.hooks(names)) == hooks
        catalog = snapshot.catalog(names, budget_tokens=100)
        assert [line[2] for line in catalog.text.split("\n")[1:]] == list(skills)


def test_the_hooks_of_what_is_not_selected_are_off() -> None:
    assert [hook.name for hook in SNAPSHOT.hooks_off(["a", "gone"])] == ["3"]
    assert SNAPSHOT.hooks_off(None) == []


def test_the_list_of_hooks_belongs_to_the_caller() -> None:
    SNAPSHOT.hooks(["a"]).clear()

    assert [hook.name for hook in SNAPSHOT.hooks(["a"])] == ["1", "2"]


def test_a_selection_is_made_once() -> None:
    snapshot = SkillsSnapshot(SNAPSHOT.skills)

    assert snapshot.catalog(["a"], budget_tokens=90) is snapshot.catalog(["a"], budget_tokens=90)
    assert snapshot.catalog(["a"], budget_tokens=90) is not snapshot.catalog(["a"], budget_tokens=91)
    assert snapshot.catalog(["a"], budget_tokens=9) != snapshot.catalog(["a"], budget_tokens=90)
    assert snapshot.catalog(None, budget_tokens=90) is snapshot.catalog(None, budget_tokens=90)


def test_what_is_remembered_is_bounded() -> None:
    snapshot = SkillsSnapshot(SNAPSHOT.skills)
    first = snapshot.catalog(["a"], budget_tokens=0)

    for budget_tokens in range(1, MAX_CACHED_SELECTIONS):
        snapshot.catalog(["a"], budget_tokens=budget_tokens)
    assert snapshot.catalog(["a"], budget_tokens=0) is first

    snapshot.catalog(["b"], budget_tokens=0)
    assert snapshot.catalog(["a"], budget_tokens=0) is not first


def test_snapshots_are_equal_by_what_they_say() -> None:
    other = SkillsSnapshot(SNAPSHOT.skills, version=4)
    other.hooks(None)

    assert other == SNAPSHOT
    assert other != SkillsSnapshot(SNAPSHOT.skills, version=5)
    assert "_hooks" not in repr(other)


@pytest.mark.rule("L1-57")
def test_a_group_that_stands_in_two_skills_is_named_until_it_is_shared(tmp_path: Path) -> None:
    for name, group in (
        ("one", "tone"),
        ("two", "tone"),
        ("three", "length"),
        ("four", "shared/all"),
        ("five", "shared/all"),
    ):
        make_skill(tmp_path, name, entry(group=group))

    found = load_snapshot(tmp_path).diagnostics

    assert sorted((one.skill, one.severity) for one in found) == [("one", "warning"), ("two", "warning")]
    assert all("write shared/tone for one of all" in one.message for one in found)


@pytest.mark.rule("L1-57")
def test_no_skill_is_called_shared(tmp_path: Path) -> None:
    make_skill(tmp_path, "shared", entry())

    snapshot = load_snapshot(tmp_path)

    assert snapshot.skills == ()
    assert [one.severity for one in snapshot.diagnostics] == ["error"]


@pytest.mark.rule("L1-51")
@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("Plan {{context.plan}}.", True),
        ("For {{var.name}}.", True),
        ("As {{var.other/score}}.", True),
        ("In {{language}}, {{var.rank}}.", False),
    ],
)
def test_another_text_of_a_persistent_hook_holds_no_words_from_elsewhere(
    tmp_path: Path, text: str, is_refused: bool
) -> None:
    folder = make_skill(tmp_path, "quiz")
    keep = {
        "name": "keep",
        "timing": "after_user_input",
        "role": "system",
        "persistent": True,
        "vars": True,
        "text": "Hi.",
    }
    asks = {"name": "asks", "timing": "after_user_input", "set": {"name": {"from": "user_text"}}}
    write_hooks_json(folder, {"variables": {"name": "", "rank": "low"}, "hooks": [keep, asks]})
    snapshot = load_snapshot(tmp_path)

    if is_refused:
        with pytest.raises(ValueError, match="quiz/keep is persistent, and keeps no words from elsewhere"):
            snapshot.with_hook_texts({"quiz/keep": text})
    else:
        assert snapshot.with_hook_texts({"quiz/keep": text}).hooks(None)[0].content == text
