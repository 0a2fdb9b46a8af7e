"""Calls of the client's own tools, as its session sees them: asked, answered, given up."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from server import config
from server.accounts.principal import Principal
from server.agent.agent_client import AgentClient
from server.config import AgentSettings, LlmSettings, ToolsSettings
from server.tools.executor import ToolExecutor
from server.tools.registry import DynamicToolRegistry, ToolRegistry
from skills_engine import Skill, SkillsSnapshot
from tests.agent.scene import hook, tool
from tests.session.fakes import Frame, SessionHarness, kinds
from tests.session.talk import Talk
from tests.support.scripted_model import Answer, ScriptedModel, call, say

SEATS: Frame = {"name": "find_seat", "parameters": {"type": "object", "properties": {"row": {"type": "integer"}}}}
STRANGER = Principal("203.0.113.9", is_local=False)


class Caller(SessionHarness):
    """A client with a tool, before an agent whose model plays a script; the server's only tool is `alpha`."""

    def __init__(self, *answers: Answer, timeout_s: float = 30, **options: Any) -> None:
        self.tools = DynamicToolRegistry(ToolRegistry([tool("alpha")]))
        self.model = ScriptedModel(answers)
        settings = ToolsSettings(timeout_s=timeout_s, max_result_bytes=1024)
        executor = ToolExecutor(self.tools, settings)
        agent = AgentClient(self.model, executor, config=AgentSettings(planning=False), llm=LlmSettings())
        super().__init__(agent, **options)  # type: ignore[arg-type]  # the real one, for once

    def answer(self, content: str = "7C", id_: str = "c1", **fields: Any) -> None:
        self.send("tool_output", id=id_, content=content, **fields)

    def of(self, type_: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] == type_]

    def codes(self) -> list[str]:
        return [frame["code"] for frame in self.frames if "code" in frame]


@asynccontextmanager
async def asked(*answers: Answer, tools: Sequence[Frame] = (SEATS,), **options: Any) -> AsyncIterator[Caller]:
    """A client that has been asked to run its tool as call `c1`, in turn `t1`."""
    async with Caller(call("find_seat", row=7), *answers, **options) as caller:
        caller.send("configure", tools=list(tools))
        caller.chat(id="t1")
        await caller.until("client_tool_call")
        yield caller


@pytest.mark.parametrize("named", [{}, {"turn_id": "t1"}])
async def test_the_model_reads_the_output_and_each_call_is_answered_once(named: dict[str, str]) -> None:
    async with asked(say("Yes.")) as caller:
        caller.answer("7C", **named)
        caller.answer("8C", **named)
        await caller.until("turn_end")
        caller.answer("9C", **named)
        await caller.flushed()

    assert caller.codes() == ["tool_output_unknown"] * 2
    assert [frame["content"] for frame in caller.of("tool_result")] == ["7C"]
    assert caller.model.messages(1)[-2]["content"] == "7C"


@pytest.mark.parametrize("wrong", [{"id_": "c2"}, {"id_": "x" * 256}, {"turn_id": "t0"}])
async def test_an_output_for_another_call_is_reported_and_the_call_stays_open(wrong: dict[str, str]) -> None:
    async with asked(say("Yes.")) as caller:
        caller.answer("8C", **wrong)
        caller.answer("7C")
        await caller.until("turn_end")

    assert caller.codes() == ["tool_output_unknown"]
    assert caller.of("tool_result")[0]["content"] == "7C"


async def test_an_output_that_is_no_frame_leaves_the_call_open() -> None:
    async with asked(say("Yes.")) as caller:
        caller.answer("x" * ((1 << 20) + 1))
        caller.answer("7C")
        await caller.until("turn_end")

    assert caller.codes() == ["frame_invalid"]
    assert caller.of("tool_result")[0]["content"] == "7C"


async def test_an_error_and_a_long_output_are_results_like_any() -> None:
    async with asked(call("find_seat"), say("Well.")) as caller:
        caller.answer("no such row", is_error=True)
        await caller.until("client_tool_call", 2)
        caller.answer("x\n" * (1 << 19), "c1_2")
        await caller.until("turn_end")

    failed, long = caller.of("tool_result")
    assert (failed["content"], failed["is_error"]) == ("no such row", True)
    assert len(long["content"]) < 1100
    assert "truncated" in long["content"]


async def test_calls_of_one_batch_are_open_together_and_answered_in_any_order() -> None:
    other = {**SEATS, "name": "find_row"}
    async with Caller(call("find_seat", "find_row"), say("Yes.")) as caller:
        caller.chat(tools=[SEATS, other])
        await caller.until("client_tool_call", 2)
        caller.answer("second", "c2")
        caller.answer("first", "c1")
        await caller.until("turn_end")

    assert [frame["content"] for frame in caller.of("tool_result")] == ["first", "second"]


async def test_a_client_that_does_not_answer_costs_the_call_its_time_and_no_more() -> None:
    async with asked(say("No idea."), timeout_s=0.01) as caller:
        end = await caller.until("turn_end")
        caller.answer()
        await caller.flushed()

    assert end["reason"] == "completed"
    assert (caller.of("tool_result")[0]["ending"], caller.codes()) == ("failed", ["tool_output_unknown"])


