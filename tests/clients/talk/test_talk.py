"""clients/talk: the client and its command line, against a session behind a real socket."""

import asyncio
import json
import os
import subprocess
import sys
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import websockets
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from clients.talk.client import Frame, TalkClient
from clients.talk.connector import TRIES, Connector
from clients.talk.sound import SoundError, WavWriter, wav_rate
from server.accounts.principal import Principal
from server.agent.chunks import LLMChunk
from server.errors import ProviderUnreachable
from server.session.outbox import Kind, Outbox
from server.session.session import Session
from tests.session.asking import AskingAgent, AskingHandler, question
from tests.session.fakes import FakeAgent, Pause, SessionHarness, hook, say
from tests.session.speech_fakes import CHUNK, RATE, FakeRecognizer, hear, speech

ROOT = Path(__file__).parent.parent.parent.parent


class Wire:
    """The session's side of a socket."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket

    async def send(self, kind: Kind, data: bytes) -> None:
        await self._socket.send(data, text=kind is Kind.TEXT)

    def unsent_bytes(self) -> int:
        return 0

    async def close(self, code: int, reason: str) -> None:
        await self._socket.close(code, reason)


@asynccontextmanager
async def listening(talk: Callable[[ServerConnection], Awaitable[None]], **settings: Any) -> AsyncIterator[int]:
    """Its port."""
    async with serve(talk, "localhost", 0, subprotocols=[websockets.Subprotocol("parley.v1")], **settings) as doors:
        yield next(iter(doors.sockets)).getsockname()[1]


@asynccontextmanager
async def server(agent: FakeAgent, recognizer: FakeRecognizer | None = None) -> AsyncIterator[str]:
    """Its address."""
    services = SessionHarness(agent, speech=speech(recognizer), handler=AskingHandler).services

    async def talk(socket: ServerConnection) -> None:
        outbox = Outbox(Wire(socket), services.metrics)
        session = Session(services, outbox, principal=Principal("127.0.0.1", is_local=True, is_operator=True))
        writer = asyncio.create_task(outbox.run(), name="writer")
        session.greet()
        try:
            async for message in socket:
                if isinstance(message, bytes):
                    session.receive_binary(message)
                elif "drop me" in message:
                    break
                else:
                    session.receive_text(message.encode())
        finally:
            await session.aclose()
            outbox.abandon()
            await writer

    async with listening(talk) as port:
        yield f"ws://localhost:{port}/ws"


class Speakers:
    """Keeps what would be heard."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.pauses = self.resumes = self.cuts = 0

    def open(self, sample_rate: int) -> None:
        assert sample_rate == RATE

    def write(self, pcm: bytes) -> None:
        self.heard += pcm

    def pause(self) -> None:
        self.pauses += 1

    def resume(self) -> None:
        self.resumes += 1

    def cut(self) -> None:
        self.cuts += 1

    def close(self) -> None:
        pass


class Seen(list[Frame]):
    """The frames that a client has shown."""

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()

    def show(self, frame: Frame) -> None:
        self.append(frame)
        self._news.set()

    async def until(self, type_: str, count: int = 1) -> None:
        while [frame["type"] for frame in self].count(type_) < count:
            self._news.clear()
            await self._news.wait()


@asynccontextmanager
async def talking(
    url: str, speakers: Speakers | None = None, *, approves: bool | None = None
) -> AsyncIterator[tuple[TalkClient, Seen]]:
    frames = Seen()
    client = await TalkClient.connect(url, token=None, show=frames.show, output=speakers, approves=approves)
    reader = asyncio.create_task(client.run(), name="reader")
    try:
        yield client, frames
    finally:
        await client.close()
        await asyncio.gather(reader, return_exceptions=True)


async def test_typed_turns_carry_the_history_with_its_hooks() -> None:
    agent = FakeAgent([[hook(), *say("Hello. ", "There.")], say("Yes.")])
    async with server(agent) as url, talking(url) as (client, frames):
        assert (await client.ready())["protocol"] == "parley.v1"
        await client.configure(voice=False)
        for text in ("hi", "again"):
            await client.say(text)
            await client.quiet()

    assert [(m["role"], m["content"]) for m in client.history.messages] == [
        ("user", "hi"),
        ("system", "Be brief."),
        ("assistant", "Hello. There."),
        ("user", "again"),
        ("assistant", "Yes."),
    ]
    assert [m["content"] for m in agent.asked[1].messages] == ["hi", "Be brief.", "Hello. There.", "again"]
    assert [f["reason"] for f in frames if f["type"] == "turn_end"] == ["completed"] * 2


