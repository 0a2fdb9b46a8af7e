"""Realtime events ↔ frames of `parley.v1`: the whole of a Realtime session but its socket. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

import msgspec
from msgspec import UNSET

from server.errors import FrameError, TurnError
from server.realtime import client_events as client
from server.realtime.conversation_items import Item, ItemList, ItemSound, messages_of
from server.realtime.input_audio import InputBuffer
from server.realtime.response_events import ResponseStatus, ResponseWriter
from server.realtime.server_events import Event, EventFactory
from server.realtime.session_config import NO_TOOLS, ServerTools, SessionConfig
from server.realtime.session_settings import settings_of, spec_of
from server.session.turn_limits import RETRY_AFTER_MS, Places
from server.wire import frames as wire

MAX_OUT_OF_BAND: Final = 2
"""Responses out of band that may run at once."""


@dataclass(frozen=True)
class Request:
    """A question to the session (Session.perform), and what its answer or its refusal comes to."""

    frame: wire.AnyClientFrame
    answered: Callable[[Sequence[wire.Answer]], "list[Action]"]
    refused: Callable[[FrameError | TurnError], "list[Action]"]
    is_out_of_band: bool = False
    """Whether the turn that is asked for runs beside the conversation's (Session.respond_out_of_band)."""


@dataclass(frozen=True)
class Recognize:
    """Sound of an item, whose words `RealtimeTranslator.recognized` takes."""

    item: Item
    sound: ItemSound


Action = Event | Request | Recognize | wire.AnyClientFrame | bytes
"""An event for the client (encode it with msgspec, which turns its `bytes` into base64), a question to the session, sound
of an item that it is to recognise, a frame whose answer it sends like any other frame, or sound of the microphone."""


