"""Faults of process hooks, turn after turn: each ends as it has to, others are not touched, nothing is left."""

import os

import pytest

from server.hooks.channel import HookCallFailed
from server.hooks.host import HookHost
from tests.hooks.faults import FAULTS, faulty, nothing_left, soak

TURNS = 1000 if os.environ.get("SOAK") else 20


async def one_turn(host: HookHost, fault: str) -> None:
    """The faulty hook is asked, then one that is never up, then one that must not notice anything."""
    with host.lease() as hooks:
        ended = await ask(host, fault)
        assert ended == FAULTS[fault]
        if fault == "50 grandchildren":
            assert await ask(host, "kill -9") == "down"
        for hook in hooks:
            match hook.name:
                case "never":
                    assert hook.state != "up"
                case "steady":
                    assert (await hook.request("hook.approve_tool", {}, limit_s=20))["approved"] is True


async def ask(host: HookHost, fault: str) -> str:
    try:
        await faulty(host).request("x", {"fault": fault}, limit_s=0.05 if fault == "hang" else 20)
    except HookCallFailed as error:
        return error.kind
    return "answered"


@pytest.mark.soak
async def test_turns_with_every_fault_go_on_and_leave_no_process_descriptor_or_task() -> None:
    async with nothing_left():
        await soak(TURNS, one_turn)