async def test_sound_goes_to_the_output() -> None:
    speakers = Speakers()
    async with server(FakeAgent([say("Hello. ", "There.")])) as url, talking(url, speakers) as (client, _):
        await client.say("hi")
        await client.quiet()

    assert bytes(speakers.heard) == CHUNK * 4


async def test_spoken_words_start_a_turn_and_what_plays_is_cut() -> None:
    sound: list[bytes] = []
    await hear(sound.append, 0.6, is_voice=True)
    await hear(sound.append, 1.5, is_voice=False)

    async def microphone() -> Any:
        for pcm in sound:
            yield pcm

    speakers = Speakers()
    agent = FakeAgent([say("Good day.")])
    async with server(agent, FakeRecognizer("what time is it")) as url, talking(url, speakers) as (client, frames):
        await client.speak(microphone())
        while not frames or frames[-1]["type"] != "turn_end":
            await client.quiet()
            await asyncio.sleep(0.01)

    assert (speakers.pauses, speakers.resumes, speakers.cuts) == (1, 0, 1)
    assert [m["content"] for m in client.history.messages] == ["what time is it", "Good day."]
    assert [f["type"] for f in frames if f["type"] == "notice"] == [], "the history came in time"


@pytest.mark.parametrize("approves", [True, False])
async def test_a_question_is_answered_as_it_was_told_to_answer(*, approves: bool) -> None:
    agent = AskingAgent(plans=[[question()]])
    async with server(agent) as url, talking(url, approves=approves) as (client, frames):
        await client.say("hi")
        await client.quiet()

    assert [f["approved"] for f in frames if f["type"] == "approval_resolved"] == [approves]
    assert [answer.by for answer in agent.answers] == ["user"]


async def test_the_questions_of_other_clients_are_left_to_them() -> None:
    agent = AskingAgent(plans=[[question()]])
    async with server(agent) as url, talking(url) as (asking, _frames), talking(url, approves=False) as (_, seen):
        await asking.say("hi")
        await seen.until("approval_request")
        await asking.say("never mind")
        await seen.until("approval_resolved")

    assert [f["by"] for f in seen if f["type"] == "approval_resolved"] == ["cancelled"]


async def test_a_server_that_goes_away_leaves_nobody_waiting() -> None:
    async with server(FakeAgent([[Pause()]])) as url, talking(url) as (client, frames):
        await client.ready()
        await client.say("drop me")
        await client.quiet()

        assert [frame["code"] for frame in frames if frame["type"] == "error"] == ["turn_lost"]


async def test_speakers_that_fail_end_the_conversation() -> None:
    class Broken(Speakers):
        def open(self, sample_rate: int) -> None:
            raise SoundError("the loudspeaker is gone")

    async with server(FakeAgent([[*say("Hello."), Pause()]])) as url:
        client = await TalkClient.connect(url, token=None, show=lambda _: None, output=Broken())
        reader = asyncio.create_task(client.run(), name="reader")
        await client.say("hi")
        with pytest.raises(ConnectionError, match="closed the connection"):
            await client.quiet()
        with pytest.raises(SoundError, match="gone"):
            await reader


async def test_a_noise_only_holds_the_sound_for_a_moment() -> None:
    async def talk(socket: ServerConnection) -> None:
        for kind in ("speech_detected", "speech_rejected"):
            await socket.send(json.dumps({"type": kind, "utterance": "u1"}))

    speakers = Speakers()
    async with listening(talk) as port:
        client = await TalkClient.connect(f"ws://localhost:{port}", token=None, show=lambda _: None, output=speakers)
        await client.run()

    assert (speakers.pauses, speakers.resumes, speakers.cuts) == (1, 1, 0)


async def test_speech_that_a_stopping_server_refuses_unnoticed_leaves_nobody_waiting() -> None:
    async def talk(socket: ServerConnection) -> None:
        await socket.send(json.dumps({"type": "speech_rejected", "utterance": "u1"}))
        await socket.send(json.dumps({"type": "error", "code": "turn_refused_draining", "message": "stopping"}))
        await socket.wait_closed()

    speakers = Speakers()
    async with listening(talk) as port, talking(f"ws://localhost:{port}", speakers) as (client, frames):
        await frames.until("error")
        await client.quiet()

    assert (speakers.pauses, speakers.resumes, speakers.cuts) == (0, 1, 0)


