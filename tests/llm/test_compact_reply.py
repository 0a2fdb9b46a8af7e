"""What a very small model's reply quotes, and what it leaves out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.compact import CompactTurn, ReplyGuard, quotation, unlike


def turn(question: str, result: str) -> CompactTurn:
    return CompactTurn(system="Be kind.", history=(), question=question, results=(result,))


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

    assert quotation(turn(question, result)) == answer
    assert quotation(turn(question, "noon")) == "noon"


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
