"""The default model, which needs no key and no network: SmolLM2 in a child process.

The child is an OpenAI-compatible server like any other, so `OpenAICompatible`
talks to it. What is added here makes a very small model useful: words choose
tools, deeds without a tool are declined, prompts are plain, replies are kept short.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from server.config import LlmSettings
from server.errors import LanguageUnknown, ProviderError
from server.llm import tool_choice
from server.llm.client import OpenAICompatible
from server.llm.compact import (
    ANSWER,
    DEVICE,
    EXAMPLE_TOKENS,
    MAX_LOOP_CHARS,
    NO_ANSWER,
    CompactTurn,
    ReplyGuard,
    compact_turn,
    is_in_other_script,
    is_looping,
    quotation,
    sorting_text,
    turn_to_prefill,
    unlike,
)
from server.llm.embedded_process import (
    MODEL_NAME,
    EmbeddedProcess,
    ModelProcess,
    ModelProcessSettings,
    default_settings,
    start_process,
)
from server.llm.language_model import (
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
MAX_REQUEST_CHARS = 500
"""The longest question in which words are looked for that ask for a tool."""
_DEFAULTS: Mapping[str, Any] = {"temperature": 0.1, "top_p": 0.9, "min_p": 0.1, "max_tokens": DEFAULT_MAX_TOKENS}
_ONE_LABEL: Mapping[str, Any] = {
    "temperature": 0,
    "max_tokens": 1,
    "grammar": f'root ::= " {DEVICE}" | " {ANSWER}"',
    "logit_bias": [[f" {ANSWER}", 0.3]],  # a lower one takes questions for deeds (figures: docs/models.md)
}
CANNOT = "I can't do that here: I have no tool for it."
_SECOND_TRY: Mapping[str, Any] = {"temperature": 0.7}


async def asks_for_deed(client: OpenAICompatible, sentence: str) -> bool:
    """Let the model decide whether words are not enough to answer. Raises ProviderError."""
    request = ModelRequest(messages=[{"role": "assistant", "content": sorting_text(" ".join(sentence.split()))}])
    async with aclosing(client.stream_with(request, {**_ONE_LABEL})) as events:
        return f" {DEVICE}" in [event.text async for event in events if isinstance(event, TextDelta)]


class EmbeddedModel:
    """SmolLM2-135M-Instruct; see `LanguageModel` for the contract.

    The child starts with `start` or the first call, ends with `aclose` and with
    this process. When it dies, streams under way fail at once and it is started again (`EmbeddedProcess`).
    """

    is_compact = True
    sees_images: bool | None = False
    late_system: LateSystem | None = "user"

    def __init__(
        self,
        config: LlmSettings,
        *,
        start: Callable[[ModelProcessSettings], Awaitable[ModelProcess]] = start_process,
        asks_for_deed: Callable[[OpenAICompatible, str], Awaitable[bool]] = asks_for_deed,
    ) -> None:
        self._asks_for_deed = asks_for_deed
        self._config = config
        self._settings = default_settings()
        self._process = EmbeddedProcess(config, self._settings, start=start, read=self._read_prefix)
        self._instructions: tuple[str, ...] = ()  # of the last turn, of whichever conversation
        self._prefill: tuple[CompactTurn, asyncio.Task[None]] | None = None  # under way
        self._replies = 0  # under way

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name=MODEL_NAME, host="this machine", location="local", languages=("en",), options=_DEFAULTS)

    async def context_tokens(self) -> int | None:
        return self._settings.slot_tokens - EXAMPLE_TOKENS

    async def problem(self) -> str:
        return self._process.problem

    async def start(self) -> None:
        """Load the model. Raises ProviderUnreachable where it is not installed or does not start."""
        await asyncio.to_thread(tool_choice.cities)  # reads files
        await self._process.connected()

    async def warm_up(self, messages: Sequence[Message]) -> None:
        """Let the model read, ahead of the first turn, the beginning of every turn.

        `messages`: the system prompt as the agent sends it, and the hooks of its first call.
        """
        await self._process.warm_up(messages)

    def prefill(self, messages: Sequence[Message], *, question: str, tool_names: Sequence[str]) -> None:
        """Prefill as `LanguageModel` says: only the newest, never during a reply or while the child is not there."""
        self._cancel_prefill()
        client = self._process.client
        if self._replies or client is None:
            return
        turn = turn_to_prefill(messages, question, self._instructions)
        if len(question) <= MAX_REQUEST_CHARS and tool_choice.chosen_tool(turn, tool_names) is not None:
            return  # the answer will come from a tool
        work = self._run_prefill(client, turn)  # in a task that the next prefill cancels, and `aclose` awaits
        self._prefill = turn, asyncio.create_task(work, name="embedded-model-prefill")

    async def aclose(self) -> None:
        """End the child for good; streams under way fail."""
        prefill = self._cancel_prefill()
        await self._process.aclose()
        if prefill is not None:
            await asyncio.gather(prefill, return_exceptions=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self._replies += 1
        try:
            async with aclosing(self._process.reply(lambda client: self._reply(client, request))) as events:
                async for event in events:
                    yield event
        finally:
            self._replies -= 1

    async def _run_prefill(self, client: OpenAICompatible, turn: CompactTurn) -> None:
        try:
            await client.read(turn.messages())
        except ProviderError as error:
            logger.debug("prefill failed: %s", error)

    def _cancel_prefill(self) -> asyncio.Task[None] | None:
        """Return the task that is being cancelled, if there was one."""
        prefill, self._prefill = self._prefill, None
        if prefill is None or prefill[1].done():
            return None
        prefill[1].cancel()
        return prefill[1]

    async def _use_prefill(self, turn: CompactTurn) -> None:
        """Wait for the prefill under way if it is of this turn: begun anew it would take longer."""
        if self._prefill is not None and self._prefill[0].is_beginning_of(turn):
            await asyncio.wait([self._prefill[1]])
        self._cancel_prefill()

    # one reply

    async def _reply(self, client: OpenAICompatible, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        turn = compact_turn(request.messages, request.question, request.denied)
        if is_in_other_script(turn.question):
            raise LanguageUnknown(f"{MODEL_NAME} knows only English: ask in English, or pick another model")
        await self._use_prefill(turn)
        self._instructions = turn.instructions
        is_planning = request.purpose == "planning"
        tools = request.tool_names if is_planning else [tool.name for tool in request.tools]
        is_request = 0 < len(turn.question) <= MAX_REQUEST_CHARS and not turn.results
        if is_request and request.tool_choice != "none":
            name = tool_choice.chosen_tool(turn, tools)
            if name is not None and is_planning:
                yield TextDelta("<need_tool>")
                yield Finished(reason="stop")
                return
            if name is not None and (call := _call(turn, request.tools, name)):
                yield call
                yield Finished(reason="tool_calls")
                return
        answer = quotation(turn)
        if answer or (is_request and await self._asks_for_deed(client, turn.question)):
            yield TextDelta(unlike(answer or CANNOT, turn.last_reply))
            yield Finished(reason="stop")
            return
        async with aclosing(self._answer(client, turn, request.options)) as events:
            async for event in events:
                yield event

    async def _answer(
        self, client: OpenAICompatible, turn: CompactTurn, wishes: Mapping[str, Any]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Let the model answer; where nothing is left of its reply, once more and without the conversation."""
        limit = wishes.get("max_tokens")  # a hook may have set it to anything
        wished = {"max_tokens": limit} if isinstance(limit, int) and limit > 0 else {}
        for is_alone, options in ((False, wished), (True, {**_SECOND_TRY, **wished})):
            guard = ReplyGuard([*turn.instructions, turn.last_reply, turn.question])
            messages = turn.messages(is_alone=is_alone)
            async with aclosing(self._generate(client, messages, options)) as events:
                async for event in events:
                    if not isinstance(event, (TextDelta, Finished)):
                        yield event
                        continue
                    is_end = isinstance(event, Finished)
                    if text := guard.feed("" if isinstance(event, Finished) else event.text, is_end=is_end):
                        yield TextDelta(text)
                    if is_end and guard.has_passed:
                        yield event
                        return
        yield TextDelta(unlike(NO_ANSWER, turn.last_reply))
        yield Finished(reason="stop")

    async def _generate(
        self, client: OpenAICompatible, messages: list[Message], options: Mapping[str, Any]
    ) -> AsyncGenerator[ModelEvent, None]:
        limit = {"max_tokens": self._config.max_tokens} if self._config.max_tokens else {}
        tail = ""
        wishes = {**_DEFAULTS, **limit, **self._config.options, **options}
        async with aclosing(client.stream_with(ModelRequest(messages=messages), wishes)) as events:
            async for event in events:
                yield event
                if isinstance(event, TextDelta):
                    tail = (tail + event.text)[-MAX_LOOP_CHARS:]
                    if is_looping(tail):
                        break
            else:
                return
        yield Finished(reason="stop")  # it had begun to repeat itself

    async def _read_prefix(self, client: OpenAICompatible, prefix: list[Message]) -> None:
        turn = compact_turn([*prefix, {"role": "user", "content": "Hi"}])
        self._instructions = turn.instructions
        await client.read(turn.messages())
        await self._asks_for_deed(client, "Hi")  # what it reads each time is then known


def _call(turn: CompactTurn, tools: Sequence[ToolSpec], name: str) -> ToolCall | None:
    """Return the call, or None if the question does not name what the tool needs and is to be answered."""
    parameters = next(tool.parameters for tool in tools if tool.name == name)
    arguments = tool_choice.named_arguments(name, turn, parameters)
    if arguments is None:
        return None
    return ToolCall(id=f"call_{secrets.token_hex(8)}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
