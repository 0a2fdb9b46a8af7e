"""Conversations over `/v1/realtime` with the whole server: hooks, tools and policy as for everybody."""

import json
from pathlib import Path
from typing import Any

from tests.skills_engine.folders import entry, make_skill
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.parley import Parley, parley
from tests.support.realtime_client import RealtimeClient, realtime_client

LAMP = {
    "type": "function",
    "name": "lamp",
    "description": "Switch the lamp.",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
}
AT_ONCE = {"agent": {"planning": False}}


def conversation(request: Request) -> list[tuple[str, Any]]:
    """What the model has read between its system prompt and the words that ask it to go on."""
    return [(message["role"], message.get("content")) for message in request.messages[1:-1]]


async def texts_only(client: RealtimeClient, **session: Any) -> None:
    assert (await client.update(output_modalities=["text"], **session))["type"] == "session.updated"


def said(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] for part in item.get("content", ()))


async def test_a_conversation_keeps_itself_while_the_socket_lives(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("It is ", "noon."), text("Half past."))
    async with realtime_client(server.url) as client:
        await texts_only(client, instructions="Be brief.")
        await client.say("What time is it?")
        first = await client.respond()
        await client.say("And now?")
        second = await client.respond()

    assert (said(first), said(second)) == ("It is noon.", "Half past.")
    assert first["usage"]["total_tokens"] == 10
    assert "Be brief." in str(model.requests[0].messages[0]["content"])
    assert conversation(model.requests[1]) == [
        ("user", "What time is it?"),
        ("assistant", "It is noon."),
        ("user", "And now?"),
    ]


async def test_a_persistent_hook_is_an_item_that_the_next_response_reads(tmp_path: Path, model: OpenAIServer) -> None:
    make_skill(tmp_path / "skills", "host", entry("greet", persistent=True, once="conversation"))
    model.queue(text("Hi."), text("Again."))
    async with (
        parley(tmp_path, model.url, AT_ONCE | {"security": {"client_system_messages": "reject"}}) as server,
        realtime_client(server.url) as client,
    ):
        await texts_only(client)
        await client.say("Hello?")
        await client.respond()
        added = [event["item"] for event in client.events if event["type"] == "conversation.item.added"]
        await client.say("Still there?")
        assert (await client.respond())["status"] == "completed"

    assert [item["role"] for item in added] == ["user", "system", "assistant"]
    assert added[1]["content"] == [{"type": "input_text", "text": "Text of greet."}]
    read = [content for _, content in conversation(model.requests[1])]
    assert str(read).count("Text of greet.") == 1, "signed, it is read; its state says that it has fired"


async def test_a_clients_tool_ends_the_response_and_its_output_is_continued(
    tmp_path: Path, model: OpenAIServer
) -> None:
    make_skill(tmp_path / "skills", "host", entry("after", timing="after_tool_call", tool_filter=["lamp"]))
    model.queue(calls(("lamp", {"on": True}), ("current_time", {})), text("It is on."))
    async with parley(tmp_path, model.url) as server, realtime_client(server.url) as client:
        await texts_only(client, tools=[LAMP], tool_choice="required")
        await client.say("Light, please.")
        asked = await client.respond()
        [call] = asked["output"]
        await client.create(type="function_call_output", call_id=call["call_id"], output="done: it shines")
        answer = await client.respond(tool_choice="auto")

    assert (asked["status"], call["name"], json.loads(call["arguments"])) == ("completed", "lamp", {"on": True})
    assert said(answer) == "It is on."
    first, second = model.requests
    assert first.body["tool_choice"] == "required"
    roles = [role for role, _ in conversation(second)]
    assert roles[:4] == ["user", "assistant", "tool", "tool"]
    results = {m["tool_call_id"]: m["content"] for m in second.messages if m["role"] == "tool"}
    assert results[call["call_id"]] == "done: it shines"
    assert len(results) == 2, "what our own tool of the batch has given goes on as well"
    assert "Text of after." in str(conversation(second)), "after_tool_call fires for the answered call"


