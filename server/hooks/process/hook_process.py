"""One process of a hook: its calls and notifications, from its start to the end of everything that came of it."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

from server.config import ProcessHookSettings
from server.hooks.process.jsonrpc import RpcCalls, RpcReply, notification
from server.hooks.stages import FailureKind, HookCallFailed
from server.subprocesses.child_process import END_S, EOF_S, ChildProcess, child_environment
from server.subprocesses.lines import Line, Lines
from server.subprocesses.pipes import BacklogFull, PipeReader, PipeWriter
from server.subprocesses.process_tree import ProcessTree
from server.subprocesses.supervisor import BackoffPolicy

MAX_OPEN_CALLS: Final = 256
MAX_WAITING_EVENTS: Final = 256
"""Limit of notifications that the child has not read; one more is dropped."""

_MAX_EVENT_BACKLOG_BYTES: Final = 4 << 20  # a part of the pipe's, so that events never crowd out calls


@dataclass(frozen=True, kw_only=True, slots=True)
class HookLimits:
    """Time limits for what a hook's process owes us, and the pauses before it is started again."""

    hello_s: float = 5.0
    gate_test_s: float = 5.0
    """Time limit for all test calls of a gate together."""
    gate_quiet_s: float = 0.25
    """Pause before each test call, and again while a turn uses the hook."""
    last_words_s: float = 0.1
    """Time for output written just before the exit and still on its way, unless a child of the hook holds the pipe."""
    eof_s: float = EOF_S
    """Time from the end of the process's input to SIGTERM."""
    end_s: float = END_S
    """Time from the end of the process's input to SIGKILL."""
    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)


Direction = Literal["out", "in", "err"]
"""Way of a line: out to the hook, with its end; in on its standard output, still unread; err on its standard error."""

OnLine = Callable[[Direction, Line], None]
"""Listener to every line, in order, in the event loop; returns at once, never raises, never changes the line."""


def no_listener(_direction: Direction, _line: Line) -> None:
    """Do nothing: the OnLine where the traffic is not listened to."""


