"""How much random and long tests do: a few rounds in each run, more in a soak (`make soak`), which SOAK gives as a share of the full counts."""

import os
from typing import Final

from hypothesis import HealthCheck, settings

SHARE: Final = float(os.environ.get("SOAK") or 0)
IS_SOAK: Final = SHARE > 0
IS_WHOLE_SOAK: Final = SHARE >= 1
FEW: Final = 25


def rounds(full: int, *, few: int) -> int:
    """Return `few` by default, and in a soak its share of `full`, but no less."""
    return max(few, round(full * SHARE))


def examples(full: int, *, steps: int = 50) -> settings:
    """By default the same examples in every run; a soak draws new ones, its share of `full`."""
    return settings(
        max_examples=rounds(full, few=FEW),
        stateful_step_count=steps,
        derandomize=not IS_SOAK,
        database=None,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.function_scoped_fixture,
        ],
        print_blob=IS_SOAK,
    )
