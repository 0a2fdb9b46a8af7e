"""A GGUF file as the model, in its real process: the included model's weights, with a template that knows tools."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

import psutil
import pytest
import pytest_asyncio

from server.config import LlmSettings
from server.errors import ProviderUnreachable, RoleRefused
from server.llm.embedded_process import model_path
from server.llm.language_model import Finished, Message, ModelEvent, ModelRequest, TextDelta, ToolCall, ToolSpec
from server.models.file_model import FileModel
from tests.support.gguf_files import CALLS_TOOLS, copy_with_template
from tests.support.waiting import children_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKER = "server.llm.embedded_worker"
SEARCH = ToolSpec(
    name="search_text",
    description="Search files.",
    parameters={"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]},
)
HELLO: list[Message] = [{"role": "user", "content": "Hello"}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FileModel]:
    path = tmp_path_factory.mktemp("models") / "small.gguf"
    copy_with_template(model_path(), path, CALLS_TOOLS)
    model = FileModel(LlmSettings(max_tokens=40), path, free_bytes=lambda: 1_150_000_000)
    await model.start()
    yield model
    await model.aclose()


async def ask(model: FileModel, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_it_answers_under_the_name_of_its_file_with_the_context_that_fits(model: FileModel) -> None:
    events = await ask(model, ModelRequest(messages=HELLO))

    assert said(events)
    assert isinstance(events[-1], Finished)
    assert (model.info.name, model.info.location, model.is_compact) == ("small", "local", False)
    assert await model.context_tokens() == 8192


async def test_it_calls_tools_in_the_form_of_its_own_template(model: FileModel) -> None:
    messages: list[Message] = []
    for number, word in enumerate(("rain", "snow")):  # 135 million parameters need to be shown how
        arguments = json.dumps({"pattern": word})
        shown = ToolCall(id=f"c{number}", name="search_text", arguments=arguments).as_json()
        messages += [
            {"role": "user", "content": f"Search files for the word {word}."},
            {"role": "assistant", "content": "", "tool_calls": [shown]},
        ]
    messages.append({"role": "user", "content": "Search files for the word weather."})
    options = {"temperature": 0, "chat_template_kwargs": {"enable_thinking": True}}  # an empty thought confuses it
    events = await ask(model, ModelRequest(messages=messages, tools=[SEARCH], options=options))

    [call, finished] = [event for event in events if not isinstance(event, TextDelta)]
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("search_text", {"pattern": "weather"})
    assert isinstance(finished, Finished)
    assert finished.reason == "tool_calls"


async def test_roles_that_the_template_refuses_are_told_as_by_any_endpoint(model: FileModel) -> None:
    with pytest.raises(RoleRefused):
        await ask(model, ModelRequest(messages=[*HELLO, {"role": "system", "content": "Be brief."}]))


async def test_options_of_the_request_go_before_those_of_the_settings(model: FileModel) -> None:
    count: list[Message] = [{"role": "user", "content": "Count from one to a hundred."}]
    [*_, finished] = await ask(model, ModelRequest(messages=count, options={"max_tokens": 3}))

    assert isinstance(finished, Finished)
    assert (finished.reason, finished.usage.output_tokens) == ("length", 3)


async def test_a_model_that_thinks_does_so_only_if_asked(model: FileModel) -> None:
    sizes = []
    for options in ({}, {"chat_template_kwargs": {"enable_thinking": True}}):
        [*_, finished] = await ask(model, ModelRequest(messages=HELLO, options={"max_tokens": 1, **options}))
        assert isinstance(finished, Finished)
        sizes.append(finished.usage.input_tokens)

    assert sizes[0] > sizes[1]  # it got an empty thought


async def test_what_was_read_ahead_is_not_read_again(model: FileModel) -> None:
    system: Message = {"role": "system", "content": "You are a librarian who knows every book of this house. " * 20}
    await model.warm_up([system])
    [*_, finished] = await ask(model, ModelRequest(messages=[system, *HELLO], options={"max_tokens": 1}))

    assert isinstance(finished, Finished)
    assert finished.usage.cached_tokens > 200


async def test_after_kill_9_in_mid_stream_it_is_loaded_again(model: FileModel) -> None:
    [before] = children_of(os.getpid(), WORKER)
    story: list[Message] = [{"role": "user", "content": "Tell me a long story about a dragon."}]
    options = {"max_tokens": 400, "ignore_eos": True}  # it might end the story before the kill is noticed
    with pytest.raises(ProviderUnreachable, match="the process of small ended and is being restarted"):
        async with aclosing(model.stream(ModelRequest(messages=story, options=options))) as events:
            async for _ in events:
                with suppress(psutil.NoSuchProcess):  # what came before its death is still to be read
                    before.kill()

    assert said(await ask(model, ModelRequest(messages=HELLO)))
    [after] = children_of(os.getpid(), WORKER)
    assert after != before
