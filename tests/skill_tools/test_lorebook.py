"""import: a lorebook of SillyTavern becomes hooks that fire where its entries would, and what differs is listed."""

import json
from pathlib import Path
from typing import Any

import pytest

from skill_tools.sharing.bundle import MAX_BYTES
from skill_tools.sharing.lorebook import MAX_ENTRIES, MAX_SCAN_TURNS, MAX_TURNS
from skills_engine import HookManager, SkillsSnapshot, load_snapshot
from skills_engine.__main__ import main
from skills_engine.conditions.turn_facts import HookFacts
from skills_engine.diagnostics import MAX_NAMED
from skills_engine.hooks_config import MAX_FILE_BYTES

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

_HOOK = {
    "name": "e000",
    "file": "e000.md",
    "timing": "after_user_input",
    "role": "system",
    "persistent": False,
}

CARD = """{"spec": "chara_card_v2", "data": {"character_book": {"scan_depth": 2, "entries": [{
  "keys": ["Rome"], "secondary_keys": ["b"], "content": "Text.", "enabled": true, "insertion_order": 5, "id": 1,
  "selective": true, "case_sensitive": false, "constant": false, "name": "Rome", "use_regex": true,
  "extensions": {
    "position": 4, "depth": 0, "role": 1, "selectiveLogic": 2, "sticky": 2, "match_whole_words": false,
    "exclude_recursion": true, "probability": 100, "useProbability": true, "display_index": 0
  }
}]}}}"""


_NOT_ALL = "secondary keys that cannot all be searched: the hook is off: x"


def lore(comment: str, *keys: str, **changed: Any) -> dict[str, Any]:
    return {**ENTRY, "comment": comment, "key": list(keys), "content": f"Text of {comment}.", **changed}


class Importer:
    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = tmp_path / "skills"
        self.file = tmp_path / "Old Town.json"
        self._capsys = capsys

    def run(self, document: object, *arguments: str) -> tuple[int, list[str]]:
        self.file.write_text(document if isinstance(document, str) else json.dumps(document))
        return self.run_file(*arguments)

    def run_file(self, *arguments: str) -> tuple[int, list[str]]:
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
    assert (imported.root / "old-town" / "SKILL.md").read_text() == (
        "---\nname: old-town\ndescription: 3 texts of a lorebook.\ndisable-model-invocation: true\n---\n"
        "\n# old-town\n\nImported from SillyTavern.\n"
    )
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
        ("/^a.b$/ms", "x\na\nb", True),
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
        "sticky, cooldown, delay: the numbers count turns here and messages there: x",
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
        ({"content": "@@depth 3\n@@role user\nText"}, "decorators @@depth, @@role: left out"),
        ({"content": "{{char}} smiles"}, "macros {{char}}: not filled in"),
        ({"content": "{{char}} {{original}}"}, "macros {{char}}, {{original}}: not filled in"),
        ({"content": "{{" + "x" * 300 + "}}"}, "macros {{" + "x" * 198 + ": not filled in"),
        ({"content": ""}, "without a text, or with 64 KiB or more: left out"),
        ({"content": "@@activate"}, "without a text, or with 64 KiB or more: left out"),
        ({"content": "x" * MAX_FILE_BYTES}, "without a text, or with 64 KiB or more: left out"),
        ({"key": ["/(?=b)/", "a"]}, "key /(?=b)/: an expression with look-around or the like is left out"),
        ({"key": ["a", "{{user}}"]}, "key {{user}}: a macro is not filled in, so the key is left out"),
    ],
)
def test_what_has_no_counterpart_is_listed(imported: Importer, changed: dict[str, Any], difference: str) -> None:
    [line] = imported.book(lore("x", "a", **changed), lore("y", "b"))

    assert line.startswith(difference)
    assert line.endswith(": x")
    assert imported.snapshot.diagnostics == ()


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"key": []}, "no key that can be searched: it would never be met, so the hook is off: x"),
        ({"scanDepth": 0}, "scanDepth 0: it would never be met, so the hook is off: x"),
        ({"probability": 0}, "probability: there is no chance here; it always fires, or with 0 never: x"),
        ({"keysecondary": ["/(?=b)/"], "selectiveLogic": 2}, _NOT_ALL),
        ({"keysecondary": [f"k{n}" for n in range(63)], "selectiveLogic": 3}, _NOT_ALL),
        ({"content": "@@dont_activate\nText"}, None),
    ],
)
def test_what_would_never_fire_is_off_and_not_always_on(
    imported: Importer, changed: dict[str, Any], difference: str | None
) -> None:
    differs = imported.book(lore("x", "a", **changed))

    assert imported.hooks()["x"]["enabled"] is False
    assert differs[-1:] == ([] if difference is None else [difference])
    assert imported.snapshot.diagnostics == ()


