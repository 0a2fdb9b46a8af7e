"""The configuration of a Realtime session: merged, checked, echoed."""

from typing import Any

import pytest

from server.errors import FrameError
from server.realtime.session_config import MAX_SESSION_VALUES, ServerTools, SessionConfig
from server.realtime.session_settings import settings_of


def test_an_update_changes_the_fields_that_it_gives() -> None:
    config = SessionConfig().updated({"instructions": "Be brief.", "audio": {"output": {"voice": "amy"}}})

    config = config.updated({"audio": {"input": {"turn_detection": None}, "output": {"speed": 1.2}}})

    echo = config.echo()
    assert echo["instructions"] == "Be brief."
    assert echo["audio"]["output"] == {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "amy", "speed": 1.2}
    assert echo["audio"]["input"]["turn_detection"] is None


def test_an_update_that_changes_nothing_makes_no_new_configuration() -> None:
    config = SessionConfig().updated({"instructions": "Be brief.", "tracing": {"x": 1}})

    assert config.updated({}) is config
    assert config.updated({"type": "realtime", "instructions": "Be brief."}) is config
    assert config.updated({"tracing": {"x": True}}).tracing == {"x": True}


def test_null_gives_a_field_its_default_back() -> None:
    config = SessionConfig().updated({"instructions": "Be brief.", "max_output_tokens": 7})

    echo = config.updated({"instructions": None, "max_output_tokens": None}).echo()

    assert (echo["instructions"], echo["max_output_tokens"]) == ("", "inf")


def test_null_within_an_object_means_its_fields_default_too() -> None:
    """OpenAI's types have these as optional, so clients that write out a whole object send null."""
    tool = {"name": "lamp", "description": None, "parameters": None, "type": None}
    detection = {"type": "semantic_vad", "eagerness": None, "create_response": None, "interrupt_response": None}
    sound = {"input": {"turn_detection": detection}, "output": {"format": {"rate": None, "type": None}}}

    echo = SessionConfig().updated({"tools": [tool], "audio": sound}).echo()

    nothing = {"type": "object", "properties": {}}
    assert echo["tools"] == [{"type": "function", "name": "lamp", "description": "", "parameters": nothing}]
    assert echo["audio"]["input"]["turn_detection"] == {
        "type": "semantic_vad",
        "eagerness": "auto",
        "create_response": True,
        "interrupt_response": True,
    }
    assert echo["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24_000}


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"audio": {"output": {"speed": 9}}}, "invalid_value", "session.audio.output.speed"),
        ({"audio": {"input": {"turn_detection": {}}}}, "missing_required_parameter", "session.audio.input.turn_detection.type"),
        ({"audio": 5}, "invalid_value", "session.audio"),
        ({"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 5000.5}}}}, "invalid_value", "session.audio.input.turn_detection.idle_timeout_ms"),
        ({"output_modalities": ["audio", "text"]}, "invalid_value", "session.output_modalities"),
        ({"tools": [{"type": "mcp", "server_label": "x", "server_url": "http://x"}]}, "unsupported_parameter", "session.tools[0]"),
        ({"tools": [{"type": "mcp", "server_label": "x"}]}, "invalid_value", "session.tools[0].server_label"),
        ({"tools": [{"type": "mcp", "server_label": "lab", "allowed_tools": ["add"]}]}, "unsupported_parameter", "session.tools[0].allowed_tools"),
        ({"tools": [{"type": "mcp", "server_label": "lab", "require_approval": "always"}]}, "unsupported_parameter", "session.tools[0].require_approval"),
        ({"tools": [{"type": "function", "name": "clock"}]}, "invalid_value", "session.tools[0].name"),
        ({"tools": [{"type": "function"}]}, "missing_required_parameter", "session.tools[0].name"),
        ({"tools": [{"type": "function", "name": f"t{i}"} for i in range(129)]}, "too_many_tools", "session.tools"),
        ({"tracing": {"workflow_name": "x" * 300_000}}, "session_too_large", "session"),
        ({"tracing": {"x": [[]] * MAX_SESSION_VALUES}}, "session_too_large", "session"),
        ({"tools": [{"type": "function", "name": "a"}] * 2}, "invalid_value", "session.tools[1].name"),
        ({"tools": [{"type": "function", "name": "a", "parameters": {"type": "string"}}]}, "invalid_value", "session.tools[0].parameters.type"),
        ({"tool_choice": {"type": "mcp", "server_label": "x"}}, "unsupported_parameter", "session.tool_choice"),
        ({"prompt": {"id": "pmpt_1"}}, "unsupported_parameter", "session.prompt"),
        ({"include": ["everything"]}, "invalid_value", "session.include"),
        ({"type": "translation"}, "invalid_value", "session.type"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_by_its_place(changes: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(FrameError) as caught:
        SessionConfig().updated(changes, server_tools=ServerTools(["lab"], lambda: ["clock"]))

    assert (caught.value.code, caught.value.path) == (code, param)


def test_a_tool_of_the_servers_that_has_come_since_stands_in_no_other_updates_way() -> None:
    config = SessionConfig().updated({"tools": [{"type": "function", "name": "clock"}]})

    config = config.updated({"instructions": "Be brief."}, server_tools=ServerTools(names=lambda: ["clock"]))

    assert config.instructions == "Be brief."


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"threshold": 1, "silence_duration_ms": 0, "prefix_padding_ms": 9999}, (0.95, 192, 2000)),
        ({"threshold": 0, "silence_duration_ms": 10_000, "prefix_padding_ms": 0}, (0.2, 10_000, 0)),
        ({"threshold": 0.5, "silence_duration_ms": 500, "prefix_padding_ms": 300}, (0.5, 500, 300)),
    ],
)
def test_the_numbers_of_turn_detection_are_shown_as_they_are_in_force(
    asked: dict[str, Any], shown: tuple[Any, ...]
) -> None:
    detection = {"type": "server_vad", **asked}

    config = SessionConfig().updated({"audio": {"input": {"turn_detection": detection}}})

    echo = config.echo()["audio"]["input"]["turn_detection"]
    assert (echo["threshold"], echo["silence_duration_ms"], echo["prefix_padding_ms"]) == shown
    given = settings_of(config, conversation="c", maker_context={})["turn_detection"]
    assert (given.threshold, given.silence_ms, given.prefix_ms) == shown


