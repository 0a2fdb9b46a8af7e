"""The catalogue: within its budget, one line a skill, and nothing that could pass for more."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_engine import Skill, estimate_tokens
from skills_engine.skills_context_manager import Catalog, build_catalog

HEAD = "Skills (read_file NAME/SKILL.md tells how):"


def skill(name: str, description: str = "Helps.", *, listed: bool = True, file: str = "SKILL.md") -> Skill:
    return Skill(name, description, Path(name), name, file, listed)


def test_an_entry_is_a_name_and_a_description() -> None:
    catalog = build_catalog([skill("b"), skill("a", "Teaches.")], budget_tokens=100)

    assert catalog == Catalog(f"{HEAD}\n- b: Helps.\n- a: Teaches.", ())


def test_another_spelling_of_the_file_is_told() -> None:
    assert build_catalog([skill("b", file="skill.md")], budget_tokens=100).text == f"{HEAD}\n- b (b/skill.md): Helps."


def test_skills_that_are_not_listed_are_neither_told_nor_dropped() -> None:
    assert build_catalog([skill("a", listed=False)], budget_tokens=100) == Catalog("", ())
    assert build_catalog([skill("a", listed=False), skill("b")], budget_tokens=100).text == f"{HEAD}\n- b: Helps."


def test_no_skills_make_no_catalogue() -> None:
    assert build_catalog([], budget_tokens=100) == Catalog("", ())


def test_what_does_not_fit_is_dropped_whole_and_shorter_ones_after_it_may_stay() -> None:
    skills = [skill("a"), skill("long", "x" * 200), skill("c"), skill("longer", "x" * 201), skill("e")]

    catalog = build_catalog(skills, budget_tokens=estimate_tokens(f"{HEAD}\n- a: Helps.\n- c: Helps.\n- e: Helps."))

    assert catalog == Catalog(f"{HEAD}\n- a: Helps.\n- c: Helps.\n- e: Helps.", ("long", "longer"))


def test_the_budget_is_used_to_the_last_token() -> None:
    exact = estimate_tokens(f"{HEAD}\n- a: Helps.")

    assert build_catalog([skill("a")], budget_tokens=exact).dropped == ()
    assert build_catalog([skill("a")], budget_tokens=exact - 1) == Catalog("", ("a",))


def test_a_description_is_one_line_without_marks() -> None:
    text = "A\r\n- b:  <b>bold</b>\tand\x00\u200b\u202e\u2066\ufeff\x1b\x85 so"

    catalog = build_catalog([skill("a", text), skill("x\u202ey<z>", "ok", file="SKILL.MD")], budget_tokens=100)

    assert catalog.text.split("\n") == [
        HEAD,
        "- a: A - b: &lt;b&gt;bold&lt;/b&gt; and so",
        "- xy&lt;z&gt; (xy&lt;z&gt;/SKILL.MD): ok",
    ]


@pytest.mark.parametrize(("length", "shown"), [(1024, "d" * 1024), (1025, "d" * 1023 + "…")])
def test_a_long_description_is_cut(length: int, shown: str) -> None:
    assert build_catalog([skill("a", "d" * length)], budget_tokens=1000).text == f"{HEAD}\n- a: {shown}"


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("你好", 2), ("你a好", 2), ("ab\n\x7f", 2)]
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.lists(st.tuples(st.text(min_size=1), st.text(), st.booleans()), max_size=8), st.integers(0, 120))
def test_the_budget_holds_and_every_listed_skill_is_told_or_dropped(
    skills: list[tuple[str, str, bool]], budget_tokens: int
) -> None:
    listed = [replace(skill(name, text), listed=shown) for name, text, shown in skills]

    catalog = build_catalog(listed, budget_tokens=budget_tokens)

    assert estimate_tokens(catalog.text) <= budget_tokens
    told = len(catalog.text.split("\n")) - 1
    assert told + len(catalog.dropped) == sum(one.listed for one in listed)


def test_the_catalogue_carries_no_text_that_people_do_not_see() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    text = build_catalog([skill("calm", f"Calms{hidden}\u00ad\u034f\u3164 down.")], budget_tokens=100).text

    assert text == f"{HEAD}\n- calm: Calms down."
