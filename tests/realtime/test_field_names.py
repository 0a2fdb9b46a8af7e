"""Fields that the Realtime API does not have: some are refused with the cure, the others are ignored"""

import logging
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError

from tests.realtime.realtime_world import RealtimeWorld
from tests.support.parley import Parley
from tests.support.waiting import LIMIT_S


def refusal(world: RealtimeWorld, type_: str, **fields: Any) -> tuple[str, str, str]:
    error = world.client(type_, **fields)[0]["error"]
    return error["code"], error["param"], error["message"]


BETA: list[tuple[str, Any, str]] = [
    ("modalities", ["text"], '{"output_modalities":["text"]}'),
    ("modalities", ["text", "audio"], '{"output_modalities":["audio"]}'),
    ("input_audio_format", "g711_ulaw", '{"audio":{"input":{"format":{"type":"audio/pcmu"}}}}'),
    ("turn_detection", None, '{"audio":{"input":{"turn_detection":null}}}'),
    (
        "input_audio_transcription",
        {"model": "whisper-1"},
        '{"audio":{"input":{"transcription":{"model":"whisper-1"}}}}',
    ),
    ("voice", "alloy", '{"audio":{"output":{"voice":"alloy"}}}'),
    ("max_response_output_tokens", 100, '{"max_output_tokens":100}'),
]


@pytest.mark.parametrize(("name", "value", "cure"), BETA)
def test_a_field_of_the_beta_is_refused_with_what_to_send_instead(name: str, value: Any, cure: str) -> None:
    world = RealtimeWorld()
    before = world.of("session.created")[0]["session"]

    code, param, message = refusal(world, "session.update", session={"type": "realtime", name: value})

    assert (code, param) == ("unknown_parameter", f"session.{name}")
    assert cure in message
    assert world.client("session.update", session={})[-1]["session"] == before, "nothing of it applies"


def test_a_response_with_a_field_of_the_beta_does_not_begin() -> None:
    world = RealtimeWorld()

    code, param, message = refusal(world, "response.create", response={"modalities": ["text"]})

    assert (code, param) == ("unknown_parameter", "response.modalities")
    assert '{"output_modalities":["text"]}' in message
    assert not world.of("response.created")


@pytest.mark.parametrize(
    ("type_", "fields", "param", "meant"),
    [
        ("session.update", {"session": {"instruction": "Hm."}}, "session.instruction", "instructions"),
        ("session.update", {"session": {"audio": {"ouput": {}}}}, "session.audio.ouput", "output"),
        (
            "session.update",
            {"session": {"audio": {"input": {"turn_detecton": None}}}},
            "session.audio.input.turn_detecton",
            "turn_detection",
        ),
        (
            "session.update",
            {"session": {"tools": [{"type": "function", "name": "f", "paramaters": {}}]}},
            "session.tools[0].paramaters",
            "parameters",
        ),
        ("response.create", {"response": {"tool_choise": "none"}}, "response.tool_choise", "tool_choice"),
        ("response.create", {"response": {"maxOutputTokens": 9}}, "response.maxOutputTokens", "max_output_tokens"),
        ("response.create", {"respone": {}}, "respone", "response"),
        (
            "conversation.item.create",
            {"item": {"type": "message", "role": "user", "content": [{"type": "input_text", "tetx": "Hi"}]}},
            "item.content[0].tetx",
            "text",
        ),
    ],
)
def test_a_field_one_letter_off_is_refused_with_the_one_that_is_meant(
    type_: str, fields: dict[str, Any], param: str, meant: str
) -> None:
    code, place, message = refusal(RealtimeWorld(), type_, **fields)

    assert (code, place) == ("unknown_parameter", param)
    assert f"`{meant}`" in message


def test_a_field_of_a_newer_client_is_ignored_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    newer = {"type": "realtime", "instructions": "Hm.", "max_input_tokens": 7, "audio": {"output": {"timbre": "soft"}}}
    with caplog.at_level(logging.INFO, logger="server.realtime.field_names"):
        for world in (RealtimeWorld(), RealtimeWorld()):
            assert world.client("session.update", session=newer)[-1]["session"]["instructions"] == "Hm."
            world.client("conversation.item.create", item={"type": "message", "role": "user", "content": [], "mood": 1})

    told = [record.getMessage() for record in caplog.records]
    assert [any(name in line for line in told) for name in ("max_input_tokens", "timbre", "mood")] == [True] * 3
    assert len(told) == 3


def test_of_a_long_name_only_the_beginning_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="server.realtime.field_names"):
        for number in range(3):
            RealtimeWorld().client("input_audio_buffer.clear", **{"long" * 1000 + str(number): 1})

    [told] = [record.getMessage() for record in caplog.records]
    assert len(told) < 200


def test_a_thousand_unknown_fields_are_ignored_too() -> None:
    fields = {f"new_field_{number}": {"value": number} for number in range(1000)}

    assert RealtimeWorld().client("session.update", session=fields)[-1]["type"] == "session.updated"


async def test_openai_python_learns_why_its_beta_fields_do_not_count(server: Parley) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", timeout=LIMIT_S) as client:
        beta: Any = {"modalities": ["text"]}
        async with client.realtime.connect(model="any") as connection:
            await connection.session.update(session=beta)
            while (event := await connection.recv()).type != "error":
                pass
        with pytest.raises(BadRequestError) as refused:
            await client.realtime.client_secrets.create(session=beta)

    assert event.error.code == refused.value.code == "unknown_parameter"
    assert '{"output_modalities":["text"]}' in event.error.message
    assert refused.value.param == "session.modalities"
