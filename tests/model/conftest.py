"""Thousands of turns that fail on purpose: what they log is no news."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _without_logging() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