async def test_a_microphone_ends_with_the_connection() -> None:
    async def microphone() -> AsyncGenerator[bytes, None]:
        while True:
            yield bytes(640)
            await asyncio.sleep(0)

    async def leave(socket: ServerConnection) -> None:
        await socket.close()

    async with listening(leave) as port:
        client = await TalkClient.connect(f"ws://localhost:{port}", token=None, show=lambda _: None, output=None)
        with pytest.raises(ConnectionError, match="the server has closed the connection"):
            await client.speak(microphone())
        await client.close()


async def test_a_turn_that_is_refused_leaves_nobody_waiting() -> None:
    async with server(FakeAgent([say("Hi.")])) as url, talking(url) as (client, frames):
        client.history.messages.append({"role": "king", "content": "wrong"})
        await client.say("hi")
        await client.quiet()

    assert frames[-1]["code"] == "frame_invalid"


# connections that are lost


SAMPLES = RATE // 50
SILENT, LOUD, OTHER = (np.full(SAMPLES, level, "<i2").tobytes() for level in (0, 6000, 5000))


class Replicas:
    """Servers that follow each other behind one address: each connection is served by the next one."""

    def __init__(self, *servers: Callable[[ServerConnection, "Replicas"], Awaitable[None]]) -> None:
        self._servers = list(servers)
        self.received: list[list[Frame]] = []

    async def __call__(self, socket: ServerConnection) -> None:
        self.received.append([])
        await socket.send(json.dumps(READY))
        with suppress(ConnectionClosed):
            await self._servers.pop(0)(socket, self)

    async def until(self, socket: ServerConnection, kind: str) -> Frame:
        while True:
            message = await socket.recv()
            if isinstance(message, str):
                frame: Frame = json.loads(message)
                self.received[-1].append(frame)
                if frame["type"] == kind:
                    return frame

    def chats(self) -> list[tuple[str, str]]:
        frames = [frame for received in self.received for frame in received if frame["type"] == "chat"]
        return [(frame["id"], frame["messages"][-1]["content"]) for frame in frames]


READY = {
    "type": "ready",
    "model": {"name": "fake", "host": "nowhere"},
    "speech": {"output_sample_rate": RATE},
}


async def says_goodbye(socket: ServerConnection, replicas: Replicas) -> None:
    await replicas.until(socket, "chat")
    await socket.close(1001)


async def breaks(socket: ServerConnection, replicas: Replicas) -> None:
    await replicas.until(socket, "chat")
    socket.transport.abort()


async def refuses(socket: ServerConnection, replicas: Replicas) -> None:
    await replicas.until(socket, "chat")
    error = {"type": "error", "code": "turn_refused_draining", "message": "the server is stopping"}
    await socket.send(json.dumps(error))
    socket.transport.abort()


async def has_begun_it(socket: ServerConnection, replicas: Replicas) -> None:
    await replicas.until(socket, "chat")
    error = {"type": "error", "code": "turn_id_reused", "message": "this turn has begun", "path": "$.id"}
    await socket.send(json.dumps(error))
    await answers(socket, replicas)


async def begins(socket: ServerConnection, replicas: Replicas) -> None:
    chat = await replicas.until(socket, "chat")
    await begin(socket, chat["id"], "Half")
    await socket.close(1001)


async def answers(socket: ServerConnection, replicas: Replicas) -> None:
    while True:
        chat = await replicas.until(socket, "chat")
        await begin(socket, chat["id"], "Whole.")
        await socket.send(json.dumps({"type": "turn_end", "turn_id": chat["id"], "reason": "completed"}))


async def denies_two_calls(socket: ServerConnection, replicas: Replicas) -> None:
    chat = await replicas.until(socket, "chat")
    question = {"id": "q", "call_id": "call_2", "message": "May I?", "arguments": {}}
    calls = [{"id": f"call_{n}", "name": "delete"} for n in (1, 2)]
    frames: list[Frame] = [
        {"type": "turn_start"},
        {"type": "approval_request", **question},
        {"type": "approval_resolved", "id": "q", "approved": False, "by": "user"},
        *({"type": "tool_call", **call, "arguments": {}} for call in calls),
        *({"type": "tool_result", **call, "content": "x", "ending": "denied"} for call in calls),
        {"type": "turn_end", "reason": "completed"},
    ]
    for frame in frames:
        await socket.send(json.dumps({**frame, "turn_id": chat["id"]}))
    await socket.wait_closed()


