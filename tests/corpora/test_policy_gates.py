"""The policy reaches the gates of its corpora.

Messages hold totals only: a line of a held-out set that a failure prints is held out no longer.
"""

import pytest

from benchmarks.policy_corpora import GATES, Gate, figures_of, score


@pytest.mark.parametrize(
    "gate", [gate for gate in GATES if gate.recall is not None], ids=lambda gate: f"{gate.folder} {gate.kind}"
)
def test_the_policy_reaches_its_gates(gate: Gate) -> None:
    totals = [
        f"{figure.name}, goal {figure.goal}" for figure in figures_of(gate, score(gate)) if figure.is_met is False
    ]

    assert totals == []
