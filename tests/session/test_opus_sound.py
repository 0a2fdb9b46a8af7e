"""`configure` with the format "opus": packets in, packets out, and packets that are lost."""

import asyncio

import numpy as np
import pytest

from server.speech.opus import FRAME_MS, MAX_PACKET_BYTES
from server.speech.service import SpeechService
from server.wire.frames import SpeechPart
from tests.session.fakes import SOUND, FakeAgent, Frame, Pause, SessionHarness, kinds, say
from tests.session.speech_fakes import CHUNK, RATE, FakeRecognizer, FakeSynthesizer, LoudIsVoice, speech
from tests.session.talk import HEARD, Talk
from tests.support.opus_packets import packets_of

OPUS = {"format": "opus"}
VOICE = packets_of(np.where(np.arange(RATE) % 100 < 50, 0.3, -0.3).astype(np.float32))
SILENCE = packets_of(np.zeros(2 * RATE, np.float32))


async def hear(talk: SessionHarness, packets: list[bytes]) -> None:
    for packet in packets:
        talk.session.receive_binary(packet)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def only(frames: list[Frame], kind: str) -> Frame:
    [found] = [frame for frame in frames if frame["type"] == kind]
    return found


async def test_words_in_opus_are_answered_in_opus() -> None:
    async with Talk() as talk:
        talk.send("configure", input=OPUS, output=OPUS)
        await hear(talk, VOICE)
        await talk.until("speech_started")
        talk.history("u1")
        await hear(talk, SILENCE)
        await talk.until("turn_end")

    packets = 11  # 200 ms and the encoder's 6.5, padded
    spoken = ["text", "sentence", *[SOUND] * packets, "sentence_end"]
    assert talk.kinds() == [*HEARD, "turn_start", *spoken, "turn_end"]
    assert only(talk.frames, "sentence")["audio"] == {"format": "opus", "sample_rate": 24_000}
    assert only(talk.frames, "sentence_end")["duration_ms"] == packets * FRAME_MS
    assert max(frame["bytes"] for frame in talk.frames if frame["type"] == SOUND) <= MAX_PACKET_BYTES
    assert any(len(packet) % 2 for packet in VOICE), "as PCM, some were no whole samples"
    assert only(talk.frames, "speech_stopped")["audio_ms"] == pytest.approx(1000, abs=60)


@pytest.mark.parametrize("lost", [b"", b"\xff\xff\xff", bytes(MAX_PACKET_BYTES + 1)], ids=["empty", "junk", "long"])
async def test_a_lost_packet_takes_its_time_and_the_voice_goes_on(lost: bytes) -> None:
    async with Talk() as talk:
        talk.send("configure", input=OPUS, voice=False)
        await hear(talk, [packet if at % 5 else lost for at, packet in enumerate(VOICE, 1)])
        await hear(talk, SILENCE)
        await talk.until("transcript")

    assert [kind for kind in talk.kinds() if kind != "notice"][:4] == HEARD
    assert only(talk.frames, "speech_stopped")["audio_ms"] == pytest.approx(1000, abs=60)
    notices = [frame for frame in talk.frames if frame["type"] == "notice" and frame["code"] == "audio_undecodable"]
    assert len(notices) == bool(lost), "said once, and not of messages that only mark a loss"
    assert all("without Ogg" in notice["message"] for notice in notices)


async def test_a_client_that_sends_nothing_but_losses_is_silent() -> None:
    async with Talk() as talk:
        talk.send("configure", input=OPUS, voice=False)
        await hear(talk, VOICE)
        await hear(talk, [b""] * 150)
        await talk.until("transcript")

    assert kinds(talk.frames)[:4] == HEARD


async def test_the_formats_may_change_between_turns() -> None:
    async with Talk() as talk:
        talk.send("configure", input=OPUS, output=OPUS)
        await hear(talk, SILENCE[:50])
        talk.send("configure", input={"format": "pcm16"}, output={"format": "pcm16"})
        await talk.utter()
        await talk.until("turn_end")

    assert only(talk.frames, "sentence")["audio"] == {"format": "pcm16", "sample_rate": RATE}
    assert only(talk.frames, "speech_stopped")["audio_ms"] == pytest.approx(1500, abs=60)


async def test_a_cut_sentence_is_as_long_as_the_packets_that_were_sent() -> None:
    pause = Pause()
    voice = FakeSynthesizer({"Well.": [CHUNK, pause]})
    async with SessionHarness(FakeAgent([say("Well.")]), speech=speech(synthesizer=voice)) as client:
        client.send("configure", output=OPUS)
        client.chat()
        await pause.reached.wait()
        await client.until(SOUND, 4)
        client.send("interrupt")
        await client.until("turn_end")

    assert kinds(client.frames).count(SOUND) == 4  # of 100 ms, the last packet is not whole yet
    assert only(client.frames, "sentence_end")["duration_ms"] == 4 * FRAME_MS
    assert voice.open == 0


async def test_a_sentence_without_sound_has_no_packets() -> None:
    voice = FakeSynthesizer({"Well.": []})
    async with SessionHarness(FakeAgent([say("Well.")]), speech=speech(synthesizer=voice)) as client:
        client.send("configure", output=OPUS)
        client.chat()
        await client.until("turn_end")

    assert only(client.frames, "sentence")["audio"] is None
    assert SOUND not in kinds(client.frames)


@pytest.mark.parametrize("field", ["input", "output"])
async def test_a_server_without_opus_refuses_it_and_keeps_its_settings(field: str) -> None:
    missing = SpeechPart(state="missing", reason="libopus was not found: install it")
    service = SpeechService(FakeRecognizer(), FakeSynthesizer(), LoudIsVoice(), opus=missing)
    async with SessionHarness(FakeAgent([say("Well.")]), speech=service) as client:
        client.session.greet()
        client.send("configure", voice=False, **{field: OPUS})
        client.chat()
        await client.until("turn_end")

    assert only(client.frames, "ready")["speech"]["opus"] == {
        "state": "missing",
        "name": None,
        "reason": missing.reason,
    }
    error = only(client.frames, "error")
    assert (error["code"], error["path"]) == ("speech_unavailable", f"$.{field}.format")
    assert error["message"] == "no Opus here: libopus was not found: install it"
    assert only(client.frames, "sentence")["audio"]["format"] == "pcm16", "nothing of the frame counts"
