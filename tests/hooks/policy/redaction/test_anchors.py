"""Which anchors stand in a text, found in one pass."""

import threading

import pytest

from server.hooks.policy.redaction.anchors import Anchors
from server.hooks.policy.redaction.rules import codes, names, recovery

FOREIGN = sorted(
    {anchor for module in (names, codes, recovery) for anchor in module.ANCHORS if not anchor.isascii()}
)  # in the same order in every process


def held(text: str, *anchors: str) -> frozenset[str]:
    return Anchors(anchors).in_(text).anchors


def test_anchors_are_found_wherever_they_stand_also_one_within_another() -> None:
    assert held("xpassword: $1", "pass", "password", "sword", ": $", "token") == {"pass", "password", "sword", ": $"}


def test_an_anchor_with_a_capital_is_found_as_it_is_written_and_others_in_any_case() -> None:
    assert held("TOKEN key BEGIN", "token", "Key", "Begin", "BEGIN") == {"token", "BEGIN"}


@pytest.mark.parametrize("anchor", FOREIGN)
def test_letters_that_are_not_ascii_are_found_in_any_case_too(anchor: str) -> None:
    great = anchor.upper() if anchor.upper().lower() == anchor else anchor

    assert held(f"ß{great}é", anchor) == {anchor}


@pytest.mark.parametrize(
    ("text", "has"), [("a" * 15, False), ("a" * 16, True), ("v1_$~.-" * 3, True), ("a2345678/b2345678", False)]
)
def test_a_long_word_has_sixteen_characters_without_a_sign_between(text: str, *, has: bool) -> None:
    assert Anchors(["x"]).in_(f"({text})").has_long_word is has


def test_half_a_surrogate_pair_is_read_over() -> None:
    assert held("\ud800token", "token") == {"token"}


def test_threads_search_at_the_same_time() -> None:
    anchors = Anchors(["key", "token"])
    found: list[frozenset[str]] = []

    def search() -> None:
        found.extend(anchors.in_("key " * 20_000).anchors for _ in range(50))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [{"key"}] * 200
