"""The one table of marks: several parts of the house cut texts by it."""

import unicodedata

import pytest

from server.sentence_marks import CLAUSE_STOPS, CLOSERS, SENTENCE_ENDS, STOPS, TERMINALS, WIDE_CLAUSE_STOPS

TABLES = (STOPS, TERMINALS, CLAUSE_STOPS, WIDE_CLAUSE_STOPS, CLOSERS)


def test_each_mark_stands_in_one_table_once() -> None:
    marks = "".join(TABLES)

    assert len(set(marks)) == len(marks)


def test_marks_are_punctuation_and_no_part_of_words() -> None:
    assert [mark for mark in "".join(TABLES) if unicodedata.category(mark)[0] not in "PS"] == []


@pytest.mark.parametrize(
    "mark", "DEVANAGARI DANDA|ARABIC QUESTION MARK|IDEOGRAPHIC FULL STOP|ETHIOPIC FULL STOP".split("|")
)
def test_scripts_have_their_own_ends(mark: str) -> None:
    assert unicodedata.lookup(mark) in SENTENCE_ENDS
