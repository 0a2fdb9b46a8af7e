"""Realtime events ↔ frames of `parley.v1`: the whole of a Realtime session but its socket. Pure."""

from collections.abc import Callable, Collection
from typing import Any

from server.gateway.realtime.session_config import SessionConfig
from server.wire import frames as wire

Action = dict[str, Any] | wire.AnyClientFrame | bytes
"""An event for the client (encode it with msgspec, which turns its `bytes` into base64), a frame for the session, or
sound for the session."""


class RealtimeTranslator:
    """Translates one connection. Every method returns what is to be done, in this order, without waiting between.

    What `from_client` returns is carried out before the next message is read. Of what `begin`, `from_session` and
    `from_voice` return, events are sent at once; frames go to the session in the next step of the event loop, all of
    one list together: the session is just sending. Nothing here raises, whatever comes in.
    """

    def __init__(
        self,
        now_s: Callable[[], float],
        *,
        defaults: SessionConfig | None = None,
        mcp_servers: Collection[str] = (),
    ) -> None:
        """`defaults`: the configuration that the connection begins with, as of an `ek_` key or of `intent`."""
        self._now_s = now_s
        self._config = defaults or SessionConfig()
        self._mcp_servers = mcp_servers

    def begin(self, ready: wire.Ready) -> list[Action]:
        """Answer the first frame of the session: configure it and send `session.created`."""
        self._config = self._config.updated({"model": ready.model.name})
        return [{"type": "session.created", "event_id": "event_1", "session": self._config.echo()}]

    def from_client(self, data: bytes) -> list[Action]:  # noqa: ARG002 - soon
        """Answer a text message of the client."""
        return []

    def from_session(self, frame: wire.ServerFrame) -> list[Action]:
        """Translate a frame of the session; the first is `ready`."""
        return self.begin(frame) if isinstance(frame, wire.Ready) else []

    def from_voice(self, pcm: bytes) -> list[Action]:  # noqa: ARG002 - soon
        """Translate a piece of the reply's sound, PCM16 at the rate of the sentence under way."""
        return []

    def end(self) -> list[Action]:
        """Return the events that are still owed when the connection closes, such as `response.done`."""
        return []