class HookProcess:
    """`begin`, then `request` and `notify` from any task, until it has `ended`; `end` must be awaited in any case."""

    def __init__(
        self,
        name: str,
        child: ChildProcess,
        limits: HookLimits,
        *,
        on_line: OnLine,
        on_odd_line: Callable[[str], None],
    ) -> None:
        """Take the child over; call `begin` to start one."""
        self._name = name
        self._child = child
        self._limits = limits
        self._on_line = on_line
        self._on_odd_line = on_odd_line
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._reasons = 0
        self._answers = dict[int, asyncio.Future[RpcReply | tuple[FailureKind, str]]]()  # a reply, or why there is none
        self._events = deque[int]()  # keys of notifications that may still wait in the pipe; negative, unlike calls'
        self._last_event = 0
        self._output_ended = self._loop.create_future()
        self._in = PipeWriter(child.stdin)
        self._out = PipeReader(child.stdout, Lines(), self._take_line, lambda: self._output_ended.set_result(None))
        self.calls = RpcCalls()
        self.is_closing = False
        self.ended = asyncio.create_task(self._watch(), name=f"end of process hook {name}")  # `end` awaits it
        """Task done when the process exited or closed its output (the text says which) and pending calls failed."""

    @classmethod
    async def begin(
        cls,
        name: str,
        hook: ProcessHookSettings,
        environ: Mapping[str, str],
        limits: HookLimits,
        *,
        on_line: OnLine = no_listener,
        on_odd_line: Callable[[str], None] = lambda _reason: None,
    ) -> "HookProcess":
        """Start it. Raises as `ChildProcess.begin`.

        `on_odd_line` is called with the reason when a line is ignored for a reason that is new in this process.
        """
        child = await ChildProcess.begin(
            hook.command,
            label=f'process hook "{name}"',
            folder=hook.dir,
            environment=child_environment(environ, hook.env, inherits_all=hook.inherit_env),
            on_error_line=partial(on_line, "err"),
            eof_s=limits.eof_s,
            end_s=limits.end_s,
        )
        return cls(name, child, limits, on_line=on_line, on_odd_line=on_odd_line)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def tree(self) -> ProcessTree:
        return self._child.tree

    @property
    def is_there(self) -> bool:
        return not (self.is_closing or self._child.exited.done() or self._out.has_ended)

    @property
    def has_open_calls(self) -> bool:
        return bool(self._answers)

    @property
    def served_s(self) -> float:
        return self._loop.time() - self._began

    async def request(self, method: str, params: Mapping[str, Any], limit_s: float) -> Any:
        """Return the result of one call. Raises HookCallFailed; cancelled, the call is given up."""
        call_id = self._send(method, params)
        answer = self._answers[call_id] = self._loop.create_future()
        why = f"no reply within {limit_s * 1000:.0f} ms"
        timer = self._loop.call_later(limit_s, self._fail, call_id, "timed_out", why)
        try:
            reply = await answer
        finally:
            timer.cancel()
            del self._answers[call_id]
            self.calls.abandon(call_id)  # unless it has its reply
            self._in.withdraw(call_id)
        if not isinstance(reply, RpcReply):
            raise self._failure(reply[0], method, reply[1])
        if reply.error is not None:
            raise self._failure("failed", method, reply.error)
        return reply.result

    def notify(self, method: str, params: Mapping[str, Any]) -> bool:
        """Send a line or queue it behind what waits; return False if dropped, as the child does not read or is gone."""
        while self._events and not self._in.is_waiting(self._events[0]):
            self._events.popleft()
        is_full = len(self._events) >= MAX_WAITING_EVENTS or self._in.backlog_bytes > _MAX_EVENT_BACKLOG_BYTES
        if self.is_closing or is_full:
            return False
        self._last_event -= 1
        try:
            line = notification(method, params)
            self._in.send(self._last_event, line)
        except (OSError, BacklogFull, TypeError, ValueError):
            return False
        self._on_line("out", line)
        if self._in.is_waiting(self._last_event):
            self._events.append(self._last_event)
        return True

    def _send(self, method: str, params: Mapping[str, Any]) -> int:
        if self.is_closing:
            raise HookCallFailed("down", f'process hook "{self._name}" is closed')
        if not self.is_there:
            raise self._failure("down", method, self._exit_text())
        if len(self._answers) >= MAX_OPEN_CALLS:
            raise self._failure("timed_out", method, f"{MAX_OPEN_CALLS} calls are already waiting for their replies")
        try:
            call_id, line = self.calls.open(method, params)
        except (TypeError, ValueError) as error:
            raise self._failure("failed", method, f"its parameters cannot be sent: {error}") from error
        try:
            self._in.send(call_id, line)
        except BacklogFull as error:
            self.calls.abandon(call_id)
            raise self._failure("timed_out", method, "it does not read its input") from error
        except OSError as error:
            self.calls.abandon(call_id)
            raise self._failure("down", method, "it has closed its input") from error
        self._on_line("out", line)
        return call_id

    def _fail(self, call_id: int, kind: FailureKind, why: str) -> None:
        if not self._answers[call_id].done():
            self._answers[call_id].set_result((kind, why))

    def _fail_all(self, why: str) -> None:
        for call_id in self._answers:
            self._fail(call_id, "down", why)

    def _failure(self, kind: FailureKind, method: str, why: str) -> HookCallFailed:
        return HookCallFailed(kind, f'process hook "{self._name}" {method} failed: {why}')

    def _take_line(self, line: Line) -> bool:
        self._on_line("in", line)
        reply = self.calls.read(line)
        if len(self.calls.ignored) != self._reasons:
            self._reasons = len(self.calls.ignored)
            self._on_odd_line(next(reversed(self.calls.ignored)))
        if reply is None:
            return False
        answer = self._answers.get(reply.id)
        if answer is not None and not answer.done():
            answer.set_result(reply)
        return True

    async def _watch(self) -> str:
        signs: list[asyncio.Future[Any]] = [self._child.exited, self._output_ended]
        await asyncio.wait(signs, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(signs, timeout=self._limits.last_words_s)
        last = self._child.last_error_line
        why = f"{self._exit_text()}: {last}" if last else self._exit_text()
        self._fail_all(why)
        return why

    def close_input(self) -> None:
        """Let the process see the end of its input, with all the time it wants; further calls fail as `down`."""
        self.is_closing = True
        self._in.close()

    def _exit_text(self) -> str:
        exited = self._child.exited
        return exited.result() if exited.done() else "it has closed its output"

    async def end(self) -> None:
        """Close the process's input, and end it as `ChildProcess.end` does. Pending calls fail at once."""
        self.is_closing = True
        self._fail_all("it is closed")
        self._in.close()
        self.ended.cancel()
        try:
            await self._child.end()
        finally:
            self._out.close()
            await asyncio.wait([self.ended])
