"""What before_llm may make of a model call, when it is asked, and for how long that holds."""

from collections.abc import Mapping
from typing import Any

import pytest

from server.config import LlmSettings
from server.errors import ProviderUnreachable
from server.llm.language_model import Message
from tests.agent.hooked import PLANNED, adding, saying, with_hooks
from tests.agent.scene import QUESTION, agent_for, notices, play, texts
from tests.hooks.fakes import hook
from tests.support.scripted_model import ScriptedModel, call, say


async def test_it_is_asked_for_planning_every_round_and_the_last_call() -> None:
    seen = hook(before_llm={})
    model = ScriptedModel([say(PLANNED), call("alpha"), call("alpha"), say("Done.")])

    await play(agent_for(model, max_rounds=2), options=with_hooks(seen))

    assert [params["meta"]["Iteration"] for _, params, _ in seen.asked] == [0, 1, 2, 3]
    assert [len(params["tools"]) for _, params, _ in seen.asked] == [2, 2, 2, 2]


async def test_it_is_asked_once_however_often_the_call_is_tried() -> None:
    seen = hook(before_llm=saying("psst"))
    model = ScriptedModel([[ProviderUnreachable("gone", retry_after_ms=1)], say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(seen))

    assert len(seen.asked) == 1
    assert [messages[-1] for messages in map(model.contents, range(2))] == [("user", "psst")] * 2


async def test_it_is_told_the_user_s_words_and_whose_each_message_is() -> None:
    first, second = hook(before_llm=saying("psst")), hook(before_llm={}, name="second")
    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(first, second))

    [asked], [again] = ([params["context"] for _, params, _ in one.asked] for one in (first, second))
    assert [origin["kind"] for origin in asked["origins"]] == ["system", "user"]
    assert asked["user_text"] == model.contents(0)[1][1]
    assert [origin["kind"] for origin in again["origins"]] == ["system", "user", "process_hook"]


async def test_a_rewritten_list_serves_that_call_only() -> None:
    replies = map(saying, "abc")

    def add(params: dict[str, Any]) -> Mapping[str, Any]:
        return next(replies)(params)

    seen = hook(before_llm=add)
    model = ScriptedModel([say(PLANNED), call("alpha"), say("Done.")])

    await play(agent_for(model), options=with_hooks(seen))

    assert [model.contents(n)[-1] for n in range(3)] == [("user", "a"), ("user", "b"), ("user", "c")]
    assert all(("user", "a") not in model.contents(n) for n in (1, 2))


async def test_the_hook_gets_a_copy_and_cannot_write_into_the_turn() -> None:
    def spoil(params: dict[str, Any]) -> Mapping[str, Any]:
        params["messages"][0]["content"] = "spoilt"
        return {}

    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(hook(before_llm=spoil)))

    assert ("system", "spoilt") not in model.contents(0)


async def test_a_system_message_that_a_hook_puts_last_is_sent_in_the_role_the_model_takes() -> None:
    late = hook(before_llm=saying("Be brief.", role="system"))
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="user"))

    await play(agent, enable_tools=False, options=with_hooks(late))

    roles = [role for role, _ in model.contents(0)]
    assert roles == ["system", "user"]
    assert "Be brief." in model.contents(0)[-1][1]


async def test_an_illegal_list_is_not_sent_and_the_hook_is_named() -> None:
    broken = hook(before_llm={"request": {"messages": [{"role": "tool", "content": "x", "tool_call_id": "nope"}]}})
    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(broken))

    assert model.contents(0)[-1] == ("user", "What time is it?")
    assert "is a result without an open call" in broken.warnings[0]


@pytest.mark.parametrize("edited", [2, 3], ids=["call", "result"])
async def test_a_result_goes_with_its_call_where_a_hook_wrote_one_of_them_anew(edited: int) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "alpha", "arguments": "{}"}}
    old: list[Message] = [
        {"role": "user", "content": "Then? " * 117},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c1", "content": "long " * 40},
        {"role": "assistant", "content": "So."},
    ]

    def edit(params: dict[str, Any]) -> Mapping[str, Any]:
        params["messages"][edited]["content"] = "edited " * 80
        return {"request": {"messages": params["messages"]}}

    model = ScriptedModel([say("Hello.")], context_tokens=600)

    chunks = await play(
        agent_for(model), messages=[*old, *QUESTION], enable_tools=False, options=with_hooks(hook(before_llm=edit))
    )

    assert texts(chunks) == "Hello."
    assert model.contents(0)[-1] == ("user", "What time is it?")


async def test_tools_that_are_added_join_the_planning_prompt_by_name_and_the_rounds_in_full() -> None:
    model = ScriptedModel([say(PLANNED), say("Done.")])

    await play(agent_for(model), options=with_hooks(hook(before_llm=adding("get_weather"))))

    planning, first = model.requests
    assert "alpha, beta, get_weather" in model.contents(0)[-1][1]
    assert (planning.tools, list(planning.tool_names)) == ((), ["alpha", "beta", "get_weather"])
    assert [spec.name for spec in first.tools] == ["alpha", "beta", "get_weather"]


