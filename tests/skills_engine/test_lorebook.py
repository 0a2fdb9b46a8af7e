"""import: a lorebook of SillyTavern becomes hooks that fire where its entries would, and what differs is listed."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_engine import HookManager, SkillsSnapshot, load_snapshot
from skills_engine.__main__ import main
from skills_engine.conditions.turn_facts import HookFacts
from skills_engine.hooks_config import MAX_FILE_BYTES
from skills_engine.sharing.lorebook import MAX_ENTRIES, MAX_SCAN_TURNS, MAX_TURNS

# An entry as SillyTavern writes it, all fields at their defaults.
ENTRY: dict[str, Any] = json.loads("""{
  "uid": 0, "key": [], "keysecondary": [], "comment": "", "content": "", "constant": false, "vectorized": false,
  "selective": true, "selectiveLogic": 0, "addMemo": true, "order": 100, "position": 4, "disable": false,
  "ignoreBudget": false, "excludeRecursion": false, "preventRecursion": false, "delayUntilRecursion": false,
  "matchPersonaDescription": false, "probability": 100, "useProbability": true, "depth": 0, "outletName": "",
  "group": "", "groupOverride": false, "groupWeight": 100, "scanDepth": null, "caseSensitive": null,
  "matchWholeWords": null, "useGroupScoring": null, "automationId": "", "role": 0, "sticky": 0, "cooldown": 0,
  "delay": 0, "triggers": [], "displayIndex": 0, "characterFilter": {"isExclude": false, "names": [], "tags": []}
}""")

CARD = """{"spec": "chara_card_v2", "data": {"character_book": {"scan_depth": 2, "entries": [{
  "keys": ["Rome"], "secondary_keys": ["b"], "content": "Text.", "enabled": true, "insertion_order": 5, "id": 1,
  "selective": true, "case_sensitive": false, "constant": false, "name": "Rome", "use_regex": true,
  "extensions": {
    "position": 4, "depth": 0, "role": 1, "selectiveLogic": 2, "sticky": 2, "match_whole_words": false,
    "exclude_recursion": true, "probability": 100, "useProbability": true, "display_index": 0
  }
}]}}}"""


def lore(comment: str, *keys: str, **changed: Any) -> dict[str, Any]:
    return {**ENTRY, "comment": comment, "key": list(keys), "content": f"Text of {comment}.", **changed}


class Importer:
    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = tmp_path / "skills"
        self.file = tmp_path / "Old Town.json"
        self._capsys = capsys

    def run(self, document: object, *arguments: str) -> tuple[int, list[str]]:
        self.file.write_text(document if isinstance(document, str) else json.dumps(document))
        status = main(["import", str(self.file), "--dir", str(self.root), *arguments])
        told = self._capsys.readouterr()
        return status, (told.out + told.err).splitlines()

    def book(self, *entries: dict[str, Any], **fields: Any) -> list[str]:
        """Import these entries; returns what differs."""
        status, lines = self.run({"entries": {str(n): {**one, "uid": n} for n, one in enumerate(entries)}, **fields})
        assert status == 0
        return [line.removeprefix("differs: ") for line in lines if line.startswith("differs: ")]

    def hooks(self, skill: str = "old-town") -> dict[str, dict[str, Any]]:
        document = json.loads((self.root / skill / "hooks" / "hooks.json").read_text())
        return {hook["name"]: hook for hook in document["hooks"]}

    @property
    def snapshot(self) -> SkillsSnapshot:
        return load_snapshot(self.root)

    def fires(self, *messages: str) -> list[str]:
        """Return the hooks that fire after these user messages, in order."""
        manager = HookManager([], self.snapshot.hooks(None), facts=HookFacts(user_messages=messages))
        manager.inject("after_user_input")
        return [one.name for one in self.snapshot.hooks(None) if one not in {out.hook for out in manager.not_fired}]


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Importer:
    (tmp_path / "skills").mkdir()
    return Importer(tmp_path, capsys)


def test_entries_become_hooks_of_a_skill_that_loads_clean(imported: Importer) -> None:
    differs = imported.book(
        lore("The Harbour", "harbour", "/ship(s|yard)/i"),
        lore("Always", constant=True, order=200, role=1),
        lore("Off", "x", disable=True, order=50),
    )

    assert differs == []
    assert imported.snapshot.diagnostics == ()
    assert imported.snapshot.catalog(None, budget_tokens=500).text == ""
    base = {"timing": "after_user_input", "role": "system", "persistent": False}
    assert imported.hooks() == {
        "the-harbour": {
            **base,
            "name": "the-harbour",
            "file": "the-harbour.md",
            "when": {"user_text": ["harbour", "/ship(s|yard)/i"]},
            "priority": 1,
        },
        "always": {**base, "name": "always", "file": "always.md", "role": "user", "priority": 2},
        "off": {**base, "name": "off", "file": "off.md", "when": {"user_text": ["x"]}, "enabled": False},
    }
    assert imported.fires("The Shipyard burns") == ["the-harbour", "always"]
    assert imported.fires("x") == ["always"]


@pytest.mark.parametrize(
    ("logic", "fires"),
    [
        (0, {"a b": True, "a c": True, "a b c": True, "a": False, "b c": False}),
        (1, {"a b": True, "a c": True, "a b c": False, "a": True, "b c": False}),
        (2, {"a b": False, "a c": False, "a b c": False, "a": True, "b c": False}),
        (3, {"a b": False, "a c": False, "a b c": True, "a": False, "b c": False}),
    ],
)
def test_secondary_keys_count_by_their_logic(imported: Importer, logic: int, fires: dict[str, bool]) -> None:
    assert imported.book(lore("x", "a", keysecondary=["b", "c"], selectiveLogic=logic)) == []

    assert {text: imported.fires(text) == ["x"] for text in fires} == fires


@pytest.mark.parametrize(
    ("changed", "fires"),
    [
        ({}, {"Rome!": True, "ROME": True, "Romeo": False}),
        ({"matchWholeWords": False}, {"Rome!": True, "ROME": True, "Romeo": True}),
        ({"caseSensitive": True}, {"Rome!": True, "ROME": False, "Romeo": False}),
        ({"caseSensitive": True, "matchWholeWords": False}, {"Rome!": True, "ROME": False, "Romeo": True}),
    ],
)
def test_case_and_whole_words_are_kept(imported: Importer, changed: dict[str, Any], fires: dict[str, bool]) -> None:
    assert imported.book(lore("x", "Rome", **changed)) == []

    assert {text: imported.fires(text) == ["x"] for text in fires} == fires


@pytest.mark.parametrize(
    ("key", "text", "fires"),
    [
        ("/a.b/s", "a\nb", True),
        ("/^b$/gm", "a\nb", True),
        ("/A/", "a", False),
        ("/a/b/", "see /a/b/ there", True),
        ("/a/b/", "see axb there", False),
        ("what? (now)", "So what? (now) it is", True),
    ],
)
def test_a_key_is_an_expression_where_it_is_one_there(imported: Importer, key: str, text: str, fires: bool) -> None:
    assert imported.book(lore("x", key)) == []

    assert (imported.fires(text) == ["x"]) is fires


def test_many_keys_are_shared_out(imported: Importer) -> None:
    assert imported.book(lore("x", *(f"key{n}" for n in range(70)), keysecondary=["b"])) == []

    assert [imported.fires(text) for text in ("key69 b", "key69", "key70 b")] == [["x"], [], []]


def test_times_groups_and_depth_are_taken_over_and_what_they_count_is_listed(imported: Importer) -> None:
    changed = {"sticky": 3, "cooldown": 2, "delay": 2, "group": "mood, other", "scanDepth": 4}
    differs = imported.book(lore("x", "a", **changed), lore("y", "b", group="mood", groupOverride=True))

    hook = imported.hooks()["x"]
    assert (hook["sticky"], hook["cooldown"], hook["group"]) == (3, 2, "mood")
    assert hook["when"] == {"user_text": ["a"], "scan_turns": 4, "turn": {"min": 2}}
    assert differs == [
        "scanDepth: counts the user's messages only; the replies are not searched: x",
        "sticky, cooldown, delay: the numbers are kept, but count turns here and messages there: x",
        "several groups: only the first is kept: x",
        "groupWeight: in a group the highest priority wins, not chance: x",
        "groupOverride: in a group the highest priority always wins: y",
    ]


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"probability": 30}, "probability: there is no chance here"),
        ({"excludeRecursion": True}, "recursion: only what the user says is searched"),
        ({"vectorized": True}, "vectors: only its keys count"),
        ({"position": 0}, "position, depth: every text stands behind the user's message"),
        ({"role": 2}, "role assistant: it is system here"),
        ({"characterFilter": {"isExclude": False, "names": ["Ann"], "tags": []}}, "characterFilter: no counterpart"),
        ({"automationId": "x"}, "automationId: no counterpart"),
        ({"somethingNew": 1}, "somethingNew: no counterpart"),
        ({"content": "@@depth 3\nText"}, "decorators @@depth: left out"),
        ({"content": "{{char}} smiles"}, "macros {{char}}: not filled in"),
        ({"content": ""}, "without a text, or with more than 64 KiB: left out"),
        ({"content": "x" * (MAX_FILE_BYTES + 1)}, "without a text, or with more than 64 KiB: left out"),
        ({"key": ["a", "/(?=b)/"]}, "key /(?=b)/: an expression with look-around or the like is left out"),
        ({"key": ["a", "{{user}}"]}, "key {{user}}: a macro is not filled in, so the key is left out"),
    ],
)
def test_what_has_no_counterpart_is_listed(imported: Importer, changed: dict[str, Any], difference: str) -> None:
    [line] = imported.book(lore("x", "a", **changed), lore("y", "b"))

    assert line.startswith(difference)
    assert line.endswith(": x")
    assert imported.snapshot.diagnostics == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"key": []},
        {"scanDepth": 0},
        {"probability": 0},
        {"keysecondary": ["/(?=b)/"], "selectiveLogic": 2},
        {"keysecondary": [f"k{n}" for n in range(70)], "selectiveLogic": 3},
        {"content": "@@dont_activate\nText"},
    ],
)
def test_what_would_never_fire_is_off_and_not_always_on(imported: Importer, changed: dict[str, Any]) -> None:
    imported.book(lore("x", "a", **changed))

    assert imported.hooks()["x"]["enabled"] is False
    assert imported.snapshot.diagnostics == ()


def test_macros_that_mean_the_same_here_are_filled_in(imported: Importer) -> None:
    differs = imported.book(lore("x", constant=True, content="{{User}} meets {{char}} on {{date}}."))

    assert imported.hooks()["x"]["vars"] is True
    [hook] = imported.snapshot.hooks(None)
    assert hook.content == "{{user}} meets {{{{char}} on {{date}}."
    assert differs == ["macros {{char}}: not filled in: x"]


def test_a_character_card_brings_its_book(imported: Importer) -> None:
    status, lines = imported.run(CARD, "--name", "rome")

    assert (status, lines[0]) == (0, f"imported: {imported.root}/rome (1 hooks)")
    hook = imported.hooks("rome")["rome"]
    assert (hook["role"], hook["sticky"]) == ("user", 2)
    leaf = {"user_text": ["/Rome/i"], "scan_turns": 2}
    assert hook["when"] == {**leaf, "not": {"user_text": ["/b/i"], "scan_turns": 2}}
    assert any(line.startswith("differs: recursion: ") for line in lines)


def test_a_large_book_becomes_several_skills(imported: Importer) -> None:
    entries = [lore(f"Place {n}", f"place{n}", order=n) for n in range(600)]

    assert imported.book(*entries) == []

    assert [skill.name for skill in imported.snapshot.skills] == ["old-town", "old-town-2"]
    assert len(imported.snapshot.hooks(None)) == 600
    assert imported.snapshot.diagnostics == ()
    priorities = [hook.priority for hook in imported.snapshot.hooks(None)]
    assert (priorities[0], priorities[-1], priorities == sorted(priorities)) == (-100, 100, True)


def test_names_are_made_of_comments_and_keys_and_stand_once(imported: Importer) -> None:
    imported.book(lore("", "Öl & Fett", content="x"), lore("öl fett", "b"), lore("", "!", content="x"), lore("龍", "c"))

    assert list(imported.hooks()) == ["öl-fett", "öl-fett--2", "entry", "龍"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "not JSON that can be read"),
        ([], "no lorebook of SillyTavern"),
        ({"lorebookVersion": 5, "entries": [3]}, "no lorebook of SillyTavern"),
        ({"data": {"name": "x"}}, "no lorebook of SillyTavern"),
        ('{"entries": {"0": {"key": ["a"], "content": "\\ud800"}}}', "not JSON that can be read"),
    ],
)
def test_what_is_no_lorebook_is_refused(imported: Importer, document: object, words: str) -> None:
    status, lines = imported.run(document)

    assert (status, words in lines[0]) == (2, True)
    assert list(imported.root.iterdir()) == []


def test_values_of_other_kinds_than_expected_do_no_harm(imported: Importer) -> None:
    strange: list[Any] = [None, True, "3", 1e999, -5, [], {"a": 1}]
    fields = ("keysecondary", "comment", "order", "role", "sticky", "delay", "group", "scanDepth", "probability")
    entries = [lore("x", "a") | dict.fromkeys(fields, value) for value in strange]

    imported.book(*entries, {"keys": None, "content": "Of a character card."})

    assert imported.snapshot.diagnostics == ()
    assert len(imported.snapshot.hooks(None)) == len(strange) + 1


def test_numbers_past_what_a_hook_may_have_are_cut_to_it(imported: Importer) -> None:
    imported.book(lore("x", "a", sticky=1_000_000, cooldown=MAX_TURNS + 1, scanDepth=1000))

    hook = imported.hooks()["x"]
    assert (hook["sticky"], hook["cooldown"]) == (MAX_TURNS, MAX_TURNS)
    assert hook["when"]["scan_turns"] == MAX_SCAN_TURNS
    assert imported.snapshot.diagnostics == ()


def test_a_book_with_too_many_entries_is_refused(imported: Importer) -> None:
    status, lines = imported.run({"entries": [{}] * (MAX_ENTRIES + 1)})

    assert (status, lines) == (2, ["error: this lorebook has more than 10000 entries: divide it"])


@pytest.mark.parametrize(
    ("entries", "reason"), [([], "it has no entries"), ([{"key": ["a"]}], "none of its 1 entries has a text")]
)
def test_a_book_without_texts_becomes_no_skill(imported: Importer, entries: list[Any], reason: str) -> None:
    status, [line] = imported.run({"entries": entries})

    assert status == 2
    assert line.startswith(f"error: nothing is imported from this lorebook: {reason}")
    assert list(imported.root.iterdir()) == []


def test_a_skill_that_is_there_is_not_overwritten(imported: Importer) -> None:
    imported.book(lore("x", "a"))

    status, lines = imported.run({"entries": [lore("y", "b")]})
    assert status == 2
    assert "old-town exists already" in lines[0]
