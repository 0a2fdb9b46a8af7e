"""server/speech/sentences.py"""

import itertools
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.sentences import (
    CLAUSE_STOPS,
    CLOSERS,
    MAX_SENTENCE_CHARS,
    SENTENCE_ENDS,
    STOPS,
    TERMINALS,
    WIDE_CLAUSE_STOPS,
    SentenceSplitter,
)
from tests.speech.sentence_cases import CASES


def cut(*deltas: str) -> list[str]:
    splitter = SentenceSplitter()
    sentences = [sentence for delta in deltas for sentence in splitter.feed(delta)]
    rest = splitter.flush()
    return [*sentences, rest] if rest is not None else sentences


PIECES = st.sampled_from(
    [
        *"aZ1 .!?。！？…\n\t`*\"')]é我",
        "```",
        "```py\n",
        "https://a.b/?c=d",
        "Mr.",
        "e.g. ",
        "3.14",
        " word",
        "。」",
        "\n\n",
    ]
)


@given(st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=40))
def test_the_sentences_joined_are_the_text_however_it_arrived(deltas: list[str]) -> None:
    assert "".join(cut(*deltas)) == "".join(deltas)


@given(st.text(max_size=3000) | st.text("a.", max_size=3000))
def test_any_text_survives_and_no_sentence_is_endless(text: str) -> None:
    sentences = cut(text)

    assert "".join(sentences) == text
    assert all(len(sentence) <= MAX_SENTENCE_CHARS + 17 for sentence in sentences)


def unmark(line: str) -> list[str]:
    text = line.replace(r"\\", "\0").replace(r"\n", "\n").replace(r"\t", "\t").replace("\0", "\\")
    return [piece for piece in text.split("|") if piece]


TABLE = [
    pytest.param(unmark(line), id=f"{subject}: {line}")
    for subject, lines in CASES.items()
    for line in lines.strip("\n").split("\n")
]
STOPS_AND_CLOSERS = re.compile(r"""[.!?。！？…।॥۔؟።"'”’)\]}»«」』）】》*_`~]+|.""", re.DOTALL)


def test_the_table_is_large_enough() -> None:
    assert len(TABLE) >= 250


@pytest.mark.parametrize("sentences", TABLE)
def test_a_reply_is_cut_where_the_table_says(sentences: list[str]) -> None:
    assert cut("".join(sentences)) == sentences


@pytest.mark.parametrize("sentences", [case for case in TABLE if "?." not in str(case.id)])
def test_the_cuts_do_not_depend_on_how_the_reply_arrived(sentences: list[str]) -> None:
    """As long as stops and the marks behind them come together: nothing waits for a second `!`."""
    assert cut(*STOPS_AND_CLOSERS.findall("".join(sentences))) == sentences


@given(st.sampled_from(TABLE), st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_nor_on_the_size_of_the_pieces_of_a_reply(case: Any, sizes: list[int]) -> None:
    [sentences] = case.values
    pieces = STOPS_AND_CLOSERS.findall("".join(sentences))
    tokens, size = [], itertools.cycle(sizes)
    while pieces:
        count = next(size)
        tokens.append("".join(pieces[:count]))
        del pieces[:count]

    if "?." not in case.id:
        assert cut(*tokens) == sentences


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Well, you can do that, if you like. Yes.", "Well, you can do that,"),
        ("You can, in fact, do that. Yes.", "You can, in fact,"),
        ("That is a good question: the sky is blue.", "That is a good question:"),
        ("I think it is so \u2013 and you do too.", "I think it is so \u2013"),
        ("It costs 1,000 in all, or more.", "It costs 1,000 in all,"),
        ("One, two, three. Four", "One, two, three."),
        ("It is 10:30 in the town, I think.", "It is 10:30 in the town,"),
        ("今天天气真的很好，我们出去走走。", "今天天气真的很好，"),
        ("好，我们出去走走。", "好，我们出去走走。"),
        ("東京はとても大きい、そして楽しい。", "東京はとても大きい、"),
        ("```\nfor a in one, two, three, four, five:\n```", "```"),
        ("في الحقيقة هذا سؤال جيد، وسوف أجيب عنه.", "في الحقيقة هذا سؤال جيد،"),
        ("یہ ایک بہت اچھا سوال ہے؛ سنیے۔", "یہ ایک بہت اچھا سوال ہے؛"),
        ("မင်္ဂလာပါခင်ဗျာ၊ နေကောင်းလား။", "မင်္ဂလာပါခင်ဗျာ၊"),
        ("No comma here. But, as you see, here there is.", "No comma here."),
    ],
)
def test_the_first_clause_of_a_spoken_reply_leaves_early(text: str, first: str) -> None:
    splitter = SentenceSplitter(first_clause=True)
    whole = [*splitter.feed(text), splitter.flush() or ""]
    letters = SentenceSplitter(first_clause=True)
    one_by_one = [sentence for letter in text for sentence in letters.feed(letter)]

    assert whole[0] == first
    assert one_by_one[:1] == [first] or not one_by_one
    assert "".join(whole) == text


