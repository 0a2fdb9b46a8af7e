"""One client: its frames in, at most one turn alive, frames out."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal, assert_never

from msgspec import UNSET, UnsetType, structs

from server.accounts.principal import Principal
from server.agent.costs import CostMeter
from server.agent.messages import user_texts
from server.bounded.fair_share import Share
from server.errors import FrameError, TurnError
from server.session.approvals import Approvals
from server.session.nudges import Nudges
from server.session.outbox import Outbox
from server.session.services import Services
from server.session.settings import ClientRights, ClientSettings, TurnRequest, check_formats
from server.session.speech_input import SpeechInput
from server.session.spoken_words import NEVER, LeadsTo, SpokenWords
from server.session.status_frames import model_item, ready_frame, skills_frame
from server.session.turn_run import ClientCalls, TurnParts, TurnRun
from server.session.turn_writer import code_of
from server.session.turns import Turns
from server.wire import codec
from server.wire import frames as wire
from skills_engine import HookFacts, HookState, SkillsSnapshot, StateInvalidError, TriggerInfo
from skills_engine.conditions.turn_facts import zone_of
from skills_engine.diagnostics import quoted

_ACTS = (wire.Chat, wire.Respond, wire.Speak, wire.SpeechStart, wire.Interrupt, wire.Approval)
"""Frames that a client sends because its user did something; a `chat` that answers a nudge is none of them."""
_NO_STATE: Final = HookState()
_NO_INSTRUCTIONS: Final = "this server takes no instructions and no tools from you, so they count as none; log in, or see security.client_instructions"


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
        on_turn_over: Callable[[], None] = lambda: None,
    ) -> None:
        self.id = secrets.token_hex(8)
        self._services = services
        self._outbox = outbox
        self._principal = principal
        self._settings = ClientSettings()
        self._rights = ClientRights.of(principal, services.security)
        self._has_refused_sound = False  # and nothing has changed since
        self._costs = CostMeter()
        self._notices: set[str] = set()  # codes of those that are given once
        self._spoken_into: TurnRun | None = None  # the turn that ran as the last utterance began
        self._announced: str | None = None  # the turn that a transcript has named and that waits for its history
        self._is_announced_cut = False
        self._nudges = Nudges(self, services.now_s)
        share = principal.limited_share or Share(self.id)
        self._speech_input = SpeechInput(services.speech, self, share=share, now_s=services.now_s)
        self._new_approvals = partial(
            Approvals,
            services.broker,
            session_id=self.id,
            send=self.send,
            expect_voice=self._speech_input.expect_reply,
            can_hear=self._can_hear,
        )
        self._approvals = self._new_approvals(principal)
        self._client_calls = ClientCalls()
        self._parts = TurnParts(
            services=services,
            outbox=outbox,
            approvals=self._approvals,
            client_calls=self._client_calls,
            share=share,
            limited_share=principal.limited_share,
            metered=partial(services.loop_share.metered, principal.share),
        )
        self._turns = Turns(self._parts, on_running=self._set_running, on_over=on_turn_over)
        self._all_turns = [self._turns]  # and those of turns beside the conversation's, one each
        self._on_turn_over = on_turn_over

    @property
    def _skills(self) -> SkillsSnapshot:
        return self._rights.skills(self._services.skills.current)

    @property
    def is_idle(self) -> bool:
        """Whether the user is silent, no turn runs or is to follow what was said, and the last one has been heard out."""
        return all(turns.is_idle for turns in self._all_turns) and not self._speech_input.is_busy

    def _set_running(self, is_running: bool) -> None:
        self._speech_input.set_turn(is_running=is_running)
        self._nudges.stir()

    def greet(self) -> None:
        shows_texts = self._rights.may_trace
        self.send(ready_frame(self._services, self._principal, self.id, self._skills, shows_texts=shows_texts))
        if (skills := self._skills_frame(self._skills)).diagnostics:
            self.send(skills)
        for notice in self._services.open_notices():
            self.send(notice)
        self._approvals.join()

    def send(self, frame: wire.ServerFrame) -> None:
        self._outbox.send(frame)

    def send_skills(self, snapshot: SkillsSnapshot) -> None:
        self.send(self._skills_frame(self._rights.skills(snapshot)))
        self._nudges.rearm()

    def _skills_frame(self, snapshot: SkillsSnapshot) -> wire.Skills:
        selected, shows_texts = self._settings.turn.skills, self._rights.may_trace
        return skills_frame(self._services, self._principal, snapshot, selected, shows_texts=shows_texts)

    def send_speech(self, status: wire.SpeechStatus) -> None:
        self.send(wire.Speech(**structs.asdict(status)))

    def send_model(self) -> None:
        self.send(wire.Model(**structs.asdict(model_item(self._services))))

    def receive_text(self, data: bytes) -> None:
        received_s = self._services.now_s()
        try:
            frame = codec.decode(data, max_messages=self._services.limits.max_messages)
        except FrameError as error:
            self._services.metrics.count_in("invalid")
            self.refuse(error, ref=codec.ref_of(data))
            return
        self._services.metrics.count_in(frame.__struct_config__.tag)  # type: ignore[arg-type]  # our tags are str
        self.receive(frame, received_s)

    def receive(self, frame: wire.AnyClientFrame, received_s: float) -> None:
        """Perform a frame and send what answers it, or the error; each has the frame's `ref`."""
        try:
            answers = self.perform(frame, received_s)
        except FrameError as error:
            self.refuse(error, ref=frame.ref)
        except TurnError as error:
            self.refuse(error, ref=frame.ref)
            self._turns.interrupt()  # the client has cut it; not before the error, as a server that stops then closes
        else:
            for answer in answers:
                self.send(structs.replace(answer, ref=frame.ref) if isinstance(answer, wire.Notice) else answer)

    def receive_binary(self, data: bytes) -> None:
        """Hear a binary message of the client."""
        self._services.metrics.count_in("binary")
        self.hear(data)

    def hear(self, data: bytes) -> None:
        """Take microphone sound. While recognition is unavailable, that is said once and the sound is dropped."""
        limit = self._services.limits.max_binary_bytes
        if len(data) > limit:
            text = f"{len(data)} bytes of sound in one message, at most {limit} are accepted"
            self.refuse(FrameError("message_too_large", text, path="$"))
        elif len(data) % 2 and self._settings.input.format == "pcm16":
            self.refuse(FrameError("audio_misaligned", "sound is 16-bit samples: send whole ones", path="$"))
        elif (reason := self._services.speech.unavailable_reason) is None:
            self._has_refused_sound = False
            self._speech_input.microphone.feed(data, self._turns.playback)
        elif not self._has_refused_sound:
            self._has_refused_sound = True
            self.refuse(FrameError("speech_unavailable", reason))

    def transcribe(self, pcm: bytes, rate: int, done: Callable[[str | FrameError], None]) -> None:
        """Recognise sound that is not the microphone's, in the order of the calls; `done` gets its words, or why not."""
        self._speech_input.transcribe(pcm, rate, done)

    @property
    def unjudged_sound_ms(self) -> float:
        """Sound that was taken and that voice detection has not judged yet; too much of it is refused."""
        return self._speech_input.microphone.unjudged_ms

    def refuse(self, error: FrameError | TurnError, *, ref: str | UnsetType = UNSET) -> None:
        """Send an error that belongs to no turn; the connection goes on."""
        path = (error.path if isinstance(error, FrameError) else None) or UNSET
        retry_after_ms = (error.retry_after_ms if isinstance(error, TurnError) else None) or UNSET
        self.send(
            wire.Error(code=code_of(error), message=str(error), path=path, retry_after_ms=retry_after_ms, ref=ref)
        )

    def interrupt(self, *, message: str | None = None) -> None:
        """End the running turn, with `message` in its `turn_end`; of one that is over, cut the sound still to be played."""
        self._nudges.user_acted()
        for turns in self._all_turns:
            turns.interrupt(message=message)

    def hang_up(self) -> None:
        """End the turn of a client that is gone, and answer with no what it asks."""
        self._nudges.switch(is_on=False)
        self._approvals.leave()
        for turns in self._all_turns:
            turns.interrupt()

    async def aclose(self) -> None:
        """End the turn and wait until everything it started has unwound."""
        self.hang_up()
        await self._speech_input.aclose()
        for turns in self._all_turns:
            await turns.aclose()

    def perform(self, frame: wire.AnyClientFrame, received_s: float) -> Sequence[wire.Answer]:
        """Act on a frame and return what answers it; what follows from it is sent.

        Raises FrameError or TurnError for one that is refused. A server that stops may then still run a turn, which
        the client that sent a `chat` or `speak` has cut.
        """
        if isinstance(frame, _ACTS) and getattr(frame, "nudge", None) is None:
            self._nudges.user_acted()
        match frame:
            case wire.Chat():
                return self._chat(frame, received_s)
            case wire.Respond():
                return self._respond(frame, received_s)
            case wire.Speak():
                self._speak(frame, received_s)
            case wire.Ping():
                return [wire.Pong(t=frame.t)]
            case wire.Interrupt():
                self._is_announced_cut |= self._announced is not None and frame.turn_id in (None, self._announced)
                for turns in [self._turns] if frame.turn_id is None else self._all_turns:
                    turns.interrupt(frame.turn_id)
            case wire.Configure():
                return self._configure(frame)
            case wire.SpeechStart() | wire.SpeechEnd() | wire.SpeechCancel():
                return self._speech_input.delimit(frame)
            case wire.History():
                self._speech_input.history(frame)
            case wire.Playback():
                if self._turns.report_playback(frame):
                    self._nudges.stir()
            case wire.Approval():
                if not self._approvals.answer(frame):
                    text = "this approval is not open; it may have been answered already"
                    return [_notice("info", "approval_unknown", text)]
            case wire.ToolOutput():
                if not self._client_calls.answer(frame):
                    text = "this call is not open: it was answered, took too long, or its turn has ended"
                    return [_notice("info", "tool_output_unknown", text)]
            case _:
                assert_never(frame)
        return ()

    def _configure(self, frame: wire.Configure) -> list[wire.Notice]:
        self._check_tool_names(frame)
        check_formats(frame, self._services.speech.opus)
        self._settings = self._settings.with_configure(frame, self._rights)
        if frame.turn_detection is not UNSET or frame.input is not UNSET:
            self._speech_input.microphone.configure(self._settings.input, self._settings.turn_detection)
        if frame.language is not UNSET:
            self._speech_input.set_language(frame.language)
        if frame.nudges is not UNSET:
            self._nudges.switch(is_on=frame.nudges)
        else:
            self._nudges.rearm()
        notices = []
        if frame.trace is True and not self._rights.may_trace:
            notices.append(_notice("info", "trace_not_allowed", "the trace is for operators; see security.trace"))
        if self._is_silenced(frame):
            notices.append(_notice("info", "instructions_not_allowed", _NO_INSTRUCTIONS))
        return [*notices, *_notices_of_zone(frame)]

    def _check_tool_names(self, frame: wire.TurnChoices) -> None:
        """Refuse tools that are named like ours, unless the client's count as none anyway. Raises FrameError."""
        taken = frozenset(self._services.handler.tool_names if frame.tools and self._rights.may_instruct else ())
        for index, tool in enumerate(frame.tools or ()):
            if tool.name in taken:
                text = f"the server has a tool {tool.name}; give yours another name"
                raise FrameError("frame_invalid", text, path=f"$.tools[{index}].name")

    def _is_silenced(self, frame: wire.TurnChoices) -> bool:
        """Return whether it holds words to the model that do not reach it."""
        return bool(frame.instructions or frame.tools) and not self._rights.may_instruct

    # --- turns

    def _chat(self, frame: wire.Chat, received_s: float) -> list[wire.Notice]:
        request, notices = self._asked(frame, "chat" if frame.nudge is None else "nudge", received_s)
        if frame.resend and self._services.begun_turns.has(self._principal.share, request.id, now_s=received_s):
            text = "this turn has begun on another connection; to ask again, send it with a new id"
            raise FrameError("turn_id_reused", text, path="$.id")
        if frame.nudge is not None:
            request = self._nudged(request, frame.nudge)
        self._discard_speech(request.settings, request.hook_facts.state)
        self._turns.begin(request)
        return notices

    def _respond(self, frame: wire.Respond, received_s: float) -> list[wire.Notice]:
        """Start the turn that the client asks for; what is being said meanwhile goes on. Raises FrameError, TurnError."""
        spoken = self._speech_input.transcribed
        words = None if frame.utterance is None else spoken.find(frame.utterance)
        is_awaited = words is not None and self._services.now_s() < spoken.response_due_s
        request, notices = self._asked(frame, "chat" if words is None else "voice", received_s, words=words)
        self._turns.begin(request, is_spoken=is_awaited)
        spoken.response_due_s = NEVER
        if words is not None and self._has_lost_floor:
            self._turns.interrupt()
            return []  # nothing of the turn follows its end
        return notices

    def respond_out_of_band(self, frame: wire.Respond, received_s: float) -> list[wire.Notice]:
        """Start a turn beside the conversation's, without questions to the user.

        The caller limits how many run at once, and sends no state of hooks. Raises FrameError, TurnError.
        """
        request, notices = self._asked(frame, "chat", received_s)
        turns = next((each for each in self._all_turns[1:] if each.running is None), None)
        if turns is None:
            approvals = self._new_approvals(replace(self._principal, may_approve=False))
            parts = replace(self._parts, approvals=approvals)
            turns = Turns(parts, on_running=lambda _: None, on_over=self._on_turn_over)
            self._all_turns.append(turns)
        turns.begin(request)
        return notices

    def _asked(
        self, frame: wire.TurnFrame, trigger: wire.TurnTrigger, received_s: float, *, words: SpokenWords | None = None
    ) -> tuple[TurnRequest, list[wire.Notice]]:
        """Return the turn that the frame asks for, and notices of what it goes without. Raises FrameError."""
        turn_id = self._unused_id(frame)
        settings, snapshot = self._chosen(frame)
        state, notices = self._state_of(frame, turn_id)
        if isinstance(frame, wire.Chat) and self._turns.running is not None:
            state = self._turns.running.state_after(state, frame.messages)
        if self._is_silenced(frame):
            notices.append(_notice("warning", "instructions_not_allowed", _NO_INSTRUCTIONS, turn_id))
        request = self._request(
            turn_id,
            trigger,
            frame.messages,
            settings,
            received_s,
            words=words,
            snapshot=snapshot,
            state=state,
            is_new_message=isinstance(frame, wire.Chat) or user_texts(frame.messages) != self._turns.answered,
        )
        return request, notices

    def _chosen(self, frame: wire.TurnFrame) -> tuple[wire.TurnSettings, SkillsSnapshot]:
        """Return settings and skills of the frame's turn, which may choose for itself. Raises FrameError."""
        self._check_tool_names(frame)
        settings, snapshot = self._rights.lay_over(self._settings.turn, frame), self._skills
        if frame.hook_texts is UNSET or not frame.hook_texts:
            return settings, snapshot
        if not self._principal.is_operator:
            raise FrameError("frame_invalid", "other texts of hooks are for operators", path="$.hook_texts")
        try:
            return settings, snapshot.with_hook_texts(frame.hook_texts)
        except ValueError as error:
            raise FrameError("frame_invalid", str(error), path="$.hook_texts") from None

    def _state_of(self, source: wire.TurnFrame | wire.History, turn_id: str) -> tuple[HookState, list[wire.Notice]]:
        """Return what hooks remember, and what is wrong with that and with the zone; a wrong state counts as none."""
        notices = _notices_of_zone(source)
        try:
            return self._services.read_state(source.state) if source.state is not None else _NO_STATE, notices
        except StateInvalidError as error:
            text = f"{error}; hooks have forgotten what they did in this conversation"
            return _NO_STATE, [_notice("warning", "state_invalid", text, turn_id), *notices]

    def _nudged(self, request: TurnRequest, nudge: str) -> TurnRequest:
        """Return the turn with the hook of the nudge, which is answered now. Raises FrameError."""
        trigger = None if self._speech_input.is_busy else self._nudges.take(nudge)
        if trigger is None:
            text = "this nudge is not open: it was answered, a minute has passed, or the user has said something since"
            raise FrameError("nudge_unknown", text, path="$.nudge")
        request = replace(request, extra_hooks=(trigger.hook,), drawn_for=nudge)
        if (path := trigger.why_not(self._with_model(request))) is not None:
            name = f"{trigger.skill}/{trigger.name}"
            text = f"the trigger {name} does not fire in this conversation: {path} does not hold"
            raise FrameError("nudge_unknown", text, path="$.nudge")
        return request

    def _speak(self, frame: wire.Speak, received_s: float) -> None:
        """Say the frame's text, whether replies are spoken or not. Raises FrameError where there is no voice."""
        turn_id = self._unused_id(frame)
        voice = self._services.speech.synthesizer.status
        if voice.state != "ready":
            reason = "the voice is still loading" if voice.state == "loading" else voice.reason
            raise FrameError("speech_unavailable", f"the text cannot be spoken: {reason or 'there is no voice'}")
        settings = structs.replace(self._settings.turn, voice=True, skills=[])
        self._discard_speech(settings, _NO_STATE)
        self._turns.begin(self._request(turn_id, "speak", [], settings, received_s, text=frame.text))

    def _unused_id(self, frame: wire.TurnFrame | wire.Speak) -> str:
        """Return the id of the turn that the frame starts. Raises FrameError where it may start none of this id."""
        if self._settings.transcribe_only:
            text = "this connection only transcribes; configure `transcribe_only: false` first"
            raise FrameError("frame_invalid", text, path="$.type")
        turn_id = secrets.token_hex(8) if frame.id is UNSET else frame.id
        if self._turns.is_used(turn_id):
            text = "this connection already had a turn with this id; use a new one"
            raise FrameError("turn_id_reused", text, path="$.id")
        return turn_id

    def _request(
        self,
        turn_id: str,
        trigger: wire.TurnTrigger,
        messages: list[wire.Message],
        settings: wire.TurnSettings,
        received_s: float | None = None,
        *,
        words: SpokenWords | None = None,
        snapshot: SkillsSnapshot | None = None,
        state: HookState = _NO_STATE,
        text: str | None = None,
        is_new_message: bool = True,
    ) -> TurnRequest:
        """Ask for a turn, by default now; one that answers spoken words begins where they end."""
        if received_s is None:
            received_s = self._services.now_s()
        is_heard = trigger == "voice" or (trigger == "nudge" and self._speech_input.microphone.is_fed)
        goes_on = bool(messages) and messages[-1].role == "tool"  # with the results of the client's tools
        if goes_on:
            is_heard = self._turns.is_spoken
        facts = HookFacts(
            channel="voice" if is_heard else "text",
            is_new_message=is_new_message and not goes_on and trigger != "nudge",
            spoken=settings.voice and self._services.speech.synthesizer.status.state == "ready",
            interrupted=self._turns.is_interrupting and self._turns.goes_on(messages),
            may_say_context=self._rights.may_instruct,
            state=state,
        )
        return TurnRequest(
            drawn_for=self._turns.drawn_for if goes_on else turn_id,
            id=turn_id,
            session_id=self.id,
            trigger=trigger,
            messages=messages,
            settings=settings,
            output=self._settings.output,
            snapshot=self._skills if snapshot is None else snapshot,
            principal=self._principal,
            system_messages=self._rights.system_messages,
            received_s=received_s if words is None else words.stopped_s,
            recognized_s=None if words is None else words.recognized_s,
            hook_facts=facts,
            costs=self._costs,
            notices=self._notices,
            text=text,
        )

    # --- nudges; these are for Nudges (NudgedSession), and for a timeout of the Realtime dialect

    def triggers(self) -> Sequence[TriggerInfo]:
        return self._skills.triggers(self._settings.turn.skills)

    def trigger_facts(self, nudge_id: str) -> HookFacts:
        return self._with_model(self._request(nudge_id, "nudge", [], self._settings.turn))

    def _with_model(self, request: TurnRequest) -> HookFacts:
        model = self._services.model()
        return replace(self._services.handler.hook_facts(request), model=model.name, is_local=model.location == "local")

    @property
    def may_be_nudged(self) -> bool:
        is_quiet = self.is_idle and not self._approvals.is_waiting
        return is_quiet and not self.is_draining and not self._settings.transcribe_only

    @property
    def silent_since_s(self) -> float:
        return max(self._speech_input.last_speech_s, self._turns.playback.silent_at_s(float("-inf")))

    # --- speech; what has no underscore is for SpeechInput (SpeechOwner)

    def barge_in(self) -> None:
        self._nudges.user_acted()
        self._spoken_into = self._turns.running
        if self._settings.barge_in:
            self._turns.interrupt()

    @property
    def transcript_leads_to(self) -> LeadsTo:
        if self._settings.transcribe_only:
            return "nothing"
        is_held = not self._settings.barge_in and self._turns.running is not None
        return "response" if is_held or self._settings.respond == "manual" else "turn"

    def announce_turn(self) -> str:
        turn_id = secrets.token_hex(8)
        self._turns.remember(turn_id)
        self._announced, self._is_announced_cut = turn_id, False
        return turn_id

    def begin_announced_turn(self, turn_id: str, words: SpokenWords, history: wire.History | None) -> None:
        is_cut, self._announced, self._is_announced_cut = self._is_announced_cut, None, False
        is_missing = history is None
        history = history or wire.History(utterance="", messages=[])
        messages = [*history.messages, wire.Message(role="user", content=words.text)]
        state, notices = self._state_of(history, turn_id)
        if self._spoken_into is not None:
            state = self._spoken_into.state_after(state, messages)
        try:
            settings = self._settings.turn.with_context(history.context)
            request = self._request(turn_id, "voice", messages, settings, words=words, state=state)
            self._turns.begin(request, is_spoken=True)
        except (FrameError, TurnError) as error:
            self.refuse(error)
            return
        if is_missing:
            text = "the client sent no history for this utterance: the reply knows only these words"
            self.send(_notice("warning", "history_missing", text, turn_id))
        for notice in notices:
            self.send(notice)
        if is_cut or self._has_lost_floor:
            self._turns.interrupt()  # stop was said while the history was waited for, or more is being said

    @property
    def _has_lost_floor(self) -> bool:
        """Whether the user has begun to speak again before the turn that has just begun."""
        return self._speech_input.is_speaking and self._settings.barge_in

    def prefill(self, history: list[wire.Message], words: str) -> None:
        if self._turns.running is not None or self._settings.transcribe_only:
            return  # it would hold up the turn that goes on, or be for nothing
        request = self._request("", "voice", history, self._settings.turn)
        self._services.handler.prefill(request, words)

    @property
    def is_draining(self) -> bool:
        return self._services.gate.is_draining

    def answer_by_voice(self, question: str, *, approved: bool, is_lasting: bool = False) -> None:
        self._approvals.answer_by_voice(question, approved=approved, is_lasting=is_lasting)

    def _discard_speech(self, settings: wire.TurnSettings, state: HookState) -> None:
        """Drop what was said, as a turn with these comes instead; end the one that a transcript has named: it is awaited."""
        self._speech_input.discard()
        turn_id, self._announced = self._announced, None
        if turn_id is not None:
            self._turns.end_unstarted(self._request(turn_id, "voice", [], settings, state=state))

    def _can_hear(self) -> bool:
        """Return whether speech is recognised without a key, which would interrupt the turn."""
        return self._settings.turn_detection.mode == "server_vad" and self._services.speech.unavailable_reason is None


def _notices_of_zone(frame: wire.TurnChoices | wire.History) -> list[wire.Notice]:
    if frame.context is UNSET or frame.context.get("timezone") is None or zone_of(frame.context) is not None:
        return []
    name = quoted(frame.context["timezone"])
    text = f"no time zone is called {name} (context.timezone): write it like Europe/Berlin; the server's counts"
    return [_notice("warning", "timezone_unknown", text)]


def _notice(level: Literal["info", "warning"], code: str, text: str, turn_id: str | UnsetType = UNSET) -> wire.Notice:
    return wire.Notice(code=code, level=level, message=text, turn_id=turn_id)
