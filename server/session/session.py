"""One client: its frames in, at most one turn alive, frames out."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

import msgspec
from msgspec import UNSET

from server import __version__, config
from server.accounts.principal import Principal
from server.approval.broker import ApprovalBroker
from server.errors import FrameError
from server.llm.types import ModelInfo
from server.metrics import Metrics
from server.session import greeting
from server.session.approvals import Approvals
from server.session.chat_handler import ChatHandler, TurnRequest
from server.session.outbox import Outbox
from server.session.playback import PlaybackClock
from server.session.settings import ClientSettings
from server.session.speech_input import SpeechInput, Words
from server.session.speech_output import Voice
from server.session.turn_gate import TurnGate
from server.session.turn_given import enabled_skills, facts_of, system_policy
from server.session.turn_writer import Sign, code_of
from server.session.turns import Turns
from server.speech.service import SpeechService
from server.wire import codec
from server.wire import frames as wire
from skills_engine import SkillsSnapshot


@dataclass(frozen=True, kw_only=True)
class Services:
    """What all sessions of the process share."""

    handler: ChatHandler
    skills: Callable[[], SkillsSnapshot]
    sign: Sign
    gate: TurnGate
    metrics: Metrics
    limits: config.LimitsSettings
    security: config.SecuritySettings
    model: Callable[[], ModelInfo]
    speech: SpeechService
    broker: ApprovalBroker = field(default_factory=ApprovalBroker)
    open_notices: Callable[[], Sequence[wire.Notice]] = tuple
    """What was told before a client came, and still holds."""
    now_s: Callable[[], float] = time.perf_counter
    """What turns and playback are timed by."""


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
        principal: Principal,
        on_turn_over: Callable[[], None] | None = None,
    ) -> None:
        self.id = secrets.token_hex(8)
        self._services = services
        self._outbox = outbox
        self._principal = principal
        self._settings = ClientSettings()
        self._told_deaf = False
        self._announced: str | None = None  # the turn that a transcript has named and that waits for its history
        self._is_announced_cut = False
        self._speech_input = SpeechInput(
            services.speech,
            send=self._outbox.send,
            on_started=self.interrupt,  # the client cuts what it plays, also of a turn that has ended here
            on_words=self._hear_words,
            on_history=self._answer_words,
            on_failed=lambda message: self._outbox.refuse("speech_unavailable", message),
            on_prefill=self._prefill,
            on_reply=lambda id_, is_yes: self._approvals.answer_by_voice(id_, approved=is_yes),
            now_s=services.now_s,
        )
        self._approvals = Approvals(
            services.broker,
            principal,
            self.id,
            send=self._outbox.send,
            expect_voice=self._speech_input.expect_reply,
            can_hear=self._listens,
        )
        self._turns = Turns(
            services.handler,
            services.gate,
            outbox=outbox,
            sign=services.sign,
            metrics=services.metrics,
            limit_key=principal.limit_key,
            on_running=lambda is_running: self._speech_input.turn(is_running=is_running),
            on_over=on_turn_over or _nothing,
            now_s=services.now_s,
        )

    @property
    def is_idle(self) -> bool:
        """No turn runs, and the sound of the last one has been played."""
        return self._turns.is_idle

    def greet(self) -> None:
        snapshot = self._services.skills()
        self._outbox.send(
            wire.Ready(
                protocol=wire.PROTOCOL,
                session_id=self.id,
                server=f"parley/{__version__}",
                skills=greeting.skill_items(snapshot, None),
                model=greeting.model_item(self._services.model()),
                speech=self._services.speech.status,
                limits=greeting.limit_items(self._services.limits),
                user=greeting.user_item(self._principal),
            )
        )
        if snapshot.diagnostics:
            self.send_skills(snapshot)
        for notice in self._services.open_notices():
            self._outbox.send(notice)
        self._approvals.join()

    def send_skills(self, snapshot: SkillsSnapshot) -> None:
        self._outbox.send(greeting.skills_frame(snapshot, self._settings.skills))

    def send_speech(self, status: wire.SpeechStatus) -> None:
        self._outbox.send(wire.Speech(**msgspec.structs.asdict(status)))

    def send_model(self) -> None:
        self._outbox.send(wire.Model(**msgspec.structs.asdict(greeting.model_item(self._services.model()))))

    def send_notice(self, notice: wire.Notice) -> None:
        self._outbox.send(notice)

    def receive_text(self, data: bytes) -> None:
        received_s = self._services.now_s()
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
        """Microphone sound. While there is no ear for it, that is said once and the sound is dropped."""
        self._services.metrics.count_in("binary")
        limit = self._services.limits.max_binary_bytes
        if len(data) > limit:
            text = f"{len(data)} bytes of sound in one message, at most {limit} are taken"
            self._outbox.refuse("message_too_large", text, path="$")
        elif len(data) % 2:
            self._outbox.refuse("audio_misaligned", "sound is 16-bit samples: send whole ones", path="$")
        elif (reason := self._services.speech.unavailable_reason) is None:
            self._told_deaf = False
            self._speech_input.feed(data, self._turns.sound)
        elif not self._told_deaf:
            self._told_deaf = True
            self._outbox.refuse("speech_unavailable", reason)

    def refuse(self, error: FrameError) -> None:
        """Answer a frame that is wrong; the connection goes on."""
        self._outbox.refuse(code_of(error), str(error), path=error.path)

    def interrupt(self) -> None:
        """End the running turn; its work unwinds behind its `turn_end`. Of one that is over, cut the sound still to be played."""
        self._turns.interrupt()

    def hang_up(self) -> None:
        """The client is gone: what its turn asks is answered with no, and the turn ends."""
        self._approvals.leave()
        self._turns.interrupt()

    async def aclose(self) -> None:
        """End the turn and wait until everything it started has unwound."""
        self.hang_up()
        await self._speech_input.aclose()
        await self._turns.aclose()

    def _handle(self, frame: wire.AnyClientFrame, received_s: float) -> None:
        match frame:
            case wire.Chat():
                self._chat(frame, received_s)
            case wire.Ping():
                self._outbox.send(wire.Pong(t=frame.t))
            case wire.Interrupt():
                self._is_announced_cut |= self._announced is not None and frame.turn_id in (None, self._announced)
                self._turns.interrupt(frame.turn_id)
            case wire.Configure():
                self._configure(frame)
            case wire.SpeechStart() | wire.SpeechEnd() | wire.SpeechCancel():
                self._push_to_talk(frame)
            case wire.History():
                self._speech_input.history(frame.utterance, frame.messages)
            case wire.Playback():
                self._note_playback(frame)
            case wire.Approval():
                if not self._approvals.answer(frame):
                    text = "nothing waits for this approval; it may have been answered already"
                    self._outbox.notify("approval_unknown", text)
            case _:
                assert_never(frame)

    def _configure(self, frame: wire.Configure) -> None:
        self._settings.apply(frame, may_trace=self._may_trace())
        if frame.turn_detection is not UNSET or frame.input is not UNSET:
            self._speech_input.configure(sample_rate=self._settings.sample_rate, mode=self._settings.turn_detection)
        if frame.language is not UNSET:
            self._speech_input.speak_language(frame.language)
        if frame.trace is True and not self._settings.trace:
            self._outbox.notify("trace_not_allowed", "the trace is for local requests and operators; see security.trace")

    def _may_trace(self) -> bool:
        allowed = self._services.security.trace
        return self._principal.is_local or self._principal.is_operator if allowed == "auto" else allowed

    # turns

    def _chat(self, frame: wire.Chat, received_s: float) -> None:
        turn_id = secrets.token_hex(8) if frame.id is UNSET else frame.id
        if self._turns.is_used(turn_id):
            raise FrameError("turn_id_reused", "this connection has had a turn of this id; make a new one", path="$.id")
        self._speech_input.discard()
        self._end_announced()
        if self._turns.enter_gate():
            self._turns.remember(turn_id)
            settings = self._settings
            self._start_turn(
                turn_id,
                "chat",
                frame.messages,
                skills=settings.skills if frame.skills is UNSET else frame.skills,
                enable_tools=settings.enable_tools if frame.enable_tools is UNSET else frame.enable_tools,
                voice=settings.voice if frame.voice is UNSET else frame.voice,
                received_s=received_s,
            )

    def _voice(self, clock: PlaybackClock) -> Voice:
        return Voice(
            synthesizer=self._services.speech.synthesizer,
            language=self._settings.language,
            max_ahead_ms=self._settings.max_ahead_ms,
            clock=clock,
            now_s=self._services.now_s,
        )

    def _start_turn(
        self,
        turn_id: str,
        trigger: Literal["chat", "voice"],
        messages: list[wire.Message],
        *,
        skills: list[str] | None,
        enable_tools: bool,
        voice: bool,
        received_s: float,
        recognized_s: float | None = None,
    ) -> None:
        clock = self._turns.expect_sound(turn_id, began_s=received_s)
        request = self._request(messages, skills=skills, enable_tools=enable_tools, clock=clock if voice else None)
        self._turns.start(
            turn_id,
            trigger,
            request,
            facts_of(turn_id, messages, self._settings, self._principal, session_id=self.id),
            asker=self._approvals.asker,
            received_s=received_s,
            recognized_s=recognized_s,
        )

    def _request(
        self,
        messages: list[wire.Message],
        *,
        skills: list[str] | None,
        enable_tools: bool,
        clock: PlaybackClock | None = None,
    ) -> TurnRequest:
        """clock: of its sound; None: it has none."""
        snapshot = self._services.skills()
        return TurnRequest(
            messages=messages,
            snapshot=snapshot,
            skills=enabled_skills(skills, snapshot),
            enable_tools=enable_tools,
            language=self._settings.language,
            trace=self._settings.trace,
            policy=system_policy(self._services.security, self._principal),
            voice=None if clock is None else self._voice(clock),
        )

    def _prefill(self, history: list[wire.Message], words: str) -> None:
        settings = self._settings
        request = self._request(history, skills=settings.skills, enable_tools=settings.enable_tools)
        self._services.handler.prefill(request, words)

    # speech

    def _listens(self) -> bool:
        """A voice is heard without a key, which would be a cut."""
        return self._settings.turn_detection == "server_vad" and self._services.speech.unavailable_reason is None

    def _push_to_talk(self, frame: wire.SpeechStart | wire.SpeechEnd | wire.SpeechCancel) -> None:
        if self._settings.turn_detection != "push_to_talk":
            text = 'configure `turn_detection: "push_to_talk"` first; here the server listens'
            self._outbox.notify("not_push_to_talk", text)
        elif isinstance(frame, wire.SpeechStart) and (reason := self._services.speech.unavailable_reason) is not None:
            self._turns.interrupt()
            self._outbox.refuse("speech_unavailable", reason)
        else:  # a key that went down comes up, whatever became of the engines meanwhile
            match frame:
                case wire.SpeechStart():
                    self._speech_input.key_down()
                case wire.SpeechEnd():
                    self._speech_input.key_up()
                case wire.SpeechCancel():
                    self._speech_input.key_cancel()

    def _hear_words(self, _words: Words) -> str:
        turn_id = secrets.token_hex(8)
        self._turns.remember(turn_id)
        self._announced, self._is_announced_cut = turn_id, False
        return turn_id

    def _end_announced(self) -> None:
        """A `chat` came instead of the history: the client may wait for the turn that its transcript named."""
        turn_id, self._announced = self._announced, None
        if turn_id is not None:
            self._turns.end_unstarted(turn_id)

    def _answer_words(self, turn_id: str, words: Words, history: list[wire.Message] | None) -> None:
        """Start the turn that a transcript has announced."""
        is_cut, self._announced, self._is_announced_cut = self._is_announced_cut, None, False
        if not self._turns.enter_gate():
            return
        settings = self._settings
        self._start_turn(
            turn_id,
            "voice",
            [*(history or ()), wire.Message(role="user", content=words.text)],
            skills=settings.skills,
            enable_tools=settings.enable_tools,
            voice=settings.voice,
            received_s=words.stopped_s,
            recognized_s=words.recognized_s,
        )
        if history is None:
            text = "the client sent no history for what was said: the reply knows these words only"
            self._outbox.send(wire.Notice(code="history_missing", level="warning", message=text, turn_id=turn_id))
        if self._speech_input.is_speaking or is_cut:
            self._turns.interrupt()  # the user has begun to speak again, or said stop, while the history was waited for

    def _note_playback(self, frame: wire.Playback) -> None:
        clock = self._turns.sound
        if clock.turn_id != frame.turn_id:
            return  # of a turn that was cut
        is_first = clock.first_audible_s is None
        clock.report(frame.index, frame.ms, frame.state, self._services.now_s())
        if is_first and clock.first_audible_s is not None:
            self._services.metrics.first_audible.observe(clock.first_audible_s - clock.began_s)


def _nothing() -> None:
    pass
