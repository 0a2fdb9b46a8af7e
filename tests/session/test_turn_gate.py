"""server/session/turn_gate.py"""

import pytest

from server.errors import TurnError
from server.metrics import Metrics
from server.session.turn_gate import TurnGate


def test_one_user_cannot_take_every_place() -> None:
    gate = TurnGate(10, Metrics(), per_user=2)
    gate.enter("anna")
    gate.enter("anna")

    with pytest.raises(TurnError, match="turns of yours") as caught:
        gate.enter("anna")
    assert caught.value.code == "too_many_turns"
    assert caught.value.retry_after_ms is not None

    gate.enter("ben")
    gate.leave("anna")
    gate.enter("anna")


def test_who_counts_for_nobody_is_limited_by_the_sum_alone() -> None:
    gate = TurnGate(3, Metrics(), per_user=1)
    for _ in range(3):
        gate.enter(None)

    with pytest.raises(TurnError, match="3 turns"):
        gate.enter(None)


def test_a_user_without_turns_takes_no_memory() -> None:
    gate = TurnGate(3, Metrics(), per_user=1)
    for number in range(100):
        gate.enter(str(number))
        gate.leave(str(number))

    assert gate.users == frozenset()
