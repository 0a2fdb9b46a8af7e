"""server/gateway/websocket_server.py: changes that every client learns of"""

import asyncio
import logging

import pytest

from server.gateway.websocket_server import MAX_WAITING, Broadcaster, Send


async def sent(broadcaster: Broadcaster) -> list[Send]:
    """Returns what is sent of what waits now."""
    passed_on: list[Send] = []

    async def for_each_session(send: Send) -> None:
        passed_on.append(send)

    task = asyncio.create_task(broadcaster.run(for_each_session))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return passed_on


def piece() -> Send:
    return lambda session: session.interrupt()


async def test_of_one_thing_that_changes_twice_the_latest_is_sent_in_its_place() -> None:
    broadcaster, [first, other, latest] = Broadcaster(), [piece(), piece(), piece()]
    broadcaster.publish("lost", first)
    broadcaster.publish("back", other)
    broadcaster.publish("lost", latest)

    assert await sent(broadcaster) == [other, latest]
    assert await sent(broadcaster) == []


async def test_what_comes_while_the_rest_is_sent_is_sent_too() -> None:
    broadcaster, later, is_sent = Broadcaster(), piece(), asyncio.Event()

    async def for_each_session(send: Send) -> None:
        if send is later:
            is_sent.set()
        else:
            broadcaster.publish("later", later)

    broadcaster.publish("first", piece())
    task = asyncio.create_task(broadcaster.run(for_each_session))
    await is_sent.wait()
    task.cancel()


async def test_beyond_the_limit_the_newest_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    broadcaster, pieces = Broadcaster(), [piece() for _ in range(MAX_WAITING + 1)]
    for number, one in enumerate(pieces):
        broadcaster.publish(f"thing {number}", one)

    assert await sent(broadcaster) == pieces[:-1]
    assert caplog.record_tuples[0][1:] == (
        logging.WARNING,
        f"too many changes wait to be sent; clients do not learn of: thing {MAX_WAITING}",
    )
