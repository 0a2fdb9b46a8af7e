"""Hooks as the pipeline meets them: whatever carries the words, one way to ask and one to tell."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final, Protocol

from msgspec import Struct

from server import config
from server.approval.asking import PausingAsk
from server.errors import is_cancelled
from server.hooks.channel import STAGES, HookCallFailed, HookChannel, Stage
from server.hooks.interception.event_kinds import observed
from server.hooks.interception.events import HookEvent, notification
from server.hooks.interception.fields import ReplyUnusable
from server.hooks.interception.replies import read_reply
from server.hooks.interception.shapes import params
from server.hooks.interception.stages import (
    Abort,
    Decision,
    Deny,
    Ignored,
    LlmAnswer,
    LlmCall,
    Moment,
    Respond,
    StageValue,
    ToolRan,
    Verdict,
)
from server.hooks.process.settings import stages
from server.hooks.tally import Tally
from server.llm.types import Message, ToolSpec
from server.tool_calls import ToolInvocation

logger = logging.getLogger(__name__)

MAX_QUEUED_EVENTS: Final = 256
_GIVES: Final[Mapping[Stage, tuple[type, ...]]] = {
    "before_llm": (LlmCall, Abort),
    "after_llm": (LlmAnswer, Abort),
    "before_tool": (ToolInvocation, Respond, Deny, Abort),
    "after_tool": (ToolRan, Abort),
    "approve_tool": (Verdict,),
}


class Member(Protocol):
    """A hook in its place in the order."""

    @property
    def name(self) -> str: ...

    @property
    def order(self) -> tuple[int, int, bytes]:
        """In-process before process; lower priority first; then the name, byte by byte."""
        ...

    @property
    def stages(self) -> frozenset[Stage]: ...

    @property
    def kinds(self) -> frozenset[str]: ...

    @property
    def is_guard(self) -> bool:
        """`on_error: closed`: where it fails, the call is denied."""
        ...

    async def ask(self, stage: Stage, value: StageValue, at: Moment) -> StageValue | Decision | Ignored | None:
        """None: as it was. Raises HookCallFailed. Cancelling abandons the call at once."""
        ...

    def tell(self, event: HookEvent) -> None: ...

    def warn(self, text: str) -> None: ...


def limit_s(stage: Stage, defaults: config.HookDefaults, timeout_ms: int | None = None) -> float:
    default_ms = defaults.approval_timeout_ms if stage == "approve_tool" else defaults.interceptor_timeout_ms
    return (timeout_ms or default_ms) / 1000


class ProcessMember:
    """A hook in a child process."""

    def __init__(self, channel: HookChannel, defaults: config.HookDefaults) -> None:
        settings = channel.settings
        self._channel = channel
        self._defaults = defaults
        self.name = channel.name
        self.order = (1, settings.priority, channel.name.encode())
        self.stages = stages(settings)
        self.kinds = observed(settings.observe)
        self.is_guard = settings.on_error == "closed"

    async def ask(self, stage: Stage, value: StageValue, at: Moment) -> StageValue | Decision | Ignored | None:
        method = f"hook.{stage}"
        limit = limit_s(stage, self._defaults, self._channel.settings.timeout_ms)
        reply = await self._channel.request(method, params(stage, value, at), limit_s=limit)
        try:
            reading = read_reply(stage, reply, value)
        except ReplyUnusable as error:
            text = f'decode process hook "{self.name}" {method} result: {error}'
            self._channel.warn(text)
            raise HookCallFailed("failed", text) from error
        for warning in reading.warnings:
            self._channel.warn(warning)
        if reading.is_doubtful and self.is_guard and not isinstance(reading.result, Deny | Abort | Verdict):
            raise HookCallFailed("failed", f'process hook "{self.name}" gave a reply that was not understood')
        if reading.is_doubtful and reading.result is None:
            return Ignored(why="; ".join(reading.warnings))
        return reading.result

    def tell(self, event: HookEvent) -> None:
        method = self._channel.settings.event_method
        self._channel.notify(method, notification(event, method))

    def warn(self, text: str) -> None:
        self._channel.warn(text)


class BuiltinHealth(Struct, frozen=True, kw_only=True):
    """How a hook in this process fares, as its operator reads it."""

    name: str
    stages: list[Stage]
    last_error: str
    calls: int
    failures: int
    p50_ms: float | None
    """Of the calls it answered, without the time that humans took."""
    p99_ms: float | None
    dropped_events: int
    warnings: dict[str, int]
    """What its author should know, and how often it happened."""


class BuiltinMember:
    """A hook in this process: any object with some of the methods of interfaces.py.

    `run` delivers its events; whoever builds it owns that task.
    """

    def __init__(
        self,
        name: str,
        hook: object,
        defaults: config.HookDefaults,
        *,
        priority: int = 0,
        kinds: frozenset[str] = frozenset(),
    ) -> None:
        self._hook = hook
        self._defaults = defaults
        self._events: asyncio.Queue[HookEvent] = asyncio.Queue(MAX_QUEUED_EVENTS)
        self._tally = Tally()
        self.name = name
        self.order = (0, priority, name.encode())
        self.stages = frozenset(stage for stage in STAGES if callable(getattr(hook, stage, None)))
        self.kinds = kinds if callable(getattr(hook, "on_event", None)) else frozenset()
        self.is_guard = bool(getattr(hook, "is_guard", False))

    def health(self) -> BuiltinHealth:
        tally = self._tally
        return BuiltinHealth(
            name=self.name,
            stages=[stage for stage in STAGES if stage in self.stages],
            last_error=tally.last_error,
            calls=tally.calls,
            failures=tally.failures,
            p50_ms=tally.took_ms(0.5),
            p99_ms=tally.took_ms(0.99),
            dropped_events=tally.dropped_events,
            warnings=dict(tally.warnings),
        )

    async def ask(self, stage: Stage, value: StageValue, at: Moment) -> StageValue | Decision | None:
        self._tally.calls += 1
        began_s = time.perf_counter()
        limit = asyncio.timeout(limit_s(stage, self._defaults))
        human = None if at.ask is None else PausingAsk(at.ask, limit)
        try:
            result = await self._ask(stage, value, replace(at, ask=human), limit)
        except HookCallFailed as error:
            self._tally.failed(str(error))
            raise
        waited_s = 0.0 if human is None else human.waited_s
        self._tally.answered((time.perf_counter() - began_s - waited_s) * 1000)
        return result

    async def _ask(
        self, stage: Stage, value: StageValue, at: Moment, limit: asyncio.Timeout
    ) -> StageValue | Decision | None:
        own = replace(value, **{field.name: _copied(getattr(value, field.name)) for field in fields(value)})
        copies = list(own.messages) if isinstance(own, LlmCall) else []  # as it was given: the hook may edit in place
        try:
            async with limit:
                result: StageValue | Decision | None = await getattr(self._hook, stage)(own, at)
        except (Exception, asyncio.CancelledError) as error:  # the boundary to a hook
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            if limit.expired():
                raise HookCallFailed("timed_out", f'hook "{self.name}" {stage} timed out') from error
            text = f'hook "{self.name}" {stage} failed: {type(error).__name__}'
            raise HookCallFailed("failed", text, raised=error) from error
        if result is not None and not isinstance(result, _GIVES[stage]):
            text = f'hook "{self.name}" gave {type(result).__name__} at {stage}'
            self.warn(text)
            raise HookCallFailed("failed", text)
        if isinstance(result, LlmCall) and isinstance(value, LlmCall):
            return replace(result, messages=_known_again(result.messages, copies, value.messages))
        return result

    def tell(self, event: HookEvent) -> None:
        try:
            self._events.put_nowait(event)
        except asyncio.QueueFull:
            self._tally.dropped_events += 1
            self.warn("its queue of events is full; the newest are dropped")

    def warn(self, text: str) -> None:
        if self._tally.warn(text):
            logger.warning("hook %s: %s", self.name, text)

    async def run(self) -> None:
        """Deliver events, one at a time, until cancelled."""
        while True:
            event = await self._events.get()
            try:
                async with asyncio.timeout(self._defaults.observer_timeout_ms / 1000):
                    await self._hook.on_event(event)  # type: ignore[attr-defined]  # `kinds` is empty without it
            except (
                Exception,
                asyncio.CancelledError,
            ) as error:  # the boundary: its next event is delivered all the same
                if isinstance(error, asyncio.CancelledError) and is_cancelled():
                    raise
                self._tally.note(f"on_event failed: {type(error).__name__}")
                self.warn(self._tally.last_error)


def _copied(value: Any) -> Any:
    """JSON of its own; what cannot be changed in place is shared. Five times as fast as copy.deepcopy."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, ToolSpec):
        return replace(value, parameters=_copied(dict(value.parameters)))
    return value


def _known_again(given: list[Message], copies: list[Message], originals: list[Message]) -> list[Message]:
    """Messages that the hook left alone are again the turn's own objects."""
    original_of = {id(own): original for own, original in zip(copies, originals, strict=True)}
    messages = []
    for message in given:
        original = original_of.get(id(message))
        messages.append(original if original is not None and original == message else message)
    return messages