async def test_policy_asks_before_the_client_is_asked_to_run_its_tool(tmp_path: Path, model: OpenAIServer) -> None:
    hook = {"enabled": True, "config": {"tools": ["lamp"]}}
    asking = AT_ONCE | {"hooks": {"builtins": {"ask_human": hook}}}
    model.queue(calls(("lamp", {"on": True})), calls(("lamp", {"on": True})), text("Then not."))

    async def answered(client: RealtimeClient, *, approved: bool) -> dict[str, Any]:
        await client.send("response.create")
        request = await client.until("parley.approval_request")
        await client.send("parley.approval", id=request["id"], approved=approved, reason="too bright")
        done: dict[str, Any] = (await client.until("response.done"))["response"]
        assert request["response_id"] == done["id"]
        return done

    async with parley(tmp_path, model.url, asking) as server, realtime_client(server.url) as client:
        await texts_only(client, tools=[LAMP], include=["parley.approval_request"])
        await client.say("Light, please.")
        allowed = await answered(client, approved=True)
        denied = await answered(client, approved=False)

    assert [item["type"] for item in allowed["output"]] == ["function_call"]
    assert [item["type"] for item in denied["output"]] == ["message"]
    assert said(denied) == "Then not."


async def test_a_response_outside_of_the_conversation_leaves_no_trace(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("A title"), text("Hi."))
    async with realtime_client(server.url) as client:
        await texts_only(client)
        await client.say("Hello?")
        await client.respond(conversation="none", instructions="A title, please.", metadata={"topic": "title"})
        await client.respond()

    assert conversation(model.requests[1]) == [("user", "Hello?")]


async def test_the_model_sees_a_picture_beside_the_words(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("A dot."))
    picture = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "low"}
    async with realtime_client(server.url) as client:
        await texts_only(client)
        await client.create(
            type="message", role="user", content=[{"type": "input_text", "text": "What is this?"}, picture]
        )
        await client.respond()

    [(_, parts)] = conversation(model.requests[0])
    assert parts[0] == {"type": "text", "text": "What is this?"}
    assert parts[1]["image_url"]["url"] == picture["image_url"]


async def test_nothing_said_yet_is_a_conversation_too(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Welcome!"))
    async with realtime_client(server.url) as client:
        await texts_only(client)

        greeting = await client.respond(instructions="Greet the user.")

    assert said(greeting) == "Welcome!"


async def test_a_tool_named_like_one_of_the_servers_is_an_error_of_the_event_that_asked(
    server: Parley, model: OpenAIServer
) -> None:
    ours = LAMP | {"name": "current_time"}
    async with realtime_client(server.url) as client:
        await client.send("session.update", event_id="e1", session={"type": "realtime", "tools": [LAMP, ours]})
        error = (await client.until("error"))["error"]
        await client.send("response.create", event_id="e2", response={"tools": [LAMP, ours]})
        other = await client.receive()
        updated = await client.update(output_modalities=["text"])
        model.queue(text("Hi."))
        await client.say("Hello?")
        await client.respond()

    assert (error["event_id"], error["param"], error["code"]) == ("e1", "session.tools[1].name", "invalid_value")
    assert other["type"] == "error", "and no response.created before it"
    other = other["error"]
    assert (other["event_id"], other["param"], other["code"]) == ("e2", "response.tools[1].name", "invalid_value")
    assert updated["session"]["tools"] == []
    assert "lamp" not in model.requests[0].tool_names


async def test_junk_gets_errors_and_the_socket_lives(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Hi."))
    junk: list[str | bytes] = [
        "",
        "{",
        "[]",
        '"session.update"',
        b"\xff\xfe",
        '{"type": "no.such.event", "event_id": "e"}',
        '{"type": "session.update", "session": []}',
        '{"type": "input_audio_buffer.append", "audio": "not base64!"}',
        '{"type": "conversation.item.create", "item": {"type": "message", "role": "user"}}',
        json.dumps({"type": "response.create", "response": {"metadata": {"k": "v" * 513}}}),
        json.dumps({"type": "session.update", "session": {"instructions": "x" * 20_000}}),
        '{"type": "session.update", "session": ' + '{"a":' * 200 + "1" + "}" * 200 + "}",
        '{"type": "conversation.item.truncate", "item_id": "x", "content_index": 0, "audio_end_ms": 1e300}',
    ]
    async with realtime_client(server.url) as client:
        for message in junk:
            await client.socket.send(message)
            assert (await client.receive())["type"] == "error", message
        await texts_only(client)
        await client.say("Hello?")

        assert said(await client.respond()) == "Hi."
