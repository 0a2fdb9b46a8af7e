"""Images in a conversation: to models that see, to those that do not, and to those that say so only when asked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from server.agent.agent_client import TurnOptions
from server.agent.prompt_fit import MAX_IMAGES, limit_images
from server.errors import ImageRefused, ProviderProtocol
from server.llm.language_model import Message
from tests.agent.scene import agent_for, given, notices, play, texts
from tests.hooks.fakes import hook, layers_of
from tests.support.client import client
from tests.support.openai_script import HttpError, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.scripted_model import ScriptedModel, call, say


def image(name: str = "AA==") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{name}"}}


def words(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def user(*parts: dict[str, Any]) -> Message:
    return {"role": "user", "content": list(parts)}


def shown(messages: Sequence[Message]) -> list[str]:
    """The images of a list, by the ends of their URLs."""
    parts = [part for m in messages if isinstance(m["content"], list) for part in m["content"]]
    return [part["image_url"]["url"].rpartition(",")[2] for part in parts if part["type"] == "image_url"]


# --- how many -----------------------------------------------------------------------------------------------------


def test_the_newest_images_stay_and_a_word_stands_for_the_others() -> None:
    messages = [user(words("a"), image("1"), image("2")), {"role": "user", "content": "b"}, user(image("3"))]

    changed = limit_images(messages, 2)

    assert changed == [messages[0]]
    assert messages[0]["content"] == [words("a"), words("[image]"), image("2")]
    assert messages[2]["content"] == [image("3")]


def test_what_has_no_image_left_is_plain_text() -> None:
    messages = [user(words("a"), image("1"), words("b")), user(image("2"))]

    limit_images(messages, 0)

    assert [message["content"] for message in messages] == ["a\n\n[image]\n\nb", "[image]"]


def test_nothing_is_changed_where_there_is_nothing_to_hide() -> None:
    messages = [user(image("1")), {"role": "assistant", "content": None}, user(words("a"))]

    assert limit_images(messages, 1) == []
    assert messages[2]["content"] == [words("a")]


async def test_a_call_shows_so_many_images_and_the_client_s_list_keeps_all() -> None:
    history = [user(image(str(number))) for number in range(MAX_IMAGES)]
    messages = [*history, user(words("And this?"), image("new"))]
    model = ScriptedModel([say("Nice.")])

    chunks = await play(agent_for(model), messages=messages, enable_tools=False)

    assert shown(model.messages(0)) == ["1", "2", "3", "new"]
    assert len(shown(messages)) == MAX_IMAGES + 1
    assert notices(chunks) == []


# --- models that see nothing --------------------------------------------------------------------------------------

LOOK = [user(words("What is it?"), image())]


async def test_a_model_known_to_be_blind_reads_that_there_is_an_image_and_the_user_is_told_once() -> None:
    model = ScriptedModel([say("<need_tool>"), call("alpha"), say("A cat?")], sees_images=False)

    chunks = await play(agent_for(model), messages=LOOK)

    assert shown([m for number in range(3) for m in model.messages(number)]) == []
    assert {"role": "user", "content": "What is it?\n\n[image]"} in model.messages(0)
    assert model.requests[0].question == "What is it?\n\n[image]"
    assert [(n.code, n.level, n.message) for n in given(chunks)] == [
        ("image_unseen", "warning", "scripted accepts no images; it is only told that there is one")
    ]


async def test_an_image_of_the_history_is_not_told_of_again() -> None:
    model = ScriptedModel([say("Hello.")], sees_images=False)

    chunks = await play(agent_for(model), messages=[*LOOK, {"role": "user", "content": "hi"}], enable_tools=False)

    assert notices(chunks) == []


async def test_an_image_that_a_blind_model_does_not_see_takes_no_room() -> None:
    model = ScriptedModel([say("Hm.")], sees_images=False, context_tokens=400)

    await play(agent_for(model), messages=LOOK, enable_tools=False)

    assert len(model.requests) == 1


async def test_a_model_that_refuses_an_image_is_asked_without_it_and_that_is_remembered() -> None:
    model = ScriptedModel([[ImageRefused("text only")], say("Hm."), say("Hm again.")])
    agent = agent_for(model)

    first = await play(agent, messages=LOOK, enable_tools=False)
    second = await play(agent, messages=LOOK, enable_tools=False)

    assert texts(first) == "Hm."
    assert [shown(model.messages(number)) for number in range(3)] == [["AA=="], [], []]
    assert notices(first) == notices(second) == ["image_unseen"]


def adding(message: Message) -> TurnOptions:
    """A hook puts this behind the messages of each call."""
    add = hook(before_llm=lambda params: {"request": {"messages": [*params["messages"], message]}})
    return TurnOptions(layers=layers_of(add))


async def test_a_blind_model_is_not_shown_what_a_hook_adds_either() -> None:
    model = ScriptedModel([say("Hm.")], sees_images=False)

    await play(agent_for(model), enable_tools=False, options=adding(user(words("Look."), image())))

    assert model.contents(0)[-1] == ("user", "Look.\n\n[image]")


async def test_a_refused_image_is_told_of_though_a_hook_rewrote_the_call() -> None:
    model = ScriptedModel([[ImageRefused("text only")], say("Hm.")])

    chunks = await play(agent_for(model), messages=LOOK, enable_tools=False, options=adding(user(words("psst"))))

    assert [shown(model.messages(number)) for number in range(2)] == [["AA=="], []]
    assert notices(chunks) == ["image_unseen"]


async def test_a_refusal_of_images_where_there_are_none_is_an_error() -> None:
    with pytest.raises(ImageRefused):
        await play(agent_for(ScriptedModel([[ImageRefused("text only")]])), enable_tools=False)


async def test_a_picture_that_cannot_be_read_is_an_error_and_makes_nobody_blind() -> None:
    model = ScriptedModel([[ProviderProtocol("could not process image")], say("Hm.")])
    agent = agent_for(model)

    with pytest.raises(ProviderProtocol):
        await play(agent, messages=LOOK, enable_tools=False)
    await play(agent, messages=LOOK, enable_tools=False)

    assert shown(model.messages(1)) == ["AA=="]


# --- the whole way ------------------------------------------------------------------------------------------------


async def test_the_parts_of_a_message_reach_the_provider_as_they_came(tmp_path: Path) -> None:
    parts = [words("What is it?"), image("iVBORw0KGgo="), words("And why?")]
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, {"agent": {"planning": False}}) as server,
        client(server.ws_url) as page,
    ):
        model.queue(text("A cat."))
        await page.send("chat", messages=[user(*parts)])
        end = await page.until("turn_end")

    assert end["reason"] == "completed"
    assert parts in model.requests[0].contents


async def test_an_endpoint_that_takes_no_images_answers_all_the_same(tmp_path: Path) -> None:
    refusal = HttpError(status=400, body={"error": "this model does not support image input"})
    async with (
        OpenAIServer() as model,
        parley(tmp_path, model.url, {"agent": {"planning": False}}) as server,
        client(server.ws_url) as page,
    ):
        model.queue(refusal, text("I cannot see it."))
        await page.send("chat", messages=[user(words("Look"), image())])
        end = await page.until("turn_end")
        told = [frame["code"] for frame in page.frames if frame["type"] == "notice"]

    assert (end["reason"], told) == ("completed", ["image_unseen"])
    assert "Look\n\n[image]" in model.requests[1].contents
