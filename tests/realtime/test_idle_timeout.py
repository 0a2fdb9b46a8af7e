"""`idle_timeout_ms`: what a long silence after a reply leads to, and when. Clocks are virtual."""

import asyncio
import base64
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.types.realtime import RealtimeServerEvent

from server.approval.broker import ApprovalBroker
from server.speech.audio import samples_to_pcm16
from server.wire import frames as wire
from tests.realtime.dialect_client import DialectClient
from tests.realtime.realtime_world import RealtimeWorld, types
from tests.session.asking import DONE, Client, in_virtual_time, question
from tests.session.fakes import FakeAgent, Pause, say
from tests.session.speech_fakes import FakeRecognizer
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley
from tests.support.realtime_types import RealtimeEventChecker
from tests.support.waiting import LIMIT_S

TIMED_OUT: Final = "input_audio_buffer.timeout_triggered"
SILENCE: Final = wire.Message(role="user", content="(The user has said nothing for 6 seconds.)")
SECOND: Final = 24_000
TONE: Final = bytes(2 * SECOND)


def vad(**fields: Any) -> dict[str, Any]:
    return {"type": "server_vad", "idle_timeout_ms": 6_000, **fields}


def session(detection: dict[str, Any] | None = None, **heard: Any) -> dict[str, Any]:
    return {"type": "realtime", "audio": {"input": {"turn_detection": detection or vad(), **heard}}}


def replied(world: RealtimeWorld, **wishes: Any) -> RealtimeWorld:
    """The same, after a reply."""
    world.say("Hello?")
    world.client("response.create", response=wishes)
    world.sentence("Hi there.", TONE)
    world.end_turn()
    return world


def waiting(detection: dict[str, Any] | None = None, **heard: Any) -> RealtimeWorld:
    world = RealtimeWorld()
    assert types(world.client("session.update", session=session(detection, **heard))) == ["session.updated"]
    return world


# --- what it leads to


def test_a_silence_is_committed_as_an_item_without_words_and_gets_a_response() -> None:
    world = replied(waiting(transcription={"model": "whisper-1"}))

    events = world.time_out()

    assert types(events) == [
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.completed",
        "response.created",
    ]
    item = events[2]["item"]
    assert {event.get("item_id", item["id"]) for event in events[:5]} == {item["id"]}
    assert (item["role"], item["content"]) == ("user", [{"type": "input_audio", "transcript": None}])
    assert events[4]["transcript"] == ""
    world.end_turn()
    world.close()


def test_the_model_reads_of_the_silence_as_the_users_message_and_keeps_it() -> None:
    world = replied(waiting())
    world.time_out()

    hello, hi = wire.Message(role="user", content="Hello?"), wire.Message(role="assistant", content="Hi there.")
    assert world.last(wire.Respond).messages == [hello, hi, SILENCE]
    assert world.last(wire.Respond).utterance is None
    world.sentence("Still there?", TONE)
    world.end_turn()
    world.utterance("u1", "Yes.")
    assert world.last(wire.Respond).messages[2:] == [
        SILENCE,
        wire.Message(role="assistant", content="Still there?"),
        wire.Message(role="user", content="Yes."),
    ]


def test_the_times_are_of_the_sound_that_came_behind_the_reply() -> None:
    world = waiting()
    second = base64.b64encode(TONE).decode()
    for _ in range(9):
        world.client("input_audio_buffer.append", audio=second)
    replied(world)
    silent = world.time_out()[0]
    assert (silent["audio_start_ms"], silent["audio_end_ms"]) == (9_000, 9_000), "the client sends none"
    world.end_turn()

    for _ in range(20):
        world.client("input_audio_buffer.append", audio=second)
    streaming = world.time_out()[0]

    assert (streaming["audio_start_ms"], streaming["audio_end_ms"]) == (23_000, 29_000)


def test_without_create_response_the_silence_is_committed_once_and_the_client_decides() -> None:
    world = replied(waiting(vad(create_response=False)))

    assert types(world.time_out())[-1] == "conversation.item.done"

    assert world.time_out() == []
    world.client("response.create")
    assert world.last(wire.Respond).messages[-1] == SILENCE


def test_each_response_begins_another_silence_and_a_failed_one_none() -> None:
    world = replied(waiting())
    for _ in range(3):
        assert types(world.time_out())[0] == TIMED_OUT
        assert world.time_out() == [], "its response runs"
        world.end_turn()

    world.time_out()
    world.session(wire.Error(code="provider_timeout", message="late", turn_id=world.running))
    world.end_turn("error")

    assert world.time_out() == []


