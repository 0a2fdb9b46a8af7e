"""server/speech/sentences.py"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.sentences import MAX_SENTENCE_CHARS, SentenceSplitter


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


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hello. How are you?", ["Hello.", " How are you?"]),
        ("Yes! No? Well.", ["Yes!", " No?", " Well."]),
        ("你好。今天天气很好！你呢？", ["你好。", "今天天气很好！", "你呢？"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ("One line\nand another", ["One line", "\nand another"]),
        ("A paragraph.\n\nAnother.", ["A paragraph.", "\n\nAnother."]),
        ("Pi is 3.14 or so. Yes.", ["Pi is 3.14 or so.", " Yes."]),
        ("Ask Dr. Who, e.g. now. Fine.", ["Ask Dr. Who, e.g. now.", " Fine."]),
        ("J. R. Smith and I. We left.", ["J. R. Smith and I.", " We left."]),
        ("1. First\n2. Second", ["1. First", "\n2. Second"]),
        ("See https://a.example/x.html?q=1! Good.", ["See https://a.example/x.html?q=1!", " Good."]),
        ("What?! Really...", ["What?!", " Really..."]),
        ('She said "no." Then left.', ['She said "no."', " Then left."]),
        ("**Done!** Next.", ["**Done!**", " Next."]),
        ("if a != b then stop", ["if a != b then stop"]),
        ("Well… maybe", ["Well…", " maybe"]),
        ("...", ["..."]),
        ("  \n ", ["  \n "]),
        ("", []),
    ],
)
def test_full_stops_of_english_and_chinese_end_a_sentence(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


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
