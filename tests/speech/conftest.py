"""The clock of the tests of speech that wait for time to pass."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.support.virtual_loop import VirtualLoop


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """A test marked `virtual_time` waits for nothing, however busy the machine.

    Only in this folder: pytest-asyncio asks before the browser tests are given the loop of their session, and would
    begin server and browser anew for each of them.
    """
    if item.get_closest_marker("virtual_time"):
        return {"virtual": VirtualLoop}
    return {"real": asyncio.new_event_loop}