def test_as_many_keys_are_searched_as_a_condition_may_have(imported: Importer) -> None:
    primary = [f"p{n}" for n in range(33)]  # two lists of patterns
    for count, name in ((61, "few"), (62, "many")):
        secondary = [f"s{n}" for n in range(count)]
        imported.run({"entries": [lore("x", *primary, keysecondary=secondary, selectiveLogic=3)]}, "--name", name)

    assert "enabled" not in imported.hooks("few")["x"]
    assert imported.hooks("many")["x"]["enabled"] is False
    assert imported.snapshot.diagnostics == ()


def test_an_entry_with_few_fields_has_the_defaults(imported: Importer) -> None:
    entry = {"key": ["a"], "keysecondary": ["b"], "content": "Text."}
    differs = imported.book(entry, {**entry, "comment": "off", "selective": False, "useProbability": False})
    assert differs == ["position, depth: every text stands behind the user's message: a, off"]
    assert [imported.fires(text) for text in ("a", "a b")] == [["off"], ["a", "off"]]


def test_an_entry_without_a_chance_flag_has_its_chance_listed(imported: Importer) -> None:
    unflagged = {key: value for key, value in lore("x", "a", probability=30).items() if key != "useProbability"}

    differs = imported.book(unflagged, lore("y", "b", probability=30, useProbability=False))
    assert differs == ["probability: there is no chance here; it always fires, or with 0 never: x"]


def test_the_depth_of_the_book_is_that_of_entries_without_one(imported: Importer) -> None:
    imported.book(lore("x", "a"), lore("y", "b", scanDepth=1), scan_depth=3)

    assert [hook["when"] for hook in imported.hooks().values()] == [
        {"user_text": ["a"], "scan_turns": 3},
        {"user_text": ["b"]},
    ]


def test_the_description_of_the_book_stands_on_the_page(imported: Importer) -> None:
    imported.root.rmdir()  # made again
    imported.book(lore("x", "a"), description="x" * 10_001)

    page = (imported.root / "old-town" / "SKILL.md").read_text()
    assert page.endswith("\n# old-town\n\n" + "x" * 10_000 + "\n")


def test_a_difference_names_the_first_hooks_that_it_concerns(imported: Importer) -> None:
    [all_named] = imported.book(*(lore(f"e{n}", "a", role=2) for n in range(MAX_NAMED)))
    [cut] = imported.run({"entries": [lore(f"e{n}", "a", role=2) for n in range(MAX_NAMED + 2)]}, "--name", "x")[1][1:]

    assert all_named == f"role assistant: it is system here: {', '.join(f'e{n}' for n in range(MAX_NAMED))}"
    assert cut == f"differs: {all_named} and 2 more"


@pytest.mark.parametrize(
    ("file", "name"), [("龍", "lorebook"), ("_" + "x" * 49 + "_y_", "x" * 49), ("My (2) Lore", "my-2-lore")]
)
def test_a_skill_has_the_name_of_the_file(imported: Importer, file: str, name: str) -> None:
    imported.file = imported.file.with_name(f"{file}.json")
    imported.book(lore("x", "a"))

    assert [skill.name for skill in imported.snapshot.skills] == [name]


def test_a_file_that_is_too_large_is_refused(imported: Importer) -> None:
    reasons = []
    for size in (MAX_BYTES, MAX_BYTES + 1):
        with imported.file.open("wb") as file:
            file.truncate(size)
        reasons.append(imported.run_file()[1])

    assert "not JSON" in reasons[0][0]
    assert reasons[1] == [f"error: {imported.file} is larger than 32 MiB"]


