"""server/gateway/news.py"""

import asyncio
import logging

import pytest

from server.gateway.news import MAX_WAITING, News, Tell


async def sent(news: News) -> list[Tell]:
    """What is sent of what waits now."""
    told: list[Tell] = []

    async def tell_all(tell: Tell) -> None:
        told.append(tell)

    task = asyncio.create_task(news.run(tell_all))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return told


def piece() -> Tell:
    return lambda session: session.interrupt()


async def test_of_one_thing_that_changes_twice_the_latest_is_sent_in_its_place() -> None:
    news, [first, other, latest] = News(), [piece(), piece(), piece()]
    news.tell("lost", first)
    news.tell("back", other)
    news.tell("lost", latest)

    assert await sent(news) == [other, latest]
    assert await sent(news) == []


async def test_what_comes_while_the_rest_is_sent_is_sent_too() -> None:
    news, later, is_told = News(), piece(), asyncio.Event()

    async def tell_all(tell: Tell) -> None:
        if tell is later:
            is_told.set()
        else:
            news.tell("later", later)

    news.tell("first", piece())
    task = asyncio.create_task(news.run(tell_all))
    await is_told.wait()
    task.cancel()


async def test_beyond_the_limit_the_newest_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    news, pieces = News(), [piece() for _ in range(MAX_WAITING + 1)]
    for number, one in enumerate(pieces):
        news.tell(f"thing {number}", one)

    assert await sent(news) == pieces[:-1]
    assert caplog.record_tuples[0][1:] == (
        logging.WARNING,
        f"too much news waits; clients are not told: thing {MAX_WAITING}",
    )
