"""A small model that has begun to repeat itself is noticed."""

import pytest

from server.llm.loops import LoopDetector, is_looping


@pytest.mark.parametrize(
    "text", ["A gentle rain,\n" * 3, "aye, " * 8, "He said so. " + "I'm a chatbot. I'm a human. " * 3, "ha" * 30]
)
def test_one_passage_three_times_over_is_a_loop(text: str) -> None:
    assert is_looping(text)


@pytest.mark.parametrize(
    "text", ["", "Hello", "ha ha ha", "1. One\n2. Two\n3. Three\n", "1000000", "No, no, no!", "A gentle rain,\n" * 2]
)
def test_ordinary_repetition_is_none(text: str) -> None:
    assert not is_looping(text)


def test_a_loop_is_found_piece_by_piece_and_the_memory_is_bounded() -> None:
    detector = LoopDetector()

    assert not any(detector.feed(f"word{n} ") for n in range(2000))
    assert any(detector.feed(piece) for piece in ["over ", "and "] * 12)