def test_limits_of_the_book_have_no_counterpart(imported: Importer) -> None:
    assert imported.book(lore("x", "a"), token_budget=500, recursive_scanning=True) == [
        "token_budget: skills.hook_tokens limits all hooks; there is no recursion: the whole book",
        "recursive_scanning: skills.hook_tokens limits all hooks; there is no recursion: the whole book",
    ]


def test_a_decorator_makes_an_entry_constant(imported: Importer) -> None:
    assert imported.book(lore("x", "a", content="@@activate\nOne\nTwo")) == []

    assert imported.fires("zzz") == ["x"]
    [hook] = imported.snapshot.hooks(None)
    assert hook.content == "One\nTwo"


def test_each_number_of_messages_is_taken_over_from_one_on(imported: Importer) -> None:
    entries = (lore("s", "a", sticky=1), lore("c", "a", cooldown=1), lore("d", constant=True, delay=1))

    differs = imported.book(*entries)
    assert [line.rpartition(": ")[2] for line in differs] == ["s, c, d"]
    hooks = imported.hooks()
    assert (hooks["s"]["sticky"], hooks["c"]["cooldown"], hooks["d"]["when"]) == (1, 1, {"turn": {"min": 1}})


@pytest.mark.parametrize(("count", "first", "last"), [(101, 0, 100), (102, -100, 100)])
def test_orders_become_priorities_within_their_range(imported: Importer, count: int, first: int, last: int) -> None:
    imported.book(*(lore(f"{n}", "a", order=n) for n in range(count)))

    priorities = [hook.priority for hook in imported.snapshot.hooks(None)]
    assert (priorities[0], priorities[-1], len(set(priorities))) == (first, last, count)


def test_macros_that_mean_the_same_here_are_filled_in(imported: Importer) -> None:
    differs = imported.book(lore("x", constant=True, content="{{User}} meets {{char}} on {{date}}."))

    assert imported.hooks()["x"]["vars"] is True
    [hook] = imported.snapshot.hooks(None)
    assert hook.content == "{{user}} meets {{{{char}} on {{date}}."
    assert differs == ["macros {{char}}: not filled in: x"]


def test_a_character_card_brings_its_book(imported: Importer) -> None:
    status, lines = imported.run(CARD, "--name", "rome")

    assert (status, lines[0]) == (0, f"imported: {imported.root}/rome (1 hook)")
    hook = imported.hooks("rome")["rome"]
    assert (hook["role"], hook["sticky"]) == ("user", 2)
    leaf = {"user_text": ["/Rome/i"], "scan_turns": 2}
    assert hook["when"] == {**leaf, "not": {"user_text": ["/b/i"], "scan_turns": 2}}
    assert any(line.startswith("differs: recursion: ") for line in lines)


def test_an_entry_of_a_card_has_the_defaults(imported: Importer) -> None:
    first = {"keys": ["a"], "secondary_keys": ["z"], "content": "A", "insertion_order": 50, "enabled": True}
    third = {"keys": ["c"], "content": "C", "insertion_order": 100, "enabled": False}
    imported.run({"data": {"character_book": {"entries": [first, {"keys": ["b"], "content": "B"}, third]}}})

    hooks = imported.hooks()
    assert [(name, hook.get("priority"), hook.get("enabled")) for name, hook in hooks.items()] == [
        ("a", None, None),
        ("b", 1, None),
        ("c", 1, False),
    ]
    assert hooks["a"]["when"] == {"user_text": ["a"]}


def test_a_skill_takes_as_many_hooks_as_its_file_may_hold(imported: Importer) -> None:
    key = "ö" * 20
    length = len(json.dumps({**_HOOK, "when": {"user_text": [key]}}, ensure_ascii=False).encode())
    key += "k" * (177 - length)  # so that 362 lines of 181 bytes fill it

    imported.book(*(lore(f"e{n:03}", key) for n in range(2 * 362 + 1)))
    assert [len(imported.hooks(skill)) for skill in ("old-town", "old-town-2", "old-town-3")] == [362, 362, 1]
    file = imported.root / "old-town-2" / "hooks" / "hooks.json"
    assert (file.stat().st_size, "ö" in file.read_text()) == (MAX_FILE_BYTES, True)


