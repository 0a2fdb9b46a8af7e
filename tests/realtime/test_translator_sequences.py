"""Any sequence of a client's events, of what a session does and of junk: an answer or an error for each, and no leaks."""

import base64
import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import UNSET

from server.errors import FrameError, TurnError
from server.wire import frames as wire
from tests.model.profile import examples, rounds
from tests.realtime.realtime_world import READY, RealtimeWorld
from tests.support.realtime_types import Event

IDS: Final = [f"item_of_client_{number}" for number in range(4)]
CALLS: Final = ["call_1", "call_2"]
JUNK: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.integers(1, 100_000).map("x".__mul__),
    st.lists(st.none(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from([10**400, -1, "root", "none", {"type": "message"}, [[]], "data:image/png;base64,"]),
)
SOUND: Final = base64.b64encode(bytes(4_800)).decode()
PART: Final = st.sampled_from(
    [
        {"type": "input_text", "text": "Hello"},
        {"type": "output_text", "text": "Hi"},
        {"type": "input_audio", "transcript": "Hello"},
        {"type": "input_audio", "audio": SOUND},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
    ]
)
ITEM: Final = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("message"),
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": st.lists(PART, max_size=2),
        },
        optional={"id": st.sampled_from(IDS)},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call"),
            "name": st.just("lamp"),
            "arguments": st.sampled_from(["{}", "junk"]),
            "call_id": st.sampled_from(CALLS),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call_output"), "call_id": st.sampled_from(CALLS), "output": st.just("on")}
    ),
)
TIMEOUTS: Final = [
    {"type": "server_vad", "idle_timeout_ms": 5_000},
    {"type": "server_vad", "idle_timeout_ms": 30_000, "create_response": False},
]
DETECTION: Final = st.sampled_from(
    [
        *TIMEOUTS,
        None,
        {"type": "server_vad"},
        {"type": "server_vad", "interrupt_response": False},
        {"type": "server_vad", "create_response": False, "silence_duration_ms": 10},
        {"type": "semantic_vad", "eagerness": "low"},
    ]
)
FORMAT: Final = st.sampled_from([{"type": "audio/pcm", "rate": 24000}, {"type": "audio/pcmu"}, {"type": "audio/pcma"}])
SESSION: Final = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["realtime", "realtime", "realtime", "transcription"]),
        "instructions": st.sampled_from(["", "Be brief.", None]),
        "output_modalities": st.sampled_from([["audio"], ["text"]]),
        "tools": st.just([{"type": "function", "name": "lamp"}]),
        "tool_choice": st.sampled_from(["auto", "none", {"type": "function", "name": "lamp"}]),
        "include": st.sampled_from([None, ["parley.hook", "parley.approval_request", "parley.notice"]]),
        "audio": st.fixed_dictionaries(
            {},
            optional={
                "input": st.fixed_dictionaries(
                    {},
                    optional={
                        "turn_detection": DETECTION,
                        "format": FORMAT,
                        "transcription": st.sampled_from([None, {"model": "whisper-1"}]),
                    },
                ),
                "output": st.fixed_dictionaries({}, optional={"format": FORMAT, "voice": st.just("marin")}),
            },
        ),
    },
)
RESPONSE: Final = st.fixed_dictionaries(
    {},
    optional={
        "conversation": st.sampled_from(["auto", "none"]),
        "instructions": st.just("Be brief."),
        "metadata": st.just({"client_event_id": "1"}),
        "output_modalities": st.sampled_from([["audio"], ["text"]]),
        "input": st.lists(
            st.one_of(ITEM, st.sampled_from(IDS).map(lambda id_: {"type": "item_reference", "id": id_})), max_size=2
        ),
    },
)
NOBODY: Final = wire.Notice(code="no_utterance", level="info", message="nothing is being said")
IMMEDIATE: Final = {  # answered by an event at once, whatever the session does
    "session.update",
    "input_audio_buffer.clear",
    "output_audio_buffer.clear",
    "conversation.item.create",
    "conversation.item.delete",
    "conversation.item.retrieve",
    "conversation.item.truncate",
    "response.create",
    "response.cancel",
}


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