async def test_a_planning_prompt_that_a_hook_wrote_anew_stays_the_hook_s() -> None:
    def rewrite(params: dict[str, Any]) -> Mapping[str, Any]:
        return {"request": {**adding("mine")(params)["request"], "messages": [{"role": "user", "content": "mine"}]}}

    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), options=with_hooks(hook(before_llm=rewrite)))

    assert model.contents(0) == [("user", "mine")]


async def test_a_hook_may_bring_the_only_tools_there_are() -> None:
    own = hook(before_llm=adding("mine"), before_tool={"action": "respond", "result": {"for_llm": "42"}})
    model = ScriptedModel([say(PLANNED), call("mine"), say("It is 42.")])

    chunks = await play(agent_for(model, []), options=with_hooks(own))

    assert ("tool", "42") in model.contents(2)
    assert texts(chunks) == "Let me look.\n\nIt is 42."


async def test_where_tools_are_off_a_hook_cannot_turn_them_on() -> None:
    own = hook(before_llm=adding("mine"))
    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(own))

    assert own.params("before_llm")["tools"] == []
    assert model.requests[0].tools == ()


async def test_model_and_options_that_were_changed_go_with_the_call() -> None:
    change = hook(before_llm={"request": {"model": "other", "options": {"temperature": 0, "top_p": 1}}})
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="native", options={"temperature": 1, "seed": 7}, max_tokens=9))

    await play(agent, enable_tools=False, options=with_hooks(change))

    assert change.params("before_llm")["options"] == {"max_tokens": 9, "temperature": 1, "seed": 7}
    assert (model.requests[0].model, model.requests[0].options) == ("other", {"temperature": 0, "top_p": 1})


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({}, {"max_tokens": 4096, "temperature": 1.0}),
        ({"max_tokens": 9}, {"max_tokens": 9, "temperature": 1.0}),
        ({"options": {"temperature": 0.5}}, {"max_tokens": 4096, "temperature": 0.5}),
        (
            {"options": {"max_tokens": 7, "seed": None}, "max_tokens": 9},
            {"max_tokens": 7, "temperature": 1.0, "seed": None},
        ),
        (
            {"options": {"max_completion_tokens": 7}, "max_tokens": 9},
            {"max_tokens": 7, "temperature": 1.0, "max_completion_tokens": 7},
        ),
        (
            {"options": {"max_tokens": None, "temperature": None}, "max_tokens": 9},
            {"max_tokens": 4096, "temperature": 1.0},
        ),
    ],
)
async def test_max_tokens_and_temperature_are_always_numbers_and_not_sent_back_unchanged(
    settings: dict[str, Any], shown: dict[str, Any]
) -> None:
    echo = hook(before_llm=lambda params: {"request": params})
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="native", **settings))

    await play(agent, enable_tools=False, options=with_hooks(echo))

    assert echo.params("before_llm")["options"] == shown
    assert model.requests[0].options == {}


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        ({"max_tokens": 5}, {"max_completion_tokens": 5}),
        ({"max_tokens": None}, {"max_completion_tokens": None}),
        ({"max_tokens": 5, "max_completion_tokens": 6}, {"max_completion_tokens": 6}),
    ],
)
async def test_a_changed_limit_goes_by_the_name_that_was_configured(
    change: dict[str, Any], sent: dict[str, Any]
) -> None:
    shorter = hook(before_llm={"request": {"options": change}})
    model = ScriptedModel([say("Hello.")])
    agent = agent_for(model, llm=LlmSettings(late_system="native", options={"max_completion_tokens": 7}))

    await play(agent, enable_tools=False, options=with_hooks(shorter))

    assert model.requests[0].options == sent


async def test_a_hook_may_calculate_with_options_that_nothing_has_set() -> None:
    def halved(params: dict[str, Any]) -> dict[str, Any]:
        return {"request": {"options": {name: value / 2 for name, value in params["options"].items()}}}

    model = ScriptedModel([say("Hello.")])

    await play(agent_for(model), enable_tools=False, options=with_hooks(hook(before_llm=halved)))

    assert model.requests[0].options == {"max_tokens": 2048, "temperature": 0.5}


async def test_a_call_that_a_hook_adds_to_the_planning_reply_is_refused_with_a_notice() -> None:
    wanted = [{"id": "c1", "function": {"name": "alpha", "arguments": "{}"}}]
    own = hook(after_llm={"response": {"tool_calls": wanted}})
    model = ScriptedModel([say("Hello.")])

    chunks = await play(agent_for(model), options=with_hooks(own))

    assert "tool_call_ignored" in notices(chunks)
    assert texts(chunks) == "Hello."


async def test_a_hook_that_makes_the_call_shorter_may_save_it() -> None:
    shorter = hook(before_llm=lambda p: {"request": {"messages": p["messages"][-1:]}})
    history = [{"role": "user", "content": "x" * 600}]
    model = ScriptedModel([say("Hello.")])
    llm = LlmSettings(late_system="native", context_tokens=60, max_tokens=10)
    agent = agent_for(model, system_prompt="s" * 300, llm=llm)
    messages = [*history, {"role": "user", "content": "hi"}]

    chunks = await play(agent, messages=messages, enable_tools=False, options=with_hooks(shorter))

    assert model.contents(0) == [("user", "hi")]
    assert texts(chunks) == "Hello."
