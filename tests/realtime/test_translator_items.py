"""Items, tools and hooks of a Realtime conversation: what the client sees of them, and what the model reads."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from server.errors import FrameError, TurnError
from server.realtime.session_config import SessionConfig
from server.wire import frames as wire
from tests.realtime.realtime_world import METRICS, READY, RealtimeWorld, types

LAMP = {"type": "function", "name": "lamp", "description": "Switch it.", "parameters": {"type": "object"}}
PIXEL = "data:image/png;base64,aGk="
SECOND = "AAAA" * 16_000
"""A second of silence, in base64."""


def texts(messages: list[wire.Message]) -> list[tuple[str, Any]]:
    return [(message.role, message.content) for message in messages]


def ask(world: RealtimeWorld) -> list[wire.Message]:
    """Return what the model would read now."""
    world.client("response.create")
    messages: list[wire.Message] = world.last(wire.Respond).messages
    world.end_turn()
    return messages


def call_lamp(world: RealtimeWorld, *calls: str) -> None:
    """Let the model call the client's tool, and the turn end with it."""
    for call_id in calls:
        world.session(wire.ToolCall(turn_id=world.running, id=call_id, name="lamp", arguments={"on": True}))
    for call_id in calls:
        world.session(result_of(world.running, call_id, "lamp", "", ending="open"))
        world.session(wire.ClientToolCall(turn_id=world.running, id=call_id, name="lamp", arguments={"on": True}))


def result_of(turn: str, call_id: str, name: str, content: str, **fields: Any) -> wire.ToolResult:
    return wire.ToolResult(
        turn_id=turn, id=call_id, name=name, content=content, is_error=False, duration_ms=1.0, **fields
    )


# items


def test_items_stand_where_the_client_puts_them_under_its_ids() -> None:
    world = RealtimeWorld()
    world.say("second", item_id="two")

    item = {"type": "message", "role": "system", "id": "one", "content": [{"type": "input_text", "text": "first"}]}
    added, done = world.client("conversation.item.create", item=item, previous_item_id="root")
    between = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "between"}]}
    world.client("conversation.item.create", item=between, previous_item_id="one")

    assert (added["previous_item_id"], added["item"]["id"], done["type"]) == (None, "one", "conversation.item.done")
    assert texts(ask(world)) == [("system", "first"), ("assistant", "between"), ("user", "second")]


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"previous_item_id": "nowhere"}, "item_create_invalid_previous_item_id", "previous_item_id"),
        ({"item": {"id": "one"}}, "item_create_duplicate_item_id", "item.id"),
        ({"item": {"role": "robot"}}, "invalid_value", "item.role"),
        ({"item": {"type": "mcp_call"}}, "invalid_value", "item.type"),
        ({"item": {"content": None}}, "invalid_value", "item.content"),
        ({"item": {"content": [{"type": "output_text"}]}}, "invalid_value", "item.content[0].type"),
        ({"item": {"content": [{"type": "input_audio"}]}}, "missing_required_parameter", "item.content[0].transcript"),
        ({"item": {"role": "assistant", "content": [{"type": "output_audio", "audio": "aGk="}]}}, "missing_required_parameter", "item.content[0].transcript"),
        ({"item": {"content": [{"type": "input_audio", "audio": "aGk="}]}}, "invalid_value", "item.content"),
        ({"item": {"content": [{"type": "input_audio", "audio": SECOND * 61}]}}, "invalid_value", "item.content"),
        ({"item": {"content": [{"type": "input_audio", "audio": SECOND}] * 2}}, "invalid_value", "item.content"),
        ({"item": {"content": [{"type": "input_audio", "audio": "!"}]}}, "invalid_value", "item.content[0].audio"),
        ({"item": {"content": [{"type": "input_audio", "audio": "AA=="}]}}, "invalid_value", "item.content[0].audio"),
        ({"item": {"content": [{"type": "input_text", "audio": SECOND}]}}, "missing_required_parameter", "item.content[0].text"),
        ({"item": {"content": [{"type": "input_image", "image_url": "http://x/y.png"}]}}, "invalid_value", "item.content[0].image_url"),
        ({"item": {"content": [{"type": "input_image", "image_url": "data:image/png;base64,!!!!"}]}}, "invalid_value", "item.content[0].image_url"),
        ({"item": {"content": [{"type": "input_image", "image_url": "data:image/png;base64,"}]}}, "invalid_value", "item.content[0].image_url"),
        ({"item": {"content": [{"type": "input_image", "image_url": "data:image/png;base64,aGkgZ"}]}}, "invalid_value", "item.content[0].image_url"),
        ({"item": {"type": "function_call", "name": "lamp", "arguments": "nojson"}}, "invalid_value", "item.arguments"),
        ({"item": {"type": "function_call", "name": "lamp", "arguments": "[1]"}}, "invalid_value", "item.arguments"),
        ({"item": {"type": "function_call", "name": "lamp", "arguments": '{"a":' * 100_000}}, "invalid_value", "item.arguments"),
        ({"item": {"type": "function_call", "name": "bad name!", "arguments": "{}"}}, "invalid_value", "item.name"),
        ({"item": {"type": "function_call_output", "call_id": "c", "output": ""}}, "item_create_unknown_call_id", "item.call_id"),
    ],
)  # fmt: skip
def test_an_item_that_cannot_be_is_refused_by_its_place(fields: dict[str, Any], code: str, param: str) -> None:
    world = RealtimeWorld()
    world.say("Hello", item_id="one")
    item = {"type": "message", "role": "user", "content": []} | fields.get("item", {})

    (error,) = world.client("conversation.item.create", event_id="e7", **(fields | {"item": item}))

    assert (error["error"]["code"], error["error"]["param"], error["error"]["event_id"]) == (code, param, "e7")
    assert texts(ask(world)) == [("user", "Hello")]