def test_a_call_that_the_client_has_to_answer_holds_it_back() -> None:
    world = waiting()
    world.say("Light, please.")
    world.client("response.create")
    for call_id in ("c1", "c2"):
        world.session(wire.ClientToolCall(turn_id=world.running, id=call_id, name="lamp", arguments={}))
    world.end_turn()

    for call_id in ("c1", "c2"):
        assert world.time_out() == []
        item = {"type": "function_call_output", "call_id": call_id, "output": "on"}
        world.client("conversation.item.create", item=item)

    assert types(world.time_out())[0] == TIMED_OUT


@pytest.mark.parametrize(
    "detection",
    [
        {"type": "semantic_vad", "idle_timeout_ms": 6_000},
        {"type": "server_vad"},
        {"type": "server_vad", "idle_timeout_ms": None},
    ],
)
def test_other_turn_detection_knows_no_timeout(detection: dict[str, Any]) -> None:
    world = replied(waiting())
    world.client("session.update", session=session(detection))

    assert (world.translator.idle_timeout_ms, world.time_out()) == (None, [])


def test_no_silence_counts_without_a_reply_of_the_conversation_before_it() -> None:
    world = waiting()
    assert world.time_out() == []

    world.client("response.create", response={"conversation": "none"})
    world.end_out_of_band()
    assert world.time_out() == [], "nobody has heard that one"

    replied(world)
    assert world.time_out() != []


def test_it_comes_no_more_once_speech_has_begun_to_end_the_response() -> None:
    world = waiting()
    world.say("Hello?")
    world.client("response.create")
    world.end_turn("interrupted")

    assert world.time_out() == [], "its response.done waits for speech_started"
    started = world.session(wire.SpeechStarted(utterance="u1", audio_ms=900))
    assert types(started) == ["input_audio_buffer.speech_started", "response.done"]


def test_a_transcription_session_has_no_timeout() -> None:
    world = replied(waiting())
    world.client("session.update", session=session() | {"type": "transcription"})

    assert world.time_out() == []


# --- when it comes


