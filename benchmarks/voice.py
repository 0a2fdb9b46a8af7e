"""Voice to voice: last sample of a spoken question → first sample of the reply, embedded engines.

`measure`: one user, default configuration. `measure_talkers`: 16 at once, with a scripted model that costs nothing.
"""

import asyncio
import json
import time
from collections import defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import parley, running
from server.config import SpeechProviderSettings
from server.speech.tts import SpeechRequest, Synthesizer, synthesizer_of

QUESTIONS = (
    "What is the capital of France, and what is it famous for?",
    "Can you tell me how plants make their food?",
    "What should I cook for dinner tonight?",
    "Why is the sky blue in the morning?",
    "How far away is the moon from the earth?",
    "What is a good name for a small dog?",
    "Could you explain what a rainbow is?",
    "Who wrote the play about Romeo and Juliet?",
    "How do I make a cup of green tea?",
    "What is the largest animal in the world?",
    "Why do birds fly south in the winter?",
    "How many days are there in a leap year?",
    "What is the best way to learn a language?",
    "Can you recommend a book about the sea?",
    "What makes bread rise in the oven?",
    "How does a bicycle stay upright?",
    "What do bees do in the winter?",
    "Why do we need to sleep every night?",
    "What is the difference between a frog and a toad?",
    "How can I sleep better at night?",
    "What is the weather like on the planet Mars?",
    "How do ships float on the water?",
    "What are the colours of the rainbow?",
    "Why do cats like to sit in boxes?",
    "How do I tie a good knot in a rope?",
    "What is the oldest city in Europe?",
    "How long does it take to boil an egg?",
    "What is the meaning of the word serendipity?",
    "Can you tell me a short story about a fox?",
    "Why does the sea taste of salt?",
)
TURNS_EACH = 5
FRAME_S = 0.02
LEAD_S = 0.4
ANSWER_LIMIT_S = 180.0
TALKERS = 16
STAGGER_S = 1.5
TOKEN_S = 0.02
REPLY = (
    "That is a good question, and the answer is not as simple as it looks at first. "
    "People have asked it for hundreds of years, in many countries and in many ways. "
    "Some of them wrote their answers down, and a few of those books are still read today. "
    "The short answer is that it depends on the weather, and on how much time you have. "
    "Would you like to hear more about it?"
)
"""Five sentences, about twenty seconds of sound."""
EMBEDDED = {"PARLEY_SPEECH__STT__PROVIDER": "embedded", "PARLEY_SPEECH__TTS__PROVIDER": "embedded"}
STAGES = {
    "transcript": "end of speech → transcript",
    "model_request": "end of speech → model request",
    "first_token": "end of speech → first token",
    "first_sentence": "end of speech → first sentence complete",
}


async def measure(*, is_quick: bool) -> list[Figure]:
    questions = QUESTIONS[: 2 * TURNS_EACH] if is_quick else QUESTIONS
    spoken = await speak_all(questions)
    first: list[float] = []
    later: list[float] = []
    stages: dict[str, list[float]] = defaultdict(list)
    embedded = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"), "")
    async with parley("", environ=embedded | EMBEDDED) as server:
        for start in range(0, len(spoken), TURNS_EACH):
            for number, reply in enumerate(await _converse(server.url, spoken[start : start + TURNS_EACH])):
                (later if number else first).append(reply.first_ms)
                for stage in STAGES if number else ():
                    if reply.metrics[stage] is not None:
                        stages[stage].append(reply.metrics[stage])
    return [
        figure("voice to voice, first turn of a conversation", "ms", first),
        figure("voice to voice, later turns", "ms", later, goal_p50=1200),
        figure("voice to voice, later turns, p95", "ms", later, goal_p95=2500),
        *(figure(f"later turns: {text}", "ms", stages[stage]) for stage, text in STAGES.items()),
    ]


async def measure_talkers(*, is_quick: bool) -> list[Figure]:
    spoken = await speak_all(QUESTIONS[:10])
    turns = 2 if is_quick else 5

    async def talk(url: str, number: int) -> list[_Reply]:
        await asyncio.sleep(number * STAGGER_S)
        return await _converse(url, [spoken[(number + turn) % len(spoken)] for turn in range(turns)])

    model = ("-m", "benchmarks.model_server", "0", str(TOKEN_S), REPLY)
    async with running(*model) as engine, parley(engine.url, environ=EMBEDDED) as server:
        conversations = await asyncio.gather(*(talk(server.url, number) for number in range(TALKERS)))
    replies = [reply for conversation in conversations for reply in conversation]
    name = f"{TALKERS} talkers"
    stages = {
        stage: [reply.metrics[stage] for reply in replies if reply.metrics[stage] is not None] for stage in STAGES
    }
    return [
        figure(f"{name}: end of speech → first sound", "ms", [reply.first_ms for reply in replies], goal_p50=1500),
        figure(f"{name}: end of speech → first sound, p95", "ms", [r.first_ms for r in replies], goal_p95=3000),
        figure(f"{name}: silence within a reply", "ms", [reply.gap_ms for reply in replies], goal_p95=0),
        figure(f"{name}: sentences without their sound", "", [reply.unspoken for reply in replies], goal_p95=0),
        *(figure(f"{name}: {text}", "ms", stages[stage]) for stage, text in STAGES.items()),
    ]