@pytest.mark.parametrize(
    ("message", "code", "words", "event_id"),
    [
        ("null", "invalid_value", "an event is a JSON object", None),
        ("[]", "invalid_value", "an event is a JSON object", None),
        ('{"event_id": "e1", "type": "response.create", "response": ' + "[" * 200 + "]" * 200 + "}", "invalid_json", "nested", "e1"),
        ('{"event_id": "e1", "type": "response.create", "x": "\\ud800"}', "invalid_json", "not a JSON text", None),
        ("{", "invalid_json", "not a JSON text", None),
    ],
)  # fmt: skip
def test_what_is_no_event_is_said_so(message: str, code: str, words: str, event_id: str | None) -> None:
    (error,) = RealtimeWorld().client_says(message.encode())

    assert (error["error"]["code"], error["error"]["event_id"]) == (code, event_id)
    assert error["error"]["param"] is None
    assert words in error["error"]["message"]


def test_a_call_without_arguments_has_none() -> None:
    world = RealtimeWorld()

    added, _ = world.client("conversation.item.create", item={"type": "function_call", "name": "lamp", "arguments": ""})

    assert added["item"]["arguments"] == "{}"


def test_an_item_is_deleted_and_retrieved_by_its_id() -> None:
    world = RealtimeWorld()
    image = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": PIXEL}]
    added, _ = world.client("conversation.item.create", item={"type": "message", "role": "user", "content": image})
    item_id = added["item"]["id"]

    (shown,) = world.client("conversation.item.retrieve", item_id=item_id)
    messages = ask(world)
    assert types(world.client("conversation.item.delete", item_id=item_id)) == ["conversation.item.deleted"]

    assert "image_url" not in added["item"]["content"][1], "the client has the image"
    assert shown["item"]["content"][1]["image_url"] == PIXEL
    parts = messages[0].content
    assert isinstance(parts, list)
    assert parts == [wire.TextPart(text="What is this?"), wire.ImagePart(image_url=wire.ImageUrl(url=PIXEL))]
    for kind in ("delete", "retrieve", "truncate"):
        fields = {"content_index": 0, "audio_end_ms": 1} if kind == "truncate" else {}
        (error,) = world.client(f"conversation.item.{kind}", item_id=item_id, **fields)
        assert error["error"]["code"] == f"item_{kind}_invalid_item_id"


def test_a_full_conversation_refuses_items_and_lets_the_oldest_go_for_what_is_said() -> None:
    world = RealtimeWorld()
    for number in range(1000):
        world.say(f"item {number}")

    errors = world.of("error")
    assert len(errors) == 1000 - READY.limits.max_messages
    assert errors[-1]["error"]["code"] == "conversation_full"
    assert "delete" in errors[-1]["error"]["message"]
    events = world.utterance("u1", "Still there?")
    assert types(events)[2] == "conversation.item.deleted"
    assert len(world.last(wire.Respond).messages) == READY.limits.max_messages


