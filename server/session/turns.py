"""The turns of one client: at most one is alive, each from the gate to what unwinds behind its `turn_end`."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from server import log
from server.approval.asking import AskHuman
from server.errors import TurnError
from server.metrics import Metrics
from server.session.accounting import account
from server.session.chat_handler import ChatHandler, TurnRequest
from server.session.outbox import Outbox
from server.session.playback import PlaybackClock
from server.session.turn_gate import TurnGate
from server.session.turn_timer import TurnTimer
from server.session.turn_writer import Sign, TurnWriter, code_of
from server.tool_calls import TurnFacts

logger = logging.getLogger(__name__)

MAX_REMEMBERED_IDS: Final = 1024
MAX_UNWINDING: Final = 4
"""Cancelled turns of one client that may still unwind before its next one begins."""
UNWIND_S: Final = 5.0

Trigger = Literal["chat", "voice"]
Asker = Callable[[TurnWriter, TurnFacts, TurnTimer], AskHuman]


class Turns:
    """A turn: `enter_gate`, `expect_sound`, `start`. All but `aclose` return at once.

    on_running: whether one runs now. on_over: one has ended, after its `turn_end` was put into the outbox.
    `limit_key`: under which limits for one user they count (None: under none).
    """

    def __init__(
        self,
        handler: ChatHandler,
        gate: TurnGate,
        *,
        outbox: Outbox,
        sign: Sign,
        metrics: Metrics,
        limit_key: str | None,
        on_running: Callable[[bool], None],
        on_over: Callable[[], None],
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._handler = handler
        self._gate = gate
        self._outbox = outbox
        self._sign = sign
        self._metrics = metrics
        self._limit_key = limit_key
        self._on_running = on_running
        self._on_over = on_over
        self._now_s = now_s
        self._task: asyncio.Task[None] | None = None  # of `running`
        self._unwinding: set[asyncio.Task[None]] = set()
        self._used_ids: OrderedDict[str, None] = OrderedDict()  # the last MAX_REMEMBERED_IDS
        self.running: TurnWriter | None = None
        self.sound = PlaybackClock()
        """Of the latest turn that may have some."""

    @property
    def is_idle(self) -> bool:
        """No turn runs, and the sound of the last one has been played."""
        return self.running is None and not self.sound.is_speaking(self._now_s())

    def is_used(self, turn_id: str) -> bool:
        return turn_id in self._used_ids

    def remember(self, turn_id: str) -> None:
        self._used_ids[turn_id] = None
        if len(self._used_ids) > MAX_REMEMBERED_IDS:
            self._used_ids.popitem(last=False)

    def enter_gate(self) -> bool:
        """Take a place among the running turns, after the turn that runs here has given its own back. False: the client was told why not."""
        if not self._gate.is_draining:
            self.interrupt()  # before the gate: its place may be the one that is needed
        try:
            self._gate.enter(self._limit_key)
        except TurnError as error:
            self._outbox.refuse(code_of(error), str(error), retry_after_ms=error.retry_after_ms)
            self.interrupt()  # the client has cut it off already
            return False
        return True

    def expect_sound(self, turn_id: str, *, began_s: float) -> PlaybackClock:
        """The clock of a turn that is about to start."""
        self.sound = PlaybackClock(turn_id, began_s=began_s)
        return self.sound

    def start(
        self,
        turn_id: str,
        trigger: Trigger,
        request: TurnRequest,
        facts: TurnFacts,
        *,
        asker: Asker,
        received_s: float,
        recognized_s: float | None = None,
    ) -> None:
        turn = self._made(turn_id, received_s, recognized_s, shows_trace=request.trace, on_end=self._turn_over)
        request = replace(request, facts=facts, ask=asker(turn, facts, request.timer))
        self.running = turn
        self._on_running(True)
        # first: an outbox that is full gives the client up with `turn_start`, and the turn's task ends with it
        self._task = asyncio.create_task(self._run(turn, request), name=f"turn {turn_id}")
        turn.start(trigger, request.skills)

    def interrupt(self, turn_id: str | None = None) -> None:
        """End the running turn (None: whichever it is); its work unwinds behind its `turn_end`.

        Of a turn that is over, the sound still to be played is cut.
        """
        turn = self.running
        if turn is not None and turn_id in (None, turn.id):
            turn.end("interrupted")
        if turn_id in (None, self.sound.turn_id):
            self.sound = PlaybackClock()  # the client has cut it

    def end_unstarted(self, turn_id: str) -> None:
        """The client waits for a spoken turn that will not come."""
        turn = self._made(turn_id, self._now_s())
        turn.start("voice", [])
        turn.end("interrupted")

    async def aclose(self) -> None:
        """After `interrupt`: wait until everything that the turns started has unwound."""
        if not self._unwinding:
            return
        _, stuck = await asyncio.wait(self._unwinding, timeout=UNWIND_S)
        for task in stuck:
            logger.error("%s does not end after it was cancelled", task.get_name())

    def _made(
        self,
        turn_id: str,
        received_s: float,
        recognized_s: float | None = None,
        *,
        shows_trace: bool = False,
        on_end: Callable[[TurnWriter], None] | None = None,
    ) -> TurnWriter:
        return TurnWriter(
            turn_id,
            self._outbox.send,
            send_sound=self._outbox.send_sound,
            sign=self._sign,
            received_s=received_s,
            recognized_s=recognized_s,
            shows_trace=shows_trace,
            on_end=on_end,
            clock=self._now_s,
        )

    async def _run(self, turn: TurnWriter, request: TurnRequest) -> None:
        log.turn_id.set(turn.id)
        try:
            if len(self._unwinding) > MAX_UNWINDING:
                await asyncio.wait(self._unwinding, timeout=UNWIND_S)
            await self._handler.run(turn, request, self._outbox)
        finally:
            turn.end("interrupted")  # no-op unless somebody else cancelled the task

    def _turn_over(self, turn: TurnWriter) -> None:
        """`turn` has said its last; what it started is cancelled if it still runs."""
        task, self._task, self.running = self._task, None, None
        self._on_running(False)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)
        self._gate.leave(self._limit_key)
        account(turn, self._metrics)
        self._on_over()
