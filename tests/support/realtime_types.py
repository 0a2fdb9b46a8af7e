"""What every event of a Realtime conversation must be: exactly OpenAI's types, and what stock clients rely on."""

import json
from collections import Counter
from typing import Any, Final, get_args

import msgspec
from openai.types.realtime import RealtimeServerEvent
from pydantic import BaseModel, ValidationError

Event = dict[str, Any]

MODELS: Final[dict[str, type[BaseModel]]] = {
    get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(get_args(RealtimeServerEvent)[0])
}
"""The types of OpenAI's package, by the `type` of their event."""
_SESSION: Final = {"id", "object", "expires_at"}
_NEVER: Final = ("conversation.item.created",)


def as_sent(event: Event) -> Event:
    """Return the event as a client reads it, base64 and all."""
    read: Event = json.loads(msgspec.json.encode(event))
    return read


class RealtimeEventChecker:
    """Checks each event that one connection is sent, in order. Raises AssertionError."""

    def __init__(self) -> None:
        self._ids: Counter[str] = Counter()
        self._items: set[str] = set()  # announced and not deleted
        self._open: dict[str, bool] = {}  # responses created and not done; whether it is the conversation's
        self._done: Counter[str] = Counter()
        self._parts: dict[tuple[str, str], str] = {}  # open content part, by response and item → words so far
        self._speaking: str | None = None  # item of the speech that has started and not stopped
        self._timed_out: str | None = None  # item of the silence that is committed next

    def check(self, event: Event) -> None:
        """Check an event, as a client reads it."""
        self._ids[event["event_id"]] += 1
        assert self._ids[event["event_id"]] == 1, f"two events are {event['event_id']}"
        if event["type"].startswith("parley."):
            return
        check_type(event)
        if self._timed_out is not None and event["type"] != "conversation.item.deleted":  # what makes room for it
            assert (event["type"], event["item_id"]) == ("input_audio_buffer.committed", self._timed_out)
            self._timed_out = None
        match event["type"]:
            case "input_audio_buffer.timeout_triggered":
                assert True not in self._open.values(), "a response runs"
                assert self._speaking is None, "somebody speaks"
                assert 0 <= event["audio_start_ms"] <= event["audio_end_ms"]
                self._timed_out = event["item_id"]
            case "input_audio_buffer.speech_started":
                assert self._speaking is None, f"{self._speaking} has not stopped"
                self._speaking = event["item_id"]
            case "input_audio_buffer.speech_stopped":
                assert self._speaking == event["item_id"], "it has not started"
                self._speaking = None
            case "conversation.item.added":
                self._check_place(event)
                self._items.add(event["item"]["id"])
            case "conversation.item.done":
                self._check_place(event)
                assert event["item"]["id"] in self._items
            case "conversation.item.deleted":
                self._items.remove(event["item_id"])
            case "response.created":
                is_in_band = event["response"]["conversation_id"] is not None
                running = [each for each in self._open.values() if each == is_in_band]
                assert len(running) < (1 if is_in_band else 2), "one response of the conversation, and two out of band"
                self._open[event["response"]["id"]] = is_in_band
            case "response.done":
                self._check_done(event["response"])
            case name if name.startswith("response."):
                self._check_of_response(event)

    def end(self) -> None:
        assert not self._open, f"response.done is missing for {self._open}"
        assert all(count == 1 for count in self._done.values())

    def _check_place(self, event: Event) -> None:
        previous = event["previous_item_id"]
        assert previous is None or previous in self._items, f"{previous} was never announced"

    def _check_done(self, response: Event) -> None:
        del self._open[response["id"]]
        self._done[response["id"]] += 1
        assert response["id"] not in [of for of, _ in self._parts], f"still open: {self._parts}"
        assert response["status"] != "in_progress"
        assert (response["status"] == "completed") == (response["status_details"] is None)
        if response["status_details"]:
            assert response["status_details"]["type"] == response["status"]
        usage = response["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert {"text_tokens", "audio_tokens", "cached_tokens"} <= usage["input_token_details"].keys()
        assert {"text_tokens", "audio_tokens"} <= usage["output_token_details"].keys()
        assert all(item["status"] != "in_progress" for item in response["output"])

    def _check_of_response(self, event: Event) -> None:
        assert event["response_id"] in self._open, f"{event['type']} outside of its response"
        part = event["response_id"], event.get("item_id", "")
        match event["type"]:
            case "response.content_part.added":
                self._parts[part] = ""
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                self._parts[part] += event["delta"]
            case "response.output_audio_transcript.done":
                assert self._parts[part] == event["transcript"]
            case "response.output_text.done":
                assert self._parts[part] == event["text"]
            case "response.output_audio.delta":
                assert part in self._parts
                assert event["delta"]
            case "response.content_part.done":
                del self._parts[part]


def check_type(event: Event) -> None:
    """Compare with OpenAI's type: nothing extra, nothing missing, nothing of another type."""
    name = event["type"]
    assert name in MODELS, f"OpenAI has no event {name}"
    assert name not in _NEVER
    try:
        read = MODELS[name].model_validate_json(json.dumps(event), strict=True)
    except ValidationError as error:
        raise AssertionError(f"{name}: {error}") from None
    _check_extra(read, name, (f"{name}.session", _SESSION))
    for item in _items_of(event):
        _check_item(item)
    for value in (event.get("part") or {}).values():
        assert value is not None, "agents-js drops a part with null in it"
    if name == "error":
        assert {"type", "code", "message", "param", "event_id"} == event["error"].keys()


def _check_extra(read: Any, at: str, known: tuple[str, set[str]]) -> None:
    """`known`: a place, and the fields that OpenAI sends there though its types lack them."""
    if isinstance(read, BaseModel):
        extra = set(read.model_extra or ())
        assert extra == (known[1] if at == known[0] else set()), f"{at}: {sorted(extra)} is not what OpenAI sends"
        for name in read.model_fields_set - extra:
            _check_extra(getattr(read, name), f"{at}.{name}", known)
    elif isinstance(read, list):
        for index, each in enumerate(read):
            _check_extra(each, f"{at}[{index}]", known)


def _items_of(event: Event) -> list[Event]:
    response = event.get("response") or {}
    return [*([event["item"]] if "item" in event else []), *response.get("output", ())]


def _check_item(item: Event) -> None:
    assert {"id", "object", "type", "status"} <= item.keys()
    assert None not in [
        item.get(name, "") for name in ("id", "arguments", "call_id", "content", "name", "role", "status")
    ]
    if item["type"] == "function_call":
        assert {"call_id", "name", "arguments"} <= item.keys()
    for part in item.get("content", ()):
        if part["type"] == "input_audio":
            assert "transcript" in part, "agents-js ends its process without this key"
