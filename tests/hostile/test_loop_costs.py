"""What one user with all of his connections takes of the event loop. `pytest -s` prints the table."""

from pathlib import Path
from typing import get_args

import pytest

from server.bounded.fair_share import RESERVE_S
from server.realtime.client_events import AnyRealtimeEvent
from server.wire.frames import CLIENT_FRAMES
from tests.hostile.loop_costs import FLOODS, HEAD, PARLEY, REALTIME, scene

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(600)]

MOST_OF_THE_LOOP = 0.85
"""Part of the time; a flood that nothing slows down takes all of it, one that waits its turn about a half."""


def test_the_table_has_every_message_that_a_client_may_send() -> None:
    assert PARLEY.keys() >= {frame.__struct_config__.tag for frame in CLIENT_FRAMES}
    assert REALTIME.keys() >= {event.__struct_config__.tag for event in get_args(AnyRealtimeEvent)}


async def test_one_users_messages_are_charged_and_leave_the_loop_to_others(tmp_path: Path) -> None:
    print(f"\n{HEAD}")  # noqa: T201 - with -s
    uncharged, unshared = [], []
    async with scene(tmp_path) as stage:
        for name, flood in FLOODS.items():
            cost = await stage.measure(flood)
            print(f"{name:44}{cost.row}", flush=True)  # noqa: T201
            # the rest: reading from the socket, other tasks of a turn, the bystander
            if not cost.charged_s or cost.charged_s < cost.cpu_s / 3 - 0.1:
                uncharged.append(name)
            elif cost.charged_s > 2 * RESERVE_S + MOST_OF_THE_LOOP * cost.seconds:
                unshared.append(name)

    assert (uncharged, unshared) == ([], [])
