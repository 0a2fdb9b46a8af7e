"""Random sequences of frames about a client's tools: whatever comes when, every turn and every call has one end."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.session.fakes import Frame
from tests.session.test_client_calls import SEATS, Caller
from tests.support.scripted_model import Answer, call, say

SEQUENCES = 40
STEPS = 60
TOOLS = [SEATS, {**SEATS, "name": "find_row"}]


def answers(draw: random.Random) -> Iterator[Answer]:
    names = ["alpha", "find_seat", "find_row", "nothing"]
    for _ in range(20 * STEPS):
        yield draw.choice(
            [say("Well."), call(*draw.choices(names, k=draw.randint(1, 4)), row=draw.choice([7, 7, 7, "x"]))]
        )


def continuation(frames: list[Frame], draw: random.Random) -> list[Frame]:
    """The history after the last call: with its results, or with some of them, of another call, or none."""
    ids = [frame["id"] for frame in frames if frame["type"] == "tool_call"][-draw.randint(1, 3) :]
    called = [{"id": id_, "function": {"name": draw.choice(["find_seat", "alpha"]), "arguments": "{}"}} for id_ in ids]
    results = [{"role": "tool", "tool_call_id": draw.choice([id_, "c9"]), "content": "7C"} for id_ in ids]
    draw.shuffle(results)
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": called}, *results]


async def step(caller: Caller, draw: random.Random) -> None:
    frames = caller.frames
    match draw.randrange(9):
        case 0:
            fields: list[dict[str, Any]] = [
                {"tools": draw.choice([[], TOOLS, TOOLS * 2])},
                {"tool_choice": draw.choice(["auto", "none", "required", {"name": "find_seat"}, {"name": "x"}])},
                {"client_tools": draw.choice(["wait", "end", "never"])},
            ]
            caller.send("configure", **draw.choice(fields))
        case 1 | 2:
            caller.chat(tools=TOOLS)
        case 3:
            caller.send(draw.choice(["chat", "respond"]), messages=continuation(frames, draw))
        case 4 | 5 | 6 | 7:
            asked = [frame for frame in frames if frame["type"] == "client_tool_call"]
            for frame in asked[-draw.randint(1, 3) :]:
                caller.answer("7C", draw.choice([frame["id"], frame["id"], "c9"]), is_error=draw.random() < 0.2)
        case 8:
            caller.send("interrupt")
    for _ in range(draw.choice([0, 1, 10, 100, 100])):
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(SEQUENCES))
async def test_every_turn_and_every_call_has_one_end(seed: int) -> None:
    draw = random.Random(seed)
    async with Caller(*answers(draw)) as caller:
        for _ in range(STEPS):
            await step(caller, draw)
        caller.send("interrupt")
        await caller.flushed()
        frames = caller.frames[:]
        assert caller.session.is_idle

    ends = Counter(frame["turn_id"] for frame in frames if frame["type"] == "turn_end")
    assert ends == Counter(frame["turn_id"] for frame in frames if frame["type"] == "turn_start")
    assert set(ends.values()) <= {1}
    running: str | None = None
    calls: dict[str, bool] = {}  # of that turn → whether it has ended
    for frame in frames:
        match frame["type"]:
            case "turn_start":
                running, calls = frame["turn_id"], {}
            case "tool_call":
                assert frame["id"] not in calls
                calls[frame["id"]] = False
            case "tool_result":
                assert calls[frame["id"]] is False
                calls[frame["id"]] = True
        assert frame.get("turn_id", running) == running
        assert frame.get("code") != "internal"
        if frame["type"] == "turn_end":
            assert all(calls.values())
            running = None