async def speak_all(questions: tuple[str, ...]) -> list[tuple[bytes, int]]:
    """The questions as sound: PCM16 without the silence at its end, and the sample rate."""
    voice = synthesizer_of(SpeechProviderSettings(), {})
    await voice.start()
    try:
        return [await _speak(voice, question) for question in questions]
    finally:
        await voice.aclose()


async def _speak(voice: Synthesizer, text: str) -> tuple[bytes, int]:
    pcm = bytearray()
    rate = 0
    async with aclosing(voice.synthesize(SpeechRequest(text))) as chunks:
        async for chunk in chunks:
            pcm += chunk.pcm
            rate = chunk.sample_rate
    samples = memoryview(pcm).cast("h")
    last = max(index for index, sample in enumerate(samples) if abs(sample) > 300)
    return bytes(pcm[: 2 * (last + 1)]), rate


@dataclass
class _Reply:
    """A reply as its listener hears it."""

    first_ms: float = 0.0
    """From the end of the question to the first sound; 0: none came."""
    gap_ms: float = 0.0
    """Silence after the first sound for which the sound to be played had not come yet."""
    unspoken: int = 0
    text: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    heard_s: float = 0.0
    """When all that has come is played."""

    def play(self, pcm: bytes, rate: int, asked_s: float) -> None:
        now_s = time.perf_counter()
        if not self.first_ms:
            self.first_ms, self.heard_s = (now_s - asked_s) * 1000, now_s
        self.gap_ms += max(0.0, now_s - self.heard_s) * 1000
        self.heard_s = max(now_s, self.heard_s) + len(pcm) / 2 / rate


async def _converse(url: str, spoken: list[tuple[bytes, int]]) -> list[_Reply]:
    """One conversation: each question is asked when the reply to the one before has been heard."""
    replies = []
    history: list[dict[str, str]] = []
    async with connect(url.replace("http", "ws", 1) + "/ws", compression=None, max_size=None) as socket:
        rate = spoken[0][1]
        await socket.send(json.dumps({"type": "configure", "input": {"format": "pcm16", "sample_rate": rate}}))
        for pcm, _ in spoken:
            microphone = Microphone(socket, pcm, rate)
            talking = asyncio.create_task(microphone.run(), name="microphone")
            try:
                async with asyncio.timeout(ANSWER_LIMIT_S):
                    replies.append(await _listen(socket, microphone, history))
            finally:
                talking.cancel()
                await asyncio.gather(talking, return_exceptions=True)
    return replies


class Microphone:
    """Sends a question in real time, then silence until it is cancelled."""

    def __init__(self, socket: ClientConnection, pcm: bytes, rate: int) -> None:
        self.ended_s = 0.0
        """When the last sample of speech was sent."""
        self._socket = socket
        self._rate = rate
        self._pcm = bytes(2 * round(rate * LEAD_S)) + pcm

    async def run(self) -> None:
        size = 2 * round(self._rate * FRAME_S)
        started = time.perf_counter()
        number = 0
        while True:
            frame = self._pcm[number * size : (number + 1) * size]
            await self._socket.send(frame + bytes(size - len(frame)))
            number += 1
            if not self.ended_s and number * size >= len(self._pcm):
                self.ended_s = time.perf_counter()
            await asyncio.sleep(max(0.0, started + number * FRAME_S - time.perf_counter()))


async def _listen(socket: ClientConnection, microphone: Microphone, history: list[dict[str, str]]) -> _Reply:
    """Until the turn has ended and its sound would have been heard. One that began in a pause of the question is none."""
    reply, rate = _Reply(), 0
    said: list[dict[str, str]] = []
    async for message in socket:
        if isinstance(message, bytes):
            if microphone.ended_s:
                reply.play(message, rate, microphone.ended_s)
            continue
        frame = json.loads(message)
        match frame["type"]:
            case "speech_started":
                reply = _Reply()
                await socket.send(
                    json.dumps({"type": "history", "utterance": frame["utterance"], "messages": history + said})
                )
            case "transcript" if frame["final"] and frame["text"]:
                said.append({"role": "user", "content": frame["text"]})
            case "text":
                reply.text += frame["delta"]
            case "sentence" if frame["audio"] is None:
                reply.unspoken += any(character.isalnum() for character in frame["text"])
            case "sentence":
                rate = frame["audio"]["sample_rate"]
            case "turn_end" if reply.first_ms or reply.unspoken:
                reply.play(b"", 1, microphone.ended_s)  # one without any sound counts as long as it took
                history += [*said, {"role": "assistant", "content": reply.text}]
                reply.metrics = frame["metrics"]
                await asyncio.sleep(reply.heard_s + 0.5 - time.perf_counter())
                return reply
    raise ConnectionError("the server closed in the middle of a turn")
