"""server/llm/surrogates.py"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.llm.surrogates import TextJoiner, has_surrogates, joined, parse_torn

HALVES = st.text(st.sampled_from("a😀\ud83d\ude00\ud800\udfff"), max_size=12)


@given(st.lists(HALVES, max_size=6))
def test_a_text_is_the_same_however_it_is_torn(deltas: list[str]) -> None:
    joiner = TextJoiner()

    assert "".join(map(joiner.feed, deltas)) + joiner.finish() == joined("".join(deltas))


@given(st.lists(HALVES, max_size=6))
def test_nothing_that_comes_out_is_half_a_character(deltas: list[str]) -> None:
    joiner = TextJoiner()

    for text in [*map(joiner.feed, deltas), joiner.finish()]:
        text.encode()


@given(st.text())
def test_whole_characters_are_left_as_they_are(text: str) -> None:
    assert joined(text) == TextJoiner().feed(text) == text


def test_halves_stay_only_where_their_text_goes_on() -> None:
    sent = {"id": "\ud83d", "content": "\ude00a\ud83db\ud83d", "error": {"\ud83d": ["\ude00", 1, None]}}

    assert parse_torn(json.dumps(sent).encode()) == {
        "id": "\ufffd",
        "content": "\ude00a\ufffdb\ud83d",
        "error": {"\ufffd": ["\ufffd", 1, None]},
    }


def test_what_is_nested_too_deep_is_an_error() -> None:
    with pytest.raises(ValueError, match="deep"):
        parse_torn(b"[" * 100_000)


@pytest.mark.parametrize(
    ("data", "is_so"), [(rb'"\uD83d"', True), (rb'"\ud83d\ude00"', True), (b'"\\u0041"', False), (b'"ud83d"', False)]
)
def test_escapes_of_surrogates_are_found(data: bytes, is_so: bool) -> None:
    assert has_surrogates(data) is is_so
