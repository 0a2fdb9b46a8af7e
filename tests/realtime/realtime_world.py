"""A translator between a Realtime client and a scripted session, without sockets and clocks."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from server.errors import FrameError, TurnError
from server.realtime import client_events
from server.realtime.session_config import SessionConfig
from server.realtime.translator import Action, RealtimeTranslator, Recognize, Request
from server.wire import frames as wire
from tests.support.realtime_types import Event, RealtimeEventChecker, as_sent

_THERE = wire.SpeechPart(state="ready", name="scripted")
READY = wire.Ready(
    protocol=wire.PROTOCOL,
    session_id="5e5510",
    server="parley/0",
    skills=[],
    model=wire.ModelItem(name="scripted", host="here", location="local"),
    speech=wire.SpeechStatus(
        stt=_THERE, tts=_THERE, vad=_THERE, opus=_THERE, voices=["amy"], output_sample_rate=24_000
    ),
    limits=wire.LimitItems(
        max_message_bytes=4 << 20,
        max_messages=100,
        max_binary_bytes=4_800,
        max_frames_per_s=200,
        max_hook_frames_per_turn=64,
        max_turn_s=300,
    ),
    user=wire.UserItem(name="local", is_operator=True, is_logged_in=False),
)
METRICS = wire.Metrics(total=1.0)
SOUND = wire.AudioFormat(format="pcm16", sample_rate=24_000)


class RealtimeWorld:
    """What is sent to the client is in `events`, checked; what goes to the session in `frames` and `sound`.

    The session begins every turn that is asked for, unless `refuse` says why not.
    """

    def __init__(
        self,
        *,
        defaults: SessionConfig | None = None,
        ready: wire.Ready = READY,
        refuse: FrameError | TurnError | None = None,
    ) -> None:
        self.translator = RealtimeTranslator(defaults=defaults)
        self.checker = RealtimeEventChecker()
        self.events: list[Event] = []
        self.limits: list[Event] = []
        """The events `rate_limits.updated`, which are not among the others: one comes with each turn."""
        self.frames: list[wire.AnyClientFrame] = []
        self.sound: list[bytes] = []
        self.refuse = refuse
        self.notice: wire.Notice | None = None
        self.turn: str | None = None
        """The turn that runs."""
        self.out_of_band: list[str] = []
        """The turns that run beside it."""
        self.transcriptions: list[Recognize] = []
        """Sound of items that waits for its words."""
        self._index = 0
        self.session(ready)

    # --- the client

    def client(self, type_: str, **fields: Any) -> list[Event]:
        """Send an event; return what comes back at once."""
        return self.client_says(json.dumps({"type": type_, **fields}).encode())

    def client_says(self, data: bytes) -> list[Event]:
        before = len(self.events)
        try:
            event = client_events.decode(data)
        except FrameError as refusal:
            self._do(self.translator.refuse(refusal, client_events.event_id_of(data)))
        else:
            self._do(self.translator.from_client(event))
        return self.events[before:]

    def say(self, text: str, *, item_id: str | None = None) -> list[Event]:
        item: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        if item_id is not None:
            item["id"] = item_id
        return self.client("conversation.item.create", item=item)

    # --- the session

    def session(self, *frames: wire.ServerFrame | bytes, turn: str | None = None) -> list[Event]:
        """Let the session send, sound of that turn or of the running one; return what the client gets of it."""
        before = len(self.events)
        for frame in frames:
            if isinstance(frame, wire.TurnEnd) and frame.turn_id == self.turn:
                self.turn = None
            self._do(
                self.translator.from_voice(frame, turn or self.running)
                if isinstance(frame, bytes)
                else self.translator.from_session(frame)
            )
        return self.events[before:]

    def sentence(
        self, text: str, *pcm: bytes, words: list[tuple[int, float]] | None = None, turn: str | None = None
    ) -> list[Event]:
        """Let the running turn say a sentence, or that one."""
        turn, index = turn or self.running, self._index
        self._index += 1
        before = len(self.events)
        self.session(wire.Text(turn_id=turn, delta=text))
        self.session(wire.Sentence(turn_id=turn, index=index, text=text, audio=SOUND if pcm else None), *pcm, turn=turn)
        ms = sum(map(len, pcm)) / 48
        self.session(wire.SentenceEnd(turn_id=turn, index=index, duration_ms=ms, words=words or UNSET))
        return self.events[before:]

    def hook(self, name: str = "mood", *, role: str = "system", content: str = "Be kind.") -> list[Event]:
        timing = "after_user_input"
        return self.session(
            wire.Hook(
                turn_id=self.running, name=name, role=role, content=content, skill="s", timing=timing, sig="v1.k.sig"
            )
        )

    def end_turn(self, reason: wire.TurnEndReason = "completed", **fields: Any) -> list[Event]:
        usage = wire.UsageItem(input_tokens=7, output_tokens=3, cached_tokens=2)
        return self.session(wire.TurnEnd(turn_id=self.running, reason=reason, usage=usage, metrics=METRICS, **fields))

    def end_out_of_band(self, reason: wire.TurnEndReason = "completed") -> list[Event]:
        """End the oldest turn that runs beside the conversation's."""
        usage = wire.UsageItem(input_tokens=7, output_tokens=3)
        return self.session(wire.TurnEnd(turn_id=self.out_of_band.pop(0), reason=reason, usage=usage, metrics=METRICS))

    def recognize(self, words: str | FrameError) -> list[Event]:
        """Let the oldest sound of an item come to these words."""
        before = len(self.events)
        self._do(self.translator.recognized(self.transcriptions.pop(0), words))
        return self.events[before:]

    def utterance(self, name: str, text: str, *, from_ms: float = 0, to_ms: float = 1000) -> list[Event]:
        """Let somebody speak whom turn detection hears; a running turn that speech ends has ended before."""
        before = len(self.events)
        self.session(wire.SpeechDetected(utterance=name, audio_ms=from_ms))
        self.session(wire.SpeechStarted(utterance=name, audio_ms=from_ms))
        self.session(wire.SpeechStopped(utterance=name, audio_ms=to_ms))
        self.session(wire.Transcript(utterance=name, text=text, final=True))
        return self.events[before:]

    def time_out(self) -> list[Event]:
        """Let nobody speak for as long as the translator wants to know of."""
        before = len(self.events)
        self._do(self.translator.time_out())
        return self.events[before:]

    @property
    def running(self) -> str:
        assert self.turn is not None, "no turn runs"
        return self.turn

    def last(self, kind: type[Any]) -> Any:
        return next(frame for frame in reversed(self.frames) if isinstance(frame, kind))

    def of(self, type_: str) -> list[Event]:
        return [event for event in self.events if event["type"] == type_]

    def close(self) -> None:
        self._do([*self.translator.end()])
        self.checker.end()

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, dict):
                event = as_sent(action)
                self.checker.check(event)
                (self.limits if event["type"] == "rate_limits.updated" else self.events).append(event)
            elif isinstance(action, bytes):
                self.sound.append(action)
            elif isinstance(action, Request):
                self._ask(action)
            elif isinstance(action, Recognize):
                self.transcriptions.append(action)
            else:
                self.session(*self.perform(action))

    def _ask(self, request: Request) -> None:
        try:
            answers = self.perform(request.frame, is_out_of_band=request.is_out_of_band)
        except (FrameError, TurnError) as error:
            self._do(request.refused(error))
        else:
            self._do(request.answered(answers))

    def perform(self, frame: wire.AnyClientFrame, *, is_out_of_band: bool = False) -> Sequence[wire.Answer]:
        self.frames.append(msgspec.json.decode(msgspec.json.encode(frame), type=type(frame)))  # it is a valid one
        refusal, self.refuse = self.refuse, None
        if refusal is not None:
            raise refusal
        if isinstance(frame, wire.Respond):
            assert is_out_of_band or self.turn is None, "one turn at a time"
            assert isinstance(frame.id, str)
            if is_out_of_band:
                self.out_of_band.append(frame.id)
            else:
                self.turn, self._index = frame.id, 0
            self.session(wire.TurnStart(turn_id=frame.id, trigger="chat", skills=[]))
        elif isinstance(frame, wire.Interrupt) and frame.turn_id == self.turn:
            self.end_turn("interrupted")
        elif isinstance(frame, wire.Interrupt) and frame.turn_id in self.out_of_band:
            self.end_out_of_band("interrupted")
        notice, self.notice = self.notice, None
        return () if notice is None else [notice]


def types(events: list[Event]) -> list[str]:
    return [event["type"] for event in events]
