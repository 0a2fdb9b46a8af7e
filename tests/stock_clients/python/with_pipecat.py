"""The features with pipecat's OpenAIRealtimeLLMService in a pipeline without a transport."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from features import KEY, RATE, WS_URL, question, report, speak
from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    InputImageRawFrame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMRunFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.observers.base_observer import BaseObserver
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.services.openai.realtime import events
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner

logger.remove()

WEATHER = FunctionSchema("get_weather", "The weather in a city.", {"city": {"type": "string"}}, ["city"])


class Talk(BaseObserver):
    """What the service has pushed since `forget`, and a pipeline to push into."""

    def __init__(self, service: OpenAIRealtimeLLMService) -> None:
        super().__init__()
        self.service = service
        self.frames: list[Frame] = []
        self._changed = asyncio.Event()
        self.worker: Any = None

    async def on_push_frame(self, data: Any) -> None:
        if data.source is self.service and data.frame not in self.frames:
            self.frames.append(data.frame)
            self._changed.set()

    async def until(self, is_so: Callable[[], Any]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()
            errors = [frame.error for frame in self.of(ErrorFrame)]
            assert not errors, errors

    def of(self, kind: type[Any]) -> list[Any]:
        return [frame for frame in self.frames if isinstance(frame, kind)]

    def text(self) -> str:
        return "".join(frame.text for frame in self.of(LLMTextFrame))

    async def push(self, frame: Frame) -> None:
        await self.worker.queue_frame(frame)

    async def hear(self, pcm: bytes) -> None:
        await self.push(InputAudioRawFrame(audio=pcm, sample_rate=RATE, num_channels=1))

    async def replied(self) -> str:
        await self.until(lambda: self.text() and self.of(LLMFullResponseEndFrame))
        return self.text()


@asynccontextmanager
async def talking(
    *said: str, modality: str = "audio", turn_detection: Any = None, tools: Any = None
) -> AsyncIterator[Talk]:
    hearing = events.AudioInput(transcription=events.InputAudioTranscription(), turn_detection=turn_detection)
    properties = events.SessionProperties(output_modalities=[modality], audio=events.AudioConfiguration(input=hearing))
    service = OpenAIRealtimeLLMService(
        api_key=KEY,
        base_url=f"{WS_URL}/v1/realtime?model=gpt-realtime",
        settings=OpenAIRealtimeLLMService.Settings(system_instruction="Be brief.", session_properties=properties),
    )

    async def get_weather(params: Any) -> None:
        await params.result_callback({"weather": f"rain in {params.arguments['city']}"})

    service.register_function("get_weather", get_weather)
    messages: Any = [{"role": "user", "content": text} for text in said]
    context = LLMContext(messages, ToolsSchema(standard_tools=[WEATHER])) if tools else LLMContext(messages)
    pair = LLMContextAggregatorPair(context)
    talk = Talk(service)
    talk.worker = PipelineWorker(
        Pipeline([pair.user(), service, pair.assistant()]),
        observers=[talk],
        enable_rtvi=False,
        cancel_on_idle_timeout=False,
    )
    started = asyncio.Event()

    @talk.worker.event_handler("on_pipeline_started")
    async def _(*_: Any) -> None:
        started.set()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(talk.worker)
    running = asyncio.create_task(runner.run())
    try:
        await started.wait()
        await talk.push(LLMRunFrame())
        yield talk
        await talk.push(EndFrame())
        await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def text_turn() -> str:
    async with talking("What time is it?", modality="text") as talk:
        reply = await talk.replied()
        assert reply == "It is noon.", reply
        return reply


async def spoken_turn() -> str:
    async with talking("Hello.") as talk:
        await talk.replied()
        talk.frames.clear()
        saying = asyncio.create_task(speak(talk.hear))
        reply = await talk.replied()
        await saying
        return check_spoken(talk, reply)


def check_spoken(talk: Talk, reply: str) -> str:
    assert reply == "It is noon.", reply
    sound = b"".join(frame.audio for frame in talk.of(TTSAudioRawFrame))
    assert len(sound) == 2 * RATE, len(sound)
    return f"{len(sound) / 48_000:.1f} s of sound"


async def manual_commit() -> str:
    async with talking("Hello.", turn_detection=False) as talk:
        await talk.replied()
        talk.frames.clear()
        await talk.push(InterruptionFrame())  # what its own turn detection sends when the user begins
        for piece in question():
            await talk.hear(piece)
        await talk.push(UserStoppedSpeakingFrame())
        return check_spoken(talk, await talk.replied())


async def client_tool() -> str:
    async with talking("How is the weather?", modality="text", tools=True) as talk:
        reply = await talk.replied()
        assert "rain in Berlin" in reply, reply
        return reply


async def interruption() -> str:
    async with talking("Tell me a story.") as talk:
        await talk.until(lambda: talk.of(TTSAudioRawFrame))
        saying = asyncio.create_task(speak(talk.hear, quiet_s=1.5))  # while the story is told
        await talk.until(lambda: talk.text().endswith("']"))
        await saying
        reply = talk.text().partition("I said")[2]
        assert "number 1" in reply, reply
        assert "number 8" not in reply, reply
        return reply


async def transcription() -> str:
    async with talking("Hello.") as talk:
        await talk.replied()
        await speak(talk.hear)
        await talk.until(lambda: talk.of(TranscriptionFrame))
        [heard] = talk.of(TranscriptionFrame)
        return str(heard.text)


async def image() -> str:
    async with talking("Hello.") as talk:
        await talk.replied()
        talk.frames.clear()
        await talk.push(InputImageRawFrame(image=bytes(3 * 64), size=(8, 8), format="RGB"))  # a camera's
        await speak(talk.hear)
        reply = await talk.replied()
        assert reply == "A picture.", reply
        return reply


asyncio.run(
    report(
        text_turn=text_turn,
        spoken_turn=spoken_turn,
        manual_commit=manual_commit,
        client_tool=client_tool,
        interruption=interruption,
        transcription=transcription,
        image=image,
    )
)
