"""A scripted reply on its way out: as server-sent events, or as one whole completion."""

import asyncio
import json
from typing import Any, assert_never

from aiohttp import web

from tests.support.openai_script import (
    Comment,
    Cut,
    Finish,
    Gate,
    Json,
    Pause,
    Raw,
    Reasoning,
    Step,
    Stream,
    Text,
    Tokens,
    ToolPart,
)


async def write_stream(http: web.Request, stream: Stream, body: Json) -> web.StreamResponse:
    """Send the pieces one write each; a `Cut` drops the connection and ends it."""
    response = web.StreamResponse(headers={"Content-Type": stream.content_type})
    await response.prepare(http)
    for step in stream.steps:
        match step:
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Gate():
                await step.wait()
            case Cut():
                if http.transport is not None:
                    http.transport.close()  # flushes what was written, then drops the line
                return response
            case _:
                await _write(response, _encode(step, stream.newline, body), stream.write_bytes)
    if stream.done:
        await _write(response, _line("[DONE]", stream.newline), stream.write_bytes)
    await response.write_eof()
    return response


async def as_completion(stream: Stream, body: Json) -> Json:
    """The same reply to a request without `stream`; gates are waited for."""
    content, reasoning, reason = "", "", "stop"
    parts: list[ToolPart] = []
    usage = Tokens()
    for step in stream.steps:
        match step:
            case Text(piece):
                content += piece
            case Reasoning(text=piece):
                reasoning += piece
            case ToolPart():
                parts.append(step)
            case Finish(reason):
                pass
            case Tokens():
                usage = step
            case Gate():
                await step.wait()
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Raw() | Comment() | Cut():
                pass
            case _:
                assert_never(step)
    message: Json = {"role": "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    if parts:
        message["tool_calls"] = _whole_calls(parts)
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**_envelope(body, "chat.completion"), "choices": [choice], "usage": _usage(usage)}


async def _write(response: web.StreamResponse, data: bytes, limit: int | None) -> None:
    size = limit or max(len(data), 1)
    for at in range(0, len(data), size):
        await response.write(data[at : at + size])
        if limit:
            await asyncio.sleep(0)  # lets the socket send this piece alone


def _encode(step: Step, newline: str, body: Json) -> bytes:
    match step:
        case Raw(data):
            return data
        case Comment(text):
            return f": {text}{newline}{newline}".encode()
        case Text(text):
            return _chunk(body, newline, {"content": text})
        case Reasoning(text, key):
            return _chunk(body, newline, {key: text})
        case ToolPart():
            return _chunk(body, newline, {"tool_calls": [_tool_part(step)]})
        case Finish(reason):
            return _chunk(body, newline, {}, reason)
        case Tokens():
            if not (body.get("stream_options") or {}).get("include_usage"):
                return b""
            chunk = {**_envelope(body), "choices": [], "usage": _usage(step)}
            return _line(json.dumps(chunk), newline)
        case Pause() | Gate() | Cut():
            raise AssertionError("not written, but waited for")
        case _:
            assert_never(step)


def _chunk(body: Json, newline: str, delta: Json, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _line(json.dumps({**_envelope(body), "choices": [choice]}, ensure_ascii=False), newline)


def _line(data: str, newline: str) -> bytes:
    return f"data: {data}{newline}{newline}".encode()


def _envelope(body: Json, kind: str = "chat.completion.chunk") -> Json:
    return {"id": "chatcmpl-0", "object": kind, "created": 0, "model": body.get("model", "")}


def _tool_part(part: ToolPart) -> Json:
    function: dict[str, Any] = {}
    if part.name is not None:
        function["name"] = part.name
    if part.arguments is not None:
        function["arguments"] = part.arguments
    fragment: Json = {"function": function}
    if part.index is not None:
        fragment["index"] = part.index
    if part.id is not None:
        fragment |= {"id": part.id, "type": "function"}
    return fragment


def _whole_calls(parts: list[ToolPart]) -> list[Json]:
    calls: dict[int, Json] = {}
    for part in parts:
        call = calls.setdefault(
            part.index or 0,
            {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
        )
        call["id"] += part.id or ""
        call["function"]["name"] += part.name or ""
        whole = part.arguments or ""
        call["function"]["arguments"] += whole if isinstance(whole, str) else json.dumps(whole)
    return list(calls.values())


def _usage(usage: Tokens) -> Json:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
