"""The default that needs no key and no network: SmolLM2 in a child process.

The child is an OpenAI-compatible server like any other, so `OpenAICompatible`
talks to it. What is added here makes a very small model useful: decisions about
tools are bound by JSON Schema, prompts are plain, replies are kept short.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from server.config import LlmSettings
from server.errors import ProviderError, ProviderProtocol, ProviderUnreachable
from server.llm import decision
from server.llm.client import OpenAICompatible
from server.llm.compact import EXAMPLE_TOKENS, Turn, answer_messages, read_beginning, read_turn
from server.llm.embedded_child import EmbeddedChild, State, Worker
from server.llm.embedded_process import MODEL_NAME, WorkerSettings, default_settings, start_worker
from server.llm.loops import LoopDetector
from server.llm.reading import Beginning, Choices
from server.llm.types import (
    Finished,
    LateSystem,
    Message,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolSpec,
)

logger = logging.getLogger(__name__)

DEFAULT_MAX_TOKENS = 160
_SAMPLING: Mapping[str, Any] = {"temperature": 0.1, "top_p": 0.9, "min_p": 0.1}
_DECIDING: Mapping[str, Any] = {"temperature": 0.0, "max_tokens": 64}
_CHOOSING: Mapping[str, Any] = {"temperature": 0.0, "max_tokens": 32}


class EmbeddedModel:
    """SmolLM2-135M-Instruct; see `LanguageModel` for the contract.

    The child starts with `start` or the first call, ends with `aclose` and with
    this process. When it dies, streams under way fail at once and it is started
    again, by the first of them or by the next call; after each death without a finished reply in between the pause
    before a new start doubles, up to 30 s.
    """

    is_compact = True
    sees_images: bool | None = False
    late_system: LateSystem | None = "user"

    def __init__(
        self,
        config: LlmSettings,
        settings: WorkerSettings | None = None,
        *,
        start: Callable[[WorkerSettings], Awaitable[Worker]] = start_worker,
    ) -> None:
        self._config = config
        self._settings = settings or default_settings()
        self._child = EmbeddedChild(config, self._settings, start=start, on_started=self._read_prefix)
        self._prefix: tuple[list[Message], list[str]] | None = None  # what `warm_up` was given
        self._choices = Choices()
        self._instructions: tuple[str, ...] = ()  # of the last turn, of whichever conversation
        self._reading: tuple[Beginning, asyncio.Task[None]] | None = None  # ahead of a turn
        self._is_reading_awaited = False  # by a turn
        self._replies = 0  # under way

    @property
    def state(self) -> State:
        return self._child.state

    @property
    def why(self) -> str:
        """With `failed`: what went wrong."""
        return self._child.why

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name=MODEL_NAME, host="this machine", location="local")

    @property
    def worker_pid(self) -> int | None:
        """The child's process id, while it lives."""
        worker = self._child.worker
        return worker.pid if worker is not None and worker.is_alive else None

    async def context_tokens(self) -> int | None:
        return self._settings.slot_tokens - EXAMPLE_TOKENS

    async def start(self) -> None:
        """Load the model. Raises ProviderUnreachable where it is not installed or does not start."""
        await asyncio.to_thread(decision.prepare)
        await self._child.connected()

    async def warm_up(self, messages: Sequence[Message], tool_names: Sequence[str]) -> None:
        """Let the model read, ahead of the first turn, what every turn begins with.

        `messages`: the system prompt as the agent sends it. The same is read again after a
        restart. A failure to read is logged: the first turn is slower then, no more.
        """
        self._prefix = (list(messages), list(tool_names))
        if (client := self._child.client) is None:
            await self._child.connected()  # which reads it
        else:
            await self._read_prefix(client)

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        """See `LanguageModel`. One at a time, the newest; none while a reply is under way or the child is not there."""
        self._stop_reading()
        client = self._child.client
        if self._replies or client is None:
            return
        system, history = read_beginning(messages)
        beginning = Beginning(
            system=system,
            history=history,
            instructions=self._instructions,
            question=question,
            tool_names=tuple(tool_names),
        )
        self._is_reading_awaited = False
        task = asyncio.create_task(self._read_beginning(client, beginning), name="embedded-model-reading-ahead")
        self._reading = beginning, task

    async def aclose(self) -> None:
        """End the child for good; streams under way fail."""
        reading = self._stop_reading()
        await self._child.aclose()
        if reading is not None:
            await asyncio.gather(reading, return_exceptions=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        client = await self._child.connected()
        worker = self._child.worker
        self._replies += 1
        try:
            async with aclosing(self._reply(client, request)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._child.has_replied()
                    yield event
        except ProviderUnreachable as error:
            if not await self._child.has_died(worker):
                raise
            raise ProviderUnreachable("the embedded model's process ended; it is being started again") from error
        finally:
            self._replies -= 1

    # ahead of a reply

    async def _read_beginning(self, client: OpenAICompatible, beginning: Beginning) -> None:
        try:
            if beginning.question and beginning.tool_names:
                choice = await self._choose(client, beginning, dict.fromkeys(beginning.tool_names, ""))
                if choice is not None or self._is_reading_awaited:
                    return  # the answer will come from a tool, or is asked for in one go
            await self._read(client, beginning.messages())
        except ProviderError as error:
            logger.debug("nothing was read ahead: %s", error)

    def _stop_reading(self) -> asyncio.Task[None] | None:
        """The task that is being cancelled, if there was one."""
        reading, self._reading = self._reading, None
        if reading is None or reading[1].done():
            return None
        reading[1].cancel()
        return reading[1]

    async def _use_reading(self, turn: Turn) -> None:
        """Let a reading of this turn's beginning come to its end: begun anew it would take longer."""
        if self._reading is not None and self._reading[0].begins(turn):
            self._is_reading_awaited = True
            await asyncio.wait([self._reading[1]])
        self._stop_reading()

    # one reply

    async def _reply(self, client: OpenAICompatible, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        turn = read_turn(request.messages, request.question, request.denied)
        await self._use_reading(turn)
        self._instructions = turn.instructions
        may_call = request.tool_choice == "auto" and not turn.results and not turn.is_denied
        if request.purpose == "planning" and request.tool_names:
            if await self._choose(client, turn, dict.fromkeys(request.tool_names, "")) is not None:
                yield TextDelta("<need_tool>")
                yield Finished(reason="stop")
                return
        elif request.tools and may_call and (call := await self._call(client, turn, request.tools)) is not None:
            yield call
            yield Finished(reason="tool_calls")
            return
        if turn.quotation is not None:
            yield TextDelta(turn.quotation)
            yield Finished(reason="stop")
            return
        async with aclosing(self._answer(client, turn)) as events:
            async for event in events:
                yield event

    async def _answer(self, client: OpenAICompatible, turn: Turn) -> AsyncGenerator[ModelEvent, None]:
        limit = {"max_tokens": self._config.max_tokens or DEFAULT_MAX_TOKENS}
        request = ModelRequest(messages=answer_messages(turn))
        loop = LoopDetector()
        async with aclosing(client.stream_with(request, {**_SAMPLING, **limit, **self._config.options})) as events:
            async for event in events:
                yield event
                if isinstance(event, TextDelta) and loop.feed(event.text):
                    break
            else:
                return
        yield Finished(reason="stop")  # it had begun to repeat itself

    async def _call(self, client: OpenAICompatible, turn: Turn, tools: Sequence[ToolSpec]) -> ToolCall | None:
        """A call whose arguments fit the tool's schema, or None: the question is to be answered."""
        name = await self._choose(client, turn, {tool.name: tool.description for tool in tools})
        tool = next((tool for tool in tools if tool.name == name), None)
        if tool is None:
            return None
        schema = decision.argument_schema(tool, turn.question, turn.system)
        arguments = decision.only_arguments(schema)
        if arguments is None:
            try:
                arguments = await self._bound(client, decision.argument_messages(tool, turn.question), schema)
            except ProviderProtocol as error:  # a foreign schema of which no grammar can be made
                logger.info("the embedded model cannot be bound to the schema of %s: %s", tool.name, error)
                return None
        if not decision.is_valid(tool, arguments):
            logger.info("the embedded model found no arguments for %s", tool.name)
            return None
        text = json.dumps(arguments, ensure_ascii=False)
        return ToolCall(id=f"call_{secrets.token_hex(8)}", name=tool.name, arguments=text)

    async def _choose(self, client: OpenAICompatible, turn: Turn | Beginning, tools: Mapping[str, str]) -> str | None:
        prompt = decision.choice_prompt(turn.question, tools)
        name = self._choices.find(prompt)
        if name is None:
            name = (await client.complete(prompt, {**_CHOOSING, "grammar": decision.choice_grammar(tools)})).strip()
            self._choices.keep(prompt, name)
        return name if name in tools and decision.is_possible(name, turn.question, turn.system) else None

    async def _bound(self, client: OpenAICompatible, messages: list[Message], schema: Mapping[str, Any]) -> Any:
        """The model's JSON, bound by the schema; None where the token limit cut it off."""
        wanted = {"type": "json_schema", "json_schema": {"name": "decision", "schema": schema}}
        text = ""
        request = ModelRequest(messages=messages)
        async with aclosing(client.stream_with(request, {**_DECIDING, "response_format": wanted})) as events:
            async for event in events:
                text += event.text if isinstance(event, TextDelta) else ""
        try:
            return json.loads(text)
        except ValueError:
            return None

    # what every turn begins with

    async def _read_prefix(self, client: OpenAICompatible) -> None:
        if self._prefix is None:
            return
        try:
            await self._read_start(client, *self._prefix)
        except ProviderError as error:
            logger.warning("the embedded model could not be warmed up: %s", error)

    async def _read_start(self, client: OpenAICompatible, messages: list[Message], tool_names: list[str]) -> None:
        turn = read_turn([*messages, {"role": "user", "content": "Hi"}])
        await self._read(client, answer_messages(turn))
        if tool_names:
            await self._choose(client, turn, dict.fromkeys(tool_names, ""))

    async def _read(self, client: OpenAICompatible, messages: list[Message]) -> None:
        async with aclosing(client.stream_with(ModelRequest(messages=messages), {"max_tokens": 1})) as events:
            async for _ in events:
                pass
