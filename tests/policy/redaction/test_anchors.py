"""Which anchors stand in a text, found in one pass."""

import threading
from collections.abc import Sequence

import pytest

from server.policy.redaction.anchors import Anchors
from server.policy.redaction.rules import codes, names, recovery

FOREIGN = sorted(
    {anchor for module in (names, codes, recovery) for anchor in module.ANCHORS if not anchor.isascii()}
)  # in the same order in every process


def held(text: str, *anchors: str) -> set[str]:
    found = Anchors(anchors).in_(text)
    return {*found.places, *found.others}


def test_anchors_are_found_wherever_they_stand_also_one_within_another() -> None:
    assert held("xpassword: $1", "pass", "password", "sword", ": $", "token") == {"pass", "password", "sword", ": $"}


def test_where_an_anchor_stands_is_told_in_letters_of_the_text() -> None:
    assert Anchors(["token", "en"]).in_("Token, \U0001f511é token").places == {"token": [0, 10], "en": [3, 13]}


def test_an_anchor_with_a_capital_is_found_as_it_is_written_and_others_in_any_case() -> None:
    assert held("TOKEN key BEGIN", "token", "Key", "Begin", "BEGIN") == {"token", "BEGIN"}


@pytest.mark.parametrize("anchor", FOREIGN)
def test_letters_that_are_not_ascii_are_found_in_any_case_too(anchor: str) -> None:
    great = anchor.upper() if anchor.upper().lower() == anchor else anchor

    assert held(f"ß{great}é", anchor) == {anchor}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a" * 15, []),
        ("a" * 16, [0]),
        ("é" + "a" * 40, [1]),
        (f"({'v1_$~.-' * 3}) {'b' * 16}", [1, 24]),
        ("a2345678/b2345678", []),
    ],
)
def test_a_long_word_has_sixteen_characters_without_a_sign_between(text: str, places: list[int]) -> None:
    assert Anchors(["x"]).in_(text).long_words == places


def test_half_a_surrogate_pair_is_read_over() -> None:
    assert held("\ud800token", "token") == {"token"}


def test_threads_search_at_the_same_time() -> None:
    anchors = Anchors(["key", "token"])
    found: list[Sequence[int]] = []

    def search() -> None:
        found.extend(anchors.in_("key " * 2_000).places["key"] for _ in range(50))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [list(range(0, 8_000, 4))] * 200
