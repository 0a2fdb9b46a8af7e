"""The whole server with its own ears and voice: it asks aloud, and a spoken yes or no answers."""

import asyncio
import wave
from pathlib import Path
from typing import Any

import pytest

from clients.talk.client import Frame, TalkClient
from clients.talk.sound import WavWriter, wav_frames, wav_rate
from tests.clients.talk.test_talk_engines import EMBEDDED, ready, say
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

ASKING: dict[str, Any] = {
    **EMBEDDED,
    "hooks": {"builtins": {"ask_human": {"enabled": True, "config": {"tools": ["*"], "timeout_s": 12}}}},
}
TAIL_S = 0.5
"""Then the server takes for heard what has been played."""
TRIES = 4
"""The voice is not twice the same, and a small recogniser mishears: the best counts."""


async def test_a_spoken_yes_is_understood(tmp_path: Path) -> None:
    async with OpenAIServer() as model, parley(tmp_path, model.url, ASKING) as server:
        await ready(server.url)
        frames = await approve(server, model, tmp_path)

    kinds = [frame["type"] for frame in frames]
    [asked] = [frame for frame in frames if frame.get("approval")]
    [resolved] = [frame for frame in frames if frame["type"] == "approval_resolved"]
    assert (asked["text"], asked["spoken"]) == ("", "May I use current time? Say yes or no.")
    assert resolved["by"] == "voice"
    assert kinds.index("speech_detected") < kinds.index("speech_rejected") < kinds.index("approval_resolved")
    assert frames[-1]["reason"] == "completed"


async def approve(server: Parley, model: OpenAIServer, folder: Path) -> list[Frame]:
    """The frames of a turn whose question a voice has answered with yes."""
    for number in range(TRIES):
        model.clear()
        model.queue(text("Yes, please."))
        await say(server.ws_url, "say it", folder / f"{number}.wav")
        model.queue(calls(("current_time", {})), text("Well then."), text("What?"))
        frames = await answer_aloud(server, folder / f"{number}.wav")
        if any(frame["type"] == "approval_resolved" and frame["approved"] for frame in frames):
            return frames
    pytest.fail("it was never understood")


def wait_first(wav: Path, seconds: float) -> None:
    """Put silence before what is said in the file."""
    with wave.open(str(wav), "rb") as file:
        form, sound = file.getparams(), file.readframes(file.getnframes())
    with wave.open(str(wav), "wb") as file:
        file.setparams(form)
        file.writeframes(bytes(2 * round(seconds * form.framerate)) + sound)


async def answer_aloud(server: Parley, wav: Path) -> list[Frame]:
    """Have a tool called, and speak the file when the question has been said."""
    frames: list[Frame] = []
    asked = asyncio.Event()

    def show(frame: Frame) -> None:
        frames.append(frame)
        questions = [each["index"] for each in frames if each.get("approval") and each["type"] == "sentence"]
        if frame["type"] == "sentence_end" and frame["index"] in questions:
            asked.set()

    client = await TalkClient.connect(server.ws_url, token=None, show=show, output=WavWriter(wav.with_suffix(".out")))
    reader = asyncio.create_task(client.run(), name="reader")
    await client.configure(input={"format": "pcm16", "sample_rate": wav_rate(wav)}, language="en")
    await client.say("What time is it?")
    await asked.wait()
    said_ms = sum(frame["duration_ms"] for frame in frames if frame["type"] == "sentence_end")
    wait_first(wav, said_ms / 1000 + TAIL_S)  # its sound has come, and is still to be heard
    await client.speak(wav_frames(wav))
    await client.quiet()
    await client.close()
    await reader
    return frames