async def begin(socket: ServerConnection, turn_id: str, text: str) -> None:
    for frame in (
        {"type": "turn_start"},
        {"type": "text", "delta": text},
        {"type": "sentence", "index": 0, "text": text, "audio": None},
        {"type": "sentence_end", "index": 0},
    ):
        await socket.send(json.dumps({**frame, "turn_id": turn_id}))


@pytest.mark.parametrize("server", [says_goodbye, refuses], ids=["closed with 1001", "refused"])
async def test_a_typed_turn_that_never_began_is_sent_once_more_with_its_id(server: Any) -> None:
    replicas = Replicas(server, answers)
    async with listening(replicas) as port, talking(f"ws://localhost:{port}") as (client, frames):
        await client.configure(voice=False)
        await client.configure(language="de")
        await client.say("hi")
        await client.quiet()

    (first, _), (second, text) = replicas.chats()
    assert (first, text) == (second, "hi")
    assert replicas.received[1][0] == {"type": "configure", "voice": False, "language": "de"}
    assert [m["content"] for m in client.history.messages] == ["hi", "Whole."]
    assert [frame for frame in frames if frame["type"] == "error"] == []
    assert [frame.get("resend") for sent in replicas.received for frame in sent if frame["type"] == "chat"] == [
        None,
        True,
    ]


@pytest.mark.parametrize(
    ("servers", "sent", "kept"),
    [
        ((breaks, answers), 1, []),
        ((begins, answers), 1, ["Half"]),
        ((says_goodbye, says_goodbye, answers), 2, []),
        ((says_goodbye, has_begun_it), 2, []),
    ],
    ids=["broken without a close", "begun", "a second failure", "begun on another connection"],
)
async def test_any_other_turn_is_left_to_the_user(servers: Any, sent: int, kept: list[str]) -> None:
    replicas = Replicas(*servers)
    async with listening(replicas) as port, talking(f"ws://localhost:{port}") as (client, frames):
        await client.say("hi")
        await client.quiet()
        assert len(replicas.chats()) == sent
        assert [frame["code"] for frame in frames if frame["type"] == "error"] == ["turn_lost"]
        await client.say("again")
        await client.quiet()

    assert len(replicas.chats()) == sent + 1
    assert [m["content"] for m in client.history.messages] == ["hi", *kept, "again", "Whole."]


async def test_half_a_sentence_is_not_sent_to_the_next_server() -> None:
    async def goes_in_mid_sentence(socket: ServerConnection, _replicas: Replicas) -> None:
        await socket.recv()
        await socket.close(1001)

    heard = bytearray()

    async def hears(socket: ServerConnection, _replicas: Replicas) -> None:
        async for message in socket:
            heard.extend(message if isinstance(message, bytes) else b"")

    async def microphone() -> AsyncGenerator[bytes, None]:
        yield LOUD
        await seen.until("ready", 2)
        for pcm, count in ((LOUD, 50), (SILENT, 10), (LOUD, 50), (SILENT, 40), (OTHER, 50), (SILENT, 1)):
            for _ in range(count):
                yield pcm
                await asyncio.sleep(0)

    async with (
        listening(Replicas(goes_in_mid_sentence, hears)) as port,
        talking(f"ws://localhost:{port}") as (it, seen),
    ):
        await it.speak(microphone())

    assert heard.count(OTHER) == 50
    assert heard.count(LOUD) == 0
    assert [frame["code"] for frame in seen if frame["type"] == "error"] == ["speech_lost"]


async def test_closing_ends_a_search_for_the_server() -> None:
    async def leaves(socket: ServerConnection, _replicas: Replicas) -> None:
        socket.transport.abort()

    async with listening(Replicas(leaves)) as port:
        client = await TalkClient.connect(f"ws://localhost:{port}", token=None, show=(seen := Seen()).show, output=None)
    reader = asyncio.create_task(client.run(), name="reader")
    await seen.until("notice")
    await client.close()

    with pytest.raises(ConnectionError, match="was lost"):
        await reader


