"""The pieces of a turn, and the way from the code that emits them to the one that reads them."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import coroutine
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from server.llm.language_model import Usage
from server.media.store import MediaItem
from server.tools.tool_calls import ToolOutcome
from skills_engine import HookState


@dataclass(frozen=True, slots=True)
class ToolStarted:
    id: str
    name: str
    arguments: Any
    """Parsed; the model's text where it was not valid JSON."""


@dataclass(frozen=True, slots=True)
class NoticeGiven:
    code: str
    level: Literal["info", "warning", "error"]
    message: str


@dataclass(frozen=True, slots=True)
class TraceEvent:
    event: str
    data: dict[str, Any]


class HookRecord(NamedTuple):
    """Account of a turn's hooks, called for at its end, whatever end that is."""

    state: Callable[[], HookState | None]
    """The state for the next turn (L1-45); None: no hook needs one."""
    not_fired: Callable[[], Iterable[TraceEvent]]
    """The reasons why hooks stayed out, unless they were told."""


ChunkKind = Literal[
    "text",
    "reasoning",
    "hook",
    "tool_call",
    "tool_result",
    "media",
    "notice",
    "trace",
    "usage",
    "hook_record",
    "reply_end",
    "model_request",
    "held",
]
_KINDS: Final[tuple[ChunkKind, ...]] = get_args(ChunkKind)


class LLMChunk(msgspec.Struct, frozen=True, kw_only=True):  # a dataclass of so many fields takes ten times as long
    """One piece of a turn, in the order in which it happened; exactly one field is set (seed 004 §9).

    text: what the user reads, as the model streams it; never empty.
    reasoning: the model's thinking; shown only in the trace.
    hook: a persistent hook was injected: name, role, content, skill, timing.
    tool_call, tool_result: every call is followed by its result unless the turn is cancelled.
    media: a file that the user is shown.
    reply_end: a model reply with text is over; a sentence still open ends here.
    model_request: the next thing that happens is a call of the model.
    held: the next thing that happens waits for hooks.
    usage: of one finished model call.
    hook_record: for the end of the turn, before any hook is put in; where there is a trace or a state.
    """

    text: str | None = None
    reasoning: str | None = None
    hook: dict[str, str] | None = None
    tool_call: ToolStarted | None = None
    tool_result: ToolOutcome | None = None
    media: MediaItem | None = None
    notice: NoticeGiven | None = None
    trace: TraceEvent | None = None
    usage: Usage | None = None
    hook_record: HookRecord | None = None
    reply_end: bool = False
    model_request: bool = False
    held: bool = False

    @property
    def kind(self) -> ChunkKind:
        for kind in _KINDS:
            value = getattr(self, kind)
            if value is not None and value is not False:
                return kind
        raise ValueError("an LLMChunk with no field set")


@coroutine
def emit(*chunks: LLMChunk) -> Generator[LLMChunk, None, None]:
    """Hand the chunks to whoever reads the turn; return when the next thing is asked for.

    Only inside `emitted`, in the task that reads it. Raises where the reader has gone, as if cancelled.
    """
    yield from chunks


async def emitted(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncGenerator[LLMChunk, None]:
    """Run the work and yield what it emits, at the reader's pace and in the reader's task.

    Cancelling that task cancels the work; closing the generator ends the work
    where it emits. Both return when the work is over.
    """
    running = work()
    while (chunk := await _next_chunk(running)) is not None:
        try:
            yield chunk
        except BaseException:
            with suppress(_ReaderGone):
                while await _next_chunk(running, _ReaderGone()) is not None:
                    pass  # emitted while it ends: nobody reads that either
            raise


class _ReaderGone(BaseException):
    """Raised by `emit` when nobody reads any more."""


@coroutine
def _next_chunk(
    running: Coroutine[Any, Any, None], error: BaseException | None = None
) -> Generator[Any, Any, LLMChunk | None]:
    """Run up to the next chunk, or to the end (None); everything else that is awaited goes to the event loop."""
    value: Any = None
    try:
        while True:
            try:
                awaited = running.send(value) if error is None else running.throw(error)
            except StopIteration:
                return None
            if isinstance(awaited, LLMChunk):
                return awaited
            value = error = None
            try:
                value = yield awaited
            except BaseException as thrown:  # noqa: BLE001  # cancellation, above all: the work has to see it
                error = thrown
    finally:
        error = None  # its traceback holds this frame: else the two keep each other alive