class Idler(DialectClient):
    """A client that is silent for long."""

    async def update(self, **detection: Any) -> None:
        await self.say("session.update", session=session(vad(**detection)))

    async def append(self, seconds: float, level: float) -> None:
        frame = base64.b64encode(samples_to_pcm16(np.full(SECOND // 50, level, dtype=np.float32))).decode()
        for _ in range(round(seconds * 50)):
            await self.say("input_audio_buffer.append", audio=frame)
            await asyncio.sleep(0.02)

    async def timed_out(self, *, after_s: float) -> bool:
        """Whether the next timeout comes after that time, within a tenth of a second, and not before."""
        before = self.count(TIMED_OUT)
        await asyncio.sleep(after_s - 0.05)
        early = self.count(TIMED_OUT)
        await asyncio.sleep(0.1)
        return (early, self.count(TIMED_OUT)) == (before, before + 1)


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test in virtual time."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        in_virtual_time(test(**arguments))

    return run


TEXT: Final = ["text"]


@virtual
async def test_a_silence_counts_from_the_end_of_a_written_response_again_and_again() -> None:
    async with Idler() as client:
        await client.update()
        await asyncio.sleep(60)
        assert client.count(TIMED_OUT) == 0, "nothing was said that could be followed by silence"
        await client.say("session.update", session={"type": "realtime", "output_modalities": ["text"]})
        await client.respond()

        assert await client.timed_out(after_s=6)
        assert await client.timed_out(after_s=6 - 0.05)
        assert client.count("response.done") == 3

    checker = RealtimeEventChecker()
    for event in client.frames:
        checker.check(event)


@virtual
async def test_a_silence_counts_from_the_end_of_the_replys_sound() -> None:
    agent = FakeAgent([say(*(f"This is sentence {number}. " for number in range(20))), say("Still there?")])
    async with Idler(agent) as client:
        await client.update()
        await client.respond()
        sent = [event["delta"] for event in client.frames if event["type"] == "response.output_audio.delta"]
        playing_s = sum(len(base64.b64decode(delta)) for delta in sent) / 2 / SECOND
        assert playing_s > 2

        await asyncio.sleep(playing_s + 5.5)
        assert client.count(TIMED_OUT) == 0
        await asyncio.sleep(1)
        assert client.count(TIMED_OUT) == 1


@virtual
async def test_sound_that_is_cut_ends_there() -> None:
    agent = FakeAgent([say(*(f"This is sentence {number}. " for number in range(20)))])
    async with Idler(agent) as client:
        await client.update()
        await client.respond()
        await asyncio.sleep(1)
        await client.say("output_audio_buffer.clear")

        assert await client.timed_out(after_s=6)


@virtual
async def test_speech_begins_the_silence_anew_even_if_it_leads_to_nothing() -> None:
    async with Idler(recognizer=FakeRecognizer("")) as client:
        await client.update()
        await client.respond(output_modalities=TEXT)
        await client.append(5, 0.0)
        await client.append(4, 0.2)
        await client.append(2, 0.0)
        await client.until("input_audio_buffer.committed")
        assert (client.count(TIMED_OUT), client.count("response.created")) == (0, 1)

        await client.append(3, 0.0)
        assert client.count(TIMED_OUT) == 0
        await client.append(4, 0.0)
        assert client.count(TIMED_OUT) == 1
        [event] = [event for event in client.frames if event["type"] == TIMED_OUT]
        assert event["audio_end_ms"] - event["audio_start_ms"] == 6_000


@virtual
async def test_an_update_that_changes_the_timeout_counts_from_then() -> None:
    async with Idler() as client:
        await client.respond(output_modalities=TEXT)
        await asyncio.sleep(60)
        await client.update()
        await asyncio.sleep(5)
        await client.update(idle_timeout_ms=20_000)
        await asyncio.sleep(5)
        await client.say("session.update", session={"type": "realtime", "instructions": "Be brief."})

        assert await client.timed_out(after_s=15)
        await client.update(idle_timeout_ms=None)
        await asyncio.sleep(100)
        assert client.count(TIMED_OUT) == 1


@virtual
async def test_nothing_comes_while_a_response_runs() -> None:
    pause = Pause()
    async with Idler(FakeAgent([say("Well."), [pause, *say("As I said.")]])) as client:
        await client.update()
        await client.respond(output_modalities=TEXT)
        await asyncio.sleep(5)
        await client.say("response.create", response={"output_modalities": TEXT})
        await asyncio.sleep(60)
        assert client.count(TIMED_OUT) == 0
        pause.resume.set()
        await client.until("response.done", 2)

        assert await client.timed_out(after_s=6)


@virtual
async def test_an_open_question_and_a_server_that_stops_hold_it_back() -> None:
    broker = ApprovalBroker()
    asker = Client([question(), DONE], broker=broker)
    async with asker, Idler(approvals=broker) as client:
        await client.update()
        await client.respond(output_modalities=TEXT)
        asker.chat()
        request = await asker.asked()
        await asyncio.sleep(25)
        assert client.count(TIMED_OUT) == 0
        asker.answer(request["id"])
        await asyncio.sleep(7)
        assert client.count(TIMED_OUT) == 1

        client.gate.is_draining = True
        await asyncio.sleep(60)
        assert client.count(TIMED_OUT) == 1


@virtual
async def test_the_timer_ends_with_the_socket() -> None:
    async with Idler() as client:
        await client.update()
        await client.respond(output_modalities=TEXT)
        timer = cast(asyncio.TimerHandle, client.dialect.outbox.timer)
        assert not timer.cancelled()
        client.outbox.finish(1001, "going away")
        client.session.hang_up()

    assert timer.cancelled()
    assert client.dialect.outbox.timer is timer, "none was set since"
    await asyncio.sleep(60)
    assert client.count(TIMED_OUT) == 0


@virtual
async def test_a_turn_that_ends_behind_the_socket_sets_no_timer() -> None:
    pause = Pause()
    async with Idler(FakeAgent([say("Well."), [pause]])) as client:
        await client.update()
        await client.respond(output_modalities=TEXT)
        await client.say("response.create", response={"output_modalities": TEXT})
        await pause.reached.wait()
        client.outbox.finish(1001, "going away")
        client.session.hang_up()

        assert cast(asyncio.TimerHandle, client.dialect.outbox.timer).cancelled()
        assert client.ended == ["over", "over"]


# --- over a socket


@pytest.mark.slow
async def test_openai_python_reads_of_a_silence_and_gets_a_response_to_it(server: Parley, model: OpenAIServer) -> None:
    model.queue(text("Noon."), text("Still there?"))
    seen: list[RealtimeServerEvent] = []
    user = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any")
    async with user, user.realtime.connect(model="any") as connection, asyncio.timeout(LIMIT_S):
        listening: Any = session(vad(idle_timeout_ms=5_000)) | {"output_modalities": TEXT}
        await connection.session.update(session=listening)
        hello: Any = {"type": "input_text", "text": "What time is it?"}
        await connection.conversation.item.create(item={"type": "message", "role": "user", "content": [hello]})
        await connection.response.create()
        while sum(event.type == "response.done" for event in seen) < 2:
            seen.append(await connection.recv())

    order = [event.type for event in seen]
    assert order[order.index("input_audio_buffer.timeout_triggered") :][:5] == [
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
    ]
    assert [(message["role"], message["content"]) for message in model.requests[1].messages][1:4] == [
        ("user", "What time is it?"),
        ("assistant", "Noon."),
        ("user", "(The user has said nothing for 5 seconds.)"),
    ]
