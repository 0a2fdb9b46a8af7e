"""The scripted server itself: other tests believe what it says."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.support.openai_faults import http_error
from tests.support.openai_script import CutBeforeHeaders, Gate, Json, Raw, calls, text
from tests.support.openai_server import OpenAIServer


def body(*messages: Json, **more: Any) -> Json:
    return {"model": "m", "messages": list(messages), "stream": True, **more}


async def events(response: aiohttp.ClientResponse) -> list[Any]:
    lines = [line async for line in response.content if line.startswith(b"data:")]
    return [None if line.strip() == b"data: [DONE]" else json.loads(line[5:]) for line in lines]


USER: Json = {"role": "user", "content": "Hi"}


async def test_queued_replies_come_in_order_and_requests_are_recorded() -> None:
    async with OpenAIServer() as server, aiohttp.ClientSession() as client:
        server.queue(text("Hel", "lo"), calls(("t", {"a": 1}), interleaved=True))
        async with client.post(server.url + "/chat/completions", json=body(USER)) as response:
            first = await events(response)
        asking = body(USER, stream_options={"include_usage": True})
        async with client.post(server.url + "/chat/completions", json=asking) as response:
            second = await events(response)

    assert [event["choices"][0]["delta"].get("content") for event in first[:-2]] == ["Hel", "lo"]
    assert first[-1] is None
    assert second[-2]["usage"]["completion_tokens"] == 3
    assert [request.messages for request in server.requests] == [[USER], [USER]]
    assert not any(request.closed_early for request in server.requests)


async def test_a_request_without_stream_gets_the_same_reply_whole() -> None:
    async with OpenAIServer() as server, aiohttp.ClientSession() as client:
        server.queue(calls(("t", {"a": 1}), say="Wait."))
        whole = body(USER) | {"stream": False}
        async with client.post(server.url + "/chat/completions", json=whole) as response:
            message = (await response.json())["choices"][0]["message"]

    assert message["content"] == "Wait."
    assert message["tool_calls"][0]["function"] == {"name": "t", "arguments": '{"a": 1}'}


async def test_a_gate_holds_the_stream_and_an_early_leave_is_seen() -> None:
    gate = Gate()
    async with OpenAIServer() as server, aiohttp.ClientSession() as client:
        server.queue(text("One", gate, "two"))
        response = await client.post(server.url + "/chat/completions", json=body(USER))
        await gate.reached.wait()
        response.close()
        request = await server.request(0)
        async with asyncio.timeout(30):
            await request.ended.wait()

        assert request.closed_early


async def test_an_empty_script_and_a_wrong_key_are_errors() -> None:
    async with OpenAIServer(api_key="right") as server, aiohttp.ClientSession() as client:
        async with client.post(server.url + "/chat/completions", json=body(USER)) as response:
            assert response.status == 401
        headers = {"Authorization": "Bearer right"}
        async with client.post(server.url + "/chat/completions", json=body(USER), headers=headers) as response:
            assert response.status == 500
            assert "no answer left for request 1" in await response.text()


async def test_faults_come_as_they_are() -> None:
    async with OpenAIServer() as server, aiohttp.ClientSession() as client:
        server.queue(http_error(429, retry_after="2"), CutBeforeHeaders(), text("a", Raw(b"junk"), finish=None))
        async with client.post(server.url + "/chat/completions", json=body(USER)) as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "2")
        with pytest.raises(aiohttp.ClientError):
            await client.post(server.url + "/chat/completions", json=body(USER))
        async with client.post(server.url + "/chat/completions", json=body(USER)) as response:
            assert (await response.read()).endswith(b"junk")


@pytest.mark.parametrize(
    ("strict", "messages", "said"),
    [
        ("system_first", [USER, {"role": "system", "content": "x"}], "System message must be at the beginning"),
        ("alternation", [USER, USER], "must alternate"),
        ("tool_pairs", [USER, {"role": "tool", "tool_call_id": "a", "content": ""}], "preceeding message"),
        ("tool_pairs", [{"role": "assistant", "tool_calls": [{"id": "a"}]}, USER], "did not have response"),
        ("no_system", [{"role": "system", "content": "x"}], "System role not supported"),
    ],
)
async def test_strict_templates_refuse(strict: Any, messages: list[Json], said: str) -> None:
    async with (
        OpenAIServer(strict=[strict]) as server,
        aiohttp.ClientSession() as client,
        client.post(server.url + "/chat/completions", json=body(*messages)) as response,
    ):
        assert response.status == 400
        assert said in await response.text()


async def test_a_prompt_over_the_context_is_refused() -> None:
    async with OpenAIServer(context_tokens=50) as server, aiohttp.ClientSession() as client:
        long = {"role": "user", "content": "x" * 400}
        async with client.post(server.url + "/chat/completions", json=body(long)) as response:
            assert "maximum context length is 50 tokens" in await response.text()


async def test_after_stop_nobody_answers_until_it_is_started_again() -> None:
    async with OpenAIServer() as server, aiohttp.ClientSession() as client:
        url = server.url
        await server.stop()
        with pytest.raises(aiohttp.ClientConnectorError):
            await client.get(url + "/models")
        await server.start()
        async with client.get(url + "/models") as response:
            assert (await response.json())["data"][0]["id"] == "scripted"
