"""What `configure` has set for the rest of a connection. Pure."""

from dataclasses import dataclass

from msgspec import UNSET

from server.speech.listener import TurnDetection
from server.wire import frames as wire


@dataclass(slots=True)
class ClientSettings:
    voice: bool = True
    turn_detection: TurnDetection = "server_vad"
    sample_rate: int = 16_000
    max_ahead_ms: float = 30_000
    skills: list[str] | None = None
    enable_tools: bool = True
    language: str | None = None
    conversation: str | None = None
    trace: bool = False

    def apply(self, frame: wire.Configure, *, may_trace: bool) -> None:
        """Fields left out keep their value; a trace that is not allowed stays off."""
        if frame.voice is not UNSET:
            self.voice = frame.voice
        if frame.turn_detection is not UNSET:
            self.turn_detection = frame.turn_detection
        if frame.input is not UNSET:
            self.sample_rate = frame.input.sample_rate
        if frame.output is not UNSET:
            self.max_ahead_ms = frame.output.max_ahead_ms
        if frame.skills is not UNSET:
            self.skills = frame.skills
        if frame.enable_tools is not UNSET:
            self.enable_tools = frame.enable_tools
        if frame.language is not UNSET:
            self.language = frame.language
        if frame.conversation is not UNSET:
            self.conversation = frame.conversation
        if frame.trace is not UNSET:
            self.trace = frame.trace and may_trace
