"""`/v1/realtime` on a connection: Realtime events to and from the frames of a session."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from server.bounded.limits import TokenBucket
from server.errors import FrameError, TurnError
from server.gateway.connection import LOGIN_OVER, TIME_OVER
from server.gateway.dialect import ConnectionContext
from server.realtime import client_events
from server.realtime.translator import Action, RealtimeTranslator, Recognize, Request
from server.session.outbox import Kind, Outbox
from server.session.session import Session
from server.wire import codec
from server.wire import frames as wire

PIECE_BYTES: Final = 16 << 10
"""Sound that reaches the session at once, a third of a second: a file in one event must not hold up other clients."""
MAX_UNJUDGED_MS: Final = 4000.0
"""Sound that may wait for voice detection before no more is read from the client."""
MAX_HOLD_S: Final = 5.0
"""Time for which one piece of sound waits; then it is handed on, and dropped if nothing takes it."""
_STEP_S: Final = 0.005
_ENDS: Final = {LOGIN_OVER: "invalid_api_key", TIME_OVER: "session_expired"}
"""Codes of errors by close codes. Clients that try again after every close give up at `invalid_api_key`."""


class RealtimeOutbox(Outbox):
    """Sends what the session says as Realtime events."""

    def __init__(
        self,
        context: ConnectionContext,
        translator: RealtimeTranslator,
        for_session: Callable[[Sequence[Action]], None],
    ) -> None:
        """`for_session` gets what the translator answers on behalf of the client; it returns at once."""
        metrics = context.services.metrics
        super().__init__(context.socket, metrics, context.outbox_limits, on_slow=context.on_slow)
        self._translator = translator
        self._for_session = for_session
        self.timer: asyncio.TimerHandle | None = None  # of the client's silence; it ends with the socket

    def put_frame(self, frame: wire.ServerFrame) -> None:
        self.carry_out(self._translator.from_session(frame))

    def put_sound(self, pcm: bytes, turn_id: str) -> None:
        self.carry_out(self._translator.from_voice(pcm, turn_id))

    def put_event(self, event: dict[str, Any]) -> None:
        self.put(Kind.TEXT, codec.encode(event))

    def finish(self, code: int, reason: str) -> None:
        if not self.is_closing:
            refusal = FrameError(_ENDS[code], f"{reason}; connect again with a new key") if code in _ENDS else None
            self.carry_out(self._translator.end(refusal))
        super().finish(code, reason)

    def abandon(self) -> None:
        self.call_later(None, lambda: None)
        super().abandon()

    def call_later(self, wait_s: float | None, callback: Callable[[], None]) -> None:
        """Call after that time, in place of the call that is due; not at all without a time or once the socket closes."""
        if self.timer is not None:
            self.timer.cancel()
        if wait_s is not None and not self.is_closing:
            self.timer = asyncio.get_running_loop().call_later(wait_s, callback)

    def carry_out(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if isinstance(action, dict):
                self.put_event(action)
        if others := [action for action in actions if not isinstance(action, dict)]:
            self._for_session(others)


class RealtimeDialect:
    """A Dialect: events in, events out. What comes too fast is not dropped: reading waits, and so does the client.

    Clients send a file as fast as they read it. A message waits until the rate
    of `limits.max_frames_per_s` allows it, and sound while more than
    MAX_UNJUDGED_MS of it waits for voice detection.
    """

    def __init__(self, context: ConnectionContext, translator: RealtimeTranslator) -> None:
        self._services = services = context.services
        self._translator = translator
        self._loop = asyncio.get_running_loop()
        rate = services.limits.max_frames_per_s
        self._bucket = TokenBucket(burst=rate, per_s=rate)
        self._piece_bytes = min(PIECE_BYTES, services.limits.max_binary_bytes & ~1)
        self._on_turn_over = context.on_turn_over
        self._idle_timeout_ms: int | None = None  # of the silence that is being counted
        self._waiting: deque[Sequence[Action]] = deque()  # for the session, as soon as it has sent what it is sending
        self.outbox = RealtimeOutbox(context, translator, self._answer_later)
        self.session = Session(services, self.outbox, principal=context.principal, on_turn_over=self._end_turn)

    async def admit(self, now_s: float) -> bool:
        while not self._bucket.take(now_s):
            await asyncio.sleep(self._bucket.wait_s())
            now_s = self._loop.time()
        return True

    async def receive(self, data: bytes, *, is_text: bool) -> None:  # noqa: ARG002 - JSON is read from either kind
        self._answer_waiting()  # what the client sends comes after it
        for action in self._translate(data):
            if isinstance(action, bytes):
                await self._hear(action)
            else:
                self._carry_out((action,))
        if self._translator.idle_timeout_ms != self._idle_timeout_ms:
            self._count_silence()

    def _translate(self, data: bytes) -> Sequence[Action]:
        try:
            event = client_events.decode(data)
        except FrameError as refusal:
            self._services.metrics.count_in("invalid")
            return self._translator.refuse(refusal, client_events.event_id_of(data))
        self._services.metrics.count_in(event.__struct_config__.tag)  # type: ignore[arg-type]  # our tags are str
        return self._translator.from_client(event)

    async def _hear(self, pcm: bytes) -> None:
        for at in range(0, len(pcm), self._piece_bytes):
            if at:
                await asyncio.sleep(0)
            ends_s = self._loop.time() + MAX_HOLD_S
            while self.session.unjudged_sound_ms > MAX_UNJUDGED_MS and self._loop.time() < ends_s:  # noqa: ASYNC110 - no event
                await asyncio.sleep(_STEP_S)
            self._answer_waiting()
            if self.outbox.is_closing:
                return
            self.session.hear(pcm[at : at + self._piece_bytes])

    def _recognize(self, asked: Recognize) -> None:
        def done(words: str | FrameError) -> None:
            self._carry_out(self._translator.recognized(asked, words))

        self.session.transcribe(asked.sound.pcm, asked.sound.rate, done)

    def _answer_later(self, actions: Sequence[Action]) -> None:
        """Hand frames to the session when it has sent what it is sending."""
        self._waiting.append(actions)
        self._loop.call_soon(self._answer_waiting)

    def _answer_waiting(self) -> None:
        while self._waiting:
            self._carry_out(self._waiting.popleft())

    def _carry_out(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case dict():
                    self.outbox.put_event(action)
                case _ if self.outbox.is_closing:
                    return
                case bytes():
                    self.session.hear(action)
                case Request():
                    self._carry_out(self._ask(action))
                case Recognize():
                    self._recognize(action)
                case _:
                    self.session.receive(action, self._services.now_s())
                    if isinstance(action, wire.Interrupt):
                        self._count_silence()  # the sound that was still to be played is cut

    def _ask(self, request: Request) -> Sequence[Action]:
        answers: Sequence[wire.Answer]
        try:
            match request.frame:
                case wire.Respond() as frame if request.is_out_of_band:
                    answers = self.session.respond_out_of_band(frame, self._services.now_s())
                case frame:
                    answers = self.session.perform(frame, self._services.now_s())
        except (FrameError, TurnError) as error:
            self._services.metrics.errors.labels(error.code).inc()
            return request.refused(error)
        return request.answered(answers)

    def _end_turn(self) -> None:
        self._count_silence()
        self._on_turn_over()

    def _count_silence(self) -> None:
        """Begin a new count, with the `idle_timeout_ms` of now."""
        timeout_ms = self._idle_timeout_ms = self._translator.idle_timeout_ms
        self.outbox.call_later(None if timeout_ms is None else timeout_ms / 1000, self._check_silence)

    def _check_silence(self) -> None:
        """Hand a silence to the translator that has lasted for long enough; else wait for the rest of it."""
        timeout_ms = self._translator.idle_timeout_ms
        if timeout_ms is None or not self.session.may_be_nudged:
            self._count_silence()
        elif (wait_s := self.session.silent_since_s + timeout_ms / 1000 - self._services.now_s()) > 0:
            self.outbox.call_later(wait_s, self._check_silence)
        else:
            self.outbox.carry_out(self._translator.time_out())
