"""Events that a Realtime client is sent: numbered dicts, whose `bytes` become base64 when they are encoded."""

from typing import Any

import msgspec
from msgspec import UNSET

from server.errors import FrameError
from server.wire import frames as wire

Event = dict[str, Any]


class EventFactory:
    """Makes events and ids that occur once on a connection."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._count = 0

    def new_id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._session_id}{self._count:05x}"

    def event(self, type_: str, **fields: Any) -> Event:
        self._count += 1
        return {"type": type_, "event_id": f"event_{self._session_id}{self._count:05x}", **fields}

    def error(self, refusal: FrameError, *, event_id: str | None = None, type_: str = "invalid_request_error") -> Event:
        """Return the `error` that answers the client's event `event_id`, if it had an id."""
        error = {
            "type": type_,
            "code": refusal.code,
            "message": str(refusal),
            "param": refusal.path,
            "event_id": event_id,
        }
        return self.event("error", error=error)

    def extra(self, frame: wire.ServerFrame) -> Event:
        """Return a frame of ours as an event `parley.…`."""
        fields = {name: value for name, value in msgspec.structs.asdict(frame).items() if value is not UNSET}
        if "turn_id" in fields:
            fields["response_id"] = fields.pop("turn_id")
        return self.event(f"parley.{frame.__struct_config__.tag}", **fields)


def usage_of(usage: wire.UsageItem) -> dict[str, Any]:
    """Return the tokens with all the numbers that clients read; what is not counted here is text."""
    cached = usage.cached_tokens
    return {
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "input_token_details": {
            "text_tokens": usage.input_tokens,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": cached,
            "cached_tokens_details": {"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {"text_tokens": usage.output_tokens, "audio_tokens": 0},
    }