class HearingWorld(RealtimeWorld):
    """A session that listens as the real one does: it names utterances at once, their words come when a rule says so."""

    def __init__(self) -> None:
        self.is_pressed: str | None = None
        self.speaking: str | None = None
        self.unrecognized: list[str] = []
        self.recognized: set[str | None] = {None}
        self.is_deaf = False
        self._utterances = 0
        self.settings = wire.Configure()
        limits = msgspec.structs.replace(READY.limits, max_messages=8)
        super().__init__(ready=msgspec.structs.replace(READY, limits=limits))

    def new_utterance(self) -> str:
        self._utterances += 1
        return f"u{self._utterances}"

    @property
    def listens(self) -> bool:
        detection = self.settings.turn_detection
        return isinstance(detection, wire.DetectionSettings) and detection.mode == "server_vad"

    def perform(self, frame: wire.AnyClientFrame, *, is_out_of_band: bool = False) -> Sequence[wire.Answer]:
        answers = super().perform(frame, is_out_of_band=is_out_of_band)
        match frame:
            case wire.Configure():
                given = {name: getattr(frame, name) for name in frame.__struct_fields__}
                for name, value in given.items():
                    if value is not UNSET:
                        setattr(self.settings, name, value)
                if frame.input is not UNSET or frame.turn_detection is not UNSET:
                    self.discard()
            case wire.Respond():
                assert frame.utterance in self.recognized, "the session knows none without words"
            case wire.SpeechStart() if self.is_deaf:
                self.session(wire.Error(code="speech_unavailable", message="no ears"))
            case wire.SpeechStart() if self.is_pressed is None:
                self.is_pressed = self.new_utterance()
                self.session(wire.SpeechStarted(utterance=self.is_pressed, audio_ms=5))
            case wire.SpeechEnd() if self.is_pressed or self.speaking:
                self.stop()
            case wire.SpeechEnd() if self.listens:
                self.session(NOBODY)
            case wire.SpeechCancel():
                self.discard()
        return answers

    def discard(self) -> None:
        under_way, self.is_pressed, self.speaking = self.is_pressed or self.speaking, None, None
        if under_way is not None:
            self.session(wire.Transcript(utterance=under_way, text="", final=True))

    def stop(self) -> None:
        under_way, self.is_pressed, self.speaking = self.is_pressed or self.speaking, None, None
        assert under_way is not None
        self.unrecognized.append(under_way)
        self.session(wire.SpeechStopped(utterance=under_way, audio_ms=250))


