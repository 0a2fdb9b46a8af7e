"""The client's choice of tools: none, any, or one; and what happens where nobody follows it."""

from typing import Any

import pytest

from server.agent.agent_client import TurnOptions
from server.errors import ProviderProtocol, ToolChoiceRefused
from server.wire.frames import ToolByName, ToolChoice, TurnSettings
from tests.agent.hooked import adding, with_hooks
from tests.agent.scene import agent_for, notices, play
from tests.hooks.fakes import hook as process_hook
from tests.support.scripted_model import ScriptedModel, call, say

ALPHA = ToolByName(name="alpha")


def choosing(choice: ToolChoice) -> TurnOptions:
    return TurnOptions(settings=TurnSettings(tool_choice=choice))


@pytest.mark.parametrize("choice", ["required", ALPHA])
async def test_a_call_that_must_be_is_asked_for_in_round_one_without_planning(choice: ToolChoice) -> None:
    model = ScriptedModel([call("alpha"), say("Noon.")])

    chunks = await play(agent_for(model), options=choosing(choice))

    assert [(r.purpose, r.tool_choice) for r in model.requests] == [("round", choice), ("round", "auto")]
    assert notices(chunks) == []


async def test_none_is_a_turn_without_tools() -> None:
    model = ScriptedModel([say("Hi.")])

    await play(agent_for(model), options=choosing("none"))

    assert [(r.purpose, r.tools) for r in model.requests] == [("direct", ())]


@pytest.mark.parametrize(
    ("choice", "answer"), [("required", say("Noon.")), (ALPHA, say("Noon.")), (ALPHA, call("beta"))]
)
async def test_a_reply_that_does_not_follow_is_reported_and_counts(choice: ToolChoice, answer: Any) -> None:
    model = ScriptedModel([answer, say("Noon.")])

    chunks = await play(agent_for(model), options=choosing(choice))

    assert notices(chunks) == ["tool_choice_ignored"]
    assert "Noon." in str(chunks)


@pytest.mark.parametrize("choice", ["required", ALPHA])
async def test_without_tools_a_choice_is_reported_and_the_turn_is_plain(choice: ToolChoice) -> None:
    model = ScriptedModel([say("Hi.")])

    chunks = await play(agent_for(model, []), options=choosing(choice))

    assert notices(chunks) == ["tool_choice_ignored"]
    assert model.requests[0].purpose == "direct"


async def test_a_tool_that_is_not_there_is_left_to_the_model() -> None:
    model = ScriptedModel([say("Hi.")])

    chunks = await play(agent_for(model), options=choosing(ToolByName(name="gamma")))

    assert notices(chunks) == ["tool_choice_ignored"]
    assert model.requests[0].tool_choice == "auto"


async def test_a_tool_that_a_hook_adds_can_be_chosen() -> None:
    model = ScriptedModel([say("Hi.")])
    options = with_hooks(process_hook(before_llm=adding("gamma")))

    await play(
        agent_for(model),
        options=TurnOptions(settings=TurnSettings(tool_choice=ToolByName(name="gamma")), layers=options.layers),
    )

    assert model.requests[0].tool_choice == ToolByName(name="gamma")


async def test_a_refused_choice_is_left_to_the_model_and_remembered_by_its_kind() -> None:
    refused = [ToolChoiceRefused("no tool_choice here")]
    model = ScriptedModel([refused, call("alpha"), say("Noon."), call("beta"), say("Noon."), call("alpha"), say("Hi.")])
    agent = agent_for(model)
    for choice in ("required", "required", ALPHA):
        chunks = await play(agent, options=choosing(choice))
        assert notices(chunks) == ([] if choice == ALPHA else ["tool_choice_ignored"])

    sent = [request.tool_choice for request in model.requests]
    assert sent == ["required", "auto", "auto", "auto", "auto", ALPHA, "auto"]


async def test_an_endpoint_that_refuses_what_the_model_may_choose_fails_the_turn() -> None:
    model = ScriptedModel([say("<need_tool>"), [ToolChoiceRefused("auto tool choice is off")]])

    with pytest.raises(ProviderProtocol, match="auto tool choice is off"):
        await play(agent_for(model))