@pytest.mark.timeout(20)  # it ran for ever
def test_an_id_that_the_server_gives_is_in_the_conversation_once() -> None:
    """Its ids can be foreseen: they are numbered."""
    world = RealtimeWorld()
    serial = int(world.events[-1]["event_id"][-5:], 16)
    for number in range(20):  # each takes three ids
        world.say("forged", item_id=f"item_{READY.session_id}{serial + 60 + number:05x}")
    ask_and_hear = [world.client("response.create"), world.sentence("Mine."), world.end_turn()]

    added = next(event for events in ask_and_hear for event in events if event["type"] == "conversation.item.added")
    item_id = added["item"]["id"]
    assert [event["item_id"] for event in world.of("conversation.item.deleted")] == [item_id]
    (shown,) = world.client("conversation.item.retrieve", item_id=item_id)
    assert shown["item"]["role"] == "assistant"
    world.client("conversation.item.delete", item_id=item_id)
    for _ in range(READY.limits.max_messages):
        world.say("more")
    assert types(world.utterance("u1", "Still there?")).count("conversation.item.deleted") == 1
    assert texts(world.last(wire.Respond).messages)[-1] == ("user", "Still there?")


def test_a_conversation_is_bounded_in_bytes() -> None:
    ready = msgspec.structs.replace(READY, limits=msgspec.structs.replace(READY.limits, max_message_bytes=10_000))
    world = RealtimeWorld(ready=ready)

    answers = [world.say("x" * 3_000)[0]["type"] for _ in range(5)]

    assert answers == ["conversation.item.added"] * 2 + ["error"] * 3
    world.client("conversation.item.delete", item_id=world.events[-5]["item"]["id"])
    assert types(world.say("x" * 3_000))[0] == "conversation.item.added"


def test_parts_without_words_count_too() -> None:
    world = RealtimeWorld()
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ""}] * 1000}

    answers = [world.client("conversation.item.create", item=item)[0] for _ in range(20)]

    assert answers[0]["type"] == "conversation.item.added"
    assert answers[-1]["error"]["code"] == "conversation_full"


def test_the_input_of_a_response_is_bounded_as_a_conversation_is() -> None:
    """A reference takes 50 bytes of the client's, whatever the size of its item."""
    world = RealtimeWorld()
    world.say("x" * 1_000_000, item_id="long")
    world.say("x", item_id="short")

    for item_id, count in (("long", 5), ("short", READY.limits.max_messages + 1)):
        references = [{"type": "item_reference", "id": item_id}] * count
        (error,) = world.client("response.create", event_id="mine", response={"input": references})
        assert (error["error"]["code"], error["error"]["param"]) == ("input_too_large", "response.input")
        assert error["error"]["event_id"] == "mine"
    world.client("response.create", response={"input": [{"type": "item_reference", "id": "long"}] * 3})
    assert len(world.last(wire.Respond).messages) == 3


