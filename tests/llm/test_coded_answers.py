"""Answers that need no model, and what a reply leaves out."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.coded_answers import ReplyGuard, coded_answer, quotation, unlike
from server.llm.compact import CompactTurn
from server.llm.language_model import Message

CATALOG = "Be kind.\n\nSkills (read_file NAME/SKILL.md tells how):\n- calm: Is calm.\n- pirate (pirate/x.md): Talks."
TOOLS = ["current_time", "search_text", "add_note"]


def turn(question: str, last: str = "", system: str = CATALOG) -> CompactTurn:
    history: tuple[Message, ...] = ({"role": "assistant", "content": last},) if last else ()
    return CompactTurn(system=system, history=history, question=question)


@pytest.mark.parametrize("question", ["Which skills are there?", "what skills do you have", "List the skills"])
def test_the_skills_are_those_of_the_system_message(question: str) -> None:
    assert coded_answer(turn(question), TOOLS) == "These skills are on: calm (is calm), pirate (talks)."
    assert coded_answer(turn(question, system="Be kind."), TOOLS) == "No skill is on."


def test_what_a_skill_is_is_told_apart_from_which_there_are() -> None:
    assert "folder" in (coded_answer(turn("What is a skill?"), TOOLS) or "")


def test_what_it_can_do_names_its_tools() -> None:
    said = coded_answer(turn("What can you do?"), TOOLS) or ""

    assert "tell the time in other cities" in said
    assert "add_note" in said
    assert "pirate" in said


@pytest.mark.parametrize(
    "question",
    [
        "What does the calm skill do?",
        "Which skills should I learn?",
        "What can I cook?",
        "Hello",
        "What is a meter?",
        "",
    ],
)
def test_other_questions_are_left_to_the_model(question: str) -> None:
    assert coded_answer(turn(question, "Hello."), TOOLS) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What day is it?", "It is 9:00 a.m., Sunday, 22 November."),
        ("And tomorrow?", "Tomorrow: Monday, 23 November 2026."),
        ("which day was yesterday", "Yesterday: Saturday, 21 November 2026."),
        ("And in Rome?", "It is 9:00 a.m., Sunday, 22 November."),
    ],
)
def test_of_the_time_the_sentence_is_said_or_the_day_that_is_asked_for(question: str, answer: str) -> None:
    result = "It is 9:00 a.m., Sunday, 22 November.\n(2026-11-22 09:00, UTC+00:00)"

    assert quotation(replace(turn(question), results=(result,))) == answer
    assert quotation(replace(turn(question), results=("noon",))) == "noon"


def test_the_reply_before_is_never_said_word_for_word() -> None:
    assert unlike("It is noon.", "it is noon") == "Again: It is noon."
    assert unlike("It is noon.", "It is one.") == "It is noon."


def guarded(unwanted: list[str], *deltas: str) -> tuple[str, bool]:
    guard = ReplyGuard(unwanted)
    passed = "".join(guard.feed(delta) for delta in deltas) + guard.feed("", is_end=True)
    return passed, guard.has_passed


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ("Paris. Use plain words.", "Paris. "),
        ("use plain words! Paris.", "Paris."),
        ("Use plain words. Answer in one short sentence.", ""),
        ("Use plain words for it.", "Use plain words for it."),
        ("A rose is red. A rose is red. It is.", "A rose is red. It is."),
        ("No. No. No.", "No. No. No."),
        ("It costs 3.50 a piece.", "It costs 3.50 a piece."),
        ("Sorry, I didn't hear that. So?", "So?"),
        ("", ""),
    ],
)
def test_sentences_of_hooks_and_repetitions_are_left_out_however_they_arrive(reply: str, passed: str) -> None:
    hooks = ["Answer in one short sentence.\n\nUse plain words.", "sorry i didnt hear that"]

    assert guarded(hooks, reply) == (passed, bool(passed))
    assert guarded(hooks, *reply) == (passed, bool(passed))


def test_only_what_may_become_an_unwanted_sentence_is_held_back() -> None:
    guard = ReplyGuard(["Use plain words."])

    assert guard.feed("The capital") == "The capital"
    assert guard.feed(" is Paris. Use") == " is Paris. "
    assert guard.feed(" plain") == ""
    assert guard.feed(" flour.") == "Use plain flour."


@given(st.text(max_size=80), st.lists(st.integers(0, 80)))
def test_a_reply_passes_alike_however_it_arrives(text: str, cuts: list[int]) -> None:
    at = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})

    assert guarded(["Use it. No, use 3.5 of it."], *(text[i:j] for i, j in pairwise(at))) == guarded(
        ["Use it. No, use 3.5 of it."], text
    )
