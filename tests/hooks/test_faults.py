"""Faults of process hooks, turn after turn: each ends as it has to, others are not touched, nothing is left."""

from functools import partial
from pathlib import Path

import pytest

from server.hooks.process.host import HookHost
from server.hooks.stages import HookCallFailed
from tests.hooks.faults import FAULTS, LIMITS, faulty, hooks_of, nothing_left, soak
from tests.hooks.stage import ENVIRON, leased
from tests.model.profile import rounds
from tests.support.client import client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

PLAIN = {"agent": {"planning": False}, "limits": {"max_turn_s": 60}}
TURNS = rounds(1000, few=20)


async def one_call(host: HookHost, fault: str) -> None:
    """The faulty hook is asked, then one that is never up, then one that must not notice anything."""
    with leased(host) as hooks:
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
async def test_calls_with_every_fault_leave_no_process_descriptor_or_task() -> None:
    hooks = partial(hooks_of, "before_tool")
    async with nothing_left():
        host = HookHost(hooks(), ENVIRON, limits=LIMITS)
        host.start()
        try:
            await soak(host, hooks, TURNS, one_call)
        finally:
            await host.aclose()


@pytest.mark.soak
@pytest.mark.parametrize("stage", ["before_tool", "approve_tool"])
async def test_turns_go_on_as_the_policy_says_and_leave_nothing(stage: str, tmp_path: Path) -> None:
    """An interceptor that fails is skipped; an approver that fails denies."""
    hooks = partial(hooks_of, stage)

    async def one_turn(_host: HookHost, fault: str) -> None:
        model.queue(calls(("current_time", {"timezone": fault})), text("Done."))
        frames = await me.turn("What time is it?")
        [result] = [frame["content"] for frame in frames if frame["type"] == "tool_result"]
        if stage == "approve_tool" and FAULTS[fault] != "answered":
            assert result.startswith("Tool execution denied by approval hook"), (fault, result)
        elif "timed out" not in result:  # on a busy machine any answer may come too late
            assert not result.startswith("Tool execution denied"), (fault, result)
        assert frames[-1]["reason"] == "completed"

    async with (
        nothing_left(),
        OpenAIServer() as model,
        parley(tmp_path, model.url, {"hooks": hooks(), **PLAIN}, hook_limits=LIMITS) as server,
        client(server.ws_url) as me,
    ):
        await soak(server.app.hooks, hooks, TURNS // 2, one_turn)