def test_a_hook_that_fills_its_file_alone_is_taken_and_a_longer_one_left_out(imported: Importer) -> None:
    empty = json.dumps({**_HOOK, "when": {"user_text": [""]}})
    room = MAX_FILE_BYTES - len(f'{{"hooks": [\n  {empty}\n]}}\n')

    differs = imported.book(lore("e000", "k" * room), lore("e001", "k" * (room + 1)))
    assert differs == ["without a text, or with 64 KiB or more: left out: e001"]
    assert (list(imported.hooks()), imported.snapshot.diagnostics) == (["e000"], ())


def test_a_large_book_becomes_several_skills(imported: Importer) -> None:
    entries = [lore(f"Place {n}", f"place{n}", order=n) for n in range(600)]

    assert imported.book(*entries) == []

    assert [skill.name for skill in imported.snapshot.skills] == ["old-town", "old-town-2"]
    assert len(imported.snapshot.hooks(None)) == 600
    assert imported.snapshot.diagnostics == ()
    priorities = [hook.priority for hook in imported.snapshot.hooks(None)]
    assert (priorities[0], priorities[-1], priorities == sorted(priorities)) == (-100, 100, True)


def test_names_are_made_of_comments_and_keys_and_stand_once(imported: Importer) -> None:
    keyless = lore("", constant=True, content="x")
    named = lore("", "c", name="Its name", content="x" * (MAX_FILE_BYTES - 1))
    imported.book(lore("", "Öl & Fett", content="x"), lore("öl fett", "b"), lore("", "!", content="x"), keyless, named)
    assert list(imported.hooks()) == ["öl-fett", "öl-fett--2", "entry", "entry--4", "its-name"]
    assert imported.snapshot.diagnostics == ()

    imported.run({"entries": [lore("X" * 50, "a"), lore("a" * 39 + " b", "a")]}, "--name", "long")
    assert list(imported.hooks("long")) == ["x" * 40, "a" * 39]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "not JSON that can be read"),
        ([], "error: this is no lorebook of SillyTavern: expected an object with `entries`; export it there as JSON"),
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


def test_numbers_past_what_a_hook_may_have_are_cut_to_it_and_listed(imported: Importer) -> None:
    entry = lore("x", "a", sticky=1_000_000, cooldown=MAX_TURNS + 1, scanDepth=MAX_SCAN_TURNS + 1, delay=1_000_000_000)
    differs = imported.book(entry)

    assert [line for line in differs if "lowered" in line] == [
        "scanDepth: lowered to the 20 messages that there are at most: x",
        "sticky: lowered to the 1000 turns that there are at most: x",
        "cooldown: lowered to the 1000 turns that there are at most: x",
    ]
    hook = imported.hooks()["x"]
    assert "turn" not in hook["when"]
    assert (hook["sticky"], hook["cooldown"]) == (MAX_TURNS, MAX_TURNS)
    assert hook["when"]["scan_turns"] == MAX_SCAN_TURNS
    assert imported.snapshot.diagnostics == ()


def test_the_largest_numbers_that_a_hook_may_have_are_kept(imported: Importer) -> None:
    differs = imported.book(lore("x", "a", sticky=MAX_TURNS, cooldown=MAX_TURNS, scanDepth=MAX_SCAN_TURNS))

    assert not any("lowered" in line for line in differs)


def test_the_hooks_of_each_skill_are_counted(imported: Importer) -> None:
    assert imported.run({"entries": [lore("x", "a")]})[1][0].endswith("old-town (1 hook)")
    assert imported.run({"entries": [lore("x", "a"), lore("y", "b")]}, "--name", "new")[1][0].endswith("new (2 hooks)")


def test_a_book_with_too_many_entries_is_refused(imported: Importer) -> None:
    status, lines = imported.run({"entries": [{}] * (MAX_ENTRIES + 1)})

    assert (status, lines) == (2, ["error: this lorebook has more than 10000 entries: divide it"])
    assert "none of its 10000 entries" in imported.run({"entries": [{}] * MAX_ENTRIES})[1][0]


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
