"""What a turn's model calls must read: the rules of Layer 1 as a pure view.

Nothing is ever taken out here. A turn is written as one log in the order in
which things happen; every entry carries the first and the last model call that
may read it; what a call reads is the log, filtered. Persistent hooks have no
last call, and the limit on them (L1-30) is one more filter. The code under
test keeps a list that it inserts into and removes from, so the two can only
agree by obeying the same rules.

Calls are numbered: 0 is the planning call, or the only call of a turn without
a loop; 1, 2, … are the rounds; the last one may be the round that may not use
tools any more (L1-33).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Protocol

FOR_EVER = 1 << 30


class Hook(Protocol):
    """What the rules need to know of a hook; `skills_engine.HookInfo` has it."""

    @property
    def name(self) -> str: ...
    @property
    def skill(self) -> str: ...
    @property
    def timing(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def persistent(self) -> bool: ...
    @property
    def tool_filter(self) -> frozenset[str] | None: ...


@dataclass(frozen=True)
class Line:
    """A message as far as it can be foreseen. `content` None: the host finds the words."""

    role: str
    content: str | None
    calls: tuple[str, ...] = ()
    """Ids: of the calls that an assistant made, or of the one that a tool answers."""


@dataclass(frozen=True)
class ToolUse:
    """A call that the model makes. `result` None: it fails, and the host words the error."""

    id: str
    name: str
    result: str | None


@dataclass(frozen=True)
class Reply:
    """What the model says in one call."""

    text: str
    uses: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Turn:
    history: tuple[Line, ...]
    hooks: tuple[Hook, ...]
    has_tools: bool = True
    enable_tools: bool = True
    planning: bool = True
    needs_tools: bool = True
    plan: str = ""
    """What the planning reply shows the user: the answer, or the acknowledgement."""
    batches: tuple[Reply, ...] = ()
    """The replies that use tools, round by round, as long as rounds are left."""
    answer: Reply = Reply("done")
    """The reply that ends the turn; its uses, if it has any, count as made against `tool_choice`."""
    max_rounds: int = 8
    max_persistent: int = 64


@dataclass(frozen=True)
class Call:
    """A model call as the rules foresee it."""

    purpose: Literal["direct", "planning", "round", "last"]
    reads: tuple[Line, ...]
    hooks_before: tuple[Hook, ...]
    """The persistent hooks yielded since the call before this one, in order."""
    reply: Reply
    runs: tuple[ToolUse, ...]
    """The calls of the reply that are run."""


@dataclass(frozen=True)
class _Entry:
    line: Line
    first: int
    last: int
    hook: Hook | None = None

    @property
    def is_persistent(self) -> bool:
        return self.hook is not None and self.hook.persistent


def foresee(turn: Turn) -> list[Call]:
    """Every model call of the turn, in order."""
    log = list(_within_limit(_write(turn), turn.max_persistent))
    return [
        Call(
            purpose=purpose,
            reads=tuple(e.line for e in log if e.first <= number <= e.last),
            hooks_before=tuple(e.hook for e in log if e.hook is not None and e.is_persistent and e.first == number),
            reply=reply,
            runs=reply.uses if purpose == "round" else (),
        )
        for number, purpose, reply in _calls(turn)
    ]


def is_capped(turn: Turn) -> bool:
    """Some persistent hook was not injected because the turn had yielded enough of them."""
    return sum(e.is_persistent for e in _write(turn)) > turn.max_persistent


def fires(hook: Hook, timing: str, tool_name: str | None = None) -> bool:
    """L1-02: `tool_filter` counts for after_tool_call only; None is every tool, an entry a name or a glob."""
    if hook.timing != timing:
        return False
    if timing != "after_tool_call" or hook.tool_filter is None:
        return True
    return any(fnmatchcase(tool_name or "", entry) for entry in hook.tool_filter)


def _calls(turn: Turn) -> Iterator[tuple[int, Literal["direct", "planning", "round", "last"], Reply]]:
    if not (turn.has_tools and turn.enable_tools):
        yield 0, "direct", Reply(turn.answer.text)
        return
    if turn.planning:
        yield 0, "planning", Reply(turn.plan)
        if not turn.needs_tools:
            return
    batches = turn.batches[: turn.max_rounds]
    for number, reply in enumerate(batches, 1):
        yield number, "round", reply
    is_over = len(batches) == turn.max_rounds
    answer = turn.answer if is_over else Reply(turn.answer.text)
    yield len(batches) + 1, "last" if is_over else "round", answer


def _write(turn: Turn) -> Iterator[_Entry]:
    calls = list(_calls(turn))
    start = calls[0][0]
    for line in turn.history:
        yield _Entry(line, start, FOR_EVER)
    yield from _fired(turn.hooks, "after_user_input", start, FOR_EVER)  # L1-20
    for number, purpose, reply in calls:
        if purpose == "planning":
            yield from _fired(turn.hooks, "before_planning", number, number)  # L1-21
        if purpose in ("round", "last"):
            yield from _fired(turn.hooks, "before_each_agent", number, number)  # L1-22
        if purpose in ("round", "last") and number == 1:
            yield from _fired(turn.hooks, "before_first_agent", number, FOR_EVER)  # L1-23
        if purpose == "round" and reply.uses:
            yield from _batch(turn.hooks, reply, number + 1)


def _batch(hooks: Sequence[Hook], reply: Reply, seen_from: int) -> Iterator[_Entry]:
    """Call, results, and only then the hooks, all of them in call order (L1-26, L1-28)."""
    yield _Entry(Line("assistant", reply.text, tuple(use.id for use in reply.uses)), seen_from, FOR_EVER)
    for use in reply.uses:
        yield _Entry(Line("tool", use.result, (use.id,)), seen_from, FOR_EVER)
    for use in reply.uses:  # L1-27: whatever came of the call
        yield from _fired(hooks, "after_tool_call", seen_from, seen_from, use.name)  # L1-24


def _fired(hooks: Sequence[Hook], timing: str, first: int, last: int, tool_name: str | None = None) -> Iterator[_Entry]:
    for hook in hooks:
        if fires(hook, timing, tool_name):
            line = Line(hook.role, hook.content)
            yield _Entry(line, first, FOR_EVER if hook.persistent else last, hook)


def _within_limit(log: Iterable[_Entry], max_persistent: int) -> Iterator[_Entry]:
    """L1-30: beyond the limit persistent hooks are not injected; the others are."""
    seen = 0
    for entry in log:
        seen += entry.is_persistent
        if not entry.is_persistent or seen <= max_persistent:
            yield entry
