"""Hooks in this process, which `hooks.builtins.<name>` switches on: the included one, `ask_human`, and the operator's own."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from inspect import iscoroutinefunction
from threading import Thread
from typing import Any, Final, cast

import msgspec

from server import config
from server.approval.asking import PausingAsk, Question, text_for_model
from server.approval.edits import approvable
from server.errors import ConfigError, is_cancelled
from server.hooks.health import BuiltinHealth, HookStats
from server.hooks.stages import (
    STAGES,
    Abort,
    ApproverVerdict,
    Decision,
    Deny,
    HookCallFailed,
    HookEvent,
    Respond,
    Stage,
    StageContext,
    StageValue,
)
from server.llm.language_model import ToolSpec
from server.toolguard import Permission
from server.tools.tool_calls import ToolInvocation

logger = logging.getLogger(__name__)

MAX_THREADS: Final = 8
"""Calls of one hook that may run in threads at once; further ones wait."""


class BuiltinHook:
    """A hook in this process, around any object with methods named after stages; it observes no events.

    A stage's method takes its value and a StageContext, and returns None for "as
    it was", a changed value (`dataclasses.replace`) or a decision; approve_tool
    returns an ApproverVerdict. A method that is no coroutine runs in a thread.
    What a method raises stays inside.
    """

    kinds: frozenset[str] = frozenset()

    def __init__(self, name: str, implementation: object, *, priority: int = 0, timeout_ms: int | None = None) -> None:
        self._implementation = implementation
        self._stats = HookStats()
        self._free = asyncio.Semaphore(MAX_THREADS)
        self._stuck = set[asyncio.Future[object]]()  # calls that were abandoned and still run
        self.name = name
        self.is_process = False
        self.timeout_ms = timeout_ms
        self.order = (0, priority, name.encode())
        self.stages = frozenset(stage for stage in STAGES if callable(getattr(implementation, stage, None)))
        self.is_guard = bool(getattr(implementation, "is_guard", False))

    def health(self) -> BuiltinHealth:
        stages = [stage for stage in STAGES if stage in self.stages]
        return BuiltinHealth(name=self.name, stages=stages, **self._stats.counts())

    async def ask(
        self, stage: Stage, value: StageValue, at: StageContext, limit_s: float
    ) -> StageValue | Decision | None:
        """Ask the hook about a copy. The time that a human takes does not count against the limit."""
        self._stats.calls += 1
        began_s = time.perf_counter()
        limit = asyncio.timeout(limit_s)
        human = None if at.ask is None else PausingAsk(at.ask, limit)
        own = replace(value, **{field.name: _copied(getattr(value, field.name)) for field in fields(value)})
        try:
            async with limit:
                call = partial(getattr(self._implementation, stage), own, replace(at, ask=human))
                is_async = iscoroutinefunction(call.func)
                result = await (call() if is_async else self._in_thread(call))
            if not _is_answer(stage, value, result):
                raise TypeError(f"{stage} returned {type(result).__name__}")
        except BaseException as error:  # the boundary to a hook
            ends_turn = isinstance(error, (asyncio.CancelledError, GeneratorExit)) and is_cancelled()
            if ends_turn or isinstance(error, KeyboardInterrupt):
                raise
            failure = HookCallFailed("timed_out", f'hook "{self.name}" {stage} timed out')
            if not limit.expired():
                why = str(error) if isinstance(error, HookCallFailed) else type(error).__name__
                failure = HookCallFailed("failed", f'hook "{self.name}" {stage} failed: {why}', raised=error)
            self._stats.add_failure(str(failure))
            raise failure from error
        if is_async and (due_s := limit.when()) is not None and due_s < asyncio.get_running_loop().time():
            self.warn(f"{stage} blocked the whole server, longer than its time limit: an async method must not block")
        waited_s = 0.0 if human is None else human.waited_s
        self._stats.add_answer((time.perf_counter() - began_s - waited_s) * 1000)
        return cast("StageValue | Decision | None", result)

    async def _in_thread(self, call: Callable[[], object]) -> object:
        """Run the call, when a thread is free, in one that nothing waits for; cancelling abandons it."""
        if len(self._stuck) == MAX_THREADS:
            raise HookCallFailed("failed", f"{MAX_THREADS} calls past their time limit still run; restart the server")
        await self._free.acquire()
        outcome = Future[object]()
        running = asyncio.wrap_future(outcome)
        running.add_done_callback(lambda _: self._free.release())
        Thread(target=copy_context().run, args=(_settle, outcome, call), name=f"hook {self.name}", daemon=True).start()
        try:
            return await asyncio.shield(running)
        finally:
            if not running.done():
                self._stuck.add(running)
                running.add_done_callback(self._stuck.discard)

    def send_event(self, event: HookEvent) -> None:
        """Never called, since `kinds` is empty."""

    def warn(self, text: str) -> None:
        if self._stats.add_warning(text):
            logger.warning("hook %s: %s", self.name, text)


def _is_answer(stage: Stage, value: StageValue, result: object) -> bool:
    """Return whether the stage takes what a hook has returned for the value."""
    match result:
        case ApproverVerdict():
            return stage == "approve_tool" and isinstance(result.approved, bool)
        case Respond() | Deny():
            return stage == "before_tool"
    return stage != "approve_tool" and (result is None or isinstance(result, (type(value), Abort)))


def _settle(outcome: Future[object], call: Callable[[], object]) -> None:
    try:
        try:
            outcome.set_result(call())
        except StopIteration as error:  # asyncio's futures refuse it
            raise RuntimeError("the method raised StopIteration") from error
    except BaseException as error:  # noqa: BLE001  it is raised where the outcome is awaited
        outcome.set_exception(error)


def _copied(value: Any) -> Any:
    """Copy JSON; what cannot be changed in place is shared. Five times as fast as copy.deepcopy."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, ToolSpec):
        return replace(value, parameters=_copied(dict(value.parameters)))
    return value


