"""server/metrics.py"""

import asyncio
import re

from server.metrics import HOLD_INTERVAL_S, Metrics


async def test_everything_counted_is_rendered_as_prometheus_text() -> None:
    metrics = Metrics()
    metrics.count_in("chat")
    metrics.count_in("chat")
    metrics.count_out("text")
    metrics.connections.set(3)
    metrics.slow_clients.inc()

    text = metrics.render().decode()
    assert 'parley_frames_in_total{type="chat"} 2.0' in text
    assert 'parley_frames_out_total{type="text"} 1.0' in text
    assert "parley_connections 3.0" in text
    assert "parley_slow_clients_total 1.0" in text


async def test_two_servers_in_one_process_count_apart() -> None:
    one, two = Metrics(), Metrics()
    one.count_in("chat")

    assert 'parley_frames_in_total{type="chat"}' not in two.render().decode()


async def test_who_holds_the_event_loop_is_seen() -> None:
    metrics = Metrics()
    watch = asyncio.create_task(metrics.watch_loop(), name="watch")
    async with asyncio.timeout(10):
        while not _count(metrics):  # noqa: ASYNC110 - an observation is no event
            await asyncio.sleep(HOLD_INTERVAL_S / 5)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)

    assert 'parley_loop_hold_seconds_bucket{le="0.002"}' in metrics.render().decode()


def _count(metrics: Metrics) -> float:
    found = re.search(r"parley_loop_hold_seconds_count (\S+)", metrics.render().decode())
    return float(found[1]) if found else 0.0
