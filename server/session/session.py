"""One client: its frames in, at most one turn alive, frames out."""

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from msgspec import UNSET

from server import __version__, config, log
from server.agent.messages import SystemPolicy
from server.errors import FrameError, TurnError
from server.llm.types import ModelInfo
from server.metrics import Metrics
from server.session import greeting
from server.session.chat_handler import ChatHandler, TurnRequest
from server.session.outbox import Kind, Outbox
from server.session.turn import Sign, Turn, code_of
from server.session.turn_gate import TurnGate
from server.wire import codec
from server.wire import frames as wire
from skills_engine import SkillsSnapshot

logger = logging.getLogger(__name__)

MAX_REMEMBERED_IDS: Final = 1024
MAX_UNWINDING: Final = 4
"""Cancelled turns of one client that may still unwind before its next one begins."""
UNWIND_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class Services:
    """What all sessions of the process share."""

    handler: ChatHandler
    skills: Callable[[], SkillsSnapshot]
    sign: Sign
    gate: TurnGate
    metrics: Metrics
    limits: config.Limits
    security: config.Security
    model: Callable[[], ModelInfo]
    speech: wire.SpeechStatus


@dataclass(slots=True)
class _Choices:
    """What `configure` has set for the rest of the connection."""

    turn_detection: str = "server_vad"
    skills: list[str] | None = None
    enable_tools: bool = True
    language: str | None = None
    trace: bool = False


