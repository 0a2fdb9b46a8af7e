"""One turn while it runs, from its request to `turn_end`: LLMChunk → sentences → TTSResult → frames."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from server import config
from server.agent.chunks import HookRecord, LLMChunk
from server.agent.messages import is_users
from server.agent.trace import not_fired_events
from server.bounded.fair_share import Share
from server.errors import Closed, ProviderError, TurnError
from server.session.approvals import Approvals, Speak, TurnAsker
from server.session.outbox import Outbox
from server.session.sentence_assembler import SentenceAssembler, SpokenSentence, TTSResult, in_pieces
from server.session.services import Services
from server.session.settings import TurnRequest
from server.session.speech_output import Metered, PlaybackClock, Voice, output_for
from server.session.turn_limits import TurnTimer
from server.session.turn_writer import TurnWriter, code_of
from server.tools.client_tools import ClientTool, client_tools
from server.tools.tool_calls import ToolAnswer, TurnAborted
from server.wire import frames as wire
from skills_engine import HookState
from skills_engine.turn_sequence import SilentHook

logger = logging.getLogger(__name__)

SAID_AT_ONCE: Final = 16
"""Sentences, or what stands between them, said before others run: each is some 0.1 ms of work."""
_INTERNAL: Final = "something went wrong here; the log has it under turn {}"
_SHORT_WAIT_S: Final = 0.01  # not worth moving the deadline for


class ClientCalls:
    """The calls of one connection that wait for its client.

    The executor limits their number and their time. A call whose turn ends is closed.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], asyncio.Future[wire.ToolOutput]] = {}  # (turn, call)

    def answer(self, output: wire.ToolOutput) -> bool:
        """Return whether a call waits for this output: the newest, where the output names no turn."""
        for (turn_id, call_id), waiting in reversed(self._open.items()):
            if call_id == output.id and output.turn_id in (None, turn_id) and not waiting.done():
                waiting.set_result(output)
                return True
        return False

    async def wait(self, turn_id: str, call_id: str) -> wire.ToolOutput:
        """Wait for the output of a call; cancelling closes it."""
        key = (turn_id, call_id)
        self._open[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._open[key]
        finally:
            del self._open[key]


@dataclass(frozen=True, kw_only=True)
class TurnParts:
    """Parts of one client that all its turns work with."""

    services: Services
    outbox: Outbox
    approvals: Approvals
    client_calls: ClientCalls
    share: Share
    """The share that their work is taken from."""
    limited_share: Share | None
    """The user for whose limits they count, if any."""
    metered: Metered
    """Charges the user for their time on the event loop."""


class TurnRun:
    """Owns a turn: its request, what it writes and says, its questions to the user, its client's calls, its playback.

    It is the channel of its agent (ChunkChannel), which runs in the task of `run`, and lets the client run its tools
    (AskClient).
    """

    def __init__(
        self, request: TurnRequest, parts: TurnParts, on_end: Callable[[TurnWriter, wire.Metrics], None]
    ) -> None:
        """`on_end` gets the figures once `turn_end` has been written."""
        self.request = request
        settings, services, outbox = request.settings, parts.services, parts.outbox
        self.playback = PlaybackClock(request.id, began_s=request.received_s)
        """Playback of its sound, also when it is over."""
        self._parts = parts
        self._handler = services.handler
        self._on_end = on_end
        self._is_ending = False
        self.writer = TurnWriter(
            request.id,
            outbox.send,
            send_sound=partial(outbox.send_sound, turn_id=request.id),
            sign=services.sign,
            sign_state=services.sign_state,
            received_s=request.received_s,
            recognized_s=request.recognized_s,
            hook_record=_unstarted_record(request),
            shows_trace=settings.trace,
            clock=services.now_s,
        )
        self._assembler = SentenceAssembler(is_spoken=settings.voice, language=settings.language)
        voice = Voice(
            synthesizer=services.speech.synthesizer,
            settings=settings,
            output=request.output,
            now_s=services.now_s,
            metered=parts.metered,
        )
        self._output = output_for(self.writer, voice, self.playback, room=outbox.room)
        self._timer = TurnTimer()
        own = self._handler.tool_names if settings.tools else ()
        self._asker = TurnAsker(parts.approvals, request, own, timer=self._timer, speak=self._output.speak)
        self._filler = Filler(self._handler.filler, self._output.speak, self._asker.is_asking)
        self._line = asyncio.Lock()  # of the tasks that put: what one puts leaves together

    def state_after(self, state: HookState, messages: Sequence[wire.Message]) -> HookState:
        """Return the state for messages that came while it ran: if they go on from its own, the one that it made (L1-50).

        `state`: the one that came with them.
        """
        own = self.request.messages
        has_own = [(m.role, m.content) for m in messages[: len(own)]] == [(m.role, m.content) for m in own]
        if state == self.request.hook_facts.state and has_own and any(map(is_users, messages[len(own) :])):
            return self.writer.hook_state or state
        return state

    def start(self) -> None:
        self.writer.start(self.request.trigger, self.request.skills)

    def end(self, reason: wire.TurnEndReason, *, message: str | None = None, rollback: bool = False) -> None:
        """Close what is open, then write `turn_end`. The first call counts."""
        if self._is_ending:
            return
        self._is_ending = True  # what is sent below may find the client too slow, which ends its turn
        self._asker.close()
        hooks = self._output.unsent_hooks()
        metrics = self.writer.end(reason, hooks=hooks, message=message, rollback=rollback)
        self._on_end(self.writer, metrics)

    async def run(self) -> None:
        """Answer, and end the turn in every case but cancellation: then its owner has ended it.

        Cancelling closes the model's stream and stops tools and synthesis before
        this returns. While the client reads too slowly, the agent waits.
        """
        try:
            async with self._output.running():
                failure = await self._answer()
                for result in self._assembler.flush():  # what was shown is also said, even when the reply broke off
                    await self._output.say(result)
                await self._output.finish()
        except Closed:
            self.end("interrupted")  # it is not read any more, but it is accounted for
        except TurnAborted as aborted:
            logger.info("turn aborted: %s", aborted.reason)
            self.end("aborted", message=aborted.reason, rollback=aborted.rollback)
        except Exception:  # the boundary of a turn
            logger.exception("turn failed")
            self._fail(self._internal())
        else:
            if failure is None:
                self.end("completed")
            else:
                self._fail(failure)

    async def put(self, *chunks: LLMChunk) -> None:
        """Write what the agent gives; return when the client, or its voice, has room for more."""
        async with self._line:
            for chunk in chunks:
                self.writer.count(chunk)
                self._filler.observe(chunk)
                await self._write(chunk)

    async def ask(self, call_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        self.announce(call_id, name, arguments)
        output = await self._parts.client_calls.wait(self.request.id, call_id)
        return ToolAnswer(for_llm=output.content, is_error=output.is_error)

    def announce(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        self.writer.write_client_call(call_id, name, arguments)

    async def _write(self, chunk: LLMChunk) -> None:
        for piece in in_pieces(chunk):
            await self._say_all(self._assembler.feed(piece))
            await self._parts.outbox.room()
            if piece is not chunk:
                await asyncio.sleep(0)  # nothing of the above need have waited

    async def _answer(self) -> ProviderError | TurnError | None:
        """Let the agent speak; return why the reply broke off, or None.

        `max_turn_s` is the agent's time: while the voice says what is written, it stands still.
        """
        limit_s = self._parts.services.limits.max_turn_s
        try:
            async with self._timer.running(limit_s):
                if self.request.text is None:
                    await self._handler.answer(self.request, self, ask=self._asker, tools=self._client_tools())
                else:
                    await self._write(LLMChunk(text=self.request.text))
        except (ProviderError, TurnError) as error:
            logger.warning("turn failed: %s: %s", error.code, error)
            return error
        except (Closed, TurnAborted):
            raise
        except Exception as error:  # the boundary of a turn
            if isinstance(error, TimeoutError) and self._timer.has_expired:
                return TurnError("provider_timeout", f"the turn ran longer than {limit_s:g} s and was ended")
            logger.exception("turn failed")
            return self._internal()
        finally:
            self._filler.close()
        return None

    def _client_tools(self) -> Sequence[ClientTool]:
        settings = self.request.settings
        if not settings.tools:
            return ()
        return client_tools(settings.tools, self, are_left_open=settings.client_tools == "end")

    async def _say_all(self, results: Iterable[TTSResult]) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for number, result in enumerate(results, 1):
            await self._output.say(result)
            if number % SAID_AT_ONCE == 0:
                await asyncio.sleep(0)  # `say` need not have waited
        if (waited_s := loop.time() - began_s) > _SHORT_WAIT_S:
            self._timer.give_back(waited_s)

    def _internal(self) -> TurnError:
        return TurnError("internal", _INTERNAL.format(self.request.id))

    def _fail(self, error: ProviderError | TurnError) -> None:
        """Write `error`, then `turn_end` with that reason."""
        self.writer.write_error(code_of(error), str(error), retry_after_ms=error.retry_after_ms)
        self.end("error", message=str(error))


def _unstarted_record(request: TurnRequest) -> HookRecord:
    """Return the record of a turn that ends before any hook is put in."""
    hooks, off = request.snapshot.hooks(request.skills), request.snapshot.hooks_off(request.skills)
    state = None
    if any(hook.has_memory or hook.variables for hook in hooks):
        before = request.hook_facts.state
        state = before.next((), before.variables)
    return HookRecord(lambda: state, lambda: not_fired_events((SilentHook(hook, "no_start") for hook in hooks), off))


class Filler:
    """Word that is said when hooks or tools hold up the first one (`agent.filler`); heard, not written, in no history.

    `observe` every chunk of a turn, then `close`. At most once a turn, and only where there is a voice.
    """

    def __init__(self, settings: config.FillerSettings, speak: Speak, is_asking: Callable[[], bool]) -> None:
        self._settings = settings
        self._speak = speak
        self._is_asking = is_asking
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
        """Withdraw a filler that is not being said yet: the first word is there, or none will come."""
        self._is_needed = False
        self._stop()
        if self._withdraw is not None:
            self._withdraw()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        if (text := self._settings.text) and self._withdraw is None and not self._is_asking():
            self._withdraw = self._speak(SpokenSentence("", text))
