"""One turn, from the client's messages to `turn_end`: LLMChunk → sentences → TTSResult → frames."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, field
from typing import Final, Protocol

from server import config
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.messages import SystemPolicy, Verify, admit
from server.approval.asking import AskHuman
from server.errors import ProviderError, TurnError
from server.hooks.layers import HookLayers, TurnLayers
from server.llm.types import Message
from server.session.filler import Filler
from server.session.outbox import Closed, Outbox
from server.session.results import SentenceAssembler, TTSResult, in_pieces
from server.session.speech_output import SpeechOutput, Voice
from server.session.turn_timer import TurnTimer
from server.session.turn_writer import TurnWriter, code_of
from server.tool_calls import TurnAborted, TurnFacts
from server.wire import frames as wire
from skills_engine import HookInfo, SkillsSnapshot

logger = logging.getLogger(__name__)

TOLD_AT_ONCE: Final = 16
"""Sentences, or what stands between them, that one text may bring before others run: each is some 0.1 ms of work."""
_SHORT_WAIT_S: Final = 0.01  # not worth moving the deadline for


class Agent(Protocol):
    """What a turn needs of the agent; AgentClient is the real one."""

    @property
    def catalog_budget_tokens(self) -> int: ...

    @property
    def does_prefill(self) -> bool: ...

    def prefill(
        self, messages: Sequence[Message], question: str, enable_tools: bool, *, options: TurnOptions
    ) -> None: ...

    def chat_stream(
        self, messages: Sequence[Message], hooks: Sequence[HookInfo], enable_tools: bool, *, options: TurnOptions
    ) -> AsyncGenerator[LLMChunk, None]: ...


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """A turn as it was asked for, with the version of the skills that it keeps to its end."""

    messages: list[wire.Message]
    snapshot: SkillsSnapshot
    skills: list[str]
    enable_tools: bool
    language: str | None
    trace: bool
    policy: SystemPolicy
    voice: Voice | None = None
    """None: the reply is text only."""
    facts: TurnFacts | None = None
    """Whose turn it is; what is asked of hooks and policy goes with it."""
    ask: AskHuman | None = None
    """Asks whoever sits in front of this client."""
    timer: TurnTimer = field(default_factory=TurnTimer)


@dataclass(frozen=True, kw_only=True)
class TurnLimits:
    max_turn_s: float
    max_hook_frames: int


class ChatHandler:
    """Answers turns through the agent; keeps nothing of them, so one serves all connections."""

    def __init__(
        self,
        agent: Agent,
        *,
        verify: Verify,
        limits: TurnLimits,
        model_ready: Callable[[], Awaitable[None]],
        layers: HookLayers | None = None,
        filler: config.FillerSettings | None = None,
    ) -> None:
        self._agent = agent
        self._verify = verify
        self._limits = limits
        self._model_ready = model_ready
        self._layers = layers
        self._filler = filler or config.FillerSettings()

    async def run(self, turn: TurnWriter, request: TurnRequest, outbox: Outbox) -> None:
        """Answer, and end the turn in every case but cancellation: then its owner has ended it.

        Cancelling closes the model's stream and stops tools and synthesis before
        this returns. While the client reads too slowly, the agent waits.
        """
        output = SpeechOutput(turn, request.voice, room=outbox.room)
        try:
            async with output.running():
                failure = await self._answer(turn, request, outbox, output)
                await output.finish()
        except Closed:
            turn.end("interrupted")  # nobody is there to read it, but it is accounted for
        except TurnAborted as aborted:
            logger.info("turn aborted: %s", aborted.reason)
            turn.abort(aborted.reason, rollback=aborted.rollback)
        except Exception:  # the boundary of a turn
            logger.exception("turn failed")
            turn.fail("internal", f"something went wrong here; the log has it under turn {turn.id}")
        else:
            if failure is None:
                turn.end("completed")
            else:
                turn.fail(failure.code, failure.message, retry_after_ms=failure.retry_after_ms)

    def prefill(self, request: TurnRequest, words: str) -> None:
        """The user still speaks: let the model read the history, and the words as far as they are known.

        Returns at once; nothing comes of it that anybody could see but a quicker
        turn. What `run` would refuse is left to it.
        """
        if not self._agent.does_prefill:
            return
        try:
            admitted = admit(request.messages, policy=request.policy, verify=self._verify)
        except TurnError:
            return
        options = self._options(request)
        self._agent.prefill(admitted.messages, words, request.enable_tools, options=options)

    async def _answer(
        self, turn: TurnWriter, request: TurnRequest, outbox: Outbox, output: SpeechOutput
    ) -> "_Failure | None":
        """Let the agent speak; what was shown is also said, even when the reply broke off."""
        assembler = SentenceAssembler(is_spoken=request.voice is not None, language=request.language)
        failure = await self._listen_to_agent(turn, request, outbox, output, assembler)
        for result in assembler.flush():
            await output.say(result)
        return failure

    async def _listen_to_agent(
        self, turn: TurnWriter, request: TurnRequest, outbox: Outbox, output: SpeechOutput, assembler: SentenceAssembler
    ) -> "_Failure | None":
        """`max_turn_s` is the agent's time: while the voice says what is written, it stands still."""
        timer = request.timer
        filler = Filler(self._filler, turn)
        try:
            async with (
                timer.running(self._limits.max_turn_s),
                aclosing(self._stream(turn, request)) as chunks,
            ):
                async for chunk in chunks:
                    turn.note(chunk)
                    filler.note(chunk)
                    for piece in in_pieces(chunk):
                        await self._tell(assembler.feed(piece), output, timer)
                        await outbox.room()
                        if piece is not chunk:
                            await asyncio.sleep(0)  # nothing of the above need have waited
        except (ProviderError, TurnError) as error:
            logger.warning("turn failed: %s: %s", error.code, error)
            return _Failure(code_of(error), str(error), error.retry_after_ms)
        except (Closed, TurnAborted):
            raise
        except Exception as error:  # the boundary of a turn
            if isinstance(error, TimeoutError) and timer.has_expired:
                text = f"the turn ran longer than {self._limits.max_turn_s:g} s and was ended"
                return _Failure("provider_timeout", text)
            logger.exception("turn failed")
            return _Failure("internal", f"something went wrong here; the log has it under turn {turn.id}")
        finally:
            filler.close()
        return None

    async def _tell(self, results: Iterable[TTSResult], output: SpeechOutput, timer: TurnTimer) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for number, result in enumerate(results, 1):
            await output.say(result)
            if number % TOLD_AT_ONCE == 0:
                await asyncio.sleep(0)  # `say` need not have waited
        if (waited_s := loop.time() - began_s) > _SHORT_WAIT_S:
            timer.give_back(waited_s)

    async def _stream(self, turn: TurnWriter, request: TurnRequest) -> AsyncGenerator[LLMChunk, None]:
        admitted = admit(request.messages, policy=request.policy, verify=self._verify)
        for notice in admitted.notices:
            turn.say(TTSResult(notice=notice))
        await self._model_ready()
        hooks = request.snapshot.hooks(request.skills)
        with self._pinned(request) as layers:
            options = self._options(request, layers)
            stream = self._agent.chat_stream(admitted.messages, hooks, request.enable_tools, options=options)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    yield chunk

    def _pinned(self, request: TurnRequest) -> AbstractContextManager[TurnLayers | None]:
        """Hooks and policy as they are now: a reload counts from the next turn."""
        if self._layers is None or request.facts is None:
            return nullcontext()
        return self._layers.for_turn(request.facts, request.ask)

    def _options(self, request: TurnRequest, layers: TurnLayers | None = None) -> TurnOptions:
        catalog = request.snapshot.catalog(request.skills, budget_tokens=self._agent.catalog_budget_tokens)
        return TurnOptions(
            catalog=catalog.text,
            language=request.language,
            trace=request.trace,
            max_persistent=self._limits.max_hook_frames,
            layers=layers,
        )


@dataclass(frozen=True)
class _Failure:
    """Why a turn ends with `error`, after what it had to say."""

    code: wire.ErrorCode
    message: str
    retry_after_ms: int | None = None