def test_the_bytes_of_items_that_change_or_go_are_counted_anew() -> None:
    ready = msgspec.structs.replace(READY, limits=msgspec.structs.replace(READY.limits, max_message_bytes=10_000))
    world = RealtimeWorld(ready=ready)
    for _ in range(20):
        world.client("response.create")
        world.sentence("y" * 1_000, bytes(960))
        world.end_turn()
        item_id = world.of("response.output_item.done")[-1]["item"]["id"]
        world.client("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=0)
        world.client("conversation.item.delete", item_id=item_id)

    assert types(world.say("x" * 9_000))[0] == "conversation.item.added"


# the client's tools


def test_a_call_of_the_clients_tool_ends_the_response_and_its_output_goes_on() -> None:
    world = RealtimeWorld()
    world.client("session.update", session={"tools": [LAMP], "tool_choice": "required"})
    configured = world.last(wire.Configure)
    world.say("Light, please.")
    world.client("response.create")
    world.sentence("One moment.")
    call_lamp(world, "call_1")

    end = world.end_turn()

    assert (configured.tools[0].name, configured.tool_choice) == ("lamp", "required")
    assert types(end)[4:] == [
        "conversation.item.done",
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]
    call = end[-3]["item"]
    assert (call["status"], call["call_id"], json.loads(call["arguments"])) == ("completed", "call_1", {"on": True})
    output = {"type": "function_call_output", "call_id": "call_1", "output": "It is on."}
    world.client("conversation.item.create", item=output)
    messages = ask(world)
    assert texts(messages)[:2] == [("user", "Light, please."), ("assistant", "One moment.")]
    assert messages[2].tool_calls == [
        wire.MessageToolCall(id="call_1", function=wire.FunctionCall(name="lamp", arguments='{"on":true}'))
    ]
    assert (messages[3].tool_call_id, messages[3].content) == ("call_1", "It is on.")
    assert len(messages) == 4


def test_results_of_our_own_tools_go_on_with_the_clients_output() -> None:
    world = RealtimeWorld()
    world.say("Read it and switch the lamp on.")
    world.client("response.create")
    turn = world.running
    world.session(wire.ToolCall(turn_id=turn, id="r1", name="read_file", arguments={"path": "a"}))
    world.session(result_of(turn, "r1", "read_file", "first"))
    world.session(wire.ToolCall(turn_id=turn, id="r2", name="read_file", arguments={"path": "b"}))
    world.session(wire.ToolCall(turn_id=turn, id="call_1", name="lamp", arguments={}))
    world.session(result_of(turn, "r2", "read_file", "second"))
    world.session(result_of(turn, "call_1", "lamp", "", ending="open"))
    world.session(wire.ClientToolCall(turn_id=turn, id="call_1", name="lamp", arguments={}))
    world.end_turn()

    assert len(world.of("response.function_call_arguments.done")) == 1, "ours are not shown"
    world.client("conversation.item.create", item={"type": "function_call_output", "call_id": "call_1", "output": "on"})
    messages = ask(world)
    asked = [[call.id for call in message.tool_calls] for message in messages if message.tool_calls]
    assert asked == [["r1"], ["r2", "call_1"]]
    assert [m.content for m in messages if m.role == "tool"] == ["first", "second", "on"]


def test_a_call_without_its_output_is_left_out() -> None:
    world = RealtimeWorld()
    world.say("Both lamps.")
    world.client("response.create")
    call_lamp(world, "call_1", "call_2")
    world.end_turn()
    world.client("conversation.item.create", item={"type": "function_call_output", "call_id": "call_2", "output": "on"})

    messages = ask(world)

    assert [[call.id for call in m.tool_calls] for m in messages if m.tool_calls] == [["call_2"]]
    assert [m.tool_call_id for m in messages if m.role == "tool"] == ["call_2"]


def test_an_output_answers_the_first_of_two_neighbouring_calls_with_its_id() -> None:
    world = RealtimeWorld()
    world.say("Both lamps.")
    for name in ("lamp", "light"):
        call = {"type": "function_call", "name": name, "call_id": "call_1", "arguments": "{}"}
        world.client("conversation.item.create", item=call)
    world.client("conversation.item.create", item={"type": "function_call_output", "call_id": "call_1", "output": "on"})

    messages = ask(world)

    assert [[call.function.name for call in m.tool_calls] for m in messages if m.tool_calls] == [["lamp"]]
    assert [(m.tool_call_id, m.content) for m in messages if m.role == "tool"] == [("call_1", "on")]


def test_calls_of_a_response_that_is_cancelled_are_not_shown() -> None:
    world = RealtimeWorld()
    world.say("Light, please.")
    world.client("response.create")
    call_lamp(world, "call_1")

    events = world.client("response.cancel")

    assert types(events) == ["response.done"]
    assert events[0]["response"]["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}


# hooks


def test_a_persistent_hook_is_an_item_and_goes_back_signed() -> None:
    world = RealtimeWorld()
    world.say("Hello?")
    world.client("response.create")

    events = world.hook("mood", role="user", content="Be kind.")
    world.sentence("Hi.")
    world.end_turn(state="v1.state")

    assert types(events) == ["conversation.item.added", "conversation.item.done"]
    item = events[0]["item"]
    assert (item["role"], item["content"], item["id"][:5]) == (
        "system",
        [{"type": "input_text", "text": "Be kind."}],
        "hook_",
    )
    world.say("Go on.")
    world.client("response.create")
    respond = world.last(wire.Respond)
    assert respond.messages[1] == wire.Message(role="user", content="Be kind.", hook="mood", skill="s", sig="v1.k.sig")
    assert respond.state == "v1.state"


def test_a_hook_within_a_reply_parts_it_in_two_items() -> None:
    world = RealtimeWorld()
    world.say("Hello?")
    world.client("response.create")
    world.sentence("Let me look.")
    world.hook()
    world.sentence("Here it is.")
    done = world.end_turn()[-1]["response"]

    assert [item["content"][0]["transcript"] for item in done["output"]] == ["Let me look.", "Here it is."]
    assert texts(ask(world)) == [
        ("user", "Hello?"),
        ("assistant", "Let me look."),
        ("system", "Be kind."),
        ("assistant", "Here it is."),
    ]


def test_extras_come_only_where_the_client_asks_for_them() -> None:
    request = wire.ApprovalRequest(id="a1", tool="lamp", arguments={}, message="May I?", timeout_ms=9, remember_for=[])
    world = RealtimeWorld()
    assert world.session(request) == []
    (unknown,) = world.client("parley.approval", id="a1", approved=True)
    assert unknown["error"]["code"] == "unknown_event"

    world.client("session.update", session={"include": ["parley.approval_request", "parley.hook", "parley.trace"]})

    assert world.last(wire.Configure).trace is True
    (asked,) = world.session(request)
    assert (asked["type"], asked["id"], asked["message"]) == ("parley.approval_request", "a1", "May I?")
    world.client("parley.approval", id="a1", approved=False, reason="no")
    assert world.last(wire.Approval) == wire.Approval(id="a1", approved=False, reason="no")
    (resolved,) = world.session(wire.ApprovalResolved(id="a1", approved=False, by="user"))
    assert resolved["type"] == "parley.approval_resolved"
    world.notice = wire.Notice(code="approval_unknown", level="info", message="this approval is not open")
    (unknown,) = world.client("parley.approval", event_id="e1", id="a1", approved=True)
    assert (unknown["error"]["code"], unknown["error"]["param"]) == ("approval_unknown", "id")
    assert unknown["error"]["event_id"] == "e1"


# responses


def test_a_response_takes_settings_for_itself_and_echoes_its_metadata() -> None:
    speech = msgspec.structs.replace(READY.speech, voices=["amy", "ben"])
    world = RealtimeWorld(ready=msgspec.structs.replace(READY, speech=speech))
    wishes = {
        "instructions": "Whisper.",
        "output_modalities": ["text"],
        "audio": {"output": {"voice": {"id": "ben"}, "format": {"type": "audio/pcmu"}}},
        "tools": [LAMP],
        "tool_choice": {"type": "function", "name": "lamp"},
        "max_output_tokens": 99,
        "metadata": {"client_event_id": "e1"},
    }

    (created,) = world.client("response.create", response=wishes)

    respond = world.last(wire.Respond)
    assert (respond.instructions, respond.voice, respond.speaker, respond.max_tokens) == ("Whisper.", False, "ben", 99)
    assert (respond.tools[0].name, respond.tool_choice.name, respond.messages) == ("lamp", "lamp", [])
    response = created["response"]
    assert response["metadata"] == {"client_event_id": "e1"}
    assert response["audio"]["output"] == {"format": {"type": "audio/pcmu"}, "voice": "ben"}
    assert (response["max_output_tokens"], response["output_modalities"]) == (99, ["text"])


def test_a_response_may_leave_fields_of_its_tools_and_format_null() -> None:
    world = RealtimeWorld()
    tool = {"name": "lamp", "type": None, "description": None, "parameters": None}
    wishes = {"tools": [tool], "audio": {"output": {"format": {"type": "audio/pcm", "rate": None}, "voice": None}}}

    (created,) = world.client("response.create", response=wishes)

    assert created["response"]["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24_000}
    (given,) = world.last(wire.Respond).tools
    assert (given.name, given.description, given.parameters) == ("lamp", "", {"type": "object", "properties": {}})


def test_a_response_outside_of_the_conversation_leaves_nothing_in_it() -> None:
    world = RealtimeWorld()
    world.say("Hello?", item_id="one")
    other = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "A title for this?"}]}
    wishes = {"conversation": "none", "input": [{"type": "item_reference", "id": "one"}, other]}

    (created,) = world.client("response.create", response=wishes)
    aside = world.out_of_band[0]
    hook = wire.Hook(turn_id=aside, name="n", role="system", content="c", skill="s", timing="after_user_input", sig="s")
    events = [*world.sentence("Greetings", turn=aside), *world.session(hook), *world.end_out_of_band()]

    assert created["response"]["conversation_id"] is None
    assert not [event for event in events if event["type"].startswith("conversation.")]
    assert texts(world.last(wire.Respond).messages) == [("user", "Hello?"), ("user", "A title for this?")]
    world.client("response.create")
    assert texts(world.last(wire.Respond).messages) == [("user", "Hello?")]
    assert world.last(wire.Respond).state is None