class AskHumanSettings(config.Section, frozen=True, kw_only=True):
    """Says which calls are asked about: the tool fits one of `tools`, or its permission class is in `permissions`."""

    tools: tuple[str, ...] = ()
    """Names of tools, with `*` and `?`; upper and lower case count."""
    permissions: tuple[Permission, ...] = ("WRITE", "EXTERNAL")
    message: str = ""
    """The question, where it is to be another than ours; `{tool}` is the tool's name."""
    timeout_s: config.Seconds | None = None
    """Time limit for the human, or None if `hooks.approval.timeout_s` counts."""


class AskHumanApprover:
    def __init__(self, given: Any) -> None:
        """Read the settings from the hook's `config`. Raises msgspec.ValidationError."""
        self._settings = msgspec.convert(given, AskHumanSettings)

    async def approve_tool(self, call: ToolInvocation, at: StageContext) -> ApproverVerdict:
        settings = self._settings
        is_named = any(fnmatchcase(call.name, glob) for glob in settings.tools)
        if call.permission not in settings.permissions and not is_named:
            return ApproverVerdict(approved=True)
        if at.ask is None:
            return ApproverVerdict(approved=False, reason="nobody can be asked")
        answer = await at.ask.ask(
            Question(
                tool=call.name,
                arguments=call.arguments if call.shown is None else approvable(call.shown, call.arguments),
                message=settings.message.replace("{tool}", call.name),
                origin="ask_human",
                call_id=call.id,
                permission=call.permission,
                timeout_s=settings.timeout_s,
                real_arguments=call.arguments,
            )
        )
        reason = "" if answer.approved else text_for_model(answer)
        return ApproverVerdict(approved=answer.approved, reason=reason, arguments=answer.arguments)


BUILTINS: Final[Mapping[str, Callable[[Any], object]]] = {"ask_human": AskHumanApprover}
"""Factories of the included hooks by name: each takes the `config` of its entry."""


def build_builtins(settings: config.HooksSettings) -> tuple[BuiltinHook, ...]:
    """Build the builtins that are switched on. Raises ConfigError. Entries that are off are not looked at."""
    entries = sorted(settings.builtins.items()) if settings.enabled else ()
    return tuple(_build(name, entry) for name, entry in entries if entry.enabled)


def _build(name: str, entry: config.BuiltinHookSettings) -> BuiltinHook:
    if entry.factory is None and name not in BUILTINS:
        known = f"there are: {', '.join(sorted(BUILTINS))}; one of your own needs `import`"
        raise ConfigError(f'hooks.builtins.{name}: builtin hook "{name}" is not registered; {known}')
    try:
        module, _, attribute = (entry.factory or "").partition(":")
        if entry.factory is not None and not attribute:
            raise ValueError('it must have the form "module:factory"')
        factory = BUILTINS[name] if entry.factory is None else getattr(import_module(module), attribute)
        implementation = factory({} if entry.config is None else entry.config)
        hook = BuiltinHook(name, implementation, priority=entry.priority, timeout_ms=entry.timeout_ms)
        if not hook.stages:
            raise TypeError(f"it has none of the methods {', '.join(STAGES)}")
    except (Exception, SystemExit) as error:  # the boundary to an operator's code
        place = "config" if entry.factory is None else f"import: {entry.factory}"
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(f'hooks.builtins.{name}.{place}: build builtin hook "{name}": {why}') from error
    return hook
