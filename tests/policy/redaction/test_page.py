"""What stands where in a text, by the anchors that it holds."""

import re

import pytest

from server.policy.redaction.anchors import Anchors
from server.policy.redaction.page import Page, matches

ANCHORS = Anchors(["pass", "token", "key", "πö", "://"])


def page_of(text: str) -> Page:
    return Page(text, ANCHORS.in_(text))


def test_words_are_parted_by_signs_and_held_together_by_dashes() -> None:
    page = page_of('{"db-pass": "x_key", y=z.token}')

    assert page.words_with(["pass", "key", "token"]) == [(2, "db-pass"), (13, "x_key"), (23, "z.token")]


def test_letters_that_are_not_ascii_part_words_and_keep_places() -> None:
    page = page_of("密码token\U0001f511key İxΠÖ")

    assert page.words_with(["token", "key"]) == [(2, "token"), (8, "key")]
    assert list(page.occurrences("πö")) == [14]


def test_words_with_an_anchor_are_given_as_they_are_written_and_once() -> None:
    page = page_of("dbPassword PASSWORD pass other key_token_key")

    assert [word for _, word in page.words_with(["pass"])] == ["dbPassword", "PASSWORD", "pass"]
    assert page.words_with(["key", "token"]) == [(31, "key_token_key")]


def test_words_like_an_anchor_are_whole_words() -> None:
    page = page_of("key monkey key-2 Key,key token")

    assert page.words_like(["key", "token"]) == [(0, "key"), (17, "Key"), (21, "key"), (25, "token")]


def test_a_word_has_nothing_of_a_word_around_it() -> None:
    page = page_of("(key) monkey")

    assert page.is_word(1, 4)
    assert not page.is_word(9, 12)
    assert not page.is_word(1, 3)


def test_long_words_are_those_of_sixteen_characters() -> None:
    page = page_of("a_word_of_15-ch a_word_of_16-cha a_word_of_17-char=1 a_word_of_16-cha")

    assert page.long_words == {"a_word_of_16-cha": [16, 53], "a_word_of_17-char": [33]}


@pytest.mark.parametrize(
    ("text", "is_bare"), [("a text", True), ("a text_of_16_chars", False), ("monkey", False), ("ΠÖ", False)]
)
def test_a_text_without_anchor_and_long_word_is_bare(text: str, *, is_bare: bool) -> None:
    assert page_of(text).is_bare is is_bare


def test_what_is_no_anchor_is_searched_for_in_any_case() -> None:
    assert list(page_of("Begin BEGIN é begin").occurrences("begin ")) == [0, 6]


def test_shapes_are_tried_at_their_anchor_and_not_within_a_match() -> None:
    page = page_of("http://a://b ftp://c")

    assert [match[0] for match in matches(page, "://", re.compile(r"://\S*"))] == ["://a://b", "://c"]
