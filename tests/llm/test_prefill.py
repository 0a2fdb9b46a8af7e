"""Prefill: what is read, what a turn then need not ask again, and what a wrong guess costs."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from server.config import LlmSettings
from server.llm.embedded import EmbeddedModel
from server.llm.language_model import ModelRequest, TextDelta
from tests.llm.test_embedded import SYSTEM, FakeProcess, Workers, always, ask, is_watering
from tests.support.openai_script import Gate, Json, text
from tests.support.openai_server import OpenAIServer, Request

HISTORY: list[Json] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
TOOLS = ["current_time"]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        server.respond = always("Hello.")
        yield server


@pytest_asyncio.fixture
async def workers(server: OpenAIServer) -> Workers:
    return Workers(server)


@pytest_asyncio.fixture
async def model(workers: Workers) -> AsyncIterator[EmbeddedModel]:
    model = EmbeddedModel(LlmSettings(), start=workers.start, asks_for_deed=is_watering)
    await model.start()
    yield model
    await model.aclose()


def planning(question: str, hook: str = "Be brief.") -> ModelRequest:
    messages = [SYSTEM, *HISTORY, {"role": "user", "content": f"{question}\n\n{hook}"}]
    return ModelRequest(messages=messages, purpose="planning", tool_names=TOOLS, question=question)


async def test_a_turn_whose_question_was_prefilled_waits_for_what_is_being_read(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    gate = Gate()
    server.respond = lambda request: text(gate, "B") if _is_prefill(request) else text("Hello.")
    await ask(model, planning("Who?"))
    server.requests.clear()
    model.prefill([SYSTEM, *HISTORY], question="Why?", tool_names=TOOLS)
    await gate.reached.wait()
    turn = asyncio.create_task(ask(model, planning("Why?")))
    await asyncio.sleep(0)
    assert len(server.requests) == 1
    gate.open()
    events = await turn

    prefill, answer = server.requests
    assert prefill.body["max_tokens"] == 1
    assert prefill.messages == answer.messages
    assert answer.messages[0]["content"] == "You are Parley.\n\nBe brief."
    assert answer.messages[-1]["content"] == "Why?"
    assert TextDelta("Hello.") in events


async def test_a_question_for_a_tool_is_not_read_ahead(server: OpenAIServer, model: EmbeddedModel) -> None:
    model.prefill([SYSTEM, *HISTORY], question="What time is it?", tool_names=TOOLS)
    await ask(model, planning("Why?"))

    assert [_is_prefill(request) for request in server.requests] == [False]


async def test_history_alone_is_read_while_the_question_is_still_being_spoken(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    await ask(model, planning("Who?"))
    server.requests.clear()
    model.prefill([SYSTEM, *HISTORY], question="", tool_names=TOOLS)
    await ask(model, planning("Why?"))

    prefill, answer = server.requests
    assert prefill.messages == answer.messages[: len(prefill.messages)]
    assert prefill.messages[-1] == HISTORY[-1]


async def test_another_question_than_the_one_expected_is_answered_on_its_own(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    gate = Gate()
    server.respond = lambda request: text(gate, "Hello.") if _is_prefill(request) else text("Hello.")
    model.prefill([SYSTEM, *HISTORY], question="Why?", tool_names=[])
    await gate.reached.wait()

    await ask(model, planning("How?"))

    assert server.requests[0].closed_early
    assert server.requests[-1].messages[-1]["content"] == "How?"


async def test_other_hooks_than_those_of_the_turn_before_are_read_on_their_own(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    await ask(model, planning("Who?"))
    server.requests.clear()
    gate = Gate()
    server.respond = lambda request: text(gate, "Hello.") if _is_prefill(request) else text("Hello.")
    model.prefill([SYSTEM, *HISTORY], question="Why?", tool_names=[])
    await gate.reached.wait()

    await ask(model, planning("Why?", hook="Sing."))

    assert server.requests[0].messages[0]["content"].endswith("Be brief.")
    assert server.requests[-1].messages[0]["content"].endswith("Sing.")


async def test_there_is_no_prefill_while_a_reply_is_under_way(server: OpenAIServer, model: EmbeddedModel) -> None:
    gate = Gate()
    server.respond = lambda _: text(gate, "Hello.")
    reply = asyncio.create_task(ask(model, ModelRequest(messages=[SYSTEM, *HISTORY], question="Hi")))
    await gate.reached.wait()
    model.prefill([SYSTEM], question="Why?", tool_names=[])
    gate.open()
    await reply

    assert len(server.requests) == 1


async def test_a_model_that_is_not_loaded_is_not_started_for_a_prefill(server: OpenAIServer) -> None:
    workers = Workers(server)
    model = EmbeddedModel(LlmSettings(), start=workers.start, asks_for_deed=is_watering)
    model.prefill([SYSTEM], question="Why?", tool_names=[])
    await model.aclose()

    assert workers.started == []


async def test_closing_ends_a_prefill(server: OpenAIServer, workers: Workers) -> None:
    gate = Gate()
    server.respond = lambda _: text(gate, "Hello.")
    model = EmbeddedModel(LlmSettings(), start=workers.start, asks_for_deed=is_watering)
    await model.start()
    model.prefill([SYSTEM], question="Why?", tool_names=[])
    await gate.reached.wait()
    await model.aclose()

    assert not [task for task in asyncio.all_tasks() if "prefill" in task.get_name()]


async def test_a_child_that_dies_during_a_prefill_is_started_by_the_turn(
    server: OpenAIServer, workers: Workers, model: EmbeddedModel
) -> None:
    model.prefill([SYSTEM], question="Why?", tool_names=[])
    dead: FakeProcess = workers.started[0]
    dead.is_alive = False
    await ask(model, planning("Why?"))

    assert len(workers.started) == 2


def _is_prefill(request: Request) -> bool:
    return request.body.get("max_tokens") == 1
