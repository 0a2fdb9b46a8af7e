"""One turn, from the client's messages to `turn_end`: LLMChunk → sentences → TTSResult → frames."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, field
from typing import Final, Protocol

from server import config
from server.accounts.principal import Principal
from server.agent.agent_client import TurnOptions
from server.agent.chunks import LLMChunk
from server.agent.messages import SystemPolicy, Verify, admit, user_texts
from server.approval.asking import AskHuman
from server.errors import Closed, ProviderError, TurnError
from server.hooks.layers import HookLayers, TurnLayers
from server.llm.language_model import Message
from server.session.outbox import Outbox
from server.session.sentence_assembler import SentenceAssembler, SpokenSentence, TTSResult, in_pieces
from server.session.speech_output import PlaybackClock, SpeechOutput, Voice
from server.session.turn_limits import TurnTimer
from server.session.turn_writer import TurnWriter, code_of
from server.tool_calls import TurnAborted, TurnFacts
from server.tools.client_tools import AskClient, ClientTool, client_tools
from server.wire import frames as wire
from skills_engine import HookFacts, HookInfo, HookState, SkillsSnapshot
from skills_engine.authoring.costs import CostMeter
from skills_engine.conditions.turn_facts import Channel

logger = logging.getLogger(__name__)

SAID_AT_ONCE: Final = 16
"""Sentences, or what stands between them, said before others run: each is some 0.1 ms of work."""
_INTERNAL: Final = "something went wrong here; the log has it under turn {}"
_NO_FACTS: Final = HookFacts()
"""For turns whose hooks ask for none."""
_SHORT_WAIT_S: Final = 0.01  # not worth moving the deadline for


class Agent(Protocol):
    """The agent, as a turn needs it; AgentClient is the real one."""

    @property
    def catalog_budget_tokens(self) -> int: ...

    @property
    def does_prefill(self) -> bool: ...

    @property
    def tool_names(self) -> Collection[str]: ...

    def prefill(
        self, messages: Sequence[Message], question: str, enable_tools: bool, *, options: TurnOptions
    ) -> None: ...

    def chat_stream(
        self, messages: Sequence[Message], hooks: Sequence[HookInfo], enable_tools: bool, *, options: TurnOptions
    ) -> AsyncGenerator[LLMChunk, None]: ...


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """A turn as it was asked for, with the version of the skills that it keeps to its end."""

    id: str
    trigger: wire.TurnTrigger
    messages: list[wire.Message]
    snapshot: SkillsSnapshot
    skills: list[str]
    enable_tools: bool
    language: str | None
    trace: bool
    policy: SystemPolicy
    principal: Principal
    facts: TurnFacts
    """The turn as process hooks and policy know it: its user, session and conversation."""
    voice: Voice | None
    """None: the reply is text only."""
    playback: PlaybackClock
    received_s: float
    """When the client's `chat` came, or the user stopped speaking."""
    channel: Channel = "text"
    trigger_text: HookInfo | None = None
    """Puts the text in whose trigger began the turn."""
    hook_state: HookState = field(default_factory=HookState)
    """The state of hooks after the turn before."""
    recognized_s: float | None = None
    """When the words of a spoken turn were known."""
    text: str | None = None
    """The reply of a turn that no model answers."""
    costs: CostMeter | None = None
    """Knows the last model call of this client, for the trace."""
    instructions: str | None = None
    """The client's addition to the system prompt."""
    max_tokens: int | None = None
    """The client's limit for each model call, in force where it is below the operator's."""
    tools: Sequence[wire.ToolItem] = ()
    """The client's own."""
    tool_choice: wire.ToolChoice = "auto"
    client_tools: wire.ClientTools = "wait"
    client: AskClient | None = None
    """Runs the client's tools; set when the turn begins."""
    ask: AskHuman | None = None
    """Asks the user of this client; set when the turn begins."""
    timer: TurnTimer = field(default_factory=TurnTimer)


