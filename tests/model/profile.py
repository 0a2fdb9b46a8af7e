"""How many examples random tests draw: a few in each run, the full count with SOAK=1 (`make soak`)."""

import os
from typing import Final

from hypothesis import HealthCheck, settings

IS_SOAK: Final = bool(os.environ.get("SOAK"))
FEW: Final = 25


def examples(full: int, *, steps: int = 50) -> settings:
    """By default the same examples in every run; a soak draws `full` new ones."""
    return settings(
        max_examples=full if IS_SOAK else FEW,
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
