"""One response: its items and events, in the order that Realtime clients rely on. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any, Final, Literal, assert_never

import msgspec

from server.realtime.conversation_items import Item, ItemList, SpokenPiece, item_data, message_call, round_of, word_ends
from server.realtime.server_events import Event, EventFactory, usage_of
from server.realtime.session_config import SoundFormat, coding_of
from server.speech.audio import PcmResampler
from server.wire import frames as wire

ResponseStatus = Literal["completed", "cancelled", "incomplete", "failed"]
MAX_CALLS: Final = 256
"""Calls of a turn that are kept for the response that follows the client's output."""


@dataclass(frozen=True, kw_only=True)
class ResponseSpec:
    """Settings of one response, with its place in the conversation."""

    id: str
    conversation_id: str | None
    """Id of the conversation that the response joins, or None if it stays outside of it."""
    is_spoken: bool
    sound: SoundFormat
    voice: str | None
    max_output_tokens: int | str
    metadata: dict[str, str] | None
    overrides: dict[str, Any] = field(default_factory=dict)
    """Fields of `respond` that differ from the session's."""
    input: list[Item] | None = None
    """Items that take the place of the conversation's."""


class ReplySound:
    """Converts the sound of a reply, PCM16 at `rate`, to the client's format; pieces join without a seam."""

    def __init__(self, sound: SoundFormat, rate: int) -> None:
        self.rate = rate
        coding = coding_of(sound)
        self._encode = coding.encode
        self._resampler = PcmResampler(rate, coding.rate)

    def feed(self, pcm: bytes) -> bytes:
        return self._encode(self._resampler.feed(pcm))

    def finish(self) -> bytes:
        """Return what is still withheld."""
        return self._encode(self._resampler.finish())