def test_one_response_runs_at_a_time() -> None:
    world = RealtimeWorld()
    world.client("response.create")

    (error,) = world.client("response.create", event_id="e2")

    assert error["error"]["code"] == "conversation_already_has_active_response"
    assert error["error"]["event_id"] == "e2"
    world.end_turn()
    (idle,) = world.client("response.cancel", event_id="e3")
    assert idle["error"]["code"] == "response_cancel_not_active"
    assert idle["error"]["message"].startswith("Cancellation failed"), "livekit goes by these words"


@pytest.mark.parametrize(
    ("reason", "frames", "status", "details"),
    [
        ("error", [wire.Error(code="provider_timeout", message="late", turn_id="?")], "failed", {"error": {"type": "server_error", "code": "provider_timeout", "message": "late"}}),
        ("aborted", [], "incomplete", {"reason": "content_filter", "error": {"type": "server_error", "code": "aborted", "message": "why"}}),
        ("completed", [wire.Notice(code="reply_cut", level="warning", message="", turn_id="?")], "incomplete", {"reason": "max_output_tokens"}),
        ("interrupted", [], "failed", {"error": {"type": "server_error", "code": "interrupted", "message": "why"}}),
    ],
)  # fmt: skip
def test_a_response_tells_how_it_ended(
    reason: wire.TurnEndReason, frames: list[wire.ServerFrame], status: str, details: dict[str, Any]
) -> None:
    world = RealtimeWorld()
    world.client("response.create")
    world.sentence("Well")
    world.session(*(msgspec.structs.replace(frame, turn_id=world.running) for frame in frames))

    done = world.end_turn(reason, message="why")[-1]["response"]

    assert done["status"] == status
    assert done["status_details"] == {"type": status} | details
    assert world.of("error") == []