async def test_a_server_that_is_not_found_again_is_given_up() -> None:
    tries = 0

    def refuse(socket: ServerConnection, _request: Request) -> Response:
        nonlocal tries
        tries += 1
        return socket.respond(HTTPStatus.SERVICE_UNAVAILABLE, "draining")

    async with listening(ServerConnection.wait_closed, process_request=refuse) as port:
        with pytest.raises(ConnectionError, match="HTTP 503: draining"):
            await Connector(f"ws://localhost:{port}", token=None, first_delay_s=0.001).reopen()

    assert tries == TRIES


@pytest.mark.parametrize("when", ["600", "Wed, 21 Oct 2099 07:28:00 GMT"])
async def test_a_server_that_says_when_is_tried_no_earlier(when: str) -> None:
    refused = asyncio.Semaphore(0)

    def refuse(socket: ServerConnection, request: Request) -> Response | None:
        if request.path != "/busy":
            return None
        refused.release()
        response = socket.respond(HTTPStatus.SERVICE_UNAVAILABLE, "full")
        response.headers["Retry-After"] = when
        return response

    async with listening(ServerConnection.wait_closed, process_request=refuse) as port:
        connector = Connector(f"ws://localhost:{port}/busy", token=None, first_delay_s=0)
        search = asyncio.create_task(connector.reopen())
        await refused.acquire()
        for _ in range(2 * TRIES):  # time for all the tries of one that does not wait
            await (await Connector(f"ws://localhost:{port}", token=None).open()).close()
        connector.close()
        with pytest.raises(ConnectionError, match="was lost"):
            await search

    assert refused.locked(), "it was tried again"


async def test_a_retry_after_that_makes_no_sense_counts_as_none() -> None:
    def refuse(socket: ServerConnection, request: Request) -> Response:
        response = socket.respond(HTTPStatus.SERVICE_UNAVAILABLE, "draining")
        response.headers["Retry-After"] = "\u00b2"
        response.headers["Set-Cookie"] = "a=1"
        response.headers["Set-Cookie"] = "b=2"
        return response

    async with listening(ServerConnection.wait_closed, process_request=refuse) as port:
        with pytest.raises(ConnectionError, match="HTTP 503: draining"):
            await Connector(f"ws://localhost:{port}", token=None).open()


# the command line


