"""Hooks that do what the printed ones do, with the configuration printed there, over a real server (seeds 001, 002)."""

import json
from pathlib import Path
from typing import Any

from tests.hooks.serving import entry, only, said, serving
from tests.support.client import kinds
from tests.support.openai_script import calls, text

ZONES = ("current_time", {"timezone": "Asia/Tokyo"})


async def test_a_tool_that_a_hook_brought_along_is_offered_called_and_answered(tmp_path: Path) -> None:
    weather = entry("weather", intercept=["before_llm", "before_tool"], priority=100, transport="stdio")
    async with serving(tmp_path, {"weather_plugin": weather}, agent={"planning": True}) as scene:
        frames = await scene.turn(
            text("<need_tool>"),
            calls(("get_weather", {"city": "北京"})),
            text("北京今天晴天。"),
            text="北京今天天气怎么样?",
        )

        planning, first, second = scene.model.requests
    assert "get_weather" in planning.messages[-1]["content"]
    assert planning.tool_names == []
    assert first.tool_names[-1] == "get_weather"
    assert second.messages[-2]["content"] == "北京天气:晴,温度15°C,湿度45%"
    assert only(frames, "tool_call")["arguments"] == {"city": "北京"}
    assert only(frames, "tool_result")["content"] == "北京天气:晴,温度15°C,湿度45%"
    assert only(frames, "tool_result")["is_error"] is False
    assert said(frames) == "北京今天晴天。"
    assert frames[-1]["reason"] == "completed"


async def test_an_injected_tool_is_answered_though_there_are_approvers_who_refuse_all(tmp_path: Path) -> None:
    weather = entry("weather", intercept=["before_llm", "before_tool"])
    refuser = entry("scripted", 'hook.approve_tool={"approved": false}', intercept=["approve_tool"])
    async with serving(tmp_path, {"weather_plugin": weather, "refuser": refuser}) as scene:
        frames = await scene.turn(calls(("get_weather", {"city": "上海"}), ZONES), text("Done."))

    weather_result, time_result = (frame for frame in frames if frame["type"] == "tool_result")
    assert weather_result["content"].startswith("上海天气")
    assert time_result["content"] == "Tool execution denied by approval hook"


def entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


async def test_a_review_gate_hears_of_each_step_in_order_and_writes_it_down(tmp_path: Path) -> None:
    log = tmp_path / "picoclaw-hook-review-gate.log"
    gate = entry(
        "review_gate",
        intercept=["before_tool", "approve_tool"],
        observe=["tool_exec_start", "tool_exec_end", "tool_exec_skipped"],
        priority=100,
        transport="stdio",
        env={"PICOCLAW_HOOK_LOG_FILE": str(log)},
    )
    async with serving(tmp_path, {"py_review_gate": gate}) as scene:
        frames = await scene.turn(calls(ZONES), text("Noon."))
        [warning] = [text for hook in scene.server.app.hooks.health() for text in hook.warnings]
    assert "event_method: hook.event" in warning
    assert kinds(frames)[-1] == "turn_end"

    heard = [line for line in entries(log) if line["direction"] == "in" and not _is_canary(line)]
    assert [line["method"] for line in heard] == [
        "hook.hello",
        "hook.before_tool",
        "hook.approve_tool",
        "hook.runtime_event",
        "hook.runtime_event",
    ]
    assert heard[0]["params"] == {"name": "py_review_gate", "version": 1, "modes": ["observe", "tool", "approve"]}
    assert (heard[1]["params"]["tool"], heard[1]["params"]["arguments"]) == ZONES
    assert [line["params"]["kind"] for line in heard[3:]] == ["agent.tool.exec_start", "agent.tool.exec_end"]
    assert heard[3]["params"]["payload"] == {"Tool": "current_time", "Arguments": {"timezone": "Asia/Tokyo"}}
    assert heard[4]["params"]["payload"].keys() == {"Tool", "Duration", "ForLLMLen", "ForUserLen", "IsError", "Async"}
    assert {"direction": "out", "id": heard[1]["id"], "response": {"action": "continue"}, "error": None} in entries(log)


async def test_an_older_gate_gets_its_events_under_the_older_name(tmp_path: Path) -> None:
    log = tmp_path / "gate.log"
    gate = entry(
        "review_gate",
        intercept=["approve_tool"],
        observe=["tool_exec_start"],
        event_method="hook.event",
        env={"PICOCLAW_HOOK_LOG_FILE": str(log)},
    )
    async with serving(tmp_path, {"py_review_gate": gate}) as scene:
        await scene.turn(calls(ZONES), text("Noon."))

    [event] = [line for line in entries(log) if line.get("method") == "hook.event"]
    assert event["params"]["Kind"] == "tool_exec_start"
    assert event["params"]["Payload"]["Tool"] == "current_time"
    assert len(event["params"]["Meta"]) == 7


def _is_canary(line: dict[str, Any]) -> bool:
    return bool(line["params"].get("tool") == "parley_canary")
