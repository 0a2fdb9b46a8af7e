"""Texts in the encodings of addresses, HTML, JSON and base64."""

import pytest

from tests.policy.redaction.trades.texts import clean


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https%3A%2F%2Fanna%3AMondlicht42%40h.example%2Fx", "https%3A%2F%2Fanna%3A[REDACTED]%40h.example%2Fx"),
        ("&quot;password&quot;: &quot;Mondlicht42&quot;", "&quot;password&quot;: &quot;[REDACTED]&quot;"),
        ('argv=["mysql", "-u", "root", "-pMondlicht42"] ended', 'argv=["mysql", "-u", "root", "-p[REDACTED]"] ended'),
        ("echo REJfUEFTUz1Nb25kbGljaHQ0Mg== | base64 -d", "echo [REDACTED] | base64 -d"),
    ],
)
def test_an_encoding_hides_nothing(text: str, left: str) -> None:
    assert clean(text) == left
