"""Fields of `configure` and `respond` that a Realtime configuration comes to. Pure."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from server.errors import FrameError
from server.realtime.client_events import ResponseWishes
from server.realtime.conversation_items import Item
from server.realtime.response_events import ResponseSpec
from server.realtime.session_config import (
    FunctionChoice,
    FunctionTool,
    OutputConfig,
    SemanticVad,
    ServerTools,
    ServerVad,
    SessionConfig,
    check_tools,
    convert,
    merge,
)
from server.wire import frames as wire


def settings_of(config: SessionConfig, *, conversation: str, maker_context: wire.Context) -> dict[str, Any]:
    """Return all fields of the `configure` that puts it into force. `maker_context`: that of the connection's key."""
    heard = config.audio.input
    detection = heard.turn_detection
    return {
        **_choices(config),
        "respond": "manual",
        "client_tools": "end",
        "conversation": conversation,
        "transcribe_only": config.type == "transcription",
        "input": wire.InputFormat(sample_rate=heard.format.rate),
        "turn_detection": _detection(detection),
        "barge_in": detection is not None and detection.interrupt_response,
        "language": heard.transcription.language if heard.transcription and heard.transcription.language else None,
        "trace": "parley.trace" in config.extras,
        "context": config.parley.context | maker_context,
    }


def spec_of(
    wishes: ResponseWishes,
    config: SessionConfig,
    *,
    response_id: str,
    conversation_id: str,
    items: list[Item] | None,
    server_tools: ServerTools,
    voices: Sequence[str],
) -> ResponseSpec:
    """Return what a response is to be, of the client's wishes and its session. Raises FrameError."""
    asked = convert(merge({}, {"tools": wishes.tools or []}), SessionConfig, at="response")
    check_tools(asked.tools, wishes.tool_choice or "auto", at="response", server_tools=server_tools)
    if wishes.prompt is not None:
        text = "prompt templates are not here; send their text as `instructions`"
        raise FrameError("unsupported_parameter", text, path="response.prompt")
    if wishes.conversation not in (None, "auto", "none"):
        raise FrameError("invalid_value", "`auto` or `none` is expected", path="response.conversation")
    output = config.audio.output
    if wishes.audio is not None:
        given = {name: value for name, value in (wishes.audio.output or {}).items() if value is not None}
        merged = merge(msgspec.to_builtins(output), given)
        output = convert(merged, OutputConfig, at="response.audio.output").spoken_by(voices)
    given = {
        "output_modalities": wishes.output_modalities or None,
        "instructions": wishes.instructions,
        "max_output_tokens": wishes.max_output_tokens,
        "tools": None if wishes.tools is None else asked.tools,
        "tool_choice": wishes.tool_choice,
    }
    given = {name: value for name, value in given.items() if value is not None}
    own = structs.replace(config, audio=structs.replace(config.audio, output=output), **given)
    session = _choices(config)
    return ResponseSpec(
        id=response_id,
        conversation_id=None if wishes.conversation == "none" else conversation_id,
        is_spoken=own.output_modalities == ["audio"],
        sound=output.format,
        voice=output.speaker,
        max_output_tokens=own.max_output_tokens,
        metadata=wishes.metadata,
        overrides={name: value for name, value in _choices(own).items() if value != session[name]},
        input=items,
    )


def _choices(config: SessionConfig) -> dict[str, Any]:
    """Return what the configuration chooses for turns, as fields of `configure` and `respond`."""
    limit, choice = config.max_output_tokens, config.tool_choice
    return {
        "voice": config.output_modalities == ["audio"],
        "speaker": config.audio.output.speaker,
        "speed": config.audio.output.speed,
        "instructions": config.instructions or None,
        "max_tokens": limit if isinstance(limit, int) else None,
        "tools": [
            wire.ToolItem(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in config.tools
            if isinstance(tool, FunctionTool)
        ],
        "tool_choice": wire.ToolByName(name=choice.name) if isinstance(choice, FunctionChoice) else choice,
    }


def _detection(detection: ServerVad | SemanticVad | None) -> wire.DetectionSettings:
    match detection:
        case None:
            return wire.DetectionSettings(mode="push_to_talk")
        case ServerVad():
            return wire.DetectionSettings(
                mode="server_vad",
                threshold=detection.threshold,
                silence_ms=detection.silence_duration_ms,
                prefix_ms=detection.prefix_padding_ms,
            )
        case SemanticVad():
            eagerness = "medium" if detection.eagerness == "auto" else detection.eagerness
            return wire.DetectionSettings(mode="server_vad", eagerness=eagerness)
