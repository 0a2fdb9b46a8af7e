"""The order of a turn's frames: the table, the page that prints it, and the calls that it pairs."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import msgspec
import pytest

from server.wire.frames import SERVER_FRAMES, TURN_ORDER, OrderState, TurnOrder

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")


def row(state: OrderState, moves: Mapping[str, OrderState]) -> str:
    """The line of the page for a state."""
    cells = [
        f"{', '.join(f'`{kind}`' for kind, _ in group)} → {after}"
        for after, group in groupby(moves.items(), key=lambda move: move[1])
    ]
    return f"| {state} | {'; '.join(cells) or 'nothing'} |"


def test_the_page_prints_the_table() -> None:
    printed = PAGE.split("| state | what may come, and the state after it |\n|---|---|\n")[1].split("\n\n")[0]

    assert printed.splitlines() == [row(state, moves) for state, moves in TURN_ORDER.items()]


def test_every_frame_that_carries_a_turn_id_has_its_place() -> None:
    carriers = {
        str(frame.__struct_config__.tag)
        for frame in SERVER_FRAMES
        if "turn_id" in {field.name for field in msgspec.structs.fields(frame)}
    }

    assert {kind for moves in TURN_ORDER.values() for kind in moves} == carriers - {"transcript"} | {"binary"}


@pytest.mark.parametrize(
    ("frames", "state"),
    [
        ("turn_start text sentence binary binary text sentence_end turn_end", "over"),
        ("turn_start sentence tool_call", "sentence"),
        ("turn_start sentence turn_end", "sentence"),
        ("turn_start sentence error", "sentence"),
        ("turn_start binary", "open"),
        ("turn_start error text", "failed"),
        ("turn_start error hook trace turn_end", "over"),
        ("turn_start turn_end text", "over"),
        ("text", "new"),
    ],
)
def test_a_turn_stays_where_it_is_when_something_has_no_place(frames: str, state: OrderState) -> None:
    *first, last = frames.split()
    order = TurnOrder()
    assert all(order.take(kind) for kind in first)

    assert order.take(last) == (state == "over" and last == "turn_end")
    assert order.state == state


def test_a_call_has_one_result_before_the_end_and_its_id_is_used_once() -> None:
    order = TurnOrder()
    order.take("turn_start")

    assert not order.take("tool_result", "1")
    assert order.take("tool_call", "1")
    assert not order.take("tool_call", "1")
    assert not order.take("turn_end")
    assert order.open_calls == ["1"]
    assert order.take("tool_result", "1")
    assert not order.take("tool_result", "1")
    assert not order.take("tool_call", "1")
    assert order.take("turn_end")