class ResponseWriter:
    """Writes the events of one response; every method returns those that are due.

    A message is open from its first text until something else follows or the
    response ends. `finish` is called once.
    """

    def __init__(self, spec: ResponseSpec, events: EventFactory, conversation: ItemList) -> None:
        self.id = spec.id
        self.spec = spec
        self._kind, self._words = ("audio", "transcript") if spec.is_spoken else ("text", "text")  # of its parts
        self._words_event = f"response.output_{'audio_transcript' if spec.is_spoken else 'text'}"
        self.is_asked = False
        """Whether the session was asked for the response's turn."""
        self.cancelled_by: Literal["turn_detected", "client_cancelled"] | None = None
        self._failure: tuple[str, str] | None = None  # code and message of the error that ends it
        self._is_cut = False  # the model's reply has reached its limit of tokens
        self._silence: str | None = None  # why its words, or some of them, have no sound
        self._is_heard = False
        self._answers: list[str] = []  # ids of the user's items at the end of what it answers
        self._events = events
        self._conversation = conversation if spec.conversation_id is not None else None
        self._output: list[Item] = []
        self._open: Item | None = None
        self._place: dict[str, Any] = {}  # of the open message, in its events
        self._sound: ReplySound | None = None
        self._piece: SpokenPiece | None = None  # the sentence under way
        self._text = ""  # of the open message, whole
        self._calls: list[wire.ClientToolCall] = []
        # the turn's calls, our own and the client's, by their ids
        self._batches: list[dict[str, tuple[wire.ToolCall, wire.ToolResult | None]]] = []

    def created(self) -> Event:
        return self._events.event("response.created", response=self._resource("in_progress", None, None))

    def ask(self, items: Sequence[Item], *, silence: str | None) -> None:
        """Note that the session is asked for its turn, which answers these items; `silence`: why it will have no sound."""
        self.is_asked, self._silence = True, silence
        if self.spec.input is None:
            self._answers = [item.id for item in takewhile(lambda item: item.role == "user", reversed(items))]

    def cancel(self, by: Literal["turn_detected", "client_cancelled"]) -> None:
        self.cancelled_by = by

    def fail(self, code: str, message: str) -> None:
        self._failure = (code, message)

    def write(self, frame: wire.ServerFrame) -> list[Event]:
        """Translate a frame of its turn."""
        match frame:
            case wire.Text():
                return self._write_text(frame.delta)
            case wire.Sentence():
                return self._write_sentence(frame)
            case wire.SentenceEnd():
                return self._end_sentence(frame)
            case wire.Hook():
                return self._write_hook(frame)
            case wire.ClientToolCall():
                self._calls.append(frame)  # only when the turn has ended is it sure that the client has to run it
            case wire.ToolCall():
                self._keep_call(frame)
            case wire.ToolResult():
                if self._batches and frame.id in self._batches[-1]:
                    self._batches[-1][frame.id] = (self._batches[-1][frame.id][0], frame)
            case wire.Notice(code="reply_cut"):
                self._is_cut = True
            case wire.Notice(code="speech_failed"):
                self._silence = frame.message
            case wire.Error():
                self.fail(frame.code, frame.message)
        return []

    def status_after(self, end: wire.TurnEnd) -> ResponseStatus:
        """Return the status that the end of its turn gives it."""
        message = end.message or ""
        match end.reason:
            case "completed" if self._is_unheard():
                self.fail("speech_unavailable", f'{self._silence}; output_modalities ["text"] needs no voice')
                return "failed"
            case "completed":
                return "incomplete" if self._is_cut else "completed"
            case "interrupted" if self.cancelled_by is not None or not message:
                self.cancelled_by = self.cancelled_by or "turn_detected"
                return "cancelled"
            case "interrupted" | "aborted":
                self.fail(end.reason, message)
                return "failed" if end.reason == "interrupted" else "incomplete"
            case "error":
                self._failure = self._failure or ("internal", message)
                return "failed"
            case _:
                assert_never(end.reason)

    def _is_unheard(self) -> bool:
        """Return whether none of its words has got its sound; False with calls that the client is to run."""
        is_spoken = self.spec.is_spoken and bool(self._output) and not self._calls
        return is_spoken and self._silence is not None and not self._is_heard

    # --- words and sound

    def _write_text(self, delta: str) -> list[Event]:
        """Write a delta of a reply that is not spoken; a spoken one is written by `_write_sentence`."""
        if self.spec.is_spoken or not delta:
            return []
        message, events = self._message()
        return [*events, self._add(message, delta)]

    def _write_sentence(self, frame: wire.Sentence) -> list[Event]:
        if not self.spec.is_spoken:
            return []
        message, events = self._message()
        if frame.text:
            places = [0, *word_ends(frame.text), len(frame.text)]
            events += [self._add(message, frame.text[begin:end]) for begin, end in pairwise(places)]
        self._piece = SpokenPiece(frame.text, message.audio_ms)
        if not message.is_cut:
            message.pieces.append(self._piece)
        if frame.audio is not None and (self._sound is None or self._sound.rate != frame.audio.sample_rate):
            self._sound = ReplySound(self.spec.sound, frame.audio.sample_rate)
        return events

    def sound(self, pcm: bytes) -> list[Event]:
        if self._piece is None or self._sound is None or self._open is None:
            return []
        self._is_heard = True
        ms = len(pcm) / 2 * 1000 / self._sound.rate
        self._piece.duration_ms += ms
        if not self._open.is_cut:
            self._open.audio_ms += ms
        return self._audio(self._sound.feed(pcm))

    def _end_sentence(self, frame: wire.SentenceEnd) -> list[Event]:
        piece, self._piece = self._piece, None
        if piece is None or self._sound is None:
            return []
        piece.words = frame.words or ()
        return self._audio(self._sound.finish())

    def _audio(self, sound: bytes) -> list[Event]:
        if not sound:
            return []
        return [self._events.event("response.output_audio.delta", **self._place, delta=sound)]

    def _add(self, message: Item, delta: str) -> Event:
        self._text += delta
        if not message.is_cut:
            message.data["content"][0][self._words] = self._text
        return self._events.event(f"{self._words_event}.delta", **self._place, delta=delta)

    # --- hooks and tools

    def _write_hook(self, frame: wire.Hook) -> list[Event]:
        """Put a persistent hook into the conversation, at its place in the reply."""
        if self._conversation is None:
            return []
        events = self._close("completed")
        content = [{"type": "input_text", "text": frame.content}]
        data = item_data(self._events.new_id("hook"), "message", role="system", content=content)
        message = wire.Message(
            role=frame.role,  # type: ignore[arg-type]  # one of two
            content=frame.content,
            hook=frame.name,
            skill=frame.skill,
            sig=frame.sig,
        )
        item = Item(data, hook=message, response_id=self.id)
        return [*events, *self._append(item), self._conversation.event("done", item)]

    def _keep_call(self, frame: wire.ToolCall) -> None:
        """Keep a call, whosever tool it is; those of one batch come before the results of any."""
        if sum(map(len, self._batches)) >= MAX_CALLS:
            return
        if not self._batches or any(result is not None for _, result in self._batches[-1].values()):
            self._batches.append({})
        self._batches[-1][frame.id] = (frame, None)

    def _function_calls(self) -> list[Event]:
        events: list[Event] = []
        rounds, siblings = self._own_calls()
        for call in self._calls:
            arguments = msgspec.json.encode(call.arguments).decode()
            fields = {"name": call.name, "call_id": call.id, "arguments": ""}
            data = item_data(self._events.new_id("item"), "function_call", status="in_progress", **fields)
            item = Item(data, response_id=self.id, rounds=rounds, siblings=siblings)
            rounds, siblings = [], []
            events += self._begin(item)
            place = {key: value for key, value in self._place.items() if key != "content_index"} | {"call_id": call.id}
            name = "response.function_call_arguments"
            events.append(self._events.event(f"{name}.delta", **place, delta=arguments))
            events.append(self._events.event(f"{name}.done", **place, name=call.name, arguments=arguments))
            data |= {"arguments": arguments, "status": "completed"}
            events += self._end(item)
        return events

    def _own_calls(self) -> tuple[list[wire.Message], list[tuple[wire.MessageToolCall, str]]]:
        """Return what our own tools gave: in the batches before the one that ends the turn, and in that one."""
        asked = {call.id for call in self._calls}
        batches = [
            [
                (message_call(call.id, call.name, msgspec.json.encode(call.arguments).decode()), result.content)
                for call, result in batch.values()
                if result and call.id not in asked
            ]
            for batch in self._batches
        ]
        rounds: list[wire.Message] = []
        for batch in filter(None, batches[:-1]):
            rounds += round_of(batch)
        return rounds, batches[-1] if batches else []

    # --- items

    def _message(self) -> tuple[Item, list[Event]]:
        """Return the open message, and the events of opening it where none is."""
        if self._open is not None:
            return self._open, []
        item_id = self._events.new_id("item")
        data = item_data(item_id, "message", status="in_progress", role="assistant", content=[])
        self._open = message = Item(data, response_id=self.id)
        self._text = ""
        events = self._begin(message)
        data["content"] = [{"type": f"output_{self._kind}", self._words: ""}]
        part = {"type": self._kind, self._words: ""}
        return message, [*events, self._events.event("response.content_part.added", **self._place, part=part)]

    def _close(self, status: Literal["completed", "incomplete"]) -> list[Event]:
        """End the open message."""
        item, self._open, self._piece = self._open, None, None
        if item is None:
            return []
        events = [self._events.event(f"{self._words_event}.done", **self._place, **{self._words: self._text})]
        if self.spec.is_spoken:
            events.append(self._events.event("response.output_audio.done", **self._place))
        part = {"type": self._kind, self._words: self._text}
        events.append(self._events.event("response.content_part.done", **self._place, part=part))
        item.data["status"] = status
        return events + self._end(item)

    def _begin(self, item: Item) -> list[Event]:
        self._place = {
            "response_id": self.id,
            "item_id": item.id,
            "output_index": len(self._output),
            "content_index": 0,
        }
        self._output.append(item)
        return [self._output_item("added", item), *self._append(item)]

    def _end(self, item: Item) -> list[Event]:
        events = [self._output_item("done", item)]
        if self._conversation is not None and self._conversation.get(item.id) is item:
            self._conversation.count(item)
            events.append(self._conversation.event("done", item))
        return events

    def _append(self, item: Item) -> list[Event]:
        if self._conversation is None:
            return []
        return [*self._conversation.append(item), self._conversation.event("added", item)]

    def _output_item(self, what: Literal["added", "done"], item: Item) -> Event:
        place = {"response_id": self.id, "output_index": self._output.index(item)}
        return self._events.event(f"response.output_item.{what}", **place, item=item.shown())

    # --- the end

    def finish(self, status: ResponseStatus, usage: wire.UsageItem, *, state: str | None = None) -> list[Event]:
        """Close what is open, hand over the calls of the client's tools, and write `response.done`."""
        events = self._close("completed" if status == "completed" else "incomplete")
        if status == "completed":
            events += self._function_calls()
        if state is not None and self._conversation is not None and self._conversation.items:
            self._conversation.items[-1].state = state
        details: dict[str, Any] | None = None
        if status != "completed":
            details = {"type": status}
            limit = "max_output_tokens" if self._is_cut else "content_filter"
            reason = {"cancelled": self.cancelled_by or "client_cancelled", "incomplete": limit}.get(status)
            if reason is not None:
                details["reason"] = reason
            if self._failure is not None:
                code, message = self._failure
                details["error"] = {"type": "server_error", "code": code, "message": message}
        events.append(self._events.event("response.done", response=self._resource(status, details, usage_of(usage))))
        return events

    def taken_back(self) -> list[Event]:
        """Remove what the response has said, and what it answers, from the conversation."""
        if self._conversation is None:
            return []
        said = [item.id for item in self._conversation.items if item.response_id == self.id]
        return self._conversation.remove([*self._answers, *said])

    def _resource(self, status: str, details: dict[str, Any] | None, usage: dict[str, Any] | None) -> dict[str, Any]:
        output = {"format": msgspec.to_builtins(self.spec.sound)}
        if self.spec.voice is not None:
            output["voice"] = self.spec.voice
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": status,
            "status_details": details,
            "output": [item.shown() for item in self._output] if status != "in_progress" else [],
            "conversation_id": self.spec.conversation_id,
            "output_modalities": ["audio" if self.spec.is_spoken else "text"],
            "max_output_tokens": self.spec.max_output_tokens,
            "audio": {"output": output},
            "usage": usage,
            "metadata": self.spec.metadata,
        }
