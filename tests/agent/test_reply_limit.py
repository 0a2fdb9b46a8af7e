"""The client's limit for the length of replies, under that of the operator."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from server.agent.agent_client import TurnOptions
from server.config import LlmSettings
from server.errors import ContextTooLong
from server.llm.language_model import Finished, TextDelta
from server.wire.frames import TurnSettings
from tests.agent.hooked import with_hooks
from tests.agent.scene import agent_for, play
from tests.hooks.fakes import hook
from tests.support.scripted_model import ScriptedModel

LIMITED = TurnOptions(settings=TurnSettings(max_tokens=50))
OLD = [{"role": role, "content": "x" * 400} for _ in range(4) for role in ("user", "assistant")]


def model(*failures: Exception, **settings: Any) -> ScriptedModel:
    reply = (TextDelta("Hi."), Finished("stop"))
    return ScriptedModel([*((failure,) for failure in failures), reply, reply, reply], **settings)


@pytest.mark.parametrize(
    ("llm", "sent"),
    [
        ({}, {"max_tokens": 50}),
        ({"max_tokens": 51}, {"max_tokens": 50}),
        ({"max_tokens": 50}, {}),
        ({"max_tokens": 20}, {}),
        ({"options": {"max_tokens": 20}}, {}),
        ({"options": {"max_tokens": 90, "seed": 7}, "max_tokens": 20}, {}),
        ({"options": {"max_tokens": 90, "seed": 7}}, {"max_tokens": 50}),
        ({"options": {"max_completion_tokens": 20}}, {}),
        ({"options": {"max_completion_tokens": 90}}, {"max_tokens": 50, "max_completion_tokens": None}),
    ],
)
async def test_the_clients_limit_goes_with_a_call_where_it_is_below_the_operators(
    llm: dict[str, Any], sent: Mapping[str, Any]
) -> None:
    scripted = model()
    await play(agent_for(scripted, llm=LlmSettings(**llm)), options=LIMITED)

    assert scripted.requests[0].options == sent


async def test_a_hook_is_shown_the_limit_in_force_and_may_change_it() -> None:
    own = hook(before_llm={"request": {"options": {"temperature": 0}}})
    shorter = hook(before_llm={"request": {"options": {"max_tokens": 9}}})
    scripted = model()
    agent = agent_for(scripted, llm=LlmSettings(max_tokens=90))
    for one in (own, shorter):
        await play(agent, enable_tools=False, options=replace(with_hooks(one), settings=LIMITED.settings))

    assert own.params("before_llm")["options"] == {"max_tokens": 50, "temperature": 1.0}
    assert [request.options for request in scripted.requests] == [
        {"max_tokens": 50, "temperature": 0},
        {"max_tokens": 9},
    ]


async def test_the_context_keeps_room_for_a_reply_of_that_length() -> None:
    question = [*OLD, {"role": "user", "content": "Why?"}]
    scripted = model(context_tokens=1000)
    agent = agent_for(scripted)
    for limit in (50, 600):
        await play(
            agent, messages=question, enable_tools=False, options=TurnOptions(settings=TurnSettings(max_tokens=limit))
        )
    with pytest.raises(ContextTooLong):
        await play(
            agent, messages=question, enable_tools=False, options=TurnOptions(settings=TurnSettings(max_tokens=1000))
        )

    assert len(scripted.messages(0)) > len(scripted.messages(1))
    assert len(scripted.requests) == 2


async def test_a_limit_that_the_endpoint_refuses_does_not_shorten_the_turns_of_others() -> None:
    scripted = model(ContextTooLong("long"))
    agent = agent_for(scripted)
    with pytest.raises(ContextTooLong):
        await play(agent, enable_tools=False, options=TurnOptions(settings=TurnSettings(max_tokens=1_000_000)))
    await play(agent, messages=[*OLD, {"role": "user", "content": "Why?"}], enable_tools=False)

    assert len(scripted.messages(1)) == len(OLD) + 2