class Session:
    """Reads frames and answers them; everything it says goes into its outbox.

    Nothing here waits: a frame is answered before the next is read, and a turn
    runs in a task of its own, which the session owns. `on_turn_over` is called
    when a turn has ended, after its `turn_end` was put into the outbox.
    """

    def __init__(
        self,
        services: Services,
        outbox: Outbox,
        *,
        is_local: bool,
        on_turn_over: Callable[[], None] | None = None,
    ) -> None:
        self.id = secrets.token_hex(8)
        self._services = services
        self._outbox = outbox
        self._is_local = is_local
        self._on_turn_over = on_turn_over
        self._choices = _Choices()
        self._turn: Turn | None = None  # the one that is alive
        self._task: asyncio.Task[None] | None = None  # of _turn
        self._unwinding: set[asyncio.Task[None]] = set()
        self._used_ids: OrderedDict[str, None] = OrderedDict()  # the last MAX_REMEMBERED_IDS
        self._told_no_speech = False

    @property
    def is_idle(self) -> bool:
        return self._turn is None

    def greet(self) -> None:
        snapshot = self._services.skills()
        self._send(
            wire.Ready(
                protocol=wire.PROTOCOL,
                session_id=self.id,
                server=f"parley/{__version__}",
                skills=greeting.skill_items(snapshot, None),
                model=greeting.model_item(self._services.model()),
                speech=self._services.speech,
                limits=greeting.limit_items(self._services.limits),
            )
        )
        if snapshot.diagnostics:
            self.tell_skills(snapshot)

    def tell_skills(self, snapshot: SkillsSnapshot) -> None:
        self._send(greeting.skills_frame(snapshot, self._choices.skills))

    def receive_text(self, data: bytes) -> None:
        received_s = time.perf_counter()
        try:
            frame = codec.decode(data, max_messages=self._services.limits.max_messages)
        except FrameError as error:
            self._services.metrics.count_in("invalid")
            self.refuse(error)
            return
        self._services.metrics.count_in(frame.__struct_config__.tag)  # type: ignore[arg-type]  # our tags are str
        try:
            self._handle(frame, received_s)
        except FrameError as error:
            self.refuse(error)

    def receive_binary(self, data: bytes) -> None:
        """Microphone sound; there is no ear for it yet."""
        self._services.metrics.count_in("binary")
        limit = self._services.limits.max_binary_bytes
        if len(data) > limit:
            text = f"{len(data)} bytes of sound in one message, at most {limit} are taken"
            self._refuse("message_too_large", text, path="$")
        elif len(data) % 2:
            self._refuse("audio_misaligned", "sound is 16-bit samples: send whole ones", path="$")
        elif not self._told_no_speech:
            self._told_no_speech = True
            self._refuse_speech()

    def refuse(self, error: FrameError) -> None:
        """Answer a frame that is wrong; the connection goes on."""
        self._refuse(code_of(error), str(error), path=error.path)

    def interrupt(self, turn_id: str | None = None) -> None:
        """End the running turn (None: whichever it is); its work unwinds behind its `turn_end`."""
        turn = self._turn
        if turn is not None and turn_id in (None, turn.id):
            turn.end("interrupted")

    async def aclose(self) -> None:
        """End the turn and wait until everything it started has unwound."""
        self.interrupt()
        if not self._unwinding:
            return
        _, stuck = await asyncio.wait(self._unwinding, timeout=UNWIND_S)
        for task in stuck:
            logger.error("%s does not end after it was cancelled", task.get_name())

    def _handle(self, frame: wire.AnyClientFrame, received_s: float) -> None:
        match frame:
            case wire.Chat():
                self._chat(frame, received_s)
            case wire.Ping():
                self._send(wire.Pong(t=frame.t))
            case wire.Interrupt():
                self.interrupt(frame.turn_id)
            case wire.Configure():
                self._configure(frame)
            case wire.SpeechStart():
                self._start_speech()
            case wire.SpeechEnd() | wire.SpeechCancel():
                self._require_push_to_talk()
            case wire.Approval():
                self._notify("approval_unknown", "nothing waits for this approval; it may have been answered already")
            case wire.History() | wire.Playback():
                pass  # valid, and of use only while there is sound
            case _:
                assert_never(frame)

    def _configure(self, frame: wire.Configure) -> None:
        choices = self._choices
        if frame.turn_detection is not UNSET:
            choices.turn_detection = frame.turn_detection
        if frame.skills is not UNSET:
            choices.skills = frame.skills
        if frame.enable_tools is not UNSET:
            choices.enable_tools = frame.enable_tools
        if frame.language is not UNSET:
            choices.language = frame.language
        if frame.trace is not UNSET:
            choices.trace = frame.trace and self._may_trace()
            if frame.trace and not choices.trace:
                self._notify("trace_not_allowed", "the trace is for local requests; see security.trace")

    def _may_trace(self) -> bool:
        allowed = self._services.security.trace
        return self._is_local if allowed == "auto" else allowed

    # turns

    def _chat(self, frame: wire.Chat, received_s: float) -> None:
        turn_id = secrets.token_hex(8) if frame.id is UNSET else frame.id
        if turn_id in self._used_ids:
            raise FrameError("turn_id_reused", "this connection has had a turn of this id; make a new one", path="$.id")
        gate = self._services.gate
        if not gate.is_draining:
            self.interrupt()  # before the gate: its place may be the one that is needed
        try:
            gate.enter()
        except TurnError as error:
            self._refuse(code_of(error), str(error), retry_after_ms=error.retry_after_ms)
            self.interrupt()  # the client has cut it off already
            return
        self._remember(turn_id)
        self._start_turn(turn_id, self._request(frame), received_s)

    def _request(self, frame: wire.Chat) -> TurnRequest:
        snapshot = self._services.skills()
        chosen = self._choices.skills if frame.skills is UNSET else frame.skills
        known = [skill.name for skill in snapshot.skills]
        skills = known if chosen is None else [name for name in dict.fromkeys(chosen) if name in set(known)]
        return TurnRequest(
            messages=frame.messages,
            snapshot=snapshot,
            skills=skills,
            enable_tools=self._choices.enable_tools if frame.enable_tools is UNSET else frame.enable_tools,
            language=self._choices.language,
            trace=self._choices.trace,
            policy=self._system_policy(),
        )

    def _system_policy(self) -> SystemPolicy:
        policy = self._services.security.client_system_messages
        if policy == "auto":
            return "allow" if self._is_local else "demote"
        return policy

    def _start_turn(self, turn_id: str, request: TurnRequest, received_s: float) -> None:
        turn = Turn(
            turn_id,
            self._send,
            sign=self._services.sign,
            received_s=received_s,
            shows_trace=request.trace,
            on_end=self._turn_over,
        )
        self._turn = turn
        turn.start("chat", request.skills)
        self._task = asyncio.create_task(self._run_turn(turn, request), name=f"turn {turn_id}")

    async def _run_turn(self, turn: Turn, request: TurnRequest) -> None:
        log.turn_id.set(turn.id)
        try:
            if len(self._unwinding) > MAX_UNWINDING:
                await asyncio.wait(self._unwinding, timeout=UNWIND_S)
            await self._services.handler.run(turn, request, self._outbox)
        finally:
            turn.end("interrupted")  # no-op unless somebody else cancelled the task

    def _turn_over(self, turn: Turn) -> None:
        """`turn` has said its last; what it started is cancelled if it still runs."""
        task, self._task, self._turn = self._task, None, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            self._unwinding.add(task)
            task.add_done_callback(self._unwinding.discard)
        self._services.gate.leave()
        _account(turn, self._services.metrics)
        if self._on_turn_over is not None:
            self._on_turn_over()

    def _remember(self, turn_id: str) -> None:
        self._used_ids[turn_id] = None
        if len(self._used_ids) > MAX_REMEMBERED_IDS:
            self._used_ids.popitem(last=False)

    # speech, which is not there yet

    def _start_speech(self) -> None:
        if self._require_push_to_talk():
            self.interrupt()
            self._refuse_speech()

    def _require_push_to_talk(self) -> bool:
        if self._choices.turn_detection == "push_to_talk":
            return True
        self._notify("not_push_to_talk", 'configure `turn_detection: "push_to_talk"` first; here the server listens')
        return False

    def _refuse_speech(self) -> None:
        self._refuse("speech_unavailable", f"no speech recognition: {self._services.speech.stt.reason}")

    # frames out

    def _notify(self, code: str, message: str) -> None:
        self._send(wire.Notice(code=code, level="info", message=message))

    def _refuse(
        self, code: wire.ErrorCode, message: str, *, path: str | None = None, retry_after_ms: int | None = None
    ) -> None:
        self._send(
            wire.Error(
                code=code,
                message=message,
                path=UNSET if path is None else path,
                retry_after_ms=UNSET if retry_after_ms is None else retry_after_ms,
            )
        )

    def _send(self, frame: wire.ServerFrame) -> None:
        if isinstance(frame, wire.Error):
            self._services.metrics.errors.labels(frame.code).inc()
        self._services.metrics.count_out(frame.__struct_config__.tag)  # type: ignore[arg-type]  # our tags are str
        self._outbox.put(Kind.TEXT, codec.encode(frame))


def _account(turn: Turn, metrics: Metrics) -> None:
    times = turn.metrics
    assert times is not None, "the turn has ended"
    metrics.turns.labels(turn.reason).inc()
    metrics.hook_frames.inc(turn.hook_count)
    metrics.turn_total.observe(times.total / 1000)
    if times.first_token is not None:
        metrics.first_token.observe(times.first_token / 1000)
    if times.first_sentence is not None:
        metrics.first_sentence.observe(times.first_sentence / 1000)
    logger.info(
        "turn %s %s in %.0f ms; first text after %s ms; tools: %s",
        turn.id,
        turn.reason,
        times.total,
        "–" if times.first_token is None else f"{times.first_token:.0f}",
        ", ".join(turn.tools) or "none",
    )
