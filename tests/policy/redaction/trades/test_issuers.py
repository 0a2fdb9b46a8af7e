"""Keys that are known by the marks of smaller issuers, wherever they stand."""

import pytest

from tests.policy.redaction.trades.texts import clean

HEX = "8a2bdf3f16c09e74" * 4
MIXED = "8vKq2LrXw9TbN4mZc7Yp3HsJd6FgA1eU" * 3


@pytest.mark.parametrize(
    "key",
    [
        f"p8e-{HEX[:32]}",
        f"4b1d{MIXED[:38]}",
        f"pat.{MIXED[:22]}.{HEX[:24]}.{MIXED[:20]}",
        f"tgp_v1_{MIXED[:43]}",
        f"pk_48201733_{HEX[:32].upper()}",
        f"nbp_{MIXED[:36]}",
        f"st.{HEX[:24]}.{HEX[:32]}.{HEX[:32]}",
        f"AVNS_{MIXED[:20]}",
        f"configcat-sdk-1/{MIXED[:22]}/{MIXED[5:27]}",
        f"{MIXED[:6]}_{MIXED[:29]}_mmk",
        f"{HEX[:8]}-{HEX[:4]}-{HEX[4:8]}-{HEX[8:12]}-{HEX[:12]}:fx",
        "8A2BD-F3FXX-11AB2-YYZZ9-K3LMN",
        f"SWMKEY-1-{MIXED[:43]}",
        f"SUA{'K2FKF4IGDN4' * 5}",
    ],
)
def test_a_mark_tells_a_key(key: str) -> None:
    assert key not in clean(f"it says {key} there")


@pytest.mark.parametrize("text", ["see p8e-notes", "API-GATEWAY-CONFIGURATION", "st.abc.def", "pat.match.here", "a:fx"])
def test_a_mark_alone_tells_none(text: str) -> None:
    assert clean(text) == text
