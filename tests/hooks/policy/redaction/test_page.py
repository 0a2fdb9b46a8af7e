"""What stands where in a text, found by its distinct words."""

import pytest

from server.hooks.policy.redaction.anchors import Held
from server.hooks.policy.redaction.page import Page


def page_of(text: str) -> Page:
    return Page(text, Held(frozenset(), has_long_word=True))


def test_words_are_parted_by_signs_and_held_together_by_dashes() -> None:
    page = page_of('{"db-password": "x_1", y=z.w}')

    assert page.words == {"db-password", "x_1", "y", "z.w"}


def test_letters_that_are_not_ascii_part_words_and_keep_places() -> None:
    page = page_of("密码token\U0001f511key İxΠÖ")

    assert page.places({"token", "key"}) == [(2, "token"), (8, "key")]
    assert list(page.occurrences("πö")) == [14]


@pytest.mark.parametrize("others", [0, 20])
def test_places_are_those_of_whole_words_in_order(others: int) -> None:
    page = page_of("key monkey key-2 key,key token")

    assert page.places({"key", "token", *(f"absent{n}" for n in range(others))}) == [
        (0, "key"),
        (17, "key"),
        (21, "key"),
        (25, "token"),
    ]


def test_words_with_a_part_are_given_as_they_are_written() -> None:
    assert set(page_of("dbPassword PASSWORD pass other").words_with("pass")) == {"dbPassword", "PASSWORD", "pass"}


def test_long_words_are_those_of_sixteen_characters() -> None:
    page = page_of("a_word_of_15-ch a_word_of_16-cha a_word_of_17-char=1")

    assert set(page.long_words) == {"a_word_of_16-cha", "a_word_of_17-char"}


@pytest.mark.parametrize(
    ("held", "is_bare"),
    [
        (Held(frozenset(), has_long_word=False), True),
        (Held(frozenset(), has_long_word=True), False),
        (Held(frozenset(["key"]), has_long_word=False), False),
    ],
)
def test_a_text_without_anchor_and_long_word_is_bare(held: Held, *, is_bare: bool) -> None:
    assert Page("monkey", held).is_bare is is_bare


def test_a_page_has_its_words_in_any_case_and_not_their_parts() -> None:
    page = page_of("Backup-Codes: ADMIN:x")

    assert page.has_word("backup-codes")
    assert page.has_word("admin")
    assert not page.has_word("backup")
