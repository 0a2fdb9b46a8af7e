"""server/session/speech_input.py: whatever comes in whatever order."""

import asyncio
import random

import pytest

from server.errors import SpeechTimeout
from tests.session.fakes import SOUND, FakeAgent, Frame, Pause, say
from tests.session.speech_fakes import FakeRecognizer, Held
from tests.session.talk import Talk
from tests.support.turn_orders import TurnOrders
from tests.support.waiting import settle


@pytest.mark.parametrize("seed", range(60))
async def test_random_sessions_keep_the_order_that_the_protocol_promises(seed: int) -> None:
    chance = random.Random(seed)
    held = Held("slow words")
    answers: list[str | Held | Exception] = [
        "some words",
        "",
        held,
        SpeechTimeout("slow"),
        "What time is it?",
        "and then",
    ]
    chance.shuffle(answers)
    agent = FakeAgent([say("One. ", "Two, three. "), [*say("Long. "), Pause()], say("Four.")])
    async with Talk(FakeRecognizer(*answers), agent) as talk:
        for _ in range(chance.randrange(4, 25)):
            await act(talk, chance)
        held.resume.set()
        talk.send("configure", turn_detection="server_vad")  # discards what is open
        for number in range(40):
            talk.history(f"u{number}")
        await settle()
        await talk.flushed()
        await drained()
        talk.send("interrupt")
        talk.skipped_s += 60
        is_idle = talk.session.is_idle
        await talk.session.aclose()
        await talk.flushed()

    assert is_idle, "nothing keeps a server from stopping"
    check_turns(talk.frames)
    check_utterances(talk.frames)
    assert talk.gate._running == 0
    assert talk.synthesizer.open == 0


async def act(talk: Talk, chance: random.Random) -> None:
    match chance.randrange(16):
        case 0 | 1:
            await talk.voice(chance.choice([0.1, 0.3, 0.6]))
        case 2 | 3:
            await talk.silence(chance.choice([0.1, 0.3, 1.4]))
        case 4:
            await talk.utter()
        case 5:
            talk.chat()
        case 6:
            talk.send("interrupt")
        case 7:
            talk.history(f"u{chance.randrange(1, 5)}")
        case 8:
            talk.send("configure", turn_detection=chance.choice(["push_to_talk", "server_vad", "server_vad"]))
        case 9:
            talk.send(chance.choice(["speech_start", "speech_end", "speech_cancel"]))
        case 10:
            talk.send("configure", voice=chance.random() < 0.7)
        case 11:
            await settle()
        case 12:
            talk.send("configure", respond=chance.choice(["auto", "manual"]), barge_in=chance.random() < 0.7)
        case 13:
            talk.send("configure", transcribe_only=chance.random() < 0.3)
        case 14:
            named = chance.choice([{}, {"utterance": f"u{chance.randrange(1, 5)}"}])
            talk.send("respond", messages=[], **named)
        case 15:
            detection = {"mode": "server_vad", "silence_ms": 500, "prefix_ms": chance.choice([0, 2000])}
            talk.send("configure", turn_detection=detection)


async def drained() -> None:
    """Utterances that are over have been answered, or wait for a history no longer."""
    while tasks := [task for task in asyncio.all_tasks() if task.get_name().startswith("utterance ")]:
        await asyncio.wait(tasks)


def check_turns(frames: list[Frame]) -> None:
    orders = TurnOrders()
    for frame in frames:
        fault = orders.fault({"type": "binary"} if frame["type"] == SOUND else frame)
        assert fault is None, fault
    assert orders.running is None


def check_utterances(frames: list[Frame]) -> None:
    told: dict[str, list[str]] = {}
    for frame in frames:
        if "utterance" in frame and (frame["type"] != "transcript" or frame["final"]):
            told.setdefault(frame["utterance"], []).append(frame["type"])
    for utterance, types in told.items():
        if types[0] == "speech_detected":
            assert types.pop(0)
            if types == ["speech_rejected"]:
                continue
        assert types[0] == "speech_started", (utterance, types)
        assert types[1:] in (["transcript"], ["speech_stopped", "transcript"]), (utterance, types)
