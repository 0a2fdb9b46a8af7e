"""Events that a Realtime client is sent: numbered dicts, whose `bytes` become base64 when they are encoded."""

from collections.abc import Collection
from typing import Any, Final

import msgspec
from msgspec import UNSET

from server.errors import FrameError
from server.wire import frames as wire

Event = dict[str, Any]
_NOT_THEIRS: Final = ("internal", "speech_unavailable", "turn_refused_draining", "too_many_turns")
"""Codes of errors for which the client's event is not to blame."""

_CODES: Final = {"frame_invalid": "invalid_value", "frame_malformed": "invalid_json"}
"""Codes of this API for those of `parley.v1`."""


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

    def error(self, refusal: FrameError, *, event_id: str | None = None) -> Event:
        """Return the `error` that answers the client's event `event_id`, if it had an id."""
        error = {
            "type": "server_error" if refusal.code in _NOT_THEIRS else "invalid_request_error",
            "code": _CODES.get(refusal.code, refusal.code),
            "message": str(refusal),
            "param": None if refusal.path == "$" else refusal.path,
            "event_id": event_id,
        }
        return self.event("error", error=error)

    def extra(self, frame: wire.ServerFrame, wanted: Collection[str]) -> list[Event]:
        """Return a frame of ours as an event `parley.…`, if it is wanted: a question with its answer."""
        name = f"parley.{frame.__struct_config__.tag}"
        if name.replace("resolved", "request") not in wanted:
            return []
        fields = {name: value for name, value in msgspec.structs.asdict(frame).items() if value is not UNSET}
        if "turn_id" in fields:
            fields["response_id"] = fields.pop("turn_id")
        return [self.event(name, **fields)]


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