class ChatHandler:
    """Answers turns through the agent; keeps nothing of them, so one serves all connections."""

    def __init__(
        self,
        agent: Agent,
        *,
        verify: Verify,
        limits: config.LimitsSettings,
        model_ready: Callable[[], Awaitable[None]],
        layers: HookLayers | None = None,
        filler: config.FillerSettings | None = None,
        hook_tokens: int | None = None,
    ) -> None:
        """`hook_tokens`: what hooks of skills may cost in one model call; None = any number."""
        self._agent = agent
        self._verify = verify
        self._limits = limits
        self._model_ready = model_ready
        self._layers = layers
        self._filler = filler or config.FillerSettings()
        self.hook_tokens = hook_tokens

    @property
    def tool_names(self) -> Collection[str]:
        """Names of the server's tools, which no tool of a client may have."""
        return self._agent.tool_names

    async def run(self, writer: TurnWriter, request: TurnRequest, outbox: Outbox) -> None:
        """Answer, and end the turn in every case but cancellation: then its owner has ended it.

        Cancelling closes the model's stream and stops tools and synthesis before
        this returns. While the client reads too slowly, the agent waits.
        """
        assembler = SentenceAssembler(is_spoken=request.voice is not None, language=request.language)
        output = SpeechOutput(writer, request.voice, room=outbox.room)
        try:
            async with output.running():
                failure = await self._answer(writer, request, assembler, output, outbox)
                for result in assembler.flush():  # what was shown is also said, even when the reply broke off
                    await output.say(result)
                await output.finish()
        except Closed:
            writer.end("interrupted")  # nobody is there to read it, but it is accounted for
        except TurnAborted as aborted:
            logger.info("turn aborted: %s", aborted.reason)
            writer.abort(aborted.reason, rollback=aborted.rollback)
        except Exception:  # the boundary of a turn
            logger.exception("turn failed")
            writer.fail("internal", _INTERNAL.format(writer.id))
        else:
            if failure is None:
                writer.end("completed")
            else:
                writer.fail(code_of(failure), str(failure), retry_after_ms=failure.retry_after_ms)

    def prefill(self, request: TurnRequest, words: str) -> None:
        """Let the model read the history while the user still speaks, and the words as far as they are known.

        Returns at once; a quicker turn is all that anybody could see of it. What
        `run` would refuse is left to it.
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
        self,
        writer: TurnWriter,
        request: TurnRequest,
        assembler: SentenceAssembler,
        output: SpeechOutput,
        outbox: Outbox,
    ) -> ProviderError | TurnError | None:
        """Let the agent speak; returns why the reply broke off, or None.

        `max_turn_s` is the agent's time: while the voice says what is written, it stands still.
        """
        timer = request.timer
        filler = Filler(self._filler, writer)
        try:
            async with (
                timer.running(self._limits.max_turn_s),
                aclosing(self.stream(request)) as chunks,
            ):
                async for chunk in chunks:
                    if request.text is None:  # else nobody waited for a model
                        writer.count(chunk)
                    filler.observe(chunk)
                    for piece in in_pieces(chunk):
                        await self._say_all(assembler.feed(piece), output, timer)
                        await outbox.room()
                        if piece is not chunk:
                            await asyncio.sleep(0)  # nothing of the above need have waited
        except (ProviderError, TurnError) as error:
            logger.warning("turn failed: %s: %s", error.code, error)
            return error
        except (Closed, TurnAborted):
            raise
        except Exception as error:  # the boundary of a turn
            if isinstance(error, TimeoutError) and timer.has_expired:
                text = f"the turn ran longer than {self._limits.max_turn_s:g} s and was ended"
                return TurnError("provider_timeout", text)
            logger.exception("turn failed")
            return TurnError("internal", _INTERNAL.format(writer.id))
        finally:
            filler.close()
        return None

    async def _say_all(self, results: Iterable[TTSResult], output: SpeechOutput, timer: TurnTimer) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for number, result in enumerate(results, 1):
            await output.say(result)
            if number % SAID_AT_ONCE == 0:
                await asyncio.sleep(0)  # `say` need not have waited
        if (waited_s := loop.time() - began_s) > _SHORT_WAIT_S:
            timer.give_back(waited_s)

    async def stream(self, request: TurnRequest) -> AsyncGenerator[LLMChunk, None]:
        """Let the agent answer, chunk by chunk; closing it ends the turn. Raises what the agent raises, and TurnError."""
        if request.text is not None:
            yield LLMChunk(text=request.text)
            return
        admitted = admit(request.messages, policy=request.policy, verify=self._verify)
        for notice in admitted.notices:
            yield LLMChunk(notice=notice)
        await self._model_ready()
        hooks = request.snapshot.hooks(request.skills)
        if request.trigger_text is not None:
            hooks.append(request.trigger_text)
        with self._pinned(request) as layers:
            options = self._options(request, layers, facts=self._hook_facts(request, hooks))
            stream = self._agent.chat_stream(admitted.messages, hooks, request.enable_tools, options=options)
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    yield chunk

    def _pinned(self, request: TurnRequest) -> AbstractContextManager[TurnLayers | None]:
        """Pin hooks and policy as they are now: a reload counts from the next turn."""
        return nullcontext() if self._layers is None else self._layers.for_turn(request.facts, request.ask)

    def _options(
        self, request: TurnRequest, layers: TurnLayers | None = None, *, facts: HookFacts = _NO_FACTS
    ) -> TurnOptions:
        catalog = request.snapshot.catalog(request.skills, budget_tokens=self._agent.catalog_budget_tokens)
        tools: list[ClientTool] = []
        if request.client is not None:
            tools = client_tools(request.tools, request.client, are_left_open=request.client_tools == "end")
        return TurnOptions(
            catalog=catalog.text,
            language=request.language,
            instructions=request.instructions,
            max_tokens=request.max_tokens,
            client_tools=tools,
            tool_choice=request.tool_choice,
            trace=request.trace,
            hooks_off=request.snapshot.hooks_off(request.skills) if request.trace else (),
            costs=request.costs,
            max_persistent=self._limits.max_hook_frames_per_turn,
            facts=facts,
            layers=layers,
        )

    def _hook_facts(self, request: TurnRequest, hooks: Iterable[HookInfo]) -> HookFacts:
        if self.hook_tokens is None and all(hook.is_plain for hook in hooks):
            return _NO_FACTS
        return self.hook_facts(request)

    def hook_facts(self, request: TurnRequest) -> HookFacts:
        """Return the facts of a turn that are known before the agent has it: all but its model and tools."""
        principal = request.principal
        return HookFacts(
            user_messages=user_texts(request.messages),
            channel=request.channel,
            language=request.language,
            user=principal.user_id if principal.is_logged_in else None,
            is_operator=principal.is_operator,
            skills=frozenset(request.skills),
            hook_tokens=self.hook_tokens,
            state=request.hook_state,
        )


class Filler:
    """Word that is said when hooks or tools hold up the first one (`agent.filler`); heard, not written, in no history.

    `observe` every chunk of a turn, then `close`. At most once a turn, and only where there is a voice.
    """

    def __init__(self, settings: config.FillerSettings, writer: TurnWriter) -> None:
        self._settings = settings
        self._writer = writer
        self._timer: asyncio.TimerHandle | None = None
        self._withdraw: Callable[[], None] | None = None
        self._is_needed = settings.text is not None

    def observe(self, chunk: LLMChunk) -> None:
        if not self._is_needed:
            return
        if chunk.text is not None:
            self.close()
        elif chunk.model_request:
            self._stop()  # now it is the model that takes its time
        elif (chunk.held or chunk.tool_call is not None) and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._settings.after_ms / 1000, self._say)

    def close(self) -> None:
        """Withdraw what is not being said yet: the first word is there, or none will come."""
        self._is_needed = False
        self._stop()
        if self._withdraw is not None:
            self._withdraw()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        speak, text = self._writer.speak, self._settings.text
        if speak is not None and text and self._withdraw is None and not self._writer.is_asking:
            self._withdraw = speak(SpokenSentence("", text))