@pytest.mark.rule("L1-56")
def test_a_context_is_for_conditions_and_is_not_echoed() -> None:
    config = SessionConfig().updated({"parley": {"context": {"plan": "free", "age": 3}}})

    given = settings_of(config, conversation="c", maker_context={"plan": "pro"})

    assert given["context"] == {"plan": "pro", "age": 3}
    assert "parley" not in config.echo()
    with pytest.raises(FrameError) as refused:
        config.updated({"parley": {"context": {"plan": {"a": 1}}}})
    assert (refused.value.path or "").startswith("session.parley.context")


def _idle(timeout_ms: int | None) -> dict[str, Any]:
    return {"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": timeout_ms}}}}


@pytest.mark.parametrize("timeout_ms", [5_000, 30_000])
def test_an_idle_timeout_is_echoed_until_null_takes_it_away(timeout_ms: int) -> None:
    config = SessionConfig().updated(_idle(timeout_ms))

    assert config.echo()["audio"]["input"]["turn_detection"]["idle_timeout_ms"] == timeout_ms
    assert "idle_timeout_ms" not in config.updated(_idle(None)).echo()["audio"]["input"]["turn_detection"]


@pytest.mark.parametrize(
    ("timeout_ms", "bound"),
    [(-1, ">= 5000"), (0, ">= 5000"), (4_999, ">= 5000"), (30_001, "<= 30000"), (10**20, "30000")],
)
def test_an_idle_timeout_out_of_bounds_is_refused_with_the_bound(timeout_ms: int, bound: str) -> None:
    with pytest.raises(FrameError, match=bound) as caught:
        SessionConfig().updated(_idle(timeout_ms))

    assert (caught.value.code, caught.value.path) == (
        "invalid_value",
        "session.audio.input.turn_detection.idle_timeout_ms",
    )


def test_extras_of_ours_are_not_echoed() -> None:
    config = SessionConfig().updated({"include": ["parley.hook", "item.input_audio_transcription.logprobs"]})

    assert config.extras == {"parley.hook"}
    assert config.echo()["include"] == ["item.input_audio_transcription.logprobs"]


def test_a_transcription_session_echoes_its_input_alone() -> None:
    echo = SessionConfig().updated({"type": "transcription"}).echo()

    assert set(echo) == {"type", "audio", "include"}
    assert set(echo["audio"]) == {"input"}
