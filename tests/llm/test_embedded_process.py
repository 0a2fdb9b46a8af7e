"""The embedded model itself, in its real process."""

import asyncio
import json
import os
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from server.config import LlmSettings
from server.errors import ProviderAuth, ProviderUnreachable
from server.llm.client import OpenAICompatible
from server.llm.embedded import CANNOT, EmbeddedModel
from server.llm.embedded_process import ModelProcessSettings, default_settings, start_process
from server.llm.endpoint import ModelEndpoint
from server.llm.language_model import Finished, ModelEvent, ModelRequest, TextDelta, ToolCall, ToolSpec
from tests.support.waiting import children_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKER = "server.llm.embedded_worker"
SYSTEM = {"role": "system", "content": "You are Parley, a friendly assistant. Answer in one or two short sentences."}
TOOLS = [
    ToolSpec(
        name="read_file",
        description="Read a text file.",
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        name="search_text",
        description="Search files.",
        parameters={
            "type": "object",
            "properties": {"pattern": {"type": "string", "minLength": 1}},
            "required": ["pattern"],
            "additionalProperties": False,
        },
    ),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[EmbeddedModel]:
    model = EmbeddedModel(LlmSettings(first_token_timeout_s=60, idle_timeout_s=60))
    await model.start()
    yield model
    await model.aclose()


async def ask(model: EmbeddedModel, question: str, **more: object) -> list[ModelEvent]:
    request = ModelRequest(messages=[SYSTEM, {"role": "user", "content": question}], **more)  # type: ignore[arg-type]
    return [event async for event in model.stream(request)]


def said(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_it_streams_and_two_questions_have_two_answers(model: EmbeddedModel) -> None:
    hello = await ask(model, "Hello")
    france = await ask(model, "What is the capital of France?")

    assert len([event for event in hello if isinstance(event, TextDelta)]) > 1
    assert isinstance(hello[-1], Finished)
    assert hello[-1].usage.output_tokens > 0
    assert said(hello)
    assert said(hello) != said(france)


async def test_a_tool_is_called_with_arguments_that_fit_its_schema(model: EmbeddedModel) -> None:
    question = "Search the skills for the word weather"
    plan = await ask(model, question, purpose="planning", tool_names=[tool.name for tool in TOOLS])
    call = (await ask(model, question, purpose="round", tools=TOOLS))[0]

    assert said(plan) == "<need_tool>"
    assert isinstance(call, ToolCall)
    assert call.name == "search_text"
    assert json.loads(call.arguments) == {"pattern": "weather"}


async def test_a_greeting_needs_no_tool(model: EmbeddedModel) -> None:
    plan = await ask(model, "Hello", purpose="planning", tool_names=[tool.name for tool in TOOLS])

    assert said(plan) not in ("", "<need_tool>")


async def test_of_twenty_deeds_at_least_fifteen_are_declined_and_no_question_is(model: EmbeddedModel) -> None:
    corpus = tomllib.loads((Path(__file__).parents[1] / "corpora" / "deeds.toml").read_text("utf-8"))
    declined = {
        kind: [each for each in sentences if said(await ask(model, each, purpose="planning")) == CANNOT]
        for kind, sentences in corpus.items()
    }

    assert len(declined["deeds"]) >= 15
    assert declined["questions"] == []


@pytest.mark.parametrize(
    "question",
    [
        *("Set a timer for five minutes.", "set a timer for five minutes", "Set a timer for five minutes, please!"),
        *("Can you set a timer for five minutes?", "Please start a timer for twenty minutes."),
    ],
)
async def test_a_timer_is_declined_in_whatever_words_it_is_asked_for(model: EmbeddedModel, question: str) -> None:
    assert said(await ask(model, question, purpose="planning")) == CANNOT


async def test_kill_9_in_mid_stream_is_one_error_and_the_next_call_works(model: EmbeddedModel) -> None:
    [before] = children_of(os.getpid(), WORKER)
    request = ModelRequest(messages=[SYSTEM, {"role": "user", "content": "Tell me a long story about a dragon."}])
    with pytest.raises(ProviderUnreachable, match="ended and is being restarted"):
        async with aclosing(model.stream(request)) as events:
            async for _ in events:
                with suppress(psutil.NoSuchProcess):  # what came before its death is still to be read
                    before.kill()

    assert said(await ask(model, "Hello"))
    [after] = children_of(os.getpid(), WORKER)
    assert after != before
    assert not before.is_running()


async def test_only_the_holder_of_the_key_is_answered_and_stopping_reaps_the_process() -> None:
    worker = await start_process(ModelProcessSettings(threads=1, reading_threads=1, slots=1, slot_tokens=512))
    endpoint = ModelEndpoint(base_url=f"{worker.url}/v1", model="any", api_key="another", keepalive_s=0)
    stranger = OpenAICompatible(endpoint)
    with pytest.raises(ProviderAuth):
        async with aclosing(stranger.stream(ModelRequest(messages=[SYSTEM]))) as events:
            await anext(events)
    await stranger.aclose()
    await worker.stop()
    await worker.stop()  # twice is once

    assert worker.url.startswith("http://127.0.0.1:")
    assert not worker.is_alive
    assert not psutil.pid_exists(worker.pid)


async def test_weights_that_cannot_be_read_are_an_error_and_leave_no_process(tmp_path: Path) -> None:
    weights = tmp_path / "broken.gguf"
    weights.write_bytes(b"GGUF no more")
    before = set(psutil.Process().children())
    with pytest.raises(
        ProviderUnreachable, match=r"^SmolLM2-135M-Instruct did not start: llama\.cpp cannot load .* know$"
    ):
        await start_process(ModelProcessSettings(threads=1, reading_threads=1, weights=weights))

    assert set(psutil.Process().children()) <= before


_PARENT = """
import asyncio
import psutil
from server.config import LlmSettings
from server.llm.embedded import EmbeddedModel

async def main():
    model = EmbeddedModel(LlmSettings())
    await model.start()
    [worker] = psutil.Process().children()
    print(worker.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_process_ends_with_a_parent_that_is_killed() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _PARENT, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    worker = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()

    await asyncio.to_thread(psutil.wait_procs, [worker], 10)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE  # an orphan waits for init to reap it


async def test_one_core_stays_free_while_the_model_writes() -> None:
    cores = os.cpu_count() or 1
    settings = default_settings()

    assert 1 <= settings.threads <= max(1, cores - 1)
    assert settings.threads <= settings.reading_threads <= cores