async def run(*arguments: str, typed: str = "") -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server.talk", *arguments),
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await process.communicate(typed.encode())
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def write_wav(path: Path, *, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(RATE)
        buzz = np.where(np.arange(round(0.7 * RATE) * channels) % 100 < 50, 6000, -6000)
        file.writeframes(buzz.astype("<i2").tobytes())
    return path


async def test_help_names_the_options() -> None:
    code, out, _ = await run("--help")

    assert code == 0
    assert {"--wav", "--save", "--mic", "--opus", "--say", "--token", "--approve", "--language"} <= set(
        out.replace(",", " ").split()
    )


async def test_a_lost_server_is_told_and_the_text_is_answered_by_the_next_one() -> None:
    async with listening(Replicas(says_goodbye, answers)) as port:
        code, out, err = await run(f"localhost:{port}", "--say", "hi")

    assert (code, err) == (0, "")
    told = ["[reconnecting: the server restarts]", "[connected: there is a connection again]", "Whole."]
    assert out.splitlines() == ["[fake at nowhere]", *told]


async def test_a_call_that_was_denied_says_whether_the_user_said_no() -> None:
    async with listening(Replicas(denies_two_calls)) as port:
        code, out, err = await run(f"localhost:{port}", "--say", "hi")

    assert (code, err) == (0, "")
    assert out.splitlines()[-3:] == ["[delete: not allowed]", "[delete: you said no]", ""]


async def test_one_text_is_answered_and_the_command_ends() -> None:
    async with server(FakeAgent([say("Hello. ", "There.")])) as url:
        code, out, err = await run(url, "--say", "hi")

    assert (code, err) == (0, "")
    assert out == "[fake at nowhere]\nHello. There.\n"


@pytest.mark.parametrize(("option", "told"), [("--approve", "[yes: user]"), ("--token=x", "[no: user]")])
async def test_a_question_is_shown_with_its_answer(option: str, told: str) -> None:
    async with server(AskingAgent(plans=[[question(), LLMChunk(text="Done.")]])) as url:
        code, out, _ = await run(url, "--say", "hi", option)

    assert code == 0
    assert out.splitlines()[1:] == ["[May I? {'path': 'a'}]", told, "Done."]


async def test_nothing_that_is_shown_commands_the_terminal_or_turns_the_text() -> None:
    clipboard, clear = "\x1b]52;c;cm0gLXJm\x07", "\x1b[2J\x9b3J"
    asked = question(message=f"May I\u202e?{clear}", arguments={"path": "a\u034f\u3164\u2066b"})
    said = [LLMChunk(text=f"{clipboard}One"), LLMChunk(text=f"{clear}\u202e two 👩\u200d🚀 می\u200cرود\n")]
    async with server(AskingAgent(plans=[[asked, *said]])) as url:
        code, out, _ = await run(url, "--say", "hi", "--approve")

    assert code == 0
    assert out.splitlines()[1:] == [
        "[May I\\u202e?\\x1b[2J\\x9b3J {'path': 'a\\u034f\\u3164\\u2066b'}]",
        "[yes: user]",
        "\\x1b]52;c;cm0gLXJm\\x07One\\x1b[2J\\x9b3J\\u202e two 👩\u200d🚀 می\u200cرود",
        "",
    ]


async def test_typed_lines_are_answered_until_the_input_ends() -> None:
    async with server(FakeAgent([say("One."), say("Two.")])) as url:
        code, out, _ = await run(url, typed="hi\n\nagain\n")

    assert code == 0
    assert [line for line in out.replace("> ", "").splitlines() if line] == ["[fake at nowhere]", "One.", "Two."]


@pytest.mark.slow  # in real time
@pytest.mark.parametrize("is_opus", [False, True], ids=["PCM", "Opus"])
async def test_a_wav_is_spoken_and_the_answer_saved(tmp_path: Path, *, is_opus: bool) -> None:
    answer, options = tmp_path / "out.wav", ["--opus"] * is_opus
    async with server(FakeAgent([say("Good day.")]), FakeRecognizer("what time is it")) as url:
        code, out, err = await run(url, "--wav", str(write_wav(tmp_path / "in.wav")), "--save", str(answer), *options)

    assert (code, err) == (0, "")
    assert "> what time is it\nGood day.\n" in out
    with wave.open(str(answer), "rb") as file:
        assert (file.getframerate(), file.getnchannels()) == (24_000 if is_opus else RATE, 1)
        sound = file.readframes(file.getnframes())
    assert len(sound) == 2 * 11 * 480 if is_opus else sound == CHUNK * 2  # 200 ms and the encoder's 6.5, padded


@pytest.mark.slow  # in real time
async def test_a_wav_is_transcribed_and_nothing_answers(tmp_path: Path) -> None:
    agent = FakeAgent([say("Good day.")])
    async with server(agent, FakeRecognizer("what time is it")) as url:
        wav = str(write_wav(tmp_path / "in.wav"))
        code, out, err = await run(url, "--wav", wav, "--transcribe", "--eagerness", "high")

    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == ["> what time is it"]
    assert agent.asked == []


async def test_only_speech_can_be_transcribed() -> None:
    code, _, err = await run("ws://localhost:1/ws", "--say", "hi", "--transcribe")

    assert (code, err.splitlines()[-1]) == (2, "python -m server.talk: error: --transcribe needs --wav or --mic")


@pytest.mark.parametrize(
    ("option", "said"),
    [("--speed=3", "--speed goes from 0.25 to 2"), ("--max-tokens=0", "--max-tokens goes from 1 to 1,000,000")],
)
async def test_a_number_out_of_range_is_refused_by_the_name_of_its_option(option: str, said: str) -> None:
    code, _, err = await run("ws://localhost:1/ws", "--say", "hi", option)

    assert (code, err.splitlines()[-1]) == (2, f"python -m server.talk: error: {said}")


@pytest.mark.parametrize(
    ("name", "said"),
    [("stereo.wav", "one channel"), ("text.wav", "not a readable WAV"), ("gone.wav", "not a readable WAV")],
)
async def test_a_wrong_wav_is_told_before_anything_is_sent(tmp_path: Path, name: str, said: str) -> None:
    write_wav(tmp_path / "stereo.wav", channels=2)
    (tmp_path / "text.wav").write_text("hello", "utf-8")
    code, _, err = await run("ws://localhost:1/ws", "--wav", str(tmp_path / name))

    assert code == 1
    assert err.startswith("talk: ")
    assert name in err
    assert said in err


@pytest.mark.parametrize("form", ["localhost:{port}", "http://localhost:{port}/", "ws://localhost:{port}"])
async def test_an_address_may_leave_out_what_is_the_same_everywhere(form: str) -> None:
    async with server(FakeAgent([say("Hello.")])) as url:
        port = urlsplit(url).port
        code, out, err = await run(form.format(port=port), "--say", "hi")

    assert (code, out, err) == (0, "[fake at nowhere]\nHello.\n", "")


async def test_an_address_that_is_none_is_told_how_to_write_it() -> None:
    code, _, err = await run("http://[x", "--say", "hi")

    assert code == 2
    assert "http://[x: Invalid IPv6 URL; give it as ws://HOST:PORT/ws" in err


@pytest.mark.parametrize("arguments", [[], ["--token", "wrong"]])
async def test_a_refused_login_names_the_token(arguments: list[str]) -> None:
    async def refuse(socket: ServerConnection) -> None:
        await socket.close(4401, "not authenticated")

    async with listening(refuse) as port:
        code, out, err = await run(f"localhost:{port}", "--say", "hi", *arguments)

    assert (code, out) == (1, "")
    assert err == "talk: not logged in (not authenticated): give a valid token with --token\n"


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("localhost:1", "nothing answers at ws://localhost:1/ws: start a server there, or name another"),
        ("nobody.invalid:1", "ws://nobody.invalid:1/ws: there is no such host; check the address"),
    ],
)
async def test_no_server_is_one_line_with_the_cure_and_an_exit_status(host: str, why: str) -> None:
    code, out, err = await run(host, "--say", "hi")

    assert (code, out, err) == (1, "", f"talk: {why}\n")


