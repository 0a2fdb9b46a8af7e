"""The embedded model's provider around a scripted model: decisions, restarts, back-off."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import pytest_asyncio

from server.config import LlmSettings
from server.errors import LanguageUnknown, ProviderUnreachable
from server.llm.client import OpenAICompatible
from server.llm.embedded import EmbeddedModel
from server.llm.embedded_process import ModelProcess, ModelProcessSettings
from server.llm.language_model import Finished, ModelEvent, ModelRequest, TextDelta, ToolCall, ToolSpec
from tests.support.openai_script import Answer, Cut, Gate, Json, text
from tests.support.openai_server import OpenAIServer, Request

SYSTEM: Json = {"role": "system", "content": "You are Parley."}
TIME = ToolSpec(
    name="current_time",
    description="The time.",
    parameters={"type": "object", "properties": {"timezone": {"type": "string"}}},
)
NOTE = ToolSpec(
    name="add_note",
    description="Write a note.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


class FakeProcess(ModelProcess):
    """A process that ends when it is told so."""

    pid = 1
    is_alive = True

    def __init__(self, url: str) -> None:
        self.url, self.key = url, "k"

    async def has_ended(self) -> bool:
        return not self.is_alive

    async def stop(self) -> None:
        self.is_alive = False


class Workers:
    """Starts fakes in front of one scripted server; `failure` makes the next start fail."""

    def __init__(self, server: OpenAIServer) -> None:
        self.started: list[FakeProcess] = []
        self.failure: ProviderUnreachable | None = None
        self.gate: Gate | None = None
        self._server = server

    async def start(self, _settings: ModelProcessSettings) -> FakeProcess:
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        worker = FakeProcess(self._server.url.removesuffix("/v1"))
        self.started.append(worker)
        return worker


@pytest_asyncio.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest_asyncio.fixture
async def workers(server: OpenAIServer) -> Workers:
    return Workers(server)


@pytest_asyncio.fixture
async def model(workers: Workers) -> AsyncIterator[EmbeddedModel]:
    model = EmbeddedModel(LlmSettings(), start=workers.start, asks_for_deed=is_watering)
    yield model
    await model.aclose()


async def is_watering(_client: OpenAICompatible, sentence: str) -> bool:
    return "water" in sentence.lower()


def asking(question: str, **more: object) -> ModelRequest:
    return ModelRequest(**({"messages": [SYSTEM, {"role": "user", "content": question}]} | more))  # type: ignore[arg-type]


async def ask(model: EmbeddedModel, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


def always(reply: str) -> Callable[[Request], Answer]:
    return lambda _: text(reply)


async def test_a_planning_call_that_needs_a_tool_says_so_and_nothing_else(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    events = await ask(model, asking("What time is it?", purpose="planning", tool_names=["current_time"]))

    assert events == [TextDelta("<need_tool>"), Finished("stop")]
    assert server.requests == []


@pytest.mark.parametrize(("question", "tool"), [("Hi", "current_time"), ("How do I boil an egg?", "read_file")])
async def test_a_planning_call_without_need_is_answered_at_once(
    server: OpenAIServer, model: EmbeddedModel, question: str, tool: str
) -> None:
    server.queue(text("Hello."))

    events = await ask(model, asking(question, purpose="planning", tool_names=[tool]))

    assert events[0] == TextDelta("Hello.")


async def test_a_round_calls_the_tool_with_arguments_from_the_question(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    call, end = await ask(model, asking("What time is it in Tokyo?", purpose="round", tools=[TIME]))

    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("current_time", {"timezone": "Asia/Tokyo"})
    assert end == Finished("tool_calls")
    assert server.requests == []


async def test_a_tool_that_was_added_is_called_with_words_of_the_question(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    call, _ = await ask(model, asking("Add a note: buy milk", purpose="round", tools=[NOTE]))

    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == ("add_note", {"text": "buy milk"})
    assert server.requests == []


async def test_without_arguments_there_is_an_answer_instead(server: OpenAIServer, model: EmbeddedModel) -> None:
    server.queue(text("Sorry."))

    assert (await ask(model, asking("Add a note", purpose="round", tools=[NOTE])))[0] == TextDelta("Sorry.")


@pytest.mark.parametrize("question", ["What time is it? " * 50, "What can you do?", "Which skills are there?"])
async def test_a_long_text_and_a_question_about_itself_are_answered_by_the_model(
    server: OpenAIServer, model: EmbeddedModel, question: str
) -> None:
    server.queue(text("Nice."))

    assert (await ask(model, asking(question, purpose="round", tools=[TIME])))[0] == TextDelta("Nice.")


@pytest.mark.parametrize("choice", ["auto", "none"])
async def test_results_of_this_turn_are_answered_and_no_tool_is_called_again(
    server: OpenAIServer, model: EmbeddedModel, choice: str
) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "current_time", "arguments": "{}"}}
    messages = [
        *asking("What time is it?").messages,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "Sunday, 07:15"},
    ]

    events = await ask(model, ModelRequest(messages=messages, tools=[TIME], tool_choice=choice, purpose="round"))  # type: ignore[arg-type]

    assert events == [TextDelta("Sunday, 07:15"), Finished("stop")]
    assert server.requests == []


async def test_a_refused_call_is_not_tried_again_and_its_refusal_not_read_out(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "add_note", "arguments": "{}"}}
    messages = [
        *asking("Write down: buy milk").messages,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "The user refused this call. Do not try it again."},
    ]

    events = await ask(model, ModelRequest(messages=messages, tools=[NOTE], purpose="round", denied={"a"}))

    assert events == [TextDelta("That was not allowed, so I did not do it."), Finished("stop")]
    assert server.requests == []


@pytest.mark.parametrize(("wished", "sent"), [({}, 160), ({"max_tokens": 20}, 20), ({"max_tokens": "x"}, 160)])
async def test_the_length_that_a_call_wishes_is_kept(
    server: OpenAIServer, model: EmbeddedModel, wished: Json, sent: int
) -> None:
    server.queue(text(""), text("Fine."))  # of an empty reply, a second is asked
    await ask(model, replace(asking("A poem"), options=wished))

    assert [request.body["max_tokens"] for request in server.requests] == [sent, sent]


async def test_a_reply_that_repeats_itself_is_ended(server: OpenAIServer, model: EmbeddedModel) -> None:
    server.queue(text(*["A gentle rain. "] * 100, Gate()))

    events = await ask(model, asking("A poem"))

    assert events[-1] == Finished("stop")
    assert len(events) < 10
    async with asyncio.timeout(30):
        await server.requests[0].ended.wait()
    assert server.requests[0].closed_early


async def test_a_deed_without_a_tool_for_it_is_declined_and_not_promised(
    server: OpenAIServer, model: EmbeddedModel
) -> None:
    events = await ask(model, asking("Water the plants.", purpose="planning", tool_names=["current_time"]))

    assert events == [TextDelta("I can't do that here: I have no tool for it."), Finished("stop")]
    assert server.requests == []


async def test_a_deed_with_a_tool_for_it_is_done(model: EmbeddedModel) -> None:
    tool = ToolSpec(name="water_plants", description="", parameters={"type": "object", "properties": {}})

    call, _ = await ask(model, asking("Water the plants.", purpose="round", tools=[tool]))

    assert isinstance(call, ToolCall)


@pytest.mark.parametrize(
    "question",
    [
        *("现在东京几点?", "Который час?", "Docker 是什么", "ما هو الوقت؟", "네"),
        *("https://example.com 是什么?", "什么是HTTP/2协议?", "α 是什么?", "print(1) 是什么意思?", "Ο ουρανός"),
    ],
)
async def test_a_question_in_a_script_that_the_model_does_not_know_is_refused(
    server: OpenAIServer, model: EmbeddedModel, question: str
) -> None:
    with pytest.raises(LanguageUnknown, match="knows only English"):
        await ask(model, asking(question, purpose="planning", tool_names=["current_time"]))

    assert server.requests == []


@pytest.mark.parametrize(
    "question",
    [
        *("My name is Ольга.", "Who was 孔子 really?", "Read 说明/SKILL.md", "2 + 2?", "🙂"),
        *("https://ja.wikipedia.org/wiki/東京", "print(1) # 打印", "Σ x_i = μ", "α"),
    ],
)
async def test_a_foreign_word_in_an_english_question_does_not_matter(
    server: OpenAIServer, model: EmbeddedModel, question: str
) -> None:
    server.queue(text("Nice."))

    assert (await ask(model, asking(question)))[0] == TextDelta("Nice.")


async def test_a_warm_up_reads_what_every_turn_begins_with(server: OpenAIServer, model: EmbeddedModel) -> None:
    server.respond = always("Hello.")
    hook: Json = {"role": "system", "content": "Be brief."}
    await model.warm_up([SYSTEM, hook])
    await ask(model, asking("Why?", messages=[*asking("Why?").messages, hook], purpose="planning"))

    prefill, answer = server.requests
    assert prefill.messages[:-1] == answer.messages[:-1]
    assert prefill.body["max_tokens"] == 1


async def test_two_first_calls_share_one_start(server: OpenAIServer, workers: Workers, model: EmbeddedModel) -> None:
    workers.gate = Gate()
    server.respond = always("Hello.")
    tasks = [asyncio.create_task(ask(model, asking("Hi"))) for _ in range(2)]
    await workers.gate.reached.wait()
    tasks[0].cancel()  # a cancelled turn leaves the start to the other
    workers.gate.open()

    assert (await tasks[1])[0] == TextDelta("Hello.")
    assert len(workers.started) == 1


async def test_a_death_in_mid_stream_is_told_and_the_next_call_starts_another(
    server: OpenAIServer, workers: Workers, model: EmbeddedModel
) -> None:
    gate = Gate()
    server.queue(text("Hello."), text("Once upon ", gate, Cut()), text("Hello again."))
    await ask(model, asking("Hi"))
    task = asyncio.create_task(ask(model, asking("A story")))
    await gate.reached.wait()
    workers.started[0].is_alive = False
    gate.open()
    with pytest.raises(ProviderUnreachable, match="ended and is being restarted"):
        await task

    assert (await ask(model, asking("Hi")))[0] == TextDelta("Hello again.")
    assert len(workers.started) == 2


async def test_a_process_that_has_ended_is_a_problem_until_the_next_one_runs(
    server: OpenAIServer, workers: Workers, model: EmbeddedModel
) -> None:
    server.respond = always("Hello.")
    await ask(model, asking("Hi"))
    assert await model.problem() == ""

    workers.started[0].is_alive = False
    assert "process has ended; the next message restarts it" in await model.problem()

    await ask(model, asking("Hi"))
    assert await model.problem() == ""


async def test_two_streams_that_die_together_start_one_other(
    server: OpenAIServer, workers: Workers, model: EmbeddedModel
) -> None:
    gates = [Gate(), Gate()]
    server.queue(*(text("Once upon ", gate, Cut()) for gate in gates))
    tasks = [asyncio.create_task(ask(model, asking("A story"))) for _ in gates]
    for gate in gates:
        await gate.reached.wait()
    workers.started[0].is_alive = False
    server.respond = always("Hello again.")
    for gate, task in zip(gates, tasks, strict=True):
        gate.open()
        with pytest.raises(ProviderUnreachable):
            await task
        assert (await ask(model, asking("Hi")))[0] == TextDelta("Hello again.")

    assert len(workers.started) == 2


async def test_a_death_while_closing_starts_nothing(
    server: OpenAIServer, workers: Workers, model: EmbeddedModel
) -> None:
    gate = Gate()
    server.queue(text("Once upon ", gate, Cut()))
    task = asyncio.create_task(ask(model, asking("A story")))
    await gate.reached.wait()
    await model.aclose()
    gate.open()
    with pytest.raises(ProviderUnreachable):
        await task

    with pytest.raises(ProviderUnreachable, match="was closed"):
        await model.start()
    assert len(workers.started) == 1


async def test_starts_that_fail_again_and_again_are_spaced_out(workers: Workers, model: EmbeddedModel) -> None:
    workers.failure = ProviderUnreachable("no weights")
    with pytest.raises(ProviderUnreachable, match="no weights"):
        await model.start()
    with pytest.raises(ProviderUnreachable, match="no weights"):
        await model.start()
    with pytest.raises(ProviderUnreachable, match="restarting it in") as caught:
        await model.start()

    assert caught.value.retry_after_ms is not None


async def test_closing_in_the_middle_of_a_start_leaves_nothing(workers: Workers, model: EmbeddedModel) -> None:
    workers.gate = Gate()
    task = asyncio.create_task(model.start())
    await workers.gate.reached.wait()
    await model.aclose()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert workers.started == []


async def test_it_is_compact_local_and_says_how_much_fits(model: EmbeddedModel) -> None:
    assert model.is_compact
    assert model.late_system == "user"
    assert model.info.location == "local"
    assert model.info.key_source is None
    assert 1500 < (await model.context_tokens() or 0) < 2048