@pytest.mark.parametrize("ends", ["interrupt", "chat", "hang_up"])
async def test_the_end_of_a_turn_ends_the_wait_at_once(ends: str) -> None:
    async with asked(say("Something else.")) as caller:
        if ends == "hang_up":
            caller.session.hang_up()
        elif ends == "chat":
            caller.chat("Something else.", tools=[])
        else:
            caller.send("interrupt")
        end = await caller.until("turn_end")
        caller.answer(turn_id="t1")
        await caller.flushed()

    assert (end["turn_id"], end["reason"]) == ("t1", "interrupted")
    assert caller.of("tool_result")[0]["content"] == "interrupted"
    assert "tool_output_unknown" in caller.codes()


async def test_arguments_that_do_not_fit_never_reach_the_client() -> None:
    async with Caller(call("find_seat", row="seven"), say("Sorry.")) as caller:
        caller.chat(tools=[SEATS])
        await caller.until("turn_end")

    assert caller.of("client_tool_call") == []
    assert "row" in caller.of("tool_result")[0]["content"]


@pytest.mark.parametrize("type_", ["configure", "chat", "respond"])
async def test_a_name_of_ours_is_refused_and_nothing_of_the_frame_is_taken(type_: str) -> None:
    async with Caller(say("Hi.")) as caller:
        messages = [{"role": "user", "content": "hi"}]
        caller.send(type_, messages=messages, tools=[SEATS, {**SEATS, "name": "alpha"}])
        caller.chat()
        await caller.until("turn_end")

    (error,) = caller.of("error")
    assert (error["code"], error["path"]) == ("frame_invalid", "$.tools[1].name")
    assert [spec.name for spec in caller.model.requests[0].tools] == ["alpha"]
    assert len(caller.model.requests) == 1


async def test_a_tool_that_the_server_gets_later_is_used_instead() -> None:
    async with Caller(call("find_seat"), say("Yes.")) as caller:
        caller.send("configure", tools=[SEATS])
        caller.tools.put("mcp", [tool("find_seat")])
        caller.chat()
        await caller.until("turn_end")

    assert caller.codes() == ["client_tool_hidden"]
    assert caller.of("client_tool_call") == []
    assert caller.of("tool_result")[0]["content"] == "find_seat ran"


@pytest.mark.parametrize("type_", ["configure", "chat"])
@pytest.mark.parametrize(("policy", "principal"), [("deny", None), ("auto", STRANGER)])
async def test_tools_count_as_instructions(type_: str, policy: Any, principal: Principal | None) -> None:
    security = config.SecuritySettings(client_instructions=policy)
    async with Caller(say("Hi."), security=security, principal=principal) as caller:
        fields: dict[str, Any] = {"tools": [{**SEATS, "name": "alpha"}]}
        if type_ == "configure":
            caller.send("configure", **fields)
        caller.chat(**(fields if type_ == "chat" else {}))
        await caller.until("turn_end")

    assert caller.codes() == ["instructions_not_allowed"]
    assert [spec.name for spec in caller.model.requests[0].tools] == ["alpha"]


async def test_a_chat_chooses_for_itself_and_an_empty_list_takes_the_tools_away() -> None:
    async with Caller(say("Hi."), say("Hi."), say("Hi.")) as caller:
        caller.send("configure", tools=[SEATS], tool_choice="required")
        chosen: list[dict[str, Any]] = [{"tool_choice": "auto"}, {"tools": []}, {"tool_choice": "none"}]
        for count, fields in enumerate(chosen, 1):
            caller.chat(**fields)
            await caller.until("turn_end", count)

    first, second, third = caller.model.requests
    assert [spec.name for spec in first.tools] == ["alpha", "find_seat"]
    assert [spec.name for spec in second.tools] == ["alpha"]
    assert [request.tool_choice for request in (first, second)] == ["auto", "required"]
    assert (third.purpose, third.tools) == ("direct", ())


async def test_a_turn_that_leaves_its_calls_to_the_client_ends_with_them() -> None:
    async with Caller(call("find_seat", "alpha", row=7), say("Hi.")) as caller:
        caller.chat(tools=[SEATS], client_tools="end")
        end = await caller.until("turn_end")
        caller.answer()
        await caller.flushed()

    assert kinds(caller.frames)[:7] == [
        "turn_start",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "client_tool_call",
        "turn_end",
    ]
    left, ran = caller.of("tool_result")
    assert (left["ending"], left["content"], left["is_error"]) == ("open", "", False)
    assert ran["content"] == "alpha ran"
    assert (end["reason"], caller.codes()) == ("completed", ["tool_output_unknown"])
    assert len(caller.model.requests) == 1


async def test_a_turn_that_goes_on_with_outputs_has_the_channel_of_the_turn_before() -> None:
    spoken = hook("after_user_input", when={"channel": "voice"})
    snapshot = SkillsSnapshot((Skill("host", "", Path(), "host", hooks=(spoken,)),))
    calling = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "find_seat", "arguments": "{}"}}]}
    messages = [{"role": "user", "content": "hi"}, calling, {"role": "tool", "tool_call_id": "c1", "content": "7C"}]
    async with Talk(snapshot=snapshot) as talk:
        await talk.utter()
        talk.history((await talk.until("speech_started"))["utterance"])
        await talk.until("turn_end")
        for count, sent in enumerate((messages, messages, messages[:1], messages), 2):
            talk.send("chat", messages=sent)
            await talk.until("turn_end", count)

    assert [asked.options.facts.channel for asked in talk.agent.asked] == ["voice", "voice", "voice", "text", "text"]