class RealtimeSequences(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = HearingWorld()
        self.calls = 0

    # --- the client

    def send(self, type_: str, **fields: Any) -> list[Event]:
        answers = self.world.client(type_, event_id="of_client", **fields)
        assert answers or type_ not in IMMEDIATE, f"{type_} got no answer"
        for event in answers:
            if event["type"] == "error":
                assert event["error"]["event_id"] in ("of_client", None)
        return answers

    @initialize(detection=st.sampled_from([*TIMEOUTS, {"type": "server_vad"}]))
    def configure(self, detection: dict[str, Any]) -> None:
        self.update({"audio": {"input": {"turn_detection": detection}}})

    @rule(session=SESSION)
    def update(self, session: dict[str, Any]) -> None:
        answers = self.send("session.update", session=session)
        assert [event for event in answers if event["type"] in ("session.updated", "error")]

    @rule(count=st.integers(0, 3))
    def append(self, count: int) -> None:
        for _ in range(count):
            assert self.send("input_audio_buffer.append", audio=SOUND) == [] or self.world.is_deaf

    @rule(kind=st.sampled_from(["input_audio_buffer.commit", "input_audio_buffer.clear", "output_audio_buffer.clear"]))
    def simple(self, kind: str) -> None:
        answers = self.send(kind)
        assert answers

    @rule(
        item=ITEM,
        after=st.sampled_from([None, None, "root", 0, 1, 2]),
        again=st.one_of(st.none(), st.integers(0, 5)),
    )
    def create(self, item: dict[str, Any], after: str | int | None, again: int | None) -> None:
        """Create an item, also under an id that was the server's or is."""
        previous = self.some_item(after) if isinstance(after, int) else after
        if again is not None:
            item = item | {"id": self.some_item(again)}
        self.send("conversation.item.create", item=item, previous_item_id=previous)

    @rule(ahead=st.integers(1, 8), after=st.sampled_from([None, "root"]))
    def foresee(self, ahead: int, after: str | None) -> None:
        """Create items under ids that the server will give, as they are numbered; then let it give some."""
        last = int(self.world.events[-1]["event_id"][-5:], 16)
        for number in range(4):
            item_id = f"item_{READY.session_id}{last + 4 * 3 + ahead + number:05x}"
            item = {"type": "message", "role": "user", "content": [], "id": item_id}
            self.send("conversation.item.create", item=item, previous_item_id=after)
        self.send("response.create")
        if self.world.turn is not None:
            self.sentence("Hi. ", 1, 24_000)
            self.world.hook()

    def some_item(self, number: int) -> str:
        ids = [event["item"]["id"] for event in self.world.of("conversation.item.added")][-6:] + IDS[:1]
        return str(ids[number % len(ids)])

    @rule(kind=st.sampled_from(["delete", "retrieve"]), number=st.integers(0, 50))
    def item(self, kind: str, number: int) -> None:
        self.send(f"conversation.item.{kind}", item_id=self.some_item(number))

    @rule(number=st.integers(0, 50), ms=st.integers(-5, 200), part=st.sampled_from([0, 0, 0, 1]))
    def truncate(self, number: int, ms: int, part: int) -> None:
        self.send("conversation.item.truncate", item_id=self.some_item(number), content_index=part, audio_end_ms=ms)

    @rule(response=st.one_of(st.none(), RESPONSE))
    def respond(self, response: dict[str, Any] | None) -> None:
        self.send("response.create", **({} if response is None else {"response": response}))

    @rule()
    def cancel(self) -> None:
        self.send("response.cancel")

    @rule()
    def approve(self) -> None:
        self.send("parley.approval", id="a1", approved=True)

    @rule(data=st.one_of(st.binary(max_size=20), st.text(max_size=20).map(str.encode), JUNK.map(_json)))
    def junk(self, data: bytes) -> None:
        (answer,) = self.world.client_says(data)
        assert answer["type"] == "error"

    @rule(
        kind=st.sampled_from(sorted(IMMEDIATE | {"input_audio_buffer.append", "parley.approval", "response.done"})),
        name=st.sampled_from(["session", "item", "item_id", "audio", "response", "audio_end_ms", "previous_item_id"]),
        value=JUNK,
        inner=st.one_of(st.none(), st.tuples(st.sampled_from(["audio", "content", "input", "tools", "id"]), JUNK)),
    )
    def wrong(self, kind: str, name: str, value: Any, inner: tuple[str, Any] | None) -> None:
        if inner is not None:
            value = {"type": "message", "role": "user", inner[0]: inner[1]}
        answers = self.world.client_says(_json({"type": kind, "event_id": "wrong", name: value}))
        assert answers or kind == "input_audio_buffer.append"

    # --- the session

    @precondition(lambda self: self.world.turn is not None)
    @rule(
        text=st.sampled_from(["Hi. ", "你好。", ""]), pieces=st.integers(0, 2), rate=st.sampled_from([24_000, 22_050])
    )
    def sentence(self, text: str, pieces: int, rate: int) -> None:
        sound = wire.AudioFormat(format="pcm16", sample_rate=rate)
        turn = self.world.running
        self.world.session(
            wire.Text(turn_id=turn, delta=text),
            wire.Sentence(turn_id=turn, index=0, text=text, audio=sound if pieces else None),
            *[bytes(960)] * pieces,
            wire.SentenceEnd(turn_id=turn, index=0, duration_ms=20.0 * pieces, words=[(0, 0.0)]),
        )

    @precondition(lambda self: self.world.turn is not None)
    @rule(role=st.sampled_from(["system", "user"]))
    def hook(self, role: str) -> None:
        self.world.hook(role=role)

    @precondition(lambda self: self.world.turn is not None)
    @rule(is_client=st.booleans())
    def call(self, *, is_client: bool) -> None:
        self.calls += 1
        call_id, turn = f"model_{self.calls}", self.world.running
        if is_client:
            self.world.session(wire.ClientToolCall(turn_id=turn, id=call_id, name="lamp", arguments={"on": True}))
        self.world.session(wire.ToolCall(turn_id=turn, id=call_id, name="lamp", arguments={"on": True}))
        self.world.session(
            wire.ToolResult(
                turn_id=turn,
                id=call_id,
                name="lamp",
                content="on",
                is_error=False,
                duration_ms=1,
                ending="open" if is_client else UNSET,
            )
        )

    @precondition(lambda self: self.world.turn is not None)
    @rule(
        reason=st.sampled_from(["completed", "completed", "aborted", "error"]),
        is_rolled_back=st.booleans(),
        is_cut=st.booleans(),
    )
    def end_turn(self, reason: wire.TurnEndReason, *, is_rolled_back: bool, is_cut: bool) -> None:
        turn = self.world.running
        if is_cut:
            self.world.session(wire.Notice(code="reply_cut", level="warning", message="cut", turn_id=turn))
        if reason == "error":
            self.world.session(wire.Error(code="provider_timeout", message="late", turn_id=turn))
        rollback = True if is_rolled_back and reason == "aborted" else UNSET
        self.world.end_turn(reason, rollback=rollback, state="v1.state")

    @precondition(lambda self: bool(self.world.out_of_band))
    @rule(number=st.integers(0, 1), reason=st.sampled_from(["completed", "aborted", "error", "interrupted"]))
    def end_out_of_band(self, number: int, reason: wire.TurnEndReason) -> None:
        self.world.sentence("Aside. ", bytes(960), turn=self.world.out_of_band[number % len(self.world.out_of_band)])
        self.world.end_out_of_band(reason)

    @precondition(lambda self: bool(self.world.transcriptions))
    @rule(words=st.sampled_from(["", "Hello.", FrameError("speech_unavailable", "no ears")]))
    def recognize_item(self, words: str | FrameError) -> None:
        self.world.recognize(words)

    @precondition(lambda self: self.world.listens and self.world.speaking is None)
    @rule()
    def speak(self) -> None:
        self.world.speaking = utterance = self.world.new_utterance()
        if self.world.turn is not None and self.world.settings.barge_in is True:
            self.world.end_turn("interrupted")
        self.world.session(wire.SpeechStarted(utterance=utterance, audio_ms=5))

    @precondition(lambda self: self.world.speaking is None and self.world.is_pressed is None)
    @rule()
    def be_silent(self) -> None:
        """For long enough: once a silence is committed, nothing more comes of it."""
        timeout_ms = self.world.translator.idle_timeout_ms
        events = self.world.time_out()
        assert bool(events) == (timeout_ms is not None)
        if events:
            assert events[0]["type"] == "input_audio_buffer.timeout_triggered"
            assert ("response.created" in [event["type"] for event in events]) == (timeout_ms == 5_000)
        assert self.world.time_out() == []

    @precondition(lambda self: self.world.speaking is not None)
    @rule()
    def stop(self) -> None:
        self.world.stop()

    @precondition(lambda self: self.world.is_pressed is not None)
    @rule()
    def speak_too_long(self) -> None:
        self.world.stop()

    @precondition(lambda self: bool(self.world.unrecognized))
    @rule(text=st.sampled_from(["", "Hello.", "Hello."]), partial=st.sampled_from([None, "He", "Bye"]))
    def recognize(self, text: str, partial: str | None) -> None:
        utterance = self.world.unrecognized.pop(0)
        if text:
            self.world.recognized.add(utterance)
        if partial is not None:
            self.world.session(wire.Transcript(utterance=utterance, text=partial, final=False))
        self.world.session(wire.Transcript(utterance=utterance, text=text, final=True))

    @rule(is_deaf=st.booleans())
    def ears(self, *, is_deaf: bool) -> None:
        self.world.is_deaf = is_deaf

    @rule(
        refusal=st.sampled_from(
            [
                TurnError("too_many_turns", "too many"),
                FrameError("frame_invalid", "no", path="$.tools[0].name"),
                None,
            ]
        ),
        session=SESSION,
    )
    def refuse_next(self, refusal: FrameError | TurnError | None, session: dict[str, Any]) -> None:
        """Let the session refuse what it is asked for next."""
        self.world.refuse = refusal
        self.send("session.update", session=session)
        self.world.refuse = refusal
        self.send("response.create")
        self.world.refuse = None

    @rule(
        frame=st.sampled_from(
            [
                wire.TurnStart(turn_id="unknown", trigger="nudge", skills=[]),
                wire.Text(turn_id="unknown", delta="Hi"),
                wire.TurnEnd(
                    turn_id="unknown", reason="completed", usage=wire.UsageItem(), metrics=wire.Metrics(total=1)
                ),
                wire.SpeechStopped(utterance="unknown", audio_ms=1),
                wire.Transcript(utterance="unknown", text="Hi", final=True),
                wire.SpeechDetected(utterance="unknown", audio_ms=1),
                wire.Pong(t=17),
                wire.Notice(code="history_trimmed", level="info", message="trimmed"),
                wire.Error(code="rate_limited", message="slower", path="$"),
                wire.Model(name="other", host="here", location="local"),
                wire.ApprovalRequest(
                    id="a1", tool="lamp", arguments={}, message="May I?", timeout_ms=1, remember_for=[]
                ),
            ]
        )
    )
    def stray(self, frame: wire.ServerFrame) -> None:
        self.world.session(frame)

    @invariant()
    def nothing_is_left_open_between_messages(self) -> None:
        translator = self.world.translator
        assert len(translator._input._recordings) <= 1 + len(self.world.unrecognized)
        assert (self.world.turn is None) or (translator._response is not None)
        assert set(self.world.out_of_band) <= translator._out_of_band.keys()
        assert translator.idle_timeout_ms is None or translator._response is None

    @invariant()
    def every_item_stands_under_its_own_id(self) -> None:
        conversation = self.world.translator._conversation
        assert conversation.items == sorted(conversation._by_id.values(), key=conversation.items.index)
        assert len(conversation.items) <= 8
        assert conversation._bytes == sum(item.counted_bytes for item in conversation.items)

    def teardown(self) -> None:
        world = self.world
        world.discard()
        while world.unrecognized:
            world.recognized.add(world.unrecognized[0])
            world.session(wire.Transcript(utterance=world.unrecognized.pop(0), text="Bye", final=True))
        while world.transcriptions:
            world.recognize("Bye")
        while world.out_of_band:
            world.end_out_of_band()
        while world.turn is not None:
            world.end_turn()
        world.close()
        assert not world.translator._input._recordings
        assert not world.translator._input._unnamed


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_every_event_gets_its_answer_whatever_comes() -> None:
    for _ in range(rounds(10, few=1)):  # what hypothesis remembers of 10,000 takes gigabytes
        run_state_machine_as_test(RealtimeSequences, settings=examples(1_000, steps=30))
