"""server/gateway/readiness.py"""

import asyncio

from server.gateway.readiness import Readiness


def test_ready_is_when_every_stage_is_and_nobody_is_leaving() -> None:
    readiness = Readiness()
    readiness.set("skills", "ready")
    readiness.set("model", "loading")
    states = [readiness.is_ready]
    readiness.set("model", "ready")
    states.append(readiness.is_ready)
    readiness.is_draining = True
    states.append(readiness.is_ready)

    assert states == [False, True, False]


def test_stages_keep_their_order_and_tell_why() -> None:
    readiness = Readiness()
    readiness.set("skills", "ready")
    readiness.set("model", "loading")
    readiness.set("model", "failed", "no memory")

    assert [(s.name, s.state, s.detail) for s in readiness.stages] == [
        ("skills", "ready", None),
        ("model", "failed", "no memory"),
    ]


async def test_a_turn_waits_while_a_stage_loads_and_not_after_it_failed() -> None:
    readiness = Readiness()
    readiness.set("model", "loading")
    waiter = asyncio.create_task(readiness.settled("model"), name="waiter")
    await asyncio.sleep(0)
    assert not waiter.done()

    readiness.set("model", "failed", "no memory")
    await waiter
    readiness.set("model", "loading")
    await readiness.settled("model")
