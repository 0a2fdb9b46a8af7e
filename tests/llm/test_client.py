"""OpenAICompatible against the scripted server: a real socket, every way to go wrong."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from server.errors import (
    ContextTooLong,
    ModelMissing,
    ProviderAuth,
    ProviderError,
    ProviderProtocol,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnreachable,
    RoleRefused,
)
from server.llm.client import OpenAICompatible
from server.llm.endpoint import ModelEndpoint
from server.llm.language_model import (
    Finished,
    LanguageModel,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolSpec,
    Usage,
)
from tests.support.openai_faults import CONTEXT_OVERFLOWS, ROLE_REFUSALS, bad_key, http_error
from tests.support.openai_script import (
    Answer,
    Comment,
    Cut,
    CutBeforeHeaders,
    Finish,
    Gate,
    HangBeforeHeaders,
    HttpError,
    Json,
    Raw,
    Reasoning,
    Stream,
    Text,
    Tokens,
    ToolPart,
    calls,
    error_event,
    garbage,
    html_page,
    text,
)
from tests.support.openai_server import OpenAIServer

USER: Json = {"role": "user", "content": "Hi"}
ASK = ModelRequest(messages=[USER])
TOOL = ToolSpec(name="look", description="Looks.", parameters={"type": "object", "properties": {}})


@pytest_asyncio.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest_asyncio.fixture
async def model(server: OpenAIServer) -> AsyncIterator[OpenAICompatible]:
    model = client_of(server)
    yield model
    await model.aclose()


def client_of(server: OpenAIServer, **more: Any) -> OpenAICompatible:
    return OpenAICompatible(ModelEndpoint(**({"base_url": server.url, "model": "m"} | more)))


async def ask(model: LanguageModel, request: ModelRequest = ASK) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def fail(model: LanguageModel, request: ModelRequest = ASK) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(model, request)
    return caught.value


async def test_text_reasoning_usage_and_the_end_arrive_in_order(server: OpenAIServer, model: OpenAICompatible) -> None:
    server.queue(text(Reasoning("hm"), "Hel", "lo", usage=Tokens(prompt=9, completion=2, cached=8)))

    assert await ask(model) == [
        ReasoningDelta("hm"),
        TextDelta("Hel"),
        TextDelta("lo"),
        Finished("stop", Usage(9, 2, 8)),
    ]


async def test_tool_calls_in_interleaved_fragments_arrive_whole(server: OpenAIServer, model: OpenAICompatible) -> None:
    server.queue(calls(("look", {"where": "überall"}), ("look", {"n": 2}), say="Wait.", interleaved=True))

    assert (await ask(model))[:3] == [
        TextDelta("Wait."),
        ToolCall("call_0", "look", '{"where": "überall"}'),
        ToolCall("call_1", "look", '{"n": 2}'),
    ]


async def test_what_a_call_wishes_wins_over_what_is_configured_but_for_our_own_fields(server: OpenAIServer) -> None:
    model = client_of(server, api_key="k", max_tokens=50, options={"temperature": 0.5, "seed": 7})
    server.say("ok")
    wishes: dict[str, Any] = {
        "temperature": 0,
        "seed": None,
        "max_tokens": 9,
        "stream": False,
        "messages": [],
        "tool_choice": "x",
    }
    await ask(model, ModelRequest(messages=[USER], model="other", options=wishes))
    await model.aclose()

    body = server.requests[0].body
    assert {key: body.get(key) for key in ("model", "temperature", "seed", "max_tokens", "stream", "messages")} == {
        "model": "other", "temperature": 0, "seed": None, "max_tokens": 9, "stream": True, "messages": [USER],
    }  # fmt: skip
    assert "seed" not in body
    assert "tool_choice" not in body


async def test_the_request_is_what_was_asked_for(server: OpenAIServer) -> None:
    model = client_of(server, api_key="k", max_tokens=50, options={"temperature": 0.5, "stream_options": None})
    server.say("ok")
    await ask(model, ModelRequest(messages=[USER], tools=[TOOL], tool_choice="none"))
    await model.aclose()

    request = server.requests[0]
    assert request.body == {
        "model": "m",
        "messages": [USER],
        "stream": True,
        "max_tokens": 50,
        "temperature": 0.5,
        "tool_choice": "none",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look",
                    "description": "Looks.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }
    assert request.headers["Authorization"] == "Bearer k"


async def test_without_a_key_none_is_sent(server: OpenAIServer, model: OpenAICompatible) -> None:
    server.say("ok")
    await ask(model)

    assert "Authorization" not in server.requests[0].headers
    assert model.info.key_source is None


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(Stream(steps=[Text("Hé😀"), Finish("stop")], newline="\r\n"), id="CRLF"),
        pytest.param(Stream(steps=[Text("Hé😀"), Finish("stop")], write_bytes=1), id="torn characters"),
        pytest.param(Stream(steps=[Comment(), Text("Hé😀"), Comment(), Finish("stop")]), id="comments"),
        pytest.param(Stream(steps=[Text("Hé😀"), Finish("stop")], done=False), id="no [DONE]"),
        pytest.param(Stream(steps=[Text("Hé😀")]), id="no finish_reason"),
    ],
)
async def test_the_manners_of_servers_change_nothing(
    server: OpenAIServer, model: OpenAICompatible, stream: Stream
) -> None:
    server.queue(stream)
    events = await ask(model)

    assert events[0] == TextDelta("Hé😀")
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("after", [pytest.param(Cut(), id="broken off"), pytest.param(Gate(), id="left open")])
async def test_what_follows_a_finish_reason_does_not_fail_the_reply(server: OpenAIServer, after: Cut | Gate) -> None:
    model = client_of(server, idle_timeout_s=0.1)
    server.queue(Stream(steps=[Text("Noon."), Finish("stop"), after], done=False))

    assert await ask(model) == [TextDelta("Noon."), Finished("stop")]
    await model.aclose()


async def test_a_reply_ends_before_the_body_that_carries_it(server: OpenAIServer, model: OpenAICompatible) -> None:
    tail = Gate()
    server.queue(Stream(steps=[Text("Noon."), Finish("stop"), Raw(b"data: [DONE]\n\n"), tail], done=False))

    async with aclosing(model.stream(ASK)) as events:
        found = [await anext(events), await anext(events)]

        assert found[-1] == Finished("stop")
        assert not server.requests[0].ended.is_set()


async def test_a_reply_that_comes_at_once_lets_others_run(server: OpenAIServer, model: OpenAICompatible) -> None:
    deltas = b"".join(b'data: {"choices":[{"delta":{"content":"%d "}}]}\n\n' % number for number in range(400))
    server.queue(Stream(steps=[Raw(deltas), Finish("stop")]))
    others = 0

    async def be_another() -> None:
        nonlocal others
        while True:
            await asyncio.sleep(0)
            others += 1

    another = asyncio.create_task(be_another())
    most = 0
    async with aclosing(model.stream(ASK)) as events:
        before, run = -1, 0
        async for _ in events:
            run = run + 1 if others == before else 1
            before, most = others, max(most, run)
    another.cancel()

    assert most <= 32


async def test_an_endpoint_that_ignores_stream_is_understood(server: OpenAIServer, model: OpenAICompatible) -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    server.queue(HttpError(status=200, body=whole))

    assert await ask(model) == [TextDelta("Hi"), Finished("stop")]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (bad_key(), ProviderAuth),
        (http_error(429, retry_after="2"), ProviderRateLimited),
        (http_error(500), ProviderUnreachable),
        (http_error(404), ProviderProtocol),
        (ROLE_REFUSALS["qwen on vllm"], RoleRefused),
        (ROLE_REFUSALS["qwen on llama.cpp"], RoleRefused),
        (CONTEXT_OVERFLOWS["vllm"][0], ContextTooLong),
        (html_page(), ProviderProtocol),
        (garbage(), ProviderProtocol),
        (Stream(steps=[]), None),
        (Stream(steps=[], done=False), ProviderProtocol),
        (HttpError(status=200, body="hello", headers={"Content-Type": "text/plain"}), ProviderProtocol),
        (CutBeforeHeaders(), ProviderUnreachable),
        (text("Half a", Cut()), ProviderUnreachable),
        (text("Half a", finish=None), ProviderUnreachable),
        (text("Half a", error_event()), ProviderUnreachable),
        (text(error_event("slow down", code=429)), ProviderRateLimited),
        (text("Half a", Raw(b"data: {nonsense\n\n")), ProviderProtocol),
    ],
)
async def test_each_fault_is_one_clear_error_and_the_next_call_works(
    server: OpenAIServer, model: OpenAICompatible, answer: Answer, kind: type[ProviderError] | None
) -> None:
    server.queue(answer)
    if kind is None:
        assert await ask(model) == [Finished("stop")]  # an empty reply is the agent's to judge
    else:
        error = await fail(model)
        assert type(error) is kind
        assert server.url.split("/")[2] in str(error) or "model" in str(error)

    server.say("fine")
    assert (await ask(model))[0] == TextDelta("fine")


async def test_retry_after_is_handed_on(server: OpenAIServer, model: OpenAICompatible) -> None:
    server.queue(http_error(429, retry_after="2"))

    assert (await fail(model)).retry_after_ms == 2000


async def test_what_came_before_a_cut_is_given(server: OpenAIServer, model: OpenAICompatible) -> None:
    server.queue(text("Half a", Cut()))
    seen: list[ModelEvent] = []
    with pytest.raises(ProviderUnreachable, match="mid-reply"):
        async for event in model.stream(ASK):
            seen.append(event)  # noqa: PERF401  (what was seen before the error counts)

    assert seen == [TextDelta("Half a")]


async def test_a_server_that_is_down_is_named_with_the_cure_and_found_again() -> None:
    async with OpenAIServer() as server:
        model = client_of(server)
        await server.stop()
        error = await fail(model)
        await server.start()
        server.say("back")
        events = await ask(model)
        await model.aclose()

    assert isinstance(error, ProviderUnreachable)
    assert error.is_retryable
    assert "is it running" in str(error)
    assert events[0] == TextDelta("back")


@pytest.mark.parametrize("answer", [HangBeforeHeaders(), text(Gate(), "late"), text(Comment(), Gate(), "late")])
async def test_no_first_token_in_time_ends_the_call_although_comments_come(
    server: OpenAIServer, answer: Answer
) -> None:
    model = client_of(server, first_token_timeout_s=0.05)
    server.queue(answer)
    error = await fail(model)
    await model.aclose()

    assert isinstance(error, ProviderTimeout)
    assert "llm.first_token_timeout_s" in str(error)


@pytest.mark.parametrize("first", [Text("a"), Reasoning("hm"), ToolPart(index=0, id="c", name="look")])
async def test_silence_after_any_first_piece_is_silence_in_mid_reply(
    server: OpenAIServer, first: Text | Reasoning | ToolPart
) -> None:
    model = client_of(server, idle_timeout_s=0.05)
    server.queue(text(first, Gate(), "two"))
    error = await fail(model)
    await model.aclose()

    assert isinstance(error, ProviderTimeout)
    assert "llm.idle_timeout_s" in str(error)


async def test_leaving_a_stream_closes_its_connection_at_once(server: OpenAIServer, model: OpenAICompatible) -> None:
    server.queue(text("One", Gate(), "two"))
    async with aclosing(model.stream(ASK)) as events:
        await anext(events)

    async with asyncio.timeout(30):
        await server.requests[0].ended.wait()
    assert server.requests[0].closed_early


@pytest.mark.parametrize("answer", [HangBeforeHeaders(), text("One", Gate(), "two")])
async def test_cancelling_a_call_closes_its_connection_at_once(
    server: OpenAIServer, model: OpenAICompatible, answer: Answer
) -> None:
    server.queue(answer)
    task = asyncio.create_task(ask(model))
    request = await server.request(0)
    if isinstance(answer, Stream):
        gate = answer.steps[1]
        assert isinstance(gate, Gate)
        await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with asyncio.timeout(30):
        await request.ended.wait()
    assert request.closed_early


async def test_closing_ends_a_stream_under_way(server: OpenAIServer, model: OpenAICompatible) -> None:
    gate = Gate()
    server.queue(text("One", gate, "two"))
    task = asyncio.create_task(ask(model))
    await gate.reached.wait()
    await model.aclose()

    with pytest.raises(ProviderUnreachable):
        await task


async def test_one_connection_serves_one_call_after_the_other(server: OpenAIServer, model: OpenAICompatible) -> None:
    for _ in range(3):
        server.say("ok")
        await ask(model)

    assert len({request.connection for request in server.requests}) == 1


async def test_an_endpoint_that_is_asked_while_it_starts_leaves_no_connection_open(
    server: OpenAIServer, model: OpenAICompatible
) -> None:
    starting = asyncio.create_task(model.start())
    await asyncio.sleep(0)  # a thread makes the client
    server.say("ok")
    await ask(model)
    await starting
    await model.aclose()

    gc.collect()  # of a connection that is still open, Python warns, which fails a test


async def test_the_only_model_listed_answers_where_none_is_named() -> None:
    async with OpenAIServer(models=[{"id": "qwen3-8b"}, {"id": "nomic-embed-text"}], context_tokens=4096) as server:
        model = client_of(server, model=None)
        await model.start()
        server.say("ok")
        await ask(model)
        size = await model.context_tokens()
        await model.aclose()

    assert model.info.name == "qwen3-8b"
    assert model.info.location == "local"
    assert size == 4096
    assert server.requests[0].body["model"] == "qwen3-8b"
    assert server.model_listings == 1


async def test_several_models_and_no_choice_names_what_there_is() -> None:
    async with OpenAIServer(models=[{"id": "a"}, {"id": "b"}]) as server:
        model = client_of(server, model=None)
        with pytest.raises(ModelMissing):
            await model.start()
        error = await fail(model)
        await model.aclose()

    assert isinstance(error, ModelMissing)
    assert "OPENAI_MODEL" in str(error)
    assert "a, b" in str(error)


async def test_llama_cpps_slot_size_is_asked_for() -> None:
    entry = {"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}
    props = {"default_generation_settings": {"n_ctx": 2048}}
    async with OpenAIServer(models=[entry], props=props) as server:
        model = client_of(server)
        size = await model.context_tokens()
        await model.aclose()

    assert size == 2048


@pytest.mark.parametrize("answer", [http_error(404), http_error(500), HttpError(status=200, body="nonsense")])
async def test_an_endpoint_that_lists_nothing_is_asked_once_and_never_raises(answer: HttpError) -> None:
    async with OpenAIServer() as server:
        server.models_answer = answer
        model = client_of(server)
        sizes = [await model.context_tokens(), await model.context_tokens()]
        await model.aclose()

    assert sizes == [None, None]
    assert server.model_listings == 1


async def test_an_endpoint_that_is_down_has_no_size_and_raises_nothing() -> None:
    async with OpenAIServer() as server:
        model = client_of(server, model=None)
        await server.stop()
        with pytest.raises(ProviderUnreachable, match="is it running"):
            await model.start()
        size = await model.context_tokens()
        error = await fail(model)
        await model.aclose()

    assert size is None
    assert isinstance(error, ProviderUnreachable)


def test_openai_takes_late_system_messages_others_are_to_be_found_out() -> None:
    assert OpenAICompatible(ModelEndpoint(base_url="https://api.openai.com/v1")).late_system == "native"
    assert OpenAICompatible(ModelEndpoint(base_url="http://127.0.0.1:1/v1")).late_system is None