def test_a_turn_that_the_session_refuses_is_a_failed_response() -> None:
    world = RealtimeWorld()
    world.refuse = TurnError("too_many_turns", "too many", retry_after_ms=2000)

    created, done = world.client("response.create")

    assert created["type"] == "response.created"
    assert done["response"]["status_details"]["error"]["code"] == "too_many_turns"
    assert len(world.limits) == 1, "the client learns how many may begin"
    assert types(world.client("response.create")) == ["response.created"]


def test_a_turn_that_is_taken_back_leaves_the_conversation_with_what_it_answers() -> None:
    world = RealtimeWorld()
    world.say("Before.", item_id="before")
    world.client("response.create")
    world.sentence("Yes.")
    world.end_turn()
    world.say("Do evil.", item_id="evil")
    world.client("response.create")
    world.hook()

    events = world.end_turn("aborted", message="no", rollback=True)

    assert types(events)[-3:] == ["response.done", "conversation.item.deleted", "conversation.item.deleted"]
    assert texts(ask(world)) == [("user", "Before."), ("assistant", "Yes.")]


# the session's answers


def test_settings_that_the_session_refuses_are_not_in_force() -> None:
    world = RealtimeWorld()
    world.refuse = FrameError("frame_invalid", "a tool of the server", path="$.tools[0].name")

    (error,) = world.client("session.update", event_id="e1", session={"tools": [LAMP], "instructions": "Hm."})
    (updated,) = world.client("session.update", session={"audio": {"output": {"speed": 1.5}}})

    assert (error["error"]["code"], error["error"]["param"]) == ("invalid_value", "session.tools[0].name")
    assert error["error"]["event_id"] == "e1"
    assert (updated["session"]["tools"], updated["session"]["instructions"]) == ([], "")
    assert world.last(wire.Configure).tools is UNSET
    assert world.last(wire.Configure).speed == 1.5


