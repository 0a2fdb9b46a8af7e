"""Answers that need no model, and what a reply leaves out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.coded_answers import ReplyGuard, coded_answer, day_answer, unlike
from server.llm.compact import CompactTurn
from server.llm.language_model import Message

CATALOG = "Be kind.\n\nSkills (read_file NAME/SKILL.md tells how):\n- calm: Is calm.\n- pirate (pirate/x.md): Talks."
TOOLS = ["current_time", "search_text", "add_note"]


def turn(question: str, last: str = "", system: str = CATALOG) -> CompactTurn:
    history: tuple[Message, ...] = ({"role": "assistant", "content": last},) if last else ()
    return CompactTurn(system=system, history=history, question=question)


@pytest.mark.parametrize(
    ("question", "last", "answer"),
    [
        ("What is 2 plus 2?", "", "2 plus 2 is 4."),
        ("what's 15 + 27?", "", "15 + 27 is 42."),
        ("how much is twelve times 8", "", "Twelve times 8 is 96."),
        ("20% of 80", "", "20% of 80 is 16."),
        ("2 + 3 * 4 =", "", "2 + 3 * 4 is 14."),
        ("1,000 minus 1.5", "", "1,000 minus 1.5 is 998.5."),
        ("10 divided by 3", "", "10 divided by 3 is 3.33333."),
        ("times ten", "2 plus 2 is 4.", "4 times ten is 40."),
        ("10 / 0", "", None),
        ("2 plus", "", None),
        ("1 2 3", "", None),
        ("What is 7?", "", None),
        ("times ten", "", None),
        ("call me at 555-1234 please now", "", None),
    ],
)
def test_sums_are_worked_out(question: str, last: str, answer: str | None) -> None:
    assert coded_answer(turn(question, last), TOOLS) == answer


@given(st.text(alphabet="0123456789+-*/%., xoftimesplu", max_size=60))
def test_no_sum_is_too_much(question: str) -> None:
    coded_answer(turn(question, "9"), [])


@pytest.mark.parametrize("question", ["Which skills are there?", "what skills do you have", "List the skills"])
def test_the_skills_are_those_of_the_system_message(question: str) -> None:
    said = coded_answer(turn(question), TOOLS) or ""

    assert said.startswith("These skills are on: calm (is calm) and pirate (talks). ")
    assert (coded_answer(turn(question, system="Be kind."), TOOLS) or "").startswith("No skill is on.")


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


@pytest.mark.parametrize("question", ["say that again", "Sorry, I didn't catch that.", "Pardon?", "repeat please"])
def test_the_reply_before_is_said_again(question: str) -> None:
    assert coded_answer(turn(question, "It is noon."), []) == "I said: It is noon."
    assert coded_answer(turn(question, "I said: It is noon."), []) == "I said: It is noon."
    assert coded_answer(turn(question), []) is None


def test_shorter_is_the_first_sentence() -> None:
    assert coded_answer(turn("Shorter please.", "It is noon. The sun is high."), []) == "It is noon."
    assert coded_answer(turn("Shorter please.", "It is noon."), []) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What day is it?", "Today is Sunday, 22 November 2026."),
        ("And tomorrow?", "Tomorrow is Monday, 23 November 2026."),
        ("which day was yesterday", "Yesterday was Saturday, 21 November 2026."),
        ("What time is it today?", None),
        ("And in Rome?", None),
    ],
)
def test_who_asks_for_the_day_is_told_the_day(question: str, answer: str | None) -> None:
    assert day_answer(question, "It is 9:00 a.m., Sunday, 22 November.\n(2026-11-22 09:00, UTC+00:00)") == answer
    assert day_answer(question, "noon") is None


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
        ("", ""),
    ],
)
def test_sentences_of_hooks_and_repetitions_are_left_out_however_they_arrive(reply: str, passed: str) -> None:
    hooks = ["Answer in one short sentence.\n\nUse plain words."]

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
