"""The pieces of a turn, and the channel that they take from the agent to what reads them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

import msgspec

from server.errors import Closed
from server.llm.language_model import Usage
from server.media.store import MediaItem
from server.tools.tool_calls import ToolOutcome
from skills_engine import HookState


@dataclass(frozen=True, slots=True)
class ToolStarted:
    id: str
    name: str
    arguments: Any
    """Arguments of the call, parsed; the model's text where it was not valid JSON."""


NoticeLevel = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class NoticeGiven:
    code: str
    level: NoticeLevel
    message: str


@dataclass(frozen=True, slots=True)
class TraceEvent:
    event: str
    data: dict[str, Any]


class HookRecord(NamedTuple):
    """Account of a turn's hooks, read when the turn ends, however it ends."""

    state: Callable[[], HookState | None]
    """Function that returns the state for the next turn (L1-45), or None if no hook needs one."""
    not_fired: Callable[[], Iterable[TraceEvent]]
    """Function that returns trace events that say why hooks did not fire; empty if the trace already has them."""


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


class ChunkChannel(Protocol):
    """The place where an agent puts the pieces of its turn."""

    async def put(self, *chunks: LLMChunk) -> None:
        """Hand the chunks over in their order; return when the last one is taken. Any task of the turn may put.

        Cancelling withdraws what is not taken. Raises Closed where the reader is gone.
        """
        ...


class Rendezvous:
    """Channel without a buffer, between the task that puts and the one that takes."""

    def __init__(self) -> None:
        self._offers: asyncio.Queue[tuple[LLMChunk, asyncio.Future[None]] | None] = asyncio.Queue()
        self._is_closed = False

    async def put(self, *chunks: LLMChunk) -> None:
        for chunk in chunks:
            if self._is_closed:
                raise Closed("the reader of the turn is gone")
            taken = asyncio.get_running_loop().create_future()  # cancelled with the wait for it
            self._offers.put_nowait((chunk, taken))
            await taken

    async def take(self) -> LLMChunk | None:
        """Return the next chunk; None after `close`."""
        while (offer := await self._offers.get()) is not None:
            chunk, taken = offer
            if not taken.done():
                taken.set_result(None)
                return chunk
        return None

    def close(self) -> None:
        """End both sides: `take` returns None once what was put before is taken, and `put` raises Closed."""
        self._is_closed = True
        self._offers.put_nowait(None)


async def streamed(work: Callable[[ChunkChannel], Coroutine[Any, Any, None]]) -> AsyncGenerator[LLMChunk, None]:
    """Run the work in a task of its own and yield what it puts; raise what it raises.

    Cancelling the reader, or closing the generator, cancels the work. Both return when it has unwound.
    """
    channel = Rendezvous()
    task = asyncio.create_task(work(channel), name="agent")  # awaited below
    task.add_done_callback(lambda _: channel.close())
    try:
        while (chunk := await channel.take()) is not None:
            yield chunk
        await task
    finally:
        channel.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # another cancellation reaches the work, too