def test_a_key_whose_tools_are_refused_keeps_the_rest_of_its_session() -> None:
    given = {"instructions": "Be brief.", "audio": {"output": {"speed": 1.5}}, "tools": [LAMP]}
    choice = {"type": "function", "name": "lamp"}
    refusal = FrameError("frame_invalid", "a tool of the server", path="$.tools[0].name")

    world = RealtimeWorld(defaults=SessionConfig().updated(given | {"tool_choice": choice}), refuse=refusal)

    assert types(world.events) == ["session.created", "conversation.created", "error"]
    session, error = world.events[0]["session"], world.events[2]["error"]
    assert (session["instructions"], session["audio"]["output"]["speed"]) == ("Be brief.", 1.5)
    assert (session["tools"], session["tool_choice"]) == ([], "auto")
    assert (error["code"], error["param"]) == ("invalid_value", "session.tools[0].name")
    assert world.last(wire.Configure).instructions == "Be brief."


def test_instructions_that_count_as_none_are_said_so_and_not_echoed() -> None:
    world = RealtimeWorld()
    world.notice = wire.Notice(code="instructions_not_allowed", level="info", message="log in")

    error, updated = world.client("session.update", event_id="e1", session={"instructions": "Hm.", "tools": [LAMP]})

    assert (error["error"]["code"], error["error"]["event_id"]) == ("instructions_not_allowed", "e1")
    assert (updated["session"]["instructions"], updated["session"]["tools"]) == ("", [])


def test_a_connection_that_closes_owes_no_response() -> None:
    world = RealtimeWorld()
    world.client("response.create")
    world.sentence("A long")
    world.session(wire.TurnEnd(turn_id=world.running, reason="interrupted", usage=wire.UsageItem(), metrics=METRICS))

    world.close()

    assert world.events[-1]["type"] == "response.done"


def asked_by_voice(**part: Any) -> dict[str, Any]:
    sound = {"type": "input_audio", "audio": SECOND} | part
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Listen:"}, sound]}


