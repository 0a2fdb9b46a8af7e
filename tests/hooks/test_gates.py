"""No way past a gate: an approver, or a guard with `on_error: closed`, that is down, dying, silent or misunderstood.

Over a real server with real child processes: at start, in mid call, and across a reload.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from server import config
from server.hooks.layers import HookLayers, TurnHooks
from server.hooks.process.host import HookHost
from server.llm.language_model import ToolCall
from server.tools.executor import ToolExecutor
from server.tools.registry import ToolRegistry
from tests.agent.scene import tool
from tests.hooks.fakes import FACTS
from tests.hooks.serving import Scene, said, scripted, serving
from tests.hooks.stage import ENVIRON, LIMITS
from tests.support.openai_script import calls, text

CALL = calls(("current_time", {"timezone": "Asia/Tokyo"}))
# what becomes of a gate → what it does
WAYS: dict[str, str | dict[str, Any]] = {
    "it dies": "exit 3",
    "it is killed": "kill",
    "it is silent": "silence",
    "it hangs": "hang",
    "it prints garbage": "raw {not json",
    "it answers an error": 'raw {"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no"}}',
    "it answers another call": 'raw {"jsonrpc":"2.0","id":999,"result":{"approved":true,"action":"continue"}}',
    "it answers a list": 'raw {"jsonrpc":"2.0","id":$ID,"result":[]}',
    "it speaks another dialect": {"allow": True},
    "it means no in other words": {"decision": "deny"},
    "it gives the wrong type": {"approved": "true", "action": 5},
}
QUICK = replace(LIMITS, gate_test_s=0.3, hello_s=2)
GATES = {"approver": ("approve_tool", "open"), "guard": ("before_tool", "closed")}


def gate(stage: str, on_error: str, what: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    return scripted({stage: what}, **{"on_error": on_error, "timeout_ms": 300, **more})


async def try_tool(scene: Scene) -> str:
    """What the model reads of a call, in a turn that ends well."""
    frames = await scene.turn(CALL, text("Done."))
    assert frames[-1]["reason"] == "completed"
    assert said(frames) == "Done."
    [result] = [frame for frame in frames if frame["type"] == "tool_result"]
    return str(result["content"])


@asynccontextmanager
async def hosting(**processes: dict[str, Any]) -> AsyncIterator[ToolExecutor]:
    """The tools of a turn over these hooks, without a server around them."""
    settings = msgspec.convert({"processes": processes}, config.HooksSettings)
    host = HookHost(settings, ENVIRON, limits=QUICK)
    host.start()
    try:
        await host.settled()
        with HookLayers(settings, processes=host).for_turn(FACTS) as layers:
            assert layers is not None
            yield ToolExecutor(ToolRegistry([tool("alpha")]), config.ToolsSettings(), hooks=TurnHooks(layers))
    finally:
        await host.aclose()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("stage", "on_error"), GATES.values(), ids=GATES)
async def test_a_gate_that_fails_in_mid_call_denies(stage: str, on_error: str, way: str) -> None:
    async with hosting(gate=gate(stage, on_error, WAYS[way])) as executor:
        for _ in range(2):  # the second time it may be down, or coming back
            outcome = await executor.run(ToolCall("c1", "alpha", "{}"))
            assert outcome.content.startswith("Tool execution denied by ")
            assert outcome.ending == "denied"


async def test_a_gate_that_cannot_start_denies_over_a_whole_server(tmp_path: Path) -> None:
    broken = {**gate("approve_tool", "open", {"approved": True}), "command": ["/nowhere/at/all"]}
    async with serving(tmp_path, {"gate": broken}) as scene:
        assert (await try_tool(scene)).startswith("Tool execution denied by approval hook: tool approval hook")


@pytest.mark.parametrize(("stage", "on_error"), GATES.values(), ids=GATES)
@pytest.mark.parametrize("way", ["exit 1", "no such program", "raw nonsense"])
async def test_a_gate_that_never_starts_denies(stage: str, on_error: str, way: str) -> None:
    broken = gate(stage, on_error, {"approved": True, "action": "continue"})
    if way == "no such program":
        broken["command"] = ["/nowhere/at/all"]
    else:
        broken["command"].append(f"hook.hello={way}")
    async with hosting(gate=broken) as executor:
        assert (await executor.run(ToolCall("c1", "alpha", "{}"))).ending == "denied"


@pytest.mark.parametrize(("stage", "on_error"), GATES.values(), ids=GATES)
async def test_a_gate_that_lets_pass_lets_pass(tmp_path: Path, stage: str, on_error: str) -> None:
    reply = {"approved": True} if stage == "approve_tool" else {"action": "continue"}
    async with serving(tmp_path, {"gate": gate(stage, on_error, reply, timeout_ms=20_000)}) as scene:
        assert "Asia/Tokyo" in await try_tool(scene)


async def test_an_interceptor_that_is_no_gate_is_skipped_whatever_becomes_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path, {"open": gate("before_tool", "open", "kill")}) as scene:
        assert "Asia/Tokyo" in await try_tool(scene)


@pytest.mark.parametrize(("stage", "on_error"), GATES.values(), ids=GATES)
async def test_a_reload_that_breaks_a_gate_closes_it_and_one_that_mends_it_opens_it(
    tmp_path: Path, stage: str, on_error: str
) -> None:
    reply = {"approved": True} if stage == "approve_tool" else {"action": "continue"}
    good = gate(stage, on_error, reply, timeout_ms=20_000)
    async with serving(tmp_path, {"gate": good}) as scene:
        assert "Asia/Tokyo" in await try_tool(scene)

        await reload(scene, {"gate": {**good, "command": ["/nowhere/at/all"]}})
        assert (await try_tool(scene)).startswith("Tool execution denied by ")

        await reload(scene, {"gate": good})
        assert "Asia/Tokyo" in await try_tool(scene)


async def reload(scene: Scene, processes: dict[str, Any]) -> None:
    await scene.server.app.hooks.reload(msgspec.convert({"processes": processes}, config.HooksSettings))


@pytest.mark.parametrize("way", ["it dies", "it speaks another dialect"])
async def test_a_guard_of_replies_that_fails_lets_no_word_out(tmp_path: Path, way: str) -> None:
    async with serving(tmp_path, {"guard": gate("after_llm", "closed", WAYS[way])}) as scene:
        frames = await scene.turn(text("A secret."))

    assert frames[-1]["reason"] == "aborted"
    assert 'hook "guard"' in frames[-1]["message"]
    assert "secret" not in str(frames)


@pytest.mark.parametrize("way", ["it is killed", "it answers an error"])
async def test_a_guard_of_results_that_fails_withholds_the_result_from_everybody(tmp_path: Path, way: str) -> None:
    async with serving(tmp_path, {"guard": gate("after_tool", "closed", WAYS[way])}) as scene:
        content = await try_tool(scene)

        assert scene.model.requests[1].messages[-2]["content"] == content
    assert content.startswith("The result is withheld: ")
    assert "Asia" not in content