async def test_what_is_no_web_server_is_named() -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as doors:
        host = f"127.0.0.1:{doors.sockets[0].getsockname()[1]}"
        code, _, err = await run(host, "--say", "hi")

    assert (code, err) == (1, f"talk: ws://{host}/ws: no web server, or one that hangs up; check the address\n")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("the server is going away\n", ": the server is going away"),
        ('{"error": {"code": "too_many_attempts", "message": "try again in 1 s"}}', ": try again in 1 s"),
        ("<html>Bad Gateway</html>", ""),
    ],
)
async def test_a_server_that_refuses_is_quoted(answer: str, why: str) -> None:
    def refuse(socket: ServerConnection, _request: Request) -> Response:
        return socket.respond(HTTPStatus.SERVICE_UNAVAILABLE, answer)

    async with listening(ServerConnection.wait_closed, process_request=refuse) as port:
        code, out, err = await run(f"localhost:{port}", "--say", "hi")

    assert (code, out) == (1, "")
    assert err == f"talk: ws://localhost:{port}/ws refused the conversation, HTTP 503{why}\n"


async def test_a_text_without_an_answer_is_an_exit_status() -> None:
    async with server(FakeAgent([[ProviderUnreachable("no answer from nowhere")]])) as url:
        code, out, _ = await run(url, "--say", "hi")

    assert code == 1
    assert "[provider_unreachable: no answer from nowhere]" in out


async def test_an_answer_that_was_not_spoken_leaves_no_file_and_says_so(tmp_path: Path) -> None:
    async with server(FakeAgent([say("```\nx\n```")])) as url:
        code, out, _ = await run(url, "--say", "hi", "--save", str(tmp_path / "a.wav"))

    assert code == 0
    assert out.splitlines()[-1] == f"[nothing was spoken, so there is no {tmp_path}/a.wav]"


async def test_a_place_that_nothing_can_be_saved_in_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    code, out, err = await run("ws://localhost:1/ws", "--say", "hi", "--save", str(tmp_path / "gone" / "a.wav"))

    assert (code, out) == (1, "")
    assert err == f"talk: {tmp_path}/gone/a.wav: there is no folder {tmp_path}/gone\n"


def test_a_file_keeps_all_of_the_answer(tmp_path: Path) -> None:
    writer = WavWriter(tmp_path / "out.wav")
    writer.write(b"\0\0")  # before any sentence: nothing is known of it
    writer.open(RATE)
    writer.write(CHUNK)
    writer.cut()
    writer.open(RATE)
    writer.write(CHUNK)
    writer.close()

    assert wav_rate(tmp_path / "out.wav") == RATE
    with wave.open(str(tmp_path / "out.wav"), "rb") as file:
        assert file.readframes(99_999) == CHUNK * 2


def test_a_rate_that_the_wire_does_not_take_is_refused(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "fast.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(96_000)

    with pytest.raises(SoundError, match="8 to 48 kHz"):
        wav_rate(tmp_path / "fast.wav")
