"""The input audio buffer: sound to the session, utterances to items of the conversation. Pure."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from server.errors import FrameError
from server.realtime.conversation_items import MIN_SOUND_MS, Item, ItemList, ItemSound, item_data
from server.realtime.server_events import Event, EventFactory
from server.realtime.session_config import SessionConfig, coding_of
from server.wire import frames as wire

MAX_OPEN: Final = 64
"""Most utterances that still wait for their words; beyond it the oldest counts as one without words."""


@dataclass(slots=True, eq=False)
class _Recording:
    """An utterance from its first sound until its words are known."""

    item_id: str
    utterance: str | None = None  # the last that had words
    item: Item | None = None  # set when it is committed
    sound_ms: float = 0.0
    started_ms: float = 0.0
    parts: int = 1  # utterances of the session that it takes, of which the words are not known yet
    words: str = ""  # of those that are
    shown: str = ""  # words that were sent as deltas
    is_dropped: bool = False
    content_index: int = 0  # of the words in the item


class InputBuffer:
    """Keeps the utterances of one connection; without turn detection the client says where they begin and end."""

    def __init__(self, events: EventFactory, conversation: ItemList) -> None:
        self._events = events
        self._conversation = conversation
        self._manual: _Recording | None = None  # the one that the client fills
        self._unnamed: deque[_Recording] = deque()  # begun by the client; the session names them in this order
        self._recordings: dict[str, _Recording] = {}  # by utterance
        self._speaking: _Recording | None = None  # begun by turn detection, and not over
        self._failure: FrameError | None = None  # why the next utterance without words has none
        self._appended_ms = 0.0
        self._replied_ms = 0.0  # of it, when the last reply had been sent
        self._is_fresh = False  # sound has come since the last commit
        self._commits: deque[str | None] = deque(maxlen=MAX_OPEN)  # event ids: of sound that is still being judged

    # --- the client's events

    def append(self, config: SessionConfig, data: bytes) -> list[Any]:
        coding = coding_of(config.audio.input.format)
        pcm = coding.decode(data)
        actions: list[Any] = []
        if not pcm:
            return actions
        sound_ms = len(pcm) / 2 * 1000 / coding.rate
        self._appended_ms, self._is_fresh = self._appended_ms + sound_ms, True
        if config.audio.input.turn_detection is None:
            if self._manual is None:
                self._manual = _Recording(self._events.new_id("item"))
                self._unnamed.append(self._manual)
                actions.append(wire.SpeechStart())
            self._manual.sound_ms += sound_ms
        return [*actions, pcm]

    def commit(self, config: SessionConfig, event_id: str | None) -> list[Any]:
        """End the utterance. Raises FrameError where there is none; the session may say so later (`refuse_commit`)."""
        is_fresh, self._is_fresh = self._is_fresh, False
        if config.audio.input.turn_detection is not None:
            if self._speaking is None:
                if not is_fresh:
                    raise _empty(0.0)
                self._commits.append(event_id)
            return [wire.SpeechEnd()]
        recording = self._manual
        if recording is None or recording.sound_ms < MIN_SOUND_MS:
            raise _empty(0.0 if recording is None else recording.sound_ms)
        self._manual = None
        events = self._commit(recording)
        if not recording.parts:
            events += self._recognized(recording, config)
        return [*events, wire.SpeechEnd()]  # the item first: its words may come at once

    def clear(self, config: SessionConfig) -> list[Any]:
        dropped, self._manual = self._manual or self._speaking, None
        refused = self._refuse_commits()
        cleared = self._events.event("input_audio_buffer.cleared")
        if dropped is not None:
            dropped.is_dropped = True
        elif config.audio.input.turn_detection is None:
            return [*refused, cleared]
        return [*refused, wire.SpeechCancel(), cleared]  # also of sound in which no speech was detected yet

    def reset(self) -> list[Event]:
        """Forget the utterance under way: the session discards it, as the input is configured anew."""
        if self._manual is not None:
            self._manual.is_dropped = True
            self._manual = None
        for recording in self._unnamed:
            recording.is_dropped = recording.item is None
        return self._refuse_commits()

    def replied(self) -> None:
        """Note that a reply has been sent: the silence after it begins no earlier."""
        self._replied_ms = self._appended_ms

    def time_out(self, silence_ms: int, config: SessionConfig) -> list[Event]:
        """Commit the silence as an utterance without words."""
        start_ms = max(self._replied_ms, self._appended_ms - silence_ms)
        recording = _Recording(self._events.new_id("item"), sound_ms=self._appended_ms - start_ms)
        place = {"audio_start_ms": int(start_ms), "audio_end_ms": int(self._appended_ms), "item_id": recording.item_id}
        triggered = self._events.event("input_audio_buffer.timeout_triggered", **place)
        return [triggered, *self._commit(recording, silence_ms), *self._recognized(recording, config)]

    # --- frames of the session

    def started(self, frame: wire.SpeechStarted, config: SessionConfig) -> list[Event]:
        if self._unnamed:
            recording = self._unnamed.popleft()
            self._recordings[frame.utterance] = recording
            return self._bound(config)
        self._speaking = _Recording(self._events.new_id("item"), started_ms=frame.audio_ms)
        self._recordings[frame.utterance] = self._speaking
        place = {"audio_start_ms": int(frame.audio_ms), "item_id": self._speaking.item_id}
        return [self._events.event("input_audio_buffer.speech_started", **place), *self._bound(config)]

    def stopped(self, frame: wire.SpeechStopped) -> list[Any]:
        recording = self._recordings.get(frame.utterance)
        if recording is not None and recording is self._manual:  # it has reached the longest that the session takes
            recording.parts += 1
            self._unnamed.append(recording)
            return [wire.SpeechStart()]
        if recording is None or recording is not self._speaking:
            return []
        if self._commits:
            self._commits.popleft()
        recording.sound_ms = frame.audio_ms - recording.started_ms
        events = self._speech_stopped(recording, frame.audio_ms)
        return events if recording.is_dropped else [*events, *self._commit(recording)]

    def refuse_commit(self) -> list[Event]:
        """Answer the commit that has waited until its sound was judged."""
        return [self._events.error(_empty(0.0), event_id=self._commits.popleft())] if self._commits else []

    def transcript(self, frame: wire.Transcript, config: SessionConfig) -> tuple[list[Event], bool]:
        """Return the events, and whether an item has got its words with it."""
        recording = self._recordings.get(frame.utterance)
        if recording is None:
            return [], False
        if not frame.final:
            is_longer = recording.item is not None and frame.text.startswith(recording.shown)
            return self._delta(recording, frame.text) if is_longer and _is_shown(config) else [], False
        events = self._resolve(frame.utterance, recording, frame.text, config)
        return events, recording.item is not None and not recording.parts and recording.words != ""

    def rejected(self, frame: wire.SpeechRejected, config: SessionConfig) -> list[Event]:
        """Count it as an utterance without words: it came to nothing, or was the answer to a question."""
        recording = self._recordings.get(frame.utterance)
        if recording is None and self._unnamed:
            recording = self._unnamed.popleft()
        return [] if recording is None else self._resolve(frame.utterance, recording, "", config)

    def failed(self, failure: FrameError, config: SessionConfig) -> tuple[list[Event], bool]:
        """Take why the next utterance without words has none, and those that the session will not name.

        Return the events, and whether the client learns of it by that utterance's.
        """
        refused, is_told = list(self._unnamed), False
        self._unnamed.clear()
        events: list[Event] = []
        for recording in refused:
            self._failure, is_told = failure, is_told or (recording.item is not None and _is_shown(config))
            events += self._resolve(None, recording, "", config)
        self._failure = None
        if any(recording.item is not None for recording in self._recordings.values()) and _is_shown(config):
            self._failure, is_told = failure, True
        return events, is_told

    # --- items

    def _refuse_commits(self) -> list[Event]:
        """Answer the commits that wait with an error: their sound is dropped."""
        self._is_fresh = False
        return [event for _ in tuple(self._commits) for event in self.refuse_commit()]

    def _speech_stopped(self, recording: _Recording, audio_ms: float) -> list[Event]:
        self._speaking = None
        place = {"audio_end_ms": int(audio_ms), "item_id": recording.item_id}
        return [self._events.event("input_audio_buffer.speech_stopped", **place)]

    def _commit(self, recording: _Recording, silence_ms: int | None = None) -> list[Event]:
        content = [{"type": "input_audio", "transcript": None}]
        data = item_data(recording.item_id, "message", role="user", content=content)
        item = recording.item = Item(data, is_waiting=True, silence_ms=silence_ms)
        deleted = self._conversation.append(item)
        place = {"item_id": item.id, "previous_item_id": self._conversation.before(item)}
        return [
            *deleted,
            self._events.event("input_audio_buffer.committed", **place),
            self._conversation.event("added", item),
            self._conversation.event("done", item),
        ]

    def _resolve(self, utterance: str | None, recording: _Recording, text: str, config: SessionConfig) -> list[Event]:
        """Take the words of an utterance of the session, which may be a part of what the client commits."""
        if utterance is not None:
            self._recordings.pop(utterance, None)
        is_discarded = recording is self._speaking  # in the midst of it, by a clear or a change of the input
        ended = self._speech_stopped(recording, max(recording.started_ms, self._appended_ms)) if is_discarded else []
        if text:
            recording.utterance, recording.words = utterance, f"{recording.words} {text}".strip()
        recording.parts -= 1
        return ended if recording.parts else [*ended, *self._recognized(recording, config)]

    def recognized(self, item: Item, sound: ItemSound, words: str | FrameError, config: SessionConfig) -> list[Event]:
        """Take the words of a client's item, or why it has none."""
        item.sound = None
        failure, text = (words, "") if isinstance(words, FrameError) else (None, words)
        recording = _Recording(item.id, item=item, sound_ms=sound.ms, words=text, content_index=sound.content_index)
        events = self._show(recording, config, failure)
        if _is_shown(config) and self._conversation.get(item.id) is item:
            return events
        return [] if failure is None else [self._events.error(failure)]

    def _recognized(self, recording: _Recording, config: SessionConfig) -> list[Event]:
        failure, self._failure = self._failure, None
        return self._show(recording, config, None if recording.words else failure)

    def _show(self, recording: _Recording, config: SessionConfig, failure: FrameError | None) -> list[Event]:
        item, text = recording.item, recording.words
        if item is None:  # it is still to be committed, or never will be
            return []
        item.data["content"][recording.content_index]["transcript"] = text
        item.utterance, item.is_waiting, item.failure = recording.utterance, False, failure
        self._conversation.count(item)
        if not _is_shown(config):
            return []
        place = {"item_id": item.id, "content_index": recording.content_index}
        if failure is not None:
            error = {"type": "transcription_error", "code": failure.code, "message": str(failure)}
            return [self._events.event("conversation.item.input_audio_transcription.failed", **place, error=error)]
        events = self._delta(recording, text) if text.startswith(recording.shown) else []
        usage = {"type": "duration", "seconds": round(recording.sound_ms / 1000, 3)}
        name = "conversation.item.input_audio_transcription.completed"
        return [*events, self._events.event(name, **place, transcript=text, usage=usage)]

    def _delta(self, recording: _Recording, text: str) -> list[Event]:
        delta, recording.shown = text[len(recording.shown) :], text
        if not delta:
            return []
        name = "conversation.item.input_audio_transcription.delta"
        place = {"item_id": recording.item_id, "content_index": recording.content_index}
        return [self._events.event(name, **place, delta=delta)]

    def _bound(self, config: SessionConfig) -> list[Event]:
        events: list[Event] = []
        while len(self._recordings) > MAX_OPEN:
            utterance, oldest = next(iter(self._recordings.items()))
            events += self._resolve(utterance, oldest, "", config)
        return events


def _is_shown(config: SessionConfig) -> bool:
    """Return whether the client wants to read what was said."""
    return config.type == "transcription" or config.audio.input.transcription is not None


def _empty(ms: float) -> FrameError:
    text = f"buffer too small: at least {MIN_SOUND_MS} ms of sound are needed, there are {ms:.2f} ms"
    return FrameError("input_audio_buffer_commit_empty", text)
