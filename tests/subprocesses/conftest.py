"""Set-up of every test of child processes."""

import pytest

from tests.hooks.stage import remember_others


@pytest.fixture(autouse=True)
def _know_the_others() -> None:
    remember_others()
