"""How long the random tests go on: a few hundred examples, with SOAK=1 some thousands."""

import os

from hypothesis import HealthCheck, settings

IS_SOAK = bool(os.environ.get("SOAK"))


def examples(few: int, soak: int, *, steps: int = 50) -> settings:
    """By default the same examples in every run; a soak draws new ones."""
    return settings(
        max_examples=soak if IS_SOAK else few,
        stateful_step_count=steps,
        derandomize=not IS_SOAK,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=IS_SOAK,
    )