def test_the_sound_of_an_item_is_recognised_before_a_response_to_it_begins() -> None:
    world = RealtimeWorld()
    world.client("session.update", session={"audio": {"input": {"transcription": {}}}})
    added = world.client("conversation.item.create", item=asked_by_voice())
    assert types(added) == ["conversation.item.added", "conversation.item.done"]
    assert added[0]["item"]["content"][1] == {"type": "input_audio", "transcript": None}
    assert (len(world.transcriptions[0].sound.pcm), world.transcriptions[0].sound.rate) == (48_000, 24_000)
    world.client("response.create")
    assert world.turn is None, "its words are not known yet"

    heard = world.recognize("What time is it?")

    assert types(heard) == [
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    assert (heard[-1]["content_index"], heard[-1]["transcript"]) == (1, "What time is it?")
    assert heard[-1]["usage"]["seconds"] == 1
    assert texts(world.last(wire.Respond).messages) == [("user", "Listen:\nWhat time is it?")]


def test_sound_in_the_format_of_the_telephone_is_taken() -> None:
    world = RealtimeWorld()
    world.client("session.update", session={"audio": {"input": {"format": {"type": "audio/pcmu"}}}})
    world.client("conversation.item.create", item=asked_by_voice())

    assert (len(world.transcriptions[0].sound.pcm), world.transcriptions[0].sound.rate) == (96_000, 8_000)


def test_sound_that_cannot_be_recognised_is_reported_and_the_response_to_it_has_failed() -> None:
    for is_shown in (True, False):
        world = RealtimeWorld()
        if is_shown:
            world.client("session.update", session={"audio": {"input": {"transcription": {}}}})
        world.client("conversation.item.create", item=asked_by_voice())
        world.client("response.create")

        told = world.recognize(FrameError("speech_unavailable", "no ears"))[0]

        failed = "conversation.item.input_audio_transcription.failed"
        assert told["type"] == (failed if is_shown else "error")
        assert told["error"]["code"] == "speech_unavailable"
        assert world.turn is None, "the model is not asked without the words"
        (done,) = world.of("response.done")
        assert done["response"]["status"] == "failed"
        assert done["response"]["status_details"]["error"]["code"] == "speech_unavailable"

        world.say("Then I write.")
        world.client("response.create")
        assert texts(world.last(wire.Respond).messages) == [("user", "Listen:"), ("user", "Then I write.")]


def test_sound_beyond_16_mib_that_waits_for_its_words_is_refused_until_some_are_there() -> None:
    world = RealtimeWorld()
    minute = asked_by_voice(audio=SECOND * 60)
    for _ in range(6):
        world.client("conversation.item.create", item=minute)
    assert not world.of("error")
    (refused,) = world.client("conversation.item.create", item=minute)
    assert refused["error"]["code"] == "too_much_sound"
    (refused,) = world.client("response.create", response={"input": [minute]})
    assert (refused["error"]["code"], refused["error"]["param"]) == ("too_much_sound", "response.input[0]")
    assert types(world.say("Words alone still pass.")) == ["conversation.item.added", "conversation.item.done"]

    world.recognize("Hello?")

    assert types(world.client("conversation.item.create", item=minute))[0] == "conversation.item.added"


def test_sound_in_the_input_of_a_response_is_recognised_for_it_alone() -> None:
    world = RealtimeWorld()
    world.client("session.update", session={"audio": {"input": {"transcription": {}}}})
    world.client("response.create", response={"conversation": "none", "input": [asked_by_voice()]})

    assert world.recognize("Hello?") == [], "the client does not know the item"
    assert texts(world.last(wire.Respond).messages) == [("user", "Listen:\nHello?")]
    assert world.out_of_band


def test_an_item_with_a_transcript_is_not_recognised_again() -> None:
    world = RealtimeWorld()
    world.client("conversation.item.create", item=asked_by_voice(transcript="Hello?"))

    assert not world.transcriptions


def test_two_responses_out_of_band_run_beside_the_conversations() -> None:
    world = RealtimeWorld()
    world.client("response.create")
    asides = [world.client("response.create", response={"conversation": "none"})[0]["response"]["id"] for _ in "ab"]

    (error,) = world.client("response.create", event_id="e3", response={"conversation": "none"})
    assert (error["error"]["code"], error["error"]["event_id"]) == ("conversation_already_has_active_response", "e3")
    said = world.sentence("Aside.", bytes(4_800), turn=asides[1])
    assert {event["response_id"] for event in said if event["type"].startswith("response.")} == {asides[1]}
    assert "response.output_audio.delta" in types(said)
    world.sentence("Main.", bytes(4_800))
    (cancelled,) = world.client("response.cancel", response_id=asides[0])
    assert (cancelled["response"]["id"], cancelled["response"]["status"]) == (asides[0], "cancelled")
    assert world.turn is not None, "the conversation's response goes on"
    world.end_turn()
    world.end_out_of_band()

    assert [event["response"]["status"] for event in world.of("response.done")] == ["cancelled", *["completed"] * 2]


def test_speech_ends_the_conversations_response_and_none_out_of_band() -> None:
    world = RealtimeWorld()
    world.client("response.create", response={"conversation": "none"})
    world.utterance("u1", "Hello?")

    assert not world.of("response.done")
    assert world.turn is not None, "and it is answered beside that one"


def test_a_response_out_of_band_reads_no_state_of_hooks_and_leaves_none() -> None:
    world = RealtimeWorld()
    world.say("Hello?")
    world.client("response.create")
    world.sentence("Hi.")
    world.end_turn(state="v1.first")
    world.client("response.create", response={"conversation": "none"})
    assert world.last(wire.Respond).state is None
    aside = world.out_of_band.pop()
    world.session(
        wire.TurnEnd(turn_id=aside, reason="completed", usage=wire.UsageItem(), metrics=METRICS, state="v1.x")
    )
    world.client("response.create")

    assert world.last(wire.Respond).state == "v1.first"


def test_sound_that_a_response_refers_to_is_recognised_once() -> None:
    world = RealtimeWorld()
    world.client("conversation.item.create", item=asked_by_voice() | {"id": "one"})
    world.client("response.create", response={"input": [{"type": "item_reference", "id": "one"}]})
    assert len(world.transcriptions) == 1

    world.recognize("Hello?")

    assert texts(world.last(wire.Respond).messages) == [("user", "Listen:\nHello?")]
