"""The turns of one client: at most one is alive, each from the gate to what unwinds behind its `turn_end`."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from server import log
from server.agent.messages import user_texts
from server.bounded.fair_share import turn_share
from server.bounded.limits import BoundedDict
from server.metrics import Metrics
from server.session.settings import TurnRequest
from server.session.speech_output import PlaybackClock
from server.session.turn_run import TurnParts, TurnRun
from server.session.turn_writer import TurnWriter
from server.tools.builtin import turn_zone
from server.wire import frames as wire
from skills_engine.conditions.turn_facts import zone_of

logger = logging.getLogger(__name__)

MAX_REMEMBERED_IDS: Final = 1024
MAX_UNWINDING: Final = 4
"""Cancelled turns of one client that may still unwind before its next one begins."""
UNWIND_S: Final = 5.0


class Turns:
    """Starts turns and ends them; each runs in a task of its own. All methods but `aclose` return at once.

    on_running: whether a turn runs now. on_over: a turn has ended, and its `turn_end` is in the outbox.
    """

    def __init__(self, parts: TurnParts, *, on_running: Callable[[bool], None], on_over: Callable[[], None]) -> None:
        self._parts = parts
        self._services = parts.services
        self._on_running = on_running
        self._on_over = on_over
        self._task: asyncio.Task[None] | None = None  # of `running`
        self._unwinding: set[asyncio.Task[None]] = set()
        self._used_ids = BoundedDict[str, None](MAX_REMEMBERED_IDS)
        self.running: TurnRun | None = None
        self.is_spoken = False
        """Whether the latest turn began by voice, or goes on with one that did."""
        self.playback = PlaybackClock()
        """Playback of the latest turn, until that is cut."""
        self.answered: tuple[str, ...] = ()
        """The user's messages that the latest turn answered."""
        self.drawn_for = ""
        """Id of the turn whose draw of chances counts for the latest one."""
        self._has_cut = False  # the latest turn, or its sound, was ended before its time

    def goes_on(self, messages: Sequence[wire.Message]) -> bool:
        """Return whether a new message of the user stands behind all those that the latest turn answered."""
        texts = user_texts(messages)
        return len(texts) > len(self.answered) and texts[: len(self.answered)] == self.answered

    @property
    def is_idle(self) -> bool:
        """Whether no turn runs, and the sound of the last one has been played."""
        return self.running is None and not self.playback.is_speaking(self._services.now_s())

    @property
    def is_interrupting(self) -> bool:
        """Whether a turn that begins now follows one that was ended before its time, or ends it."""
        return self._has_cut or not self.is_idle

    def is_used(self, turn_id: str) -> bool:
        return turn_id in self._used_ids

    def remember(self, turn_id: str) -> None:
        """Take the id: no turn that comes may have it again."""
        self._used_ids[turn_id] = None

    def begin(self, request: TurnRequest, *, is_spoken: bool = False) -> None:
        """Start the turn, in place of the one that runs. Raises TurnError if too many run or the server stops.

        `is_spoken`: it answers an utterance that was accepted, so a server that stops accepts it. One that stops
        and refuses leaves the running turn to the caller, for the refusal to be sent before the connection closes.
        """
        gate = self._services.gate
        if is_spoken or not gate.is_draining:
            self.interrupt()  # before the gate: its place may be the one that is needed
        gate.enter(self._parts.limited_share, is_spoken=is_spoken)
        self.remember(request.id)
        self._services.begun_turns.add(request.principal.share, request.id, now_s=self._services.now_s())
        self.is_spoken = request.hook_facts.channel == "voice"
        self.answered, self.drawn_for, self._has_cut = user_texts(request.messages), request.drawn_for, False
        run = TurnRun(request, self._parts, self._finish)
        self.running, self.playback = run, run.playback
        self._on_running(True)
        # first: an outbox that is full gives the client up with `turn_start`, and the turn's task ends with it;
        # `aclose` awaits the task
        self._task = asyncio.create_task(self._parts.metered(self._run(run)), name=f"turn {request.id}")
        run.start()

    def interrupt(self, turn_id: str | None = None, *, message: str | None = None) -> None:
        """End the running turn, or only the one of this id, saying why; its work unwinds behind its `turn_end`.

        Of a turn that is over, the sound still to be played is cut.
        """
        self._has_cut = self._has_cut or (turn_id in (None, self.playback.turn_id) and not self.is_idle)
        run = self.running
        if run is not None and turn_id in (None, run.request.id):
            run.end("interrupted", message=message)
        if turn_id in (None, self.playback.turn_id):
            self.playback = PlaybackClock()  # the client has cut it

    def report_playback(self, frame: wire.Playback) -> bool:
        """Take what was heard; return False if the turn was cut."""
        playback = self.playback
        if playback.turn_id != frame.turn_id:
            return False
        is_first = playback.first_audible_s is None
        playback.report(frame.index, frame.ms, frame.state, self._services.now_s())
        if is_first and playback.first_audible_s is not None:
            self._services.metrics.first_audible.observe(playback.first_audible_s - playback.began_s)
        return True

    def end_unstarted(self, request: TurnRequest) -> None:
        """Start and end a spoken turn that will not come, after the one that runs: the client waits for it."""
        self.interrupt()
        run = TurnRun(request, self._parts, lambda *_: None)
        run.writer.start("voice", [])
        run.end("interrupted")

    async def aclose(self) -> None:
        """Wait until everything that the turns started has unwound; call `interrupt` first."""
        if not self._unwinding:
            return
        _, stuck = await asyncio.wait(self._unwinding, timeout=UNWIND_S)
        for task in stuck:
            logger.error("%s does not end after it was cancelled", task.get_name())

    async def _run(self, run: TurnRun) -> None:
        log.turn_id.set(run.request.id)
        turn_share.set(self._parts.share)
        turn_zone.set(zone_of(run.request.settings.context))
        try:
            if len(self._unwinding) > MAX_UNWINDING:
                await asyncio.wait(self._unwinding, timeout=UNWIND_S)
            await run.run()
        finally:
            run.end("interrupted")  # no-op unless something else cancelled the task

    def _finish(self, writer: TurnWriter, figures: wire.Metrics) -> None:
        """Cancel what the turn started if it still runs, and free its place: `turn_end` is sent."""
        task, self._task, self.running = self._task, None, None
        self._on_running(False)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)
        self._services.gate.leave(self._parts.limited_share)
        _account(writer, figures, self._services.metrics)
        self._on_over()


def _account(writer: TurnWriter, figures: wire.Metrics, metrics: Metrics) -> None:
    """Leave in metrics and log what the turn was."""
    metrics.turns.labels(writer.reason).inc()
    metrics.hook_frames.inc(writer.hook_count)
    metrics.turn_total.observe(figures.total / 1000)
    for name in ("first_token", "first_sentence", "first_audio", "transcript"):
        if (ms := getattr(figures, name)) is not None:
            getattr(metrics, name).observe(ms / 1000)
    logger.info(
        "turn %s %s in %.0f ms; first text after %s ms; tools: %s",
        writer.id,
        writer.reason,
        figures.total,
        "–" if figures.first_token is None else f"{figures.first_token:.0f}",
        ", ".join(writer.tools.values()) or "none",
    )