class RealtimeTranslator:
    """Translates one connection. Every method returns what is to be done, in this order, without waiting between.

    What `from_client` and a Request return is carried out before the next message is read. Of what `from_session` and
    `from_voice` return, events are sent at once; the rest goes to the session in the next step of the event loop, all
    of one list together: the session is just sending. Nothing here raises, whatever comes in.
    """

    def __init__(
        self,
        *,
        defaults: SessionConfig | None = None,
        server_tools: ServerTools = NO_TOOLS,
        expires_at: int | None = None,
        turn_places: Callable[[], Places] = lambda: Places(limit=1, free=0),
    ) -> None:
        """`defaults`: the configuration that the connection begins with, as of an `ek_` key or of `intent`.

        `turn_places` returns the limit of the turns that may run at once for the client, with how many more may begin.
        """
        self._config = defaults or SessionConfig()
        self._maker_context = self._config.parley.context
        self._server_tools = server_tools
        self._expires_at = expires_at
        self._turn_places = turn_places
        self._session_id = ""
        self._voice = wire.SpeechPart(state="loading")
        self._voices: list[str] = []
        self._settings: dict[str, Any] = {}  # as the session has them
        self._events = EventFactory("")
        self._conversation = ItemList(self._events, max_items=0, max_bytes=0)
        self._input = InputBuffer(self._events, self._conversation)
        self._conversation_id = ""
        self._response: ResponseWriter | None = None  # of the conversation
        self._out_of_band: dict[str, ResponseWriter] = {}
        self._last_response: str | None = None
        self._owes_response = False  # speech calls for a response, and one ran that speech does not end
        self._may_time_out = False  # a reply has ended, and no silence after it has been committed
        self._held: list[Event] = []  # the end of a response that speech has ended: behind `speech_started`

    # --- the session's side

    def from_session(self, frame: wire.ServerFrame) -> list[Action]:
        """Translate a frame of the session; the first is `ready`."""
        match frame:
            case wire.SpeechStarted():
                return self._speech_started(frame)
            case _ if self._held:
                held, self._held = self._held, []
                return [*held, *self.from_session(frame)]
            case wire.Ready():
                return self.begin(frame)
            case wire.Speech():
                self._voice, self._voices = frame.tts, frame.voices
            case wire.Model():
                self._config = msgspec.structs.replace(self._config, model=frame.name)
            case wire.SpeechStopped():
                return [*self._input.stopped(frame)]
            case wire.SpeechRejected():
                return [*self._input.rejected(frame, self._config), *self._ask()]
            case wire.Transcript():
                return self._transcript(frame)
            case wire.Error():
                return self._error(frame)
            case wire.Notice(code="no_utterance"):
                return [*self._input.refuse_commit(), *self._events.extra(frame, self._config.extras)]
            case _ if (response := self._find(getattr(frame, "turn_id", None))) is not None:
                return self._of_response(frame, response)
            case wire.Notice() | wire.Trace() | wire.ApprovalRequest() | wire.ApprovalResolved():
                return [*self._events.extra(frame, self._config.extras)]
        return []

    def from_voice(self, pcm: bytes, turn_id: str) -> list[Action]:
        """Translate a piece of a reply's sound, PCM16 at the rate of its sentence under way."""
        return [] if (response := self._find(turn_id)) is None else [*response.sound(pcm)]

    def recognized(self, asked: Recognize, words: str | FrameError) -> list[Action]:
        """Take the words of an item's sound, or why there are none."""
        self._conversation.count_sound(-len(asked.sound.pcm))
        return [*self._input.recognized(asked.item, asked.sound, words, self._config), *self._ask()]

    def _recognize(self, items: Sequence[Item]) -> list[Action]:
        """Ask for the words of those items that have sound."""
        asked = [Recognize(item, item.sound) for item in items if item.sound is not None]
        for each in asked:
            self._conversation.count_sound(len(each.sound.pcm))
        return [*asked]

    @property
    def idle_timeout_ms(self) -> int | None:
        """Silence in ms after which `time_out` is due, or None while it cannot be."""
        timeout_ms: int | None = getattr(self._config.audio.input.turn_detection, "idle_timeout_ms", None)
        is_busy = self._response is not None or self._held or self._conversation.awaits_output()
        return timeout_ms if self._may_time_out and self._config.type == "realtime" and not is_busy else None

    def time_out(self) -> list[Action]:
        """Commit the silence that has lasted for `idle_timeout_ms`, and begin the response to it."""
        detection, timeout_ms = self._config.audio.input.turn_detection, self.idle_timeout_ms
        if detection is None or timeout_ms is None:
            return []
        self._may_time_out = False
        self._owes_response = detection.create_response
        return [*self._input.time_out(timeout_ms, self._config), *self._respond_to_speech()]

    def end(self, refusal: FrameError | None = None) -> list[Event]:
        """Return the events that are still owed when the connection closes, such as `response.done`, and why it does."""
        events, self._held = self._held, []
        for response in self._running():
            events += self._finish(response, "cancelled")
        return events if refusal is None else [*events, self._events.error(refusal)]

    def begin(self, ready: wire.Ready) -> list[Action]:
        """Answer the first frame of the session: configure it, then send `session.created`."""
        limits = ready.limits
        self._events = EventFactory(ready.session_id)
        self._conversation = ItemList(self._events, max_items=limits.max_messages, max_bytes=limits.max_message_bytes)
        self._conversation_id = self._events.new_id("conv")
        self._input = InputBuffer(self._events, self._conversation)
        self._session_id = f"sess_{ready.session_id}"
        self._voice, self._voices = ready.speech.tts, ready.speech.voices
        config = msgspec.structs.replace(self._config, model=ready.model.name)
        return [self._configure(config, is_first=True)]

    def _running(self) -> list[ResponseWriter]:
        return [*([] if self._response is None else [self._response]), *self._out_of_band.values()]

    def _find(self, response_id: object) -> ResponseWriter | None:
        return next((response for response in self._running() if response.id == response_id), None)

    def _of_response(self, frame: wire.ServerFrame, response: ResponseWriter) -> list[Action]:
        match frame:
            case wire.TurnStart() if response.cancelled_by is not None:
                return [wire.Interrupt(turn_id=response.id)]
            case wire.TurnEnd():
                return self._turn_end(frame, response)
        return [*response.write(frame), *self._events.extra(frame, self._config.extras)]

    def _turn_end(self, frame: wire.TurnEnd, response: ResponseWriter) -> list[Action]:
        is_cut = frame.reason == "interrupted" and response.cancelled_by is None and not frame.message
        is_spoken_into = is_cut and response is self._response
        events = self._finish(response, response.status_after(frame), frame)
        if frame.rollback is True:
            events += response.taken_back()
        if is_spoken_into:
            self._held = events
            return []
        return [*events, *self._respond_to_speech()]

    def _finish(self, response: ResponseWriter, status: ResponseStatus, end: wire.TurnEnd | None = None) -> list[Event]:
        if self._out_of_band.pop(response.id, None) is None:
            self._response = None
            self._may_time_out = status != "failed"
            self._input.replied()
        usage = wire.UsageItem() if end is None else end.usage
        return response.finish(status, usage, state=None if end is None or end.state is UNSET else end.state)

    # --- speech

    def _speech_started(self, frame: wire.SpeechStarted) -> list[Action]:
        held, self._held = self._held, []
        actions: list[Action] = [*self._input.started(frame, self._config), *held]
        detection = self._config.audio.input.turn_detection
        if detection is None:
            return actions
        response = self._response
        if detection.interrupt_response and response is not None and not response.is_asked:
            response.cancel("turn_detected")
            actions += self._finish(response, "cancelled")
        if detection.create_response and self._config.type == "realtime":
            history = messages_of(self._conversation.items)  # for the model to read while the user speaks
            actions.append(wire.History(utterance=frame.utterance, messages=history, state=self._conversation.state()))
        return actions

    def _transcript(self, frame: wire.Transcript) -> list[Action]:
        detection = self._config.audio.input.turn_detection
        waiting = self._response
        is_awaited = waiting is not None and not waiting.is_asked and waiting.spec.input is None
        events, has_words = self._input.transcript(frame, self._config)
        actions: list[Action] = [*events, *self._ask()]
        is_due = detection is not None and detection.create_response and self._config.type == "realtime"
        if not has_words or not is_due or is_awaited:
            return actions
        self._owes_response = True
        return [*actions, *self._respond_to_speech()]

    def _respond_to_speech(self) -> list[Action]:
        """Begin the response that an utterance calls for, unless one still runs."""
        if not self._owes_response or self._response is not None or self._config.type == "transcription":
            return []
        return self._begin_response(client.ResponseWishes())

    # --- answers of the session

    def _configure(
        self,
        config: SessionConfig,
        event_id: str | None = None,
        *,
        is_first: bool = False,
        problems: Sequence[Event] = (),
    ) -> Request:
        """Ask for the configuration, which is in force when the session has taken it.

        `problems` of the first one follow `session.created`, as clients take that for the first event.
        """
        output = config.audio.output.spoken_by(self._voices)
        config = msgspec.structs.replace(config, audio=msgspec.structs.replace(config.audio, output=output))
        settings = settings_of(config, conversation=self._conversation_id, maker_context=self._maker_context)
        changed = {name: value for name, value in settings.items() if self._settings.get(name, UNSET) != value}

        def answered(answers: Sequence[wire.Answer]) -> list[Action]:
            errors = [*problems, *self._refusals(answers, event_id, at="session")]
            is_silenced = any(isinstance(a, wire.Notice) and a.code == "instructions_not_allowed" for a in answers)
            self._config = msgspec.structs.replace(config, instructions="", tools=[]) if is_silenced else config
            self._settings |= changed
            dropped = [] if changed.keys().isdisjoint(("input", "turn_detection")) else self._input.reset()
            if is_first:
                return [*dropped, *self._created(), *errors]
            return [*errors, *dropped, self._session_event("updated")]

        def refused(error: FrameError | TurnError) -> list[Action]:
            problem = self._refusal(error, event_id, at="session")
            if not is_first:
                return [problem]
            kept = [*problems, problem]
            if not config.tools:
                self._config = config
                return [*self._created(), *kept]
            rest = msgspec.structs.replace(config, tools=[], tool_choice="auto")  # without those of its key
            return [self._configure(rest, is_first=True, problems=kept)]

        return Request(wire.Configure(**changed), answered, refused)

    def _session_event(self, what: Literal["created", "updated"]) -> Event:
        session = self._config.shown(self._session_id, self._expires_at)
        return self._events.event(f"session.{what}", session=session)

    def _created(self) -> list[Event]:
        conversation = {"id": self._conversation_id, "object": "realtime.conversation"}
        return [self._session_event("created"), self._events.event("conversation.created", conversation=conversation)]

    def _begun(self, answers: Sequence[wire.Answer]) -> list[Action]:
        """Report the turns that are left, and pass on what the one that was asked for goes without."""
        actions: list[Action] = [self._rate_limits()]
        for answer in answers:
            if isinstance(answer, wire.Notice) and answer.code == "instructions_not_allowed":
                # clients would take an error that names their response.create for its end
                actions.append(self._events.error(FrameError(answer.code, answer.message)))
            else:
                actions += self.from_session(answer)
        return actions

    def _rate_limits(self) -> Event:
        places = self._turn_places()
        reset_s = 0.0 if places.free else RETRY_AFTER_MS / 1000
        requests = {"name": "requests", "limit": places.limit, "remaining": places.free, "reset_seconds": reset_s}
        return self._events.event("rate_limits.updated", rate_limits=[requests])

    def _not_begun(self, response: ResponseWriter, error: FrameError | TurnError) -> list[Action]:
        if self._find(response.id) is None:
            return []
        response.fail(error.code, str(error))
        limits = [self._rate_limits()] if error.code == "too_many_turns" else []
        return [*limits, *self._finish(response, "failed")]

    def _refusal(self, error: FrameError | TurnError, event_id: str | None = None, *, at: str = "") -> Event:
        """Return the `error` for a refusal of the session; its place is below `at`."""
        path = (error.path if isinstance(error, FrameError) else None) or ""
        path = ".".join(filter(None, (at, path.removeprefix("$").removeprefix("."))))
        return self._events.error(FrameError(error.code, str(error), path=path or None), event_id=event_id)

    def _refusals(self, answers: Sequence[wire.Answer], event_id: str | None, *, at: str) -> list[Event]:
        """Return an `error` for each notice, which the session answers where it does not do what it was asked."""
        notices = [answer for answer in answers if isinstance(answer, wire.Notice)]
        return [self._refusal(FrameError(each.code, each.message), event_id, at=at) for each in notices]

    def _error(self, frame: wire.Error) -> list[Action]:
        if frame.turn_id is not UNSET:
            return [] if (response := self._find(frame.turn_id)) is None else [*response.write(frame)]
        refused = FrameError(frame.code, frame.message, path=frame.path or None)
        error = self._refusal(refused)
        if frame.code not in ("speech_unavailable", "turn_refused_draining"):
            return [error]
        events, is_told = self._input.failed(refused, self._config)
        return [*([] if is_told else [error]), *events, *self._ask()]

    # --- the client's side

    def refuse(self, refusal: FrameError, event_id: str | None) -> list[Action]:
        """Answer a message of the client that is no event."""
        held, self._held = self._held, []
        return [*held, self._events.error(refusal, event_id=event_id)]

    def from_client(self, event: client.AnyRealtimeEvent) -> list[Action]:
        """Answer an event of the client."""
        held, self._held = self._held, []
        try:
            return [*held, *self._handle(event)]
        except FrameError as refusal:
            return [*held, self._events.error(refusal, event_id=event.event_id)]

    def _handle(self, event: client.AnyRealtimeEvent) -> Sequence[Action]:
        match event:
            case client.AudioAppend():
                return self._input.append(self._config, event.audio)
            case client.AudioCommit():
                return self._input.commit(self._config, event.event_id)
            case client.AudioClear():
                return self._input.clear(self._config)
            case client.OutputClear():
                return self._clear_output()
            case client.SessionUpdate():
                config = self._config.updated(event.session, server_tools=self._server_tools)
                config = msgspec.structs.replace(config, model=self._config.model)
                return [self._configure(config, event.event_id)]
            case client.ItemCreate() if self._config.type == "transcription":
                raise _transcription_only()
            case client.ItemTruncate():
                item = self._conversation.get(event.item_id)
                return [self._conversation.truncate(event), *self._silence(item.response_id if item else None)]
            case client.ItemCreate():
                item, events = self._conversation.create(event, self._config.audio.input.format)
                return [*events, *self._recognize([item])]
            case client.ItemDelete():
                return [self._conversation.delete(event)]
            case client.ItemRetrieve():
                return [self._conversation.retrieve(event)]
            case client.ResponseCreate():
                return self._begin_response(event.response or client.ResponseWishes())
            case client.ResponseCancel():
                response = self._response if event.response_id is None else self._find(event.response_id)
                if response is None:
                    text = "Cancellation failed: no active response found"  # livekit goes by these words
                    raise FrameError("response_cancel_not_active", text, path="response_id")
                return self._cancel(response)
            case client.ParleyApproval():
                if "parley.approval_request" not in self._config.extras:
                    text = 'approvals come here only where session.include has "parley.approval_request"'
                    raise FrameError("unknown_event", text, path="type")
                return [self._approve(event)]
            case _:
                assert_never(event)

    def _approve(self, event: client.ParleyApproval) -> Request:
        return Request(
            wire.Approval(id=event.id, approved=event.approved, reason=event.reason),
            lambda answers: [*self._refusals(answers, event.event_id, at="id")],
            lambda error: [self._refusal(error, event.event_id)],
        )

    def _silence(self, response_id: str | None) -> list[Action]:
        """Tell the session that the client no longer plays the last response, which is over."""
        is_over = self._response is None and response_id is not None and response_id == self._last_response
        return [wire.Interrupt(turn_id=response_id)] if is_over else []

    # --- responses

    def _begin_response(self, wishes: client.ResponseWishes) -> list[Action]:
        """Begin a response with these settings. Raises FrameError where there can be none."""
        if self._config.type == "transcription":
            raise _transcription_only()
        is_out_of_band = wishes.conversation == "none"
        busy = [each for each in self._running() if (each.id in self._out_of_band) == is_out_of_band]
        if len(busy) >= (MAX_OUT_OF_BAND if is_out_of_band else 1):
            text = f"the response {busy[0].id} is still in progress; wait for its response.done, or cancel it"
            raise FrameError("conversation_already_has_active_response", text)
        sound = self._config.audio.input.format
        items = None if wishes.input is None else self._conversation.items_of(wishes.input, sound, at="response.input")
        spec = spec_of(
            wishes,
            self._config,
            response_id=self._events.new_id("resp"),
            conversation_id=self._conversation_id,
            items=items,
            server_tools=self._server_tools,
            voices=self._voices,
        )
        response = ResponseWriter(spec, self._events, self._conversation)
        if is_out_of_band:
            self._out_of_band[spec.id] = response
        else:
            self._response, self._last_response, self._owes_response = response, spec.id, False
        own = [item for item in items or () if self._conversation.get(item.id) is not item]
        return [response.created(), *self._ask(), *self._recognize(own)]

    def _ask(self) -> list[Action]:
        """Ask the session for the turns of responses, each as soon as all that it answers is recognised."""
        return [action for response in self._running() if not response.is_asked for action in self._ask_for(response)]

    def _ask_for(self, response: ResponseWriter) -> list[Action]:
        is_out_of_band = response.id in self._out_of_band
        items = self._conversation.items if response.spec.input is None else response.spec.input
        if any(item.is_waiting for item in items):
            return []
        said = items[-1] if items else None
        if said is not None and said.failure is not None:
            return self._not_begun(response, said.failure)  # the model would be asked without what was said
        is_mute = self._voice.state != "ready"
        silence = f"the reply has no sound: {self._voice.reason or 'the voice is still loading'}" if is_mute else None
        response.ask(items, silence=silence)
        utterance = None
        if said is not None and said.utterance is not None and said.text and not is_out_of_band:
            utterance, said.utterance = said.utterance, None  # one turn is measured from its end
        frame = wire.Respond(
            id=response.id,
            messages=messages_of(items),
            utterance=utterance,
            state=self._conversation.state() if response.spec.input is None and not is_out_of_band else None,
            **response.spec.overrides,
        )
        return [
            Request(frame, self._begun, lambda error: self._not_begun(response, error), is_out_of_band=is_out_of_band)
        ]

    def _cancel(self, response: ResponseWriter) -> list[Action]:
        response.cancel("client_cancelled")
        if response.is_asked:
            return [wire.Interrupt(turn_id=response.id)]
        return [*self._finish(response, "cancelled")]

    def _clear_output(self) -> list[Action]:
        if self._last_response is None:
            raise FrameError("output_audio_buffer_empty", "nothing has been said yet")
        cancelled = self._silence(self._last_response) if self._response is None else self._cancel(self._response)
        return [*cancelled, self._events.event("output_audio_buffer.cleared", response_id=self._last_response)]


def _transcription_only() -> FrameError:
    text = "this session transcribes and does nothing else; use one of the type realtime"
    return FrameError("invalid_session_type", text, path="type")
