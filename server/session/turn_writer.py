"""Output of one turn: every frame that the client gets of it passes here."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, assert_never, get_args

from msgspec import UNSET

from server.agent.chunks import HookRecord, LLMChunk
from server.errors import ServerError
from server.llm.language_model import Usage
from server.session.sentence_assembler import SpokenSentence, TTSResult
from server.speech.opus import Sound
from server.tools.tool_calls import ToolOutcome
from server.wire import frames as wire
from server.wire.frames import TurnOrder
from skills_engine import HookState

logger = logging.getLogger(__name__)

INTERRUPTED_TOOL: Final = "interrupted"
ABORTED_TOOL: Final = "not finished: a hook ended the turn"

NO_RECORD: Final = HookRecord(state=lambda: None, not_fired=tuple)
Sign = Callable[[str, str, str, str], str]
"""(skill, name, role, content) → signature."""
SignState = Callable[[HookState], str]


@dataclass(slots=True)
class _OpenSentence:
    index: int
    lead_chars: int  # white space before what is said
    words: list[tuple[int, float]] | None  # None once they are not known for a part of it
    duration_ms: float = 0.0

    def add_words(self, words: Sequence[tuple[int, float]] | None) -> None:
        if words is None:
            self.words = None
        elif self.words is not None:
            began_ms = self.duration_ms
            self.words += [(self.lead_chars + offset, round(began_ms + ms, 1)) for offset, ms in words]


class TurnWriter:
    """Writes the frames of a turn: numbers, pairs and times them, and keeps their order (TURN_ORDER).

    After `end` nothing leaves any more, whatever still unwinds. `end` closes
    what is open: every `sentence` has its `sentence_end`, every `tool_call`
    its `tool_result`. All methods return at once; `clock` counts in seconds.
    """

    def __init__(
        self,
        turn_id: str,
        send: Callable[[wire.ServerFrame], None],
        *,
        send_sound: Callable[[bytes], None],
        sign: Sign,
        sign_state: SignState,
        received_s: float,
        recognized_s: float | None = None,
        hook_record: HookRecord = NO_RECORD,
        shows_trace: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`hook_record` counts until the agent gives its own."""
        self.id = turn_id
        self.reason: wire.TurnEndReason | None = None
        self.hook_count = 0
        self.tools: dict[str, str] = {}
        """Names of the tools that were called, by the id of the call."""
        self.shows_trace = shows_trace
        self._send = send
        self._send_sound = send_sound
        self._sign = sign
        self._sign_state = sign_state
        self._hook_record = hook_record
        self._clock = clock
        self._received_s = received_s
        self._next_index = 0
        self._sentence: _OpenSentence | None = None
        self._order = TurnOrder()
        self._usage = Usage()
        self._marks: dict[str, float] = {}  # name of a metric → ms, set once
        if recognized_s is not None:
            self._marks["transcript"] = _ms(recognized_s - received_s)

    @property
    def is_over(self) -> bool:
        return self.reason is not None

    @property
    def hook_state(self) -> HookState | None:
        """The state of the hooks so far, or at the end, or None if no hook needs one."""
        return self._hook_record.state()

    def start(self, trigger: wire.TurnTrigger, skills: list[str]) -> None:
        self._put(wire.TurnStart(turn_id=self.id, trigger=trigger, skills=skills))

    def count(self, chunk: LLMChunk) -> None:
        """Keep usage, times and hook record of the agent's chunks; nothing is written."""
        if chunk.text is not None:
            self._mark("first_token")
        elif chunk.model_request:
            self._mark("model_request")
        elif chunk.usage is not None:
            self._usage = _sum(self._usage, chunk.usage)
        elif chunk.hook_record is not None:
            self._hook_record = chunk.hook_record

    def write(self, result: TTSResult) -> None:
        if self.is_over:
            return
        kind = result.kind
        value = getattr(result, kind)
        match kind:
            case "text":
                self._put(wire.Text(turn_id=self.id, delta=value))
            case "sentence":
                self.open_sentence(value, None)
                self.close_sentence()
            case "hook":
                self._write_hook(value)
            case "tool_call":
                self.tools[value.id] = value.name
                called = wire.ToolCall(turn_id=self.id, id=value.id, name=value.name, arguments=value.arguments)
                self._put(called, value.id)
            case "tool_result":
                self._write_tool_result(value)
            case "media":
                frame = wire.Media(
                    turn_id=self.id, url=value.url, content_type=value.content_type, name=value.name, size=value.size
                )
                self._put(frame)
            case "notice":
                self._put(wire.Notice(code=value.code, level=value.level, message=value.message, turn_id=self.id))
            case "reasoning":
                if self.shows_trace:
                    self._put(wire.Reasoning(turn_id=self.id, delta=value))
            case "trace":
                if self.shows_trace:
                    self._put(wire.Trace(turn_id=self.id, event=value.event, data=value.data))
            case _:
                assert_never(kind)

    def write_client_call(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """Write `client_tool_call`, at once; nothing when the turn is over."""
        if not self.is_over:
            self._put(wire.ClientToolCall(turn_id=self.id, id=call_id, name=name, arguments=arguments))

    def mark_sentence(self) -> None:
        """Note the time of a complete sentence; it may have to wait for its sound."""
        self._mark("first_sentence")

    def open_sentence(self, sentence: SpokenSentence, audio: wire.AudioFormat | None) -> None:
        """Write `sentence`; its sound may follow, then `close_sentence`, before anything else that is queued."""
        if self.is_over:
            return
        self.mark_sentence()
        self._sentence = _OpenSentence(
            index=self._next_index,
            lead_chars=len(sentence.text) - len(sentence.text.lstrip()),
            words=[] if sentence.spoken is None else None,  # offsets into another text are of no use
        )
        self._next_index += 1
        self._put(
            wire.Sentence(
                turn_id=self.id,
                index=self._sentence.index,
                text=sentence.text,
                spoken=sentence.spoken,
                audio=audio,
                approval=UNSET if sentence.approval is None else sentence.approval,
            )
        )

    def write_sound(self, sound: Sound) -> float:
        """Write a piece of the open sentence's sound; returns its length in ms, 0 once the turn is over."""
        if self._sentence is None or not self._order.take("binary"):
            return 0.0
        if sound.messages:
            self._mark("first_audio")
        for message in sound.messages:
            self._send_sound(message)
        self._sentence.add_words(sound.words)
        self._sentence.duration_ms += sound.ms
        return sound.ms

    def close_sentence(self) -> None:
        """Write `sentence_end` of the open sentence; nothing if there is none."""
        sentence, self._sentence = self._sentence, None
        if sentence is not None:
            ms = round(sentence.duration_ms, 3)
            words = [(offset, begin_ms) for offset, begin_ms in sentence.words or () if begin_ms < ms]  # those sent
            self._put(wire.SentenceEnd(turn_id=self.id, index=sentence.index, duration_ms=ms, words=words or UNSET))

    def write_error(self, code: wire.ErrorCode, message: str, *, retry_after_ms: int | None = None) -> None:
        """Write `error`, behind the open sentence; `end` follows."""
        if not self.is_over:
            self.close_sentence()
            self._put(wire.Error(code=code, message=message, turn_id=self.id, retry_after_ms=retry_after_ms or UNSET))

    def end(
        self,
        reason: wire.TurnEndReason,
        *,
        hooks: Sequence[TTSResult] = (),
        message: str | None = None,
        rollback: bool = False,
    ) -> wire.Metrics:
        """Close what is open, write the `hooks`, then `turn_end`; return its figures. To be called once.

        With `rollback` the client takes the turn out of its history.
        """
        self.close_sentence()
        for hook in hooks:
            self.write(hook)
        content = ABORTED_TOOL if reason == "aborted" else INTERRUPTED_TOOL
        for call_id in self._order.open_calls:
            name = self.tools[call_id]
            self._write_tool_result(ToolOutcome(id=call_id, name=name, content=content, is_error=True, ending="failed"))
        for event in self._hook_record.not_fired() if self.shows_trace else ():
            self.write(TTSResult(trace=event))
        state = self.hook_state
        self._hook_record = NO_RECORD._replace(state=lambda: state)  # the agent's holds the turn, which may hold this
        self.reason = reason
        metrics = wire.Metrics(total=self._elapsed_ms(), **self._marks)
        self._put(
            wire.TurnEnd(
                turn_id=self.id,
                reason=reason,
                usage=wire.UsageItem(**asdict(self._usage)),
                metrics=metrics,
                message=UNSET if message is None else message,
                rollback=True if rollback else UNSET,
                state=UNSET if state is None else self._sign_state(state),
            )
        )
        return metrics

    def _write_hook(self, hook: dict[str, str]) -> None:
        self.hook_count += 1
        sig = self._sign(hook["skill"], hook["name"], hook["role"], hook["content"])
        self._put(wire.Hook(turn_id=self.id, sig=sig, **hook))

    def _write_tool_result(self, outcome: ToolOutcome) -> None:
        self._put(
            wire.ToolResult(
                turn_id=self.id,
                id=outcome.id,
                name=outcome.name,
                content=outcome.content,
                is_error=outcome.is_error,
                duration_ms=outcome.duration_ms,
                ending=UNSET if outcome.ending == "ran" else outcome.ending,
                arguments=UNSET if outcome.arguments is None else outcome.arguments,
                for_user=outcome.for_user or UNSET,
            ),
            outcome.id,
        )

    def _put(self, frame: wire.ServerFrame, call_id: str = "") -> None:
        """Send a frame that may come now. One that may not is a defect here: it is held back."""
        kind: str = frame.__struct_config__.tag  # type: ignore[assignment]  # our tags are str
        if self._order.take(kind, call_id):
            self._send(frame)
        else:
            logger.error("turn %s: %s was held back in the state %s", self.id, kind, self._order.state)

    def _mark(self, name: str) -> None:
        if name not in self._marks:
            self._marks[name] = self._elapsed_ms()

    def _elapsed_ms(self) -> float:
        return _ms(self._clock() - self._received_s)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _sum(a: Usage, b: Usage) -> Usage:
    return Usage(a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens, a.cached_tokens + b.cached_tokens)


def code_of(error: ServerError) -> wire.ErrorCode:
    """Return the error's code if the protocol knows it, else `internal`."""
    if error.code in get_args(wire.ErrorCode):
        return error.code  # type: ignore[return-value]  # just checked
    return "internal"