def test_only_the_first_sentence_of_a_turn_may_be_a_clause() -> None:
    splitter = SentenceSplitter(first_clause=True)

    assert splitter.feed("This is the first clause, and this is the rest, you see. ")[1:] == [
        " and this is the rest, you see."
    ]
    assert splitter.feed("And this one here is whole, as you see. ") == [" And this one here is whole, as you see."]


@pytest.mark.parametrize("opening", ["“", "「", "（", '"', "("])
def test_in_a_quotation_a_stop_waits_for_the_mark_that_closes_it(opening: str) -> None:
    splitter = SentenceSplitter()

    assert splitter.feed(f"{opening}好！") == []
    assert splitter.feed("好") == [f"{opening}好！"]


@pytest.mark.parametrize("last", ["!", "?", "。", "！", "？", "…", "\n"])
def test_decisive_punctuation_waits_for_no_further_token(last: str) -> None:
    splitter = SentenceSplitter()

    assert splitter.feed("Hi there") == []
    assert splitter.feed(last) == ["Hi there" if last == "\n" else f"Hi there{last}"]


def test_a_dot_waits_for_the_character_behind_it() -> None:
    splitter = SentenceSplitter()

    assert splitter.feed("It costs 3.") == []
    assert splitter.feed("50 now.") == []
    assert splitter.feed(" ") == ["It costs 3.50 now."]


def test_a_question_mark_in_a_link_waits() -> None:
    splitter = SentenceSplitter()

    assert splitter.feed("See https://a.example/?") == []
    assert splitter.feed("q=1 now") == []


@pytest.mark.parametrize(
    "text",
    [
        "The value \\( n! = n \\cdot (n-1)! \\) is big.",
        "So $n! = 6$ here.",
        "All $x, y \\in R$ are real.",
        "Now $$a = 1. $$ holds.",
        "And \\[ f(x) = 1. x \\] holds.",
    ],
)
def test_no_formula_in_a_line_is_cut(text: str) -> None:
    splitter = SentenceSplitter(first_clause=True)
    cut_there = [sentence for character in f"{text} Next" for sentence in splitter.feed(character)]

    assert cut_there == [text]


@pytest.mark.parametrize(
    "text", ["It costs $5!", "Buy $AAPL now.", "That is $$$.", "Use \\(x\\) and $y$.", "Set $HOME."]
)
def test_money_and_names_keep_no_sentence_waiting(text: str) -> None:
    assert cut(f"{text} Next.")[0] == text


def test_code_is_cut_at_lines_only() -> None:
    code = "Look:\n```python\nprint('a. b! c?'). x\n}\n```\nDone. Yes"

    assert cut(code) == ["Look:", "\n```python", "\nprint('a. b! c?'). x", "\n}\n```", "\nDone.", " Yes"]


def test_the_end_of_a_reply_closes_an_open_fence() -> None:
    splitter = SentenceSplitter()
    splitter.feed("```\nx. y")

    assert splitter.flush() == "\nx. y"
    assert splitter.feed("One. Two") == ["One."]


def test_a_run_without_a_stop_is_cut_at_white_space() -> None:
    sentences = cut("word " * 400)

    assert all(len(sentence) <= MAX_SENTENCE_CHARS for sentence in sentences)
    assert all(sentence.startswith(" word") for sentence in sentences[1:])


def test_a_run_without_white_space_is_cut_all_the_same() -> None:
    assert [len(sentence) for sentence in cut("x" * 1500)] == [600, 600, 300]


def test_a_giant_delta_is_cut_as_many_small_ones_are() -> None:
    reply = "Hello there you. How are (they)? " * 1000 + "x" * 5000
    splitter = SentenceSplitter()

    assert [*splitter.feed(reply), splitter.flush()] == cut(reply)


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
